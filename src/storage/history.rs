//! Price history, due prices, and disagreements between catalogs.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::{Connection, Executor, FromRow, SqlSafeStr};
use utoipa::ToSchema;
use uuid::Uuid;

use super::checksum::StoredDocument;
use super::connection::on_connection;
use super::names::ChangeKind;
use super::plan::read_sheet;
use super::query::Query;
use super::record::ADVANCE_VERSION;
use super::rows::{Connected, Piece, Rows, Statement};
use super::value::{Kind, Value};
use super::{DbTime, Selection, Store, StoreError};
use unroof_core::sheet::PriceSheet;

/// A price of an offer, with its period.
#[derive(Debug, Clone, FromRow)]
pub struct HistoryRow {
    /// Place of the period in the order of storing.
    pub sequence: i64,
    /// Number of the period among those that one sheet opened at once.
    pub part: i64,
    /// Region in which the model is served.
    pub region: String,
    /// The sheet.
    pub sheet_id: Uuid,
    /// Catalog that states it.
    pub catalog: String,
    /// Inclusive; [`UNKNOWN_START`](unroof_core::sheet::compare::timeline::UNKNOWN_START) where it is not known.
    pub starts_at: DbTime,
    /// Exclusive.
    pub ends_at: Option<DbTime>,
    /// Time at which the price was seen.
    pub observed_at: DbTime,
    /// Time of the withdrawal.
    pub withdrawn_at: Option<DbTime>,
    /// Reason for the withdrawal.
    pub withdrawn_because: Option<String>,
    /// The listed estimate.
    pub estimate_id: Option<Uuid>,
    /// The estimated sheet, if it is not the listed one.
    pub duplicate_of: Option<Uuid>,
    /// JSON: a nullable number per column of a list.
    pub row_values: Option<String>,
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

/// Which prices a history has.
#[derive(Debug, Clone, Copy)]
pub struct PricesOf<'a> {
    /// Provider that bills.
    pub provider: &'a str,
    /// Model name as the provider spells it.
    pub model: &'a str,
    /// One region; without it, all.
    pub region: Option<&'a str>,
    /// Only prices that started by this time.
    pub as_of: Option<DbTime>,
}

/// Place in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryKey {
    /// Region in which the model is served.
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
    /// Provider that bills.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// The catalog of the price in force.
    pub catalog: String,
    /// The sheet in force.
    pub sheet_id: Uuid,
    /// The catalog that lists another price.
    pub other_catalog: String,
    /// Its sheet.
    pub other_sheet_id: Uuid,
    /// The prices that differ, each in force first.
    #[schema(example = "input 0.66 against 1.32 $/Mtok")]
    pub differences: String,
    /// The larger over the smaller, of the two prices furthest apart; null where one of them is 0.
    pub largest_factor: Option<f64>,
    /// Time at which the disagreement was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// Time at which the disagreement was settled; null while it is open.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<DbTime>,
}

const HISTORY: &str = "
    SELECT period.sequence, period.part, sheet.region, period.sheet_id, catalog, starts_at, ends_at, period.observed_at,
           withdrawn_at, withdrawn_because, listing.estimate_id, listing.duplicate_of, row_values,
           sheet.document, sheet.checksum
    FROM price_sheets AS sheet
    JOIN price_periods AS period ON period.sheet_id = sheet.id
    LEFT JOIN latest_listings AS listing ON listing.sheet_id = sheet.id
    LEFT JOIN (SELECT id, row_values FROM estimates) AS estimate ON estimate.id = listing.estimate_id
    WHERE sheet.provider = ";

const BY_START: &str = " ORDER BY sheet.region, starts_at, period.sequence, part";

const DISAGREEMENTS: &str = "
    SELECT id, provider, model, region, catalog, sheet_id, other_catalog, other_sheet_id, differences, largest_factor,
           observed_at, ended_at
    FROM disagreements
    WHERE ";

const WERE_OPEN: &str = "observed_at <= $1 AND (ended_at IS NULL OR ended_at > $1)";

const DUE: &str = "
    SELECT sequence, part, sheet_id, starts_at, ends_at, has_begun,
           EXISTS (SELECT 1 FROM price_intervals AS next
                   WHERE next.offer_id = period.offer_id AND next.starts_at <= $1 AND next.until > $1) AS has_price
    FROM price_periods AS period
    WHERE (has_begun = FALSE AND starts_at <= $1) OR (has_ended = FALSE AND ends_at <= $1)
    ORDER BY starts_at, sequence, part
    LIMIT $2";

/// Most prices that are announced at once.
const MOST_DUE: i64 = 500;

