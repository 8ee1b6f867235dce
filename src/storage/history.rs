//! What an offer cost when, what was withdrawn, what comes into force, and where catalogs disagree.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::{Connection, Executor, FromRow, SqlSafeStr};
use utoipa::ToSchema;
use uuid::Uuid;

use super::changes::ChangeKind;
use super::checksum::StoredDocument;
use super::database::on_connection;
use super::plan::read_sheet;
use super::record::BUMP_VERSION;
use super::rows::{Connected, Kind, Piece, Pieces, Rows};
use super::{DbTime, Filter, Store, StoreError};
use unroof_core::sheet::PriceSheet;

/// A price of an offer over a time.
#[derive(Debug, Clone, FromRow)]
pub struct HistoryRow {
    /// Place of the period in the order of storing.
    pub sequence: i64,
    /// Of several periods that one sheet opened at once.
    pub part: i64,
    /// Where it is served.
    pub region: String,
    /// The sheet.
    pub sheet_id: Uuid,
    /// Who says so.
    pub catalog: String,
    /// Inclusive; [`UNKNOWN_START`](unroof_core::sheet::compare::timeline::UNKNOWN_START) where it is not known.
    pub starts_at: DbTime,
    /// Exclusive.
    pub ends_at: Option<DbTime>,
    /// When it was seen.
    pub observed_at: DbTime,
    /// When it was withdrawn.
    pub withdrawn_at: Option<DbTime>,
    /// Why.
    pub withdrawn_because: Option<String>,
    /// The estimate that is listed for it.
    pub estimate_id: Option<Uuid>,
    /// The sheet whose estimate that is, where it is another one.
    pub duplicate_of: Option<Uuid>,
    /// JSON: a nullable number per column of a list.
    pub reading_numbers: Option<String>,
    /// The sheet's document.
    #[sqlx(flatten)]
    document: StoredDocument,
}

impl HistoryRow {
    /// The sheet.
    ///
    /// # Errors
    /// The stored document is damaged.
    pub fn sheet(&self) -> Result<PriceSheet, StoreError> {
        let document = self.document.clone().checked(self.sheet_id)?;
        read_sheet(self.sheet_id, Some(&document))
    }
}

/// Place in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryKey {
    /// Where it is served.
    pub region: String,
    /// Start of the period.
    pub starts_at: DbTime,
    /// Its place in the order of storing.
    pub sequence: i64,
    /// Its part.
    pub part: i64,
}

/// Two catalogs that price one offer differently, as a flat row.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct DisagreementRow {
    /// Id of the disagreement.
    pub id: Uuid,
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// Where it is served.
    pub region: String,
    /// The catalog of the price in force.
    pub catalog: String,
    /// The sheet in force.
    pub sheet_id: Uuid,
    /// The catalog that lists another price.
    pub other_catalog: String,
    /// Its sheet.
    pub other_sheet_id: Uuid,
    /// The prices that both list and list differently: first the one in force.
    #[schema(example = "input 0.66 against 1.32 $/Mtok")]
    pub differences: String,
    /// The larger over the smaller, of the two prices furthest apart; null where one of them is 0.
    pub largest_factor: Option<f64>,
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// When it was settled.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<DbTime>,
}

const HISTORY: &str = "
    SELECT period.sequence, period.part, sheet.region, period.sheet_id, catalog, starts_at, ends_at, period.observed_at,
           withdrawn_at, withdrawn_because, listing.estimate_id, listing.duplicate_of, reading_numbers,
           sheet.document AS document, sheet.checksum AS checksum
    FROM (SELECT id, region, document, checksum FROM price_sheets
          WHERE provider = $1 AND model = $2 AND ($3 IS NULL OR region = $3)) AS sheet
    JOIN price_periods AS period ON period.sheet_id = sheet.id
    LEFT JOIN (SELECT sheet_id, max(sequence) AS sequence FROM estimate_listings
               WHERE stated_assumptions = FALSE AND provider = $1 AND model = $2 GROUP BY sheet_id) AS last
           ON last.sheet_id = sheet.id
    LEFT JOIN (SELECT sequence, estimate_id, duplicate_of FROM estimate_listings) AS listing
           ON listing.sequence = last.sequence
    LEFT JOIN (SELECT id, reading_numbers FROM estimates) AS estimate ON estimate.id = listing.estimate_id
    WHERE ($4 IS NULL OR starts_at <= $4)
      AND ($5 IS NULL OR (sheet.region, starts_at, period.sequence, part) >= ($5, $6, $7, $8))
    ORDER BY sheet.region, starts_at, period.sequence, part
    LIMIT $9";

