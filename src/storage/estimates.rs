//! Lists of estimates, and single ones.

use std::sync::LazyLock;

use sqlx::FromRow;
use uuid::Uuid;

use super::checksum::StoredDocument;
use super::database::on_connection;
use super::{DbTime, Filter, Store, StoreError, Times};

/// An estimate as a row of a list.
#[derive(Debug, Clone, FromRow)]
pub struct EstimateRow {
    /// Id of the estimate.
    pub id: Uuid,
    /// Place in the order of storing.
    pub sequence: i64,
    /// Version of the engine.
    pub engine_version: String,
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// author/model
    pub canonical_model: Option<String>,
    /// Where it is served.
    pub region: String,
    /// ISO 4217 code.
    pub currency: String,
    /// Start of validity.
    pub valid_from: Option<DbTime>,
    /// End of validity.
    pub valid_to: Option<DbTime>,
    /// When it was stored.
    pub observed_at: DbTime,
    /// The sheet whose estimate this is, where the listed one is a copy of it.
    pub duplicate_of: Option<Uuid>,
    /// Readings with a value.
    pub readings_defined: i64,
    /// Conflicts between readings.
    pub conflicts: i64,
    /// JSON: a nullable number per scalar reading.
    pub reading_numbers: String,
}

/// Place in the list of latest estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestKey {
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// Where it is served.
    pub region: String,
}

/// When a price is to be in force.
#[derive(Debug, Clone, Copy)]
pub enum AsOf {
    /// At a time, by what is recorded.
    Time(DbTime),
    /// Now. What was recorded as in force is so, also where the clock that recorded it was ahead of this one.
    Now(DbTime),
}

impl From<DbTime> for AsOf {
    fn from(time: DbTime) -> Self {
        Self::Time(time)
    }
}

impl AsOf {
    fn time(self) -> DbTime {
        let (Self::Time(time) | Self::Now(time)) = self;
        time
    }
}

// Hardly ever: then every offer is asked about its own time.
const ARE_ANY_AHEAD: &str = "
    SELECT EXISTS (SELECT 1 FROM price_periods WHERE observed_at > $1)
        OR EXISTS (SELECT 1 FROM price_periods WHERE withdrawn_at > $1)";

/// [`LATEST`] and [`WATCHED`](super::watched) where the time is not that of the clock, but never before the last that is
/// recorded of an offer.
pub(super) fn by_offer(sql: &str, time: &str) -> String {
    let by_clock = format!("starts_at <= {time} AND (ends_at IS NULL OR ends_at > {time})");
    let by_offer = format!(
        "(SELECT max(at) FROM (
             SELECT {time} AS at
             UNION ALL SELECT observed_at FROM price_periods AS seen WHERE seen.offer_id = period.offer_id
             UNION ALL SELECT withdrawn_at FROM price_periods AS seen WHERE seen.offer_id = period.offer_id) AS times)"
    );
    let in_force = format!("starts_at <= {by_offer} AND (ends_at IS NULL OR ends_at > {by_offer})");
    sql.replace(&by_clock, &in_force)
}

static LATEST_BY_OFFER: LazyLock<String> = LazyLock::new(|| by_offer(LATEST, "$11"));

const ESTIMATE: &str = "
    SELECT document, checksum FROM estimates
    WHERE id = $1
      AND ($2 IS NULL OR EXISTS (
          SELECT 1 FROM estimate_listings AS listing JOIN price_periods AS period ON period.sheet_id = listing.sheet_id
          WHERE listing.estimate_id = estimates.id AND period.starts_at <= $2
            AND (period.ends_at IS NULL OR period.ends_at > $2)))";

const ESTIMATES: &str = "
    SELECT estimates.id, listing.sequence, engine_version, provider, model, canonical_model, region, currency, valid_from,
           valid_to, observed_at, duplicate_of, readings_defined, conflicts, reading_numbers
    FROM estimate_listings AS listing JOIN estimates ON estimates.id = listing.estimate_id
    WHERE ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($3 IS NULL OR canonical_model = $3)
      AND ($4 IS NULL OR region = $4) AND ($5 IS NULL OR currency = $5)
      AND ($6 IS NULL OR observed_at >= $6) AND ($7 IS NULL OR observed_at < $7)
      AND ($8 IS NULL OR sheet_id IS NULL OR EXISTS (
          SELECT 1 FROM price_periods AS period
          WHERE period.sheet_id = listing.sheet_id AND period.starts_at <= $8
            AND (period.ends_at IS NULL OR period.ends_at > $8)))
      AND ($9 IS NULL OR listing.sequence < $9)
    ORDER BY listing.sequence DESC
    LIMIT $10";