/// Adds changes of sheets to the feed: number, kind, time, sheet and summary.
pub(super) const INSERT_CHANGES: Piece = Piece {
    sql: "
        INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                             estimate_id, summary)
        SELECT given.column1, given.column2, given.column3, sheet.provider, sheet.model, sheet.canonical_model,
               sheet.region, sheet.id, listing.estimate_id, given.column5
        FROM given
        JOIN price_sheets AS sheet ON sheet.id = given.column4
        LEFT JOIN latest_listings AS listing ON listing.sheet_id = sheet.id",
    columns: &[Kind::Number, Kind::Text, Kind::Time, Kind::Id, Kind::Text],
};

const MARK_ANNOUNCED: Piece = Piece {
    sql: "
        UPDATE price_periods SET has_begun = TRUE, has_ended = given.column3 FROM given
        WHERE sequence = given.column1 AND part = given.column2",
    columns: &[Kind::Number, Kind::Number, Kind::Flag],
};

static ANNOUNCE: Statement = Statement::new(&[MARK_ANNOUNCED, INSERT_CHANGES]);

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
    /// The prices of a model, region by region, in the order of their starts, beginning at a place; up to the price
    /// in force at a time, if one is given.
    ///
    /// # Errors
    /// The query fails.
    pub async fn history(
        &self,
        prices: PricesOf<'_>,
        from: Option<&HistoryKey>,
        limit: u32,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        let from = from.map(|key| {
            vec![
                (&key.region).into(),
                key.starts_at.into(),
                key.sequence.into(),
                key.part.into(),
            ]
        });
        let list = Query::new(HISTORY)
            .value(prices.provider)
            .and("sheet.model = ", Some(prices.model))
            .and("sheet.region = ", prices.region)
            .and("starts_at <= ", prices.as_of)
            .and_all("(sheet.region, starts_at, period.sequence, part) >= ", from);
        self.rows(list.page(BY_START, limit)).await
    }

    /// Disagreements between catalogs that are open, now or at a given time.
    ///
    /// # Errors
    /// The query fails.
    pub async fn disagreements(
        &self,
        selection: &Selection,
        as_of: Option<DbTime>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<DisagreementRow>, StoreError> {
        let list = Query::new(DISAGREEMENTS);
        let list = match as_of {
            None => list.text("ended_at IS NULL"),
            Some(time) => list.text(WERE_OPEN).bind(time),
        };
        let list = list
            .any_of("provider", &selection.provider)
            .any_of("model", &selection.model)
            .any_of("region", &selection.region)
            .prefix(selection.prefix.as_ref())
            .and("id > ", after)
            .page(" ORDER BY id", limit);
        self.rows(list).await
    }

    /// Records that prices have come into force or expired, on one replica only.
    ///
    /// # Errors
    /// The query fails.
    pub async fn announce_due_prices(&self, now: Timestamp) -> Result<(), StoreError> {
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
            connection.prepare_rows(&ANNOUNCE).await?;
            connection.prepare(ADVANCE_VERSION.into_sql_str()).await?;
            let mut transaction = connection.begin_with(self.begin()).await?;
            let version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(most).fetch_one(&mut *transaction).await?;
            // Read again under the lock: another replica may have announced them.
            let due: Vec<DueRow> =
                sqlx::query_as(DUE).bind(now).bind(most).fetch_all(&mut *transaction).await?;
            transaction.write_rows(&ANNOUNCE, &due_rows(&due, now, version - most)).await?;
            transaction.commit().await?;
            self.advance_version(version);
            Ok(())
        })
    }

    /// Time at which the next price comes into force or expires.
    ///
    /// # Errors
    /// The query fails.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        on_connection!(self, connection => {
            let next: Option<DbTime> = sqlx::query_scalar(NEXT_DUE).fetch_one(connection).await?;
            Ok(next.map(Timestamp::from))
        })
    }
}

/// Rows for each piece of [`ANNOUNCE`]; changes are numbered from the one after `base`.
fn due_rows(due: &[DueRow], now: DbTime, base: i64) -> [Rows<'static>; 2] {
    let marks = due.iter().map(|row| {
        let has_ended = row.ends_at.is_some_and(|end| end <= now);
        vec![row.sequence.into(), row.part.into(), has_ended.into()]
    });
    let news = due
        .iter()
        .filter_map(|row| Some((row.sheet_id, row.news(now)?)));
    let changes = news
        .zip(base + 1..)
        .map(|((sheet_id, (kind, summary)), number)| {
            change_row(number, kind, now, sheet_id, summary)
        });
    [marks.collect(), changes.collect()]
}

/// A row for [`INSERT_CHANGES`].
pub(super) fn change_row(
    number: i64,
    kind: ChangeKind,
    at: DbTime,
    sheet_id: Uuid,
    summary: String,
) -> Vec<Value<'static>> {
    vec![
        number.into(),
        kind.name().into(),
        at.into(),
        sheet_id.into(),
        summary.into(),
    ]
}

impl DueRow {
    /// The kind of change and its summary. The end of a price that was replaced is not a change.
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
