//! Price history, due prices, and disagreements between catalogs.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::list::query::AsOf;
use crate::record::checksum::StoredDocument;
use crate::record::work::Work;
use crate::{DbTime, Selection, Store, StoreError};
use unroof_price_sheet::sheet::PriceSheet;

/// A price of an offer, with its period.
#[derive(Debug, Clone, FromRow)]
pub struct HistoryRow {
    /// Place of the period in the order of storing.
    pub sequence: i64,
    /// Number of the period among those that one sheet opened at once.
    pub part: i64,
    /// Region in which the model is served.
    pub region: String,
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Catalog that states it.
    pub catalog: String,
    /// Inclusive; [`UNKNOWN_START`](unroof_price_sheet::history::UNKNOWN_START) where it is not known.
    pub starts_at: DbTime,
    /// End of the period, exclusive.
    pub ends_at: Option<DbTime>,
    /// Time at which the price was seen.
    pub observed_at: DbTime,
    /// Source of the start: `stated`, `observed` or `source_added`.
    pub start_basis: String,
    /// Time at which the price before was last seen.
    pub not_before: Option<DbTime>,
    /// Time at which a source last stated the price.
    pub last_seen_at: DbTime,
    /// Reason for the end: `replaced`, `expired`, `delisted` or `withdrawn`.
    pub ending: Option<String>,
    /// Whether the price is under quarantine.
    pub is_flagged: bool,
    /// Time of the withdrawal.
    pub withdrawn_at: Option<DbTime>,
    /// Reason for the withdrawal.
    pub withdrawn_because: Option<String>,
    /// Id of the listed estimate.
    pub estimate_id: Option<Uuid>,
    /// The estimated sheet, if it is not the listed one.
    pub duplicate_of: Option<Uuid>,
    /// JSON: a nullable number per column of a list.
    pub row_values: Option<String>,
    /// Document of the sheet.
    #[sqlx(flatten)]
    document: StoredDocument,
}

impl HistoryRow {
    /// The sheet.
    ///
    /// # Errors
    /// The stored document is damaged.
    pub fn sheet(&self) -> Result<PriceSheet, StoreError> {
        self.document.sheet(self.sheet_id)
    }
}

/// Filter of the prices of a history.
#[derive(Debug, Clone, Copy)]
pub struct PricesOf<'a> {
    /// Provider that bills for the offer.
    pub provider: &'a str,
    /// Model name as the provider spells it.
    pub model: &'a str,
    /// One region; without it, all.
    pub region: Option<&'a str>,
    /// Only prices that started by this time.
    pub as_of: Option<AsOf>,
}

/// Place in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryKey {
    /// Region in which the model is served.
    pub region: String,
    /// Start of the period.
    pub starts_at: DbTime,
    /// Place of the period in the order of storing.
    pub sequence: i64,
    /// Number of the period among those that one sheet opened at once.
    pub part: i64,
}

/// Two catalogs that price one offer differently, as a flat row.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct DisagreementRow {
    /// Id of the disagreement.
    pub id: Uuid,
    /// Provider that bills for the offer.
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
    /// Sheet of the other catalog.
    pub other_sheet_id: Uuid,
    /// Whether the other price is under quarantine: it is far from that of other sources, or fits no machine.
    #[sqlx(rename = "is_flagged")]
    pub flagged: bool,
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
           sheet.document, sheet.checksum, start_basis, not_before, ending, is_flagged,
           coalesce((SELECT max(snapshots.at)
                     FROM observations AS seen JOIN snapshots ON snapshots.source = seen.source
                      AND (snapshots.scope = '' OR snapshots.scope = sheet.provider)
                      AND snapshots.at >= seen.first_at
                     JOIN price_sheets AS stated ON stated.id = seen.sheet_id
                      AND stated.price_id = period.price_id
                     WHERE period.has_ended = FALSE AND seen.offer_id = period.offer_id AND seen.last_at IS NULL
                       AND snapshots.at > period.last_seen_at
                       AND (period.ends_at IS NULL OR period.ends_at > snapshots.at)), last_seen_at) AS last_seen_at
    FROM price_sheets AS sheet
    JOIN price_periods AS period ON period.sheet_id = sheet.id
    LEFT JOIN latest_listings AS listing ON listing.sheet_id = sheet.id
    LEFT JOIN (SELECT id, row_values FROM estimates) AS estimate ON estimate.id = listing.estimate_id
    WHERE sheet.provider = ";

const BY_START: &str = " ORDER BY sheet.region, starts_at, period.sequence, part";

const DISAGREEMENTS: &str = "
    SELECT id, provider, model, region, catalog, sheet_id, other_catalog, other_sheet_id, is_flagged, differences,
           largest_factor, observed_at, ended_at
    FROM disagreements
    WHERE ";

const WERE_OPEN: &str = "observed_at <= $1 AND (ended_at IS NULL OR ended_at > $1)";

const DUE: &str = "
    SELECT DISTINCT offer_id FROM (
        SELECT offer_id FROM price_periods WHERE has_begun = FALSE AND starts_at <= $1
        UNION ALL
        SELECT offer_id FROM price_periods WHERE has_ended = FALSE AND ends_at <= $1) AS due
    LIMIT $2";

/// Most offers whose prices are announced at once.
const MOST_DUE: i64 = 500;

const NEXT_DUE: &str = "
    SELECT min(at) FROM (
        SELECT min(starts_at) AS at FROM price_periods WHERE has_begun = FALSE
        UNION ALL
        SELECT min(ends_at) FROM price_periods WHERE has_ended = FALSE) AS due";

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
            .has_begun(prices.as_of)
            .and_all("(sheet.region, starts_at, period.sequence, part) >= ", from);
        self.listed(list.page(BY_START, limit)).await
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
        self.listed(list).await
    }

    /// Announces that prices have come into force or expired, on one replica only.
    ///
    /// # Errors
    /// The query fails.
    pub async fn announce_due_prices(&self, now: Timestamp) -> Result<(), StoreError> {
        let now = DbTime::from(now);
        let due: Vec<(Uuid,)> = self.rows(Query::new(DUE).bind(now).bind(MOST_DUE)).await?;
        if due.is_empty() {
            return Ok(());
        }
        let work = Work {
            now: now.into(),
            again: due.into_iter().map(|(id,)| id).collect(),
            ..Work::default()
        };
        let _writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await.map(drop)
    }

    /// Time at which the next price comes into force or expires.
    ///
    /// # Errors
    /// The query fails.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let (next,): (Option<DbTime>,) = self.one(Query::new(NEXT_DUE)).await?;
        Ok(next.map(Timestamp::from))
    }
}
