//! Lists of estimates, and single ones.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::connect::value::Value;
use crate::list::public_size::PublicSize;
use crate::list::query::{AsOf, Order, Place, Selection, SortKey};
use crate::list::row_values;
use crate::record::checksum::{Document, StoredDocument};
use crate::record::recording::EstimateOf;
use crate::{DbTime, Store, StoreError, Times};
use unroof_price_sheet::sheet::PriceSheet;

/// An estimate as a flat row: median, 90 % interval and whether it is identified per quantity, and one nullable number
/// per scalar reading (standard tier, first threshold, shortest time to live).
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
#[schema(as = EstimateItem)]
pub struct EstimateRow {
    /// Id of the estimate.
    pub id: Uuid,
    /// Sequence number in the order of storing.
    #[serde(skip)]
    pub sequence: i64,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Canonical name, `author/model`.
    pub canonical_model: Option<String>,
    /// Region in which the model is served.
    pub region: String,
    /// Currency as an ISO 4217 code.
    pub currency: String,
    /// Inclusive start of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<DbTime>,
    /// Exclusive end of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_to: Option<DbTime>,
    /// Announced time from which the offer is no longer sold; null where none is announced.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub retires_at: Option<DbTime>,
    /// Time at which the estimate was stored.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// Whether it is the estimate of an observed price; false for a question.
    pub observed: bool,
    /// Id of the estimated sheet, if the listed sheet is a duplicate of it.
    pub duplicate_of: Option<Uuid>,
    /// `sheet`: from one sheet alone. `model`: from all sheets of the model, which `/models` lists. `pool`: from the sheets of
    /// one request.
    #[sqlx(rename = "source", try_from = "String")]
    #[schema(inline)]
    pub of: EstimateOf,
    /// Version of the estimation engine.
    pub engine_version: String,
    /// Number of readings with a value.
    pub readings_defined: i64,
    /// Number of pairs of readings that contradict each other.
    pub conflicts: i64,
    /// Published active parameters: of the model's architecture, else a size in its name; null where none is public.
    #[sqlx(rename = "canonical_model", try_from = "Option<String>")]
    #[schema(value_type = Option<f64>)]
    pub published_active_parameters: PublicSize<false>,
    /// Published total parameters, likewise.
    #[sqlx(rename = "canonical_model", try_from = "Option<String>")]
    #[schema(value_type = Option<f64>)]
    pub published_total_parameters: PublicSize<true>,
    /// Four values per quantity and one number per scalar reading.
    #[serde(flatten, serialize_with = "row_values::all")]
    #[schema(ignore)]
    pub row_values: String,
}

/// Place in the list of latest estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestKey {
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
}