// An offer has one price at a time, so that one page of prices in force is one page of offers. What was pooled from
// several sheets has no price of its own.
const LATEST: &str = "
    SELECT estimates.id, latest.sequence, engine_version, provider, model, canonical_model, region, currency, valid_from,
           valid_to, observed_at, duplicate_of, readings_defined, conflicts, reading_numbers
    FROM (SELECT * FROM (
          SELECT period.provider, period.model, period.region, listing.sequence, estimate_id, canonical_model, currency,
                 valid_from, valid_to, listing.observed_at, duplicate_of
          FROM price_periods AS period
          JOIN estimate_listings AS listing ON listing.sequence = (
              SELECT max(newer.sequence) FROM estimate_listings AS newer
              WHERE newer.sheet_id = period.sheet_id AND (newer.stated_assumptions = $9 OR $10))
          WHERE starts_at <= $11 AND (ends_at IS NULL OR ends_at > $11)
            AND ($1 IS NULL OR period.provider = $1) AND ($2 IS NULL OR period.model = $2)
            AND ($4 IS NULL OR period.region = $4)
            AND ($3 IS NULL OR canonical_model = $3) AND ($5 IS NULL OR currency = $5)
            AND ($6 IS NULL OR (period.provider, period.model, period.region) > ($6, $7, $8))
          ORDER BY period.provider, period.model, period.region
          LIMIT $12) AS priced
          UNION ALL
          SELECT provider, model, region, sequence, estimate_id, canonical_model, currency, valid_from, valid_to,
                 observed_at, duplicate_of
          FROM estimate_listings AS pool
          WHERE sheet_id IS NULL AND (stated_assumptions = $9 OR $10)
            AND ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($4 IS NULL OR region = $4)
            AND ($3 IS NULL OR canonical_model = $3) AND ($5 IS NULL OR currency = $5)
            AND ($6 IS NULL OR (provider, model, region) > ($6, $7, $8))
            AND NOT EXISTS (
                SELECT 1 FROM estimate_listings AS newer
                WHERE newer.sheet_id IS NULL AND newer.provider = pool.provider AND newer.model = pool.model
                  AND newer.sequence > pool.sequence AND (newer.stated_assumptions = $9 OR $10))) AS latest
    JOIN estimates ON estimates.id = latest.estimate_id
    ORDER BY provider, model, region
    LIMIT $12";

impl Store {
    /// The document of an estimate, if it was that of a price in force at a time, where one is given.
    ///
    /// # Errors
    /// The database refuses, or the document is damaged.
    pub async fn estimate(
        &self,
        id: Uuid,
        as_of: Option<DbTime>,
    ) -> Result<Option<String>, StoreError> {
        let stored: Option<StoredDocument> = on_connection!(self, connection => {
            Ok(sqlx::query_as(ESTIMATE).bind(id).bind(as_of).fetch_optional(connection).await?)
        })?;
        stored.map(|stored| stored.checked(id)).transpose()
    }

    /// Estimates, the last stored first, beginning below a sequence number.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn estimates(
        &self,
        filter: &Filter,
        times: &Times,
        below: Option<i64>,
        limit: u32,
    ) -> Result<Vec<EstimateRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(ESTIMATES)
                .bind(&filter.provider)
                .bind(&filter.model)
                .bind(&filter.canonical_model)
                .bind(&filter.region)
                .bind(&filter.currency)
                .bind(times.from)
                .bind(times.to)
                .bind(times.as_of)
                .bind(below)
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }

    /// The last stored estimate of every (provider, model, region) for a sheet in force, in that order; unless `any_assumptions`, only those
    /// for which nothing was stated count.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn latest_estimates(
        &self,
        filter: &Filter,
        any_assumptions: bool,
        as_of: impl Into<AsOf>,
        after: Option<&LatestKey>,
        limit: u32,
    ) -> Result<Vec<EstimateRow>, StoreError> {
        let as_of = as_of.into();
        let sql: &'static str = if self.is_any_ahead(as_of).await? {
            &LATEST_BY_OFFER
        } else {
            LATEST
        };
        on_connection!(self, connection => {
            Ok(sqlx::query_as(sql)
                .bind(&filter.provider)
                .bind(&filter.model)
                .bind(&filter.canonical_model)
                .bind(&filter.region)
                .bind(&filter.currency)
                .bind(after.map(|key| &key.provider))
                .bind(after.map(|key| &key.model))
                .bind(after.map(|key| &key.region))
                .bind(false)
                .bind(any_assumptions)
                .bind(as_of.time())
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }

    /// Whether something is recorded of a time that is yet to come by the clock that says now.
    pub(super) async fn is_any_ahead(&self, as_of: AsOf) -> Result<bool, StoreError> {
        let AsOf::Now(now) = as_of else {
            return Ok(false);
        };
        on_connection!(self, connection => {
            Ok(sqlx::query_scalar(ARE_ANY_AHEAD).bind(now).fetch_one(connection).await?)
        })
    }
}