const DISAGREEMENTS: &str = "
    SELECT id, provider, model, region, catalog, sheet_id, other_catalog, other_sheet_id, differences, largest_factor,
           observed_at, ended_at
    FROM disagreements
    WHERE ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($3 IS NULL OR region = $3)
      AND (($4 IS NULL AND ended_at IS NULL)
           OR (observed_at <= $4 AND (ended_at IS NULL OR ended_at > $4)))
      AND ($5 IS NULL OR id > $5)
    ORDER BY id
    LIMIT $6";

pub(super) const INSERT_CHANGE: &str = "
    INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id,
                         summary)
    SELECT $1, $2, $3, provider, model, canonical_model, region, id,
           (SELECT estimate_id FROM estimate_listings WHERE sequence = (
                SELECT max(sequence) FROM estimate_listings WHERE sheet_id = $4 AND stated_assumptions = FALSE)),
           $5
    FROM price_sheets WHERE id = $4";

const DUE: &str = "
    SELECT sequence, part, sheet_id, starts_at, ends_at, has_begun,
           EXISTS (SELECT 1 FROM price_periods AS next
                   WHERE next.offer_id = period.offer_id AND next.starts_at <= $1
                     AND (next.ends_at IS NULL OR next.ends_at > $1)) AS has_price
    FROM price_periods AS period
    WHERE (has_begun = FALSE AND starts_at <= $1) OR (has_ended = FALSE AND ends_at <= $1)
    ORDER BY starts_at, sequence, part
    LIMIT $2";

/// Most prices that are made known at once.
const MOST_DUE: i64 = 500;

static MAKE_KNOWN: Pieces = Pieces::writing(&[
    Piece {
        before: "UPDATE price_periods SET has_begun = TRUE, has_ended = given.column3 FROM",
        columns: &[Kind::Number, Kind::Number, Kind::Flag],
        after: "WHERE sequence = given.column1 AND part = given.column2",
    },
    Piece {
        before: "
            INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                                 estimate_id, summary)
            SELECT given.column1, given.column2, given.column3, sheet.provider, sheet.model, sheet.canonical_model,
                   sheet.region, sheet.id,
                   (SELECT estimate_id FROM estimate_listings WHERE sequence = (
                        SELECT max(newer.sequence) FROM estimate_listings AS newer
                        WHERE newer.sheet_id = sheet.id AND newer.stated_assumptions = FALSE)),
                   given.column5
            FROM",
        columns: &[Kind::Number, Kind::Text, Kind::Time, Kind::Id, Kind::Text],
        after: "JOIN price_sheets AS sheet ON sheet.id = given.column4",
    },
]);

const NEXT_DUE: &str = "
    SELECT min(at) FROM (
        SELECT min(starts_at) AS at FROM price_periods WHERE has_begun = FALSE
        UNION ALL
        SELECT min(ends_at) FROM price_periods WHERE has_ended = FALSE) AS due";

#[derive(FromRow)]
struct DueRow {
    sequence: i64,
    part: i64,
    sheet_id: Uuid,
    starts_at: DbTime,
    ends_at: Option<DbTime>,
    has_begun: bool,
    has_price: bool,
}