const ESTIMATE: &str = "SELECT document, checksum FROM estimates WHERE id = $1";
const WAS_IN_FORCE: &str = "
    AND EXISTS (
        SELECT 1 FROM estimate_listings AS listing JOIN price_intervals AS period ON period.sheet_id = listing.sheet_id
        WHERE listing.estimate_id = estimates.id AND";

const ESTIMATES: &str = "
    SELECT estimates.id, listing.sequence, engine_version, provider, model, canonical_model, region, currency, valid_from,
           valid_to, (SELECT retires_at FROM price_sheets WHERE price_sheets.id = listing.sheet_id) AS retires_at, observed_at, observed, duplicate_of,
           CASE WHEN listing.sheet_id IS NOT NULL THEN 'sheet' WHEN provider = 'model' THEN 'model' ELSE 'pool' END AS source, readings_defined, conflicts, row_values
    FROM estimate_listings AS listing JOIN estimates ON estimates.id = listing.estimate_id
    WHERE ";
const SEQUENCE: &str = "listing.sequence";
// As a value: PostgreSQL would look up EXISTS in a table of all periods in force, which it makes first.
const IS_IN_FORCE: &str = "
    AND (sheet_id IS NULL OR TRUE = (
        SELECT TRUE FROM price_intervals AS period WHERE period.sheet_id = listing.sheet_id AND";

// An offer has one price at a time, so that one page of prices in force is one page of offers. What was pooled from
// several sheets has no price of its own. An answer to a question, which states assumptions, is never the latest.
const LATEST: &str = "
    SELECT estimates.id, latest.sequence, engine_version, provider, model, canonical_model, region, currency, valid_from,
           valid_to, (SELECT retires_at FROM price_sheets WHERE price_sheets.id = latest.sheet_id) AS retires_at, observed_at, observed, duplicate_of,
           CASE WHEN latest.sheet_id IS NOT NULL THEN 'sheet' WHEN provider = 'model' THEN 'model' ELSE 'pool' END AS source, readings_defined, conflicts, row_values
    FROM (SELECT * FROM (
          SELECT provider, model, region, listing.sequence, estimate_id, canonical_model, currency, valid_from, valid_to,
                 listing.observed_at, observed, duplicate_of, listing.sheet_id
          FROM ";
const OF_PRICES: &str = "
          WHERE listing.sheet_id = period.sheet_id AND";
const AS_PRICED: &str = ") AS priced";
const POOLED: &str = "
          UNION ALL
          SELECT * FROM (
          SELECT provider, model, region, sequence, estimate_id, canonical_model, currency, valid_from, valid_to,
                 observed_at, observed, duplicate_of, sheet_id
          FROM estimate_listings AS pool
          WHERE sheet_id IS NULL AND stated_assumptions = FALSE";
const IS_LAST_OF_POOL: &str = "
            AND NOT EXISTS (
                SELECT 1 FROM estimate_listings AS newer
                WHERE newer.sheet_id IS NULL AND newer.provider = pool.provider AND newer.model = pool.model
                  AND newer.sequence > pool.sequence AND newer.stated_assumptions = FALSE)";
const AS_POOLED: &str = ") AS pooled";
const OF_ESTIMATES: &str = ") AS latest
    CROSS JOIN estimates WHERE estimates.id = latest.estimate_id";

/// Filter of the latest estimates.
#[derive(Debug, Clone, Copy)]
pub struct Latest<'a> {
    /// Filter by the names of the offer.
    pub selection: &'a Selection,
    /// Time at which the price is in force.
    pub as_of: AsOf,
    /// Order by provider or by model.
    pub order: Order,
}

impl<'a> Latest<'a> {
    /// The query of a page.
    fn list(self, after: Option<&'a LatestKey>, limit: u32) -> Query<'a> {
        let priced = Query::new(LATEST).text(self.tables()).text(OF_PRICES);
        let priced = priced.in_force(self.as_of).region_key(self.selection);
        let priced = self.page(priced.names_of_joined(self.selection), after, limit);
        let both = priced.text(AS_PRICED);
        let both = if self.has_pools() {
            let pooled = both.text(POOLED).names_of_pools(self.selection);
            let pooled = pooled.text(IS_LAST_OF_POOL);
            self.page(pooled, after, limit).text(AS_POOLED)
        } else {
            both
        };
        both.text(OF_ESTIMATES).page(self.by_name(), limit)
    }

    fn page(self, rows: Query<'a>, after: Option<&'a LatestKey>, limit: u32) -> Query<'a> {
        let after = after.map(|key| key.values(self.order));
        rows.and_all(self.is_after(), after)
            .page(self.by_name(), limit)
    }

    /// Whether an estimate of several sheets may be in the list: all of them have one region.
    fn has_pools(self) -> bool {
        let regions = &self.selection.region;
        regions.is_empty()
            || regions
                .iter()
                .any(|region| region == PriceSheet::DEFAULT_REGION)
    }

    fn is_after(self) -> &'static str {
        match (self.order.by, self.order.is_descending) {
            (SortKey::Model, false) => "(model, provider, region) > ",
            (SortKey::Model, true) => "(model, provider, region) < ",
            (_, false) => "(provider, model, region) > ",
            (_, true) => "(provider, model, region) < ",
        }
    }

    fn by_name(self) -> &'static str {
        match (self.order.by, self.order.is_descending) {
            (SortKey::Model, false) => " ORDER BY model, provider, region",
            (SortKey::Model, true) => " ORDER BY model DESC, provider DESC, region DESC",
            (_, false) => " ORDER BY provider, model, region",
            (_, true) => " ORDER BY provider DESC, model DESC, region DESC",
        }
    }

    /// SQLite reads the first of two tables first: the few listings of a model, or else the prices in the order of
    /// the list, as far as its page goes.
    fn tables(self) -> &'static str {
        if self.selection.canonical_model.is_empty() {
            "price_intervals AS period CROSS JOIN latest_listings AS listing"
        } else {
            "latest_listings AS listing CROSS JOIN price_intervals AS period"
        }
    }
}

impl LatestKey {
    fn values(&self, order: Order) -> Vec<Value<'_>> {
        let names = match order.by {
            SortKey::Model => [&self.model, &self.provider, &self.region],
            _ => [&self.provider, &self.model, &self.region],
        };
        names.map(Value::from).into()
    }
}

impl EstimateRow {
    /// Place of the row in a list.
    #[must_use]
    pub fn place(&self, order: Order) -> Place {
        match order.by {
            SortKey::Provider => Place::Named(self.provider.clone(), self.sequence),
            SortKey::Model => Place::Named(self.model.clone(), self.sequence),
            _ => Place::Stored(self.sequence),
        }
    }
}

impl Store {
    /// The document of an estimate, if it was that of a price in force at a time, where one is given.
    ///
    /// # Errors
    /// The query fails, or the document is damaged.
    pub async fn estimate(
        &self,
        id: Uuid,
        as_of: Option<AsOf>,
    ) -> Result<Option<String>, StoreError> {
        let document = self.estimate_document(id, as_of).await?;
        Ok(document.map(|document| document.text))
    }

    /// The document of an estimate, with its checksum.
    ///
    /// # Errors
    /// The query fails, or the document is damaged.
    pub async fn estimate_document(
        &self,
        id: Uuid,
        as_of: Option<AsOf>,
    ) -> Result<Option<Document>, StoreError> {
        let query = Query::new(ESTIMATE)
            .bind(id)
            .was_in_force(WAS_IN_FORCE, as_of);
        let stored: Option<StoredDocument> = self.row(query).await?;
        stored.map(|stored| stored.with_checksum(id)).transpose()
    }

    /// Estimates in an order by name or by time, after a place.
    ///
    /// # Errors
    /// The query fails.
    pub async fn estimates(
        &self,
        selection: &Selection,
        times: &Times,
        order: Order,
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Vec<EstimateRow>, StoreError> {
        let stretch = self.stretch("estimates", times, order).await?;
        let list = Query::new(ESTIMATES)
            .sorted(order, SEQUENCE, after, stretch)
            .names(selection, order)
            .stored(times);
        let list = match times.as_of {
            Some(at) => list.text(IS_IN_FORCE).in_force(at).text(" LIMIT 1))"),
            None => list,
        };
        self.listed(list.sorted_page(order, SEQUENCE, limit)).await
    }

    /// The last stored estimate of every (provider, model, region) for a sheet in force, in that order.
    ///
    /// # Errors
    /// The query fails.
    pub async fn latest_estimates(
        &self,
        latest: Latest<'_>,
        after: Option<&LatestKey>,
        limit: u32,
    ) -> Result<Vec<EstimateRow>, StoreError> {
        self.listed(latest.list(after, limit)).await
    }
}
