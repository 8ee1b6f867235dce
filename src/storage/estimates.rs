//! Lists of estimates, and single ones.

use sqlx::FromRow;
use uuid::Uuid;

use super::database::on_connection;
use super::{DbTime, Filter, Store, StoreError};

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

const ESTIMATE: &str = "SELECT document FROM estimates WHERE id = $1";

const ESTIMATES: &str = "
    SELECT id, sequence, engine_version, provider, model, canonical_model, region, currency, valid_from, valid_to,
           observed_at, readings_defined, conflicts, reading_numbers
    FROM estimates
    WHERE ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($3 IS NULL OR canonical_model = $3)
      AND ($4 IS NULL OR region = $4) AND ($5 IS NULL OR currency = $5) AND ($6 IS NULL OR sequence < $6)
    ORDER BY sequence DESC
    LIMIT $7";

const LATEST: &str = "
    SELECT id, sequence, engine_version, provider, model, canonical_model, region, currency, valid_from, valid_to,
           observed_at, readings_defined, conflicts, reading_numbers
    FROM estimates AS latest
    WHERE ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($3 IS NULL OR canonical_model = $3)
      AND ($4 IS NULL OR region = $4) AND ($5 IS NULL OR currency = $5)
      AND ($6 IS NULL OR (provider, model, region) > ($6, $7, $8))
      AND (stated_assumptions = $9 OR $10)
      AND NOT EXISTS (
          SELECT 1 FROM estimates AS newer
          WHERE newer.provider = latest.provider AND newer.model = latest.model AND newer.region = latest.region
            AND newer.sequence > latest.sequence AND (newer.stated_assumptions = $9 OR $10))
    ORDER BY provider, model, region
    LIMIT $11";

impl Store {
    /// The document of an estimate.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn estimate(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_scalar(ESTIMATE).bind(id).fetch_optional(connection).await?)
        })
    }

    /// Estimates, the last stored first, beginning below a sequence number.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn estimates(
        &self,
        filter: &Filter,
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
                .bind(below)
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }

    /// The last stored estimate of every (provider, model, region), in that order; unless `any_assumptions`, only those
    /// for which nothing was stated count.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn latest_estimates(
        &self,
        filter: &Filter,
        any_assumptions: bool,
        after: Option<&LatestKey>,
        limit: u32,
    ) -> Result<Vec<EstimateRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(LATEST)
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
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }
}