impl Store {
    /// The prices of a model, region by region, in the order of their starts, beginning at a place; up to the price in
    /// force at a time, if one is given.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn history(
        &self,
        provider: &str,
        model: &str,
        region: Option<&str>,
        as_of: Option<DbTime>,
        from: Option<&HistoryKey>,
        limit: u32,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(HISTORY)
                .bind(provider)
                .bind(model)
                .bind(region)
                .bind(as_of)
                .bind(from.map(|key| &key.region))
                .bind(from.map(|key| key.starts_at))
                .bind(from.map(|key| key.sequence))
                .bind(from.map(|key| key.part))
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }

    /// Where catalogs disagree, now or at a time.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn disagreements(
        &self,
        filter: &Filter,
        as_of: Option<DbTime>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<DisagreementRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(DISAGREEMENTS)
                .bind(&filter.provider)
                .bind(&filter.model)
                .bind(&filter.region)
                .bind(as_of)
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }

    /// Makes known which prices have come into force and which have run out; whoever does it first tells.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn make_due_known(&self, now: Timestamp) -> Result<(), StoreError> {
        let _writer = self.wait_to_write().await?;
        on_connection!(self, connection => {
            let now = DbTime::from(now);
            let next: Option<DbTime> = sqlx::query_scalar(NEXT_DUE).fetch_one(&mut *connection).await?;
            if next.is_none_or(|next| next > now) {
                return Ok(());
            }
            let due: Vec<DueRow> =
                sqlx::query_as(DUE).bind(now).bind(MOST_DUE).fetch_all(&mut *connection).await?;
            let most = i64::try_from(due.len()).unwrap_or(MOST_DUE);
            connection.prepare_for(&MAKE_KNOWN).await?;
            connection.prepare(BUMP_VERSION.into_sql_str()).await?;
            let mut transaction = connection.begin_with(self.begin()).await?;
            let version: i64 =
                sqlx::query_scalar(BUMP_VERSION).bind(most).fetch_one(&mut *transaction).await?;
            // Read again under the lock: another replica may have told of them.
            let due: Vec<DueRow> =
                sqlx::query_as(DUE).bind(now).bind(most).fetch_all(&mut *transaction).await?;
            transaction.write_rows(&MAKE_KNOWN, &due_rows(&due, now, version - most)).await?;
            transaction.commit().await?;
            self.rise_to(version);
            Ok(())
        })
    }

    /// When the next price comes into force or runs out.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        on_connection!(self, connection => {
            let next: Option<DbTime> = sqlx::query_scalar(NEXT_DUE).fetch_one(connection).await?;
            Ok(next.map(Timestamp::from))
        })
    }
}

/// Rows for each piece of [`MAKE_KNOWN`]; news are numbered from the one after `base`.
fn due_rows(due: &[DueRow], now: DbTime, base: i64) -> [Rows<'static>; 2] {
    let marks = due.iter().map(|row| {
        let has_ended = row.ends_at.is_some_and(|end| end <= now);
        vec![row.sequence.into(), row.part.into(), has_ended.into()]
    });
    let news = due
        .iter()
        .filter_map(|row| Some((row.sheet_id, row.news(now)?)));
    let news = news.zip(base + 1..).map(|((sheet_id, news), number)| {
        let (kind, summary) = news;
        vec![
            number.into(),
            kind.name().into(),
            now.into(),
            sheet_id.into(),
            summary.into(),
        ]
    });
    [marks.collect(), news.collect()]
}

impl DueRow {
    /// What there is to tell: that a price that was replaced has ended is no news.
    fn news(&self, now: DbTime) -> Option<(ChangeKind, String)> {
        let has_ended = self.ends_at.is_some_and(|end| end <= now);
        if !self.has_begun && !has_ended {
            let since = Timestamp::from(self.starts_at);
            return Some((ChangeKind::SheetInForce, format!("in force since {since}")));
        }
        let end = Timestamp::from(self.ends_at.filter(|_| has_ended && !self.has_price)?);
        Some((
            ChangeKind::SheetExpired,
            format!("no longer in force since {end}"),
        ))
    }
}
