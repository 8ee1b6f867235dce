//! The prices and estimates of a model over time.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::FromRow;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::models::ModelRow;
use crate::connect::query::Query;
use crate::list::query::AsOf;
use crate::{DbTime, Store, StoreError};
use unroof_base::input::schema::one_of_texts;
use unroof_price_sheet::history::UNKNOWN_START;

/// A price of one host, and the time for which it holds
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct PriceStep {
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Currency as an ISO 4217 code.
    pub currency: String,
    /// The first sheet with these prices.
    pub price_sheet_id: Uuid,
    /// Price of fresh prompt tokens, in `currency` per million.
    #[sqlx(rename = "input_price")]
    pub input_per_mtok: Option<f64>,
    /// Price of generated tokens, in `currency` per million.
    #[sqlx(rename = "output_price")]
    pub output_per_mtok: Option<f64>,
    /// Price of prompt tokens found in the cache, in `currency` per million.
    #[sqlx(rename = "cache_read_price")]
    pub cache_read_per_mtok: Option<f64>,
    /// Inclusive start; null where it is not known.
    #[sqlx(rename = "starts_at")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<DbTime>,
    /// Exclusive end; null until further notice.
    #[sqlx(rename = "ends_at")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub to: Option<DbTime>,
    /// Source of the start: of `source_added`, the price is not known to have changed.
    #[schema(value_type = Option<PriceStart>)]
    pub start_basis: Option<String>,
    /// Time at which the price before was last seen: the price changed between then and `from`. Null where none was, or
    /// where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub not_before: Option<DbTime>,
    /// Reason for the end; null while it is in force.
    #[schema(value_type = Option<PriceEnd>)]
    pub ending: Option<String>,
}

/// The schema of the basis of a start.
pub struct PriceStart;

impl PartialSchema for PriceStart {
    fn schema() -> RefOr<Schema> {
        one_of_texts(["stated", "observed", "source_added"])
            .description(Some(
                "Whether a source states the start, the price was first seen then, or another source stated the offer for the \
                 first time then: a price that is not known to have changed.",
            ))
            .into()
    }
}

impl ToSchema for PriceStart {}

/// The schema of the reason for an end.
pub struct PriceEnd;

impl PartialSchema for PriceEnd {
    fn schema() -> RefOr<Schema> {
        one_of_texts(["replaced", "expired", "delisted", "withdrawn"])
            .description(Some("Reason for the end of a price."))
            .into()
    }
}

impl ToSchema for PriceEnd {}

impl PriceStep {
    /// The price, without the parts of its start that are unknown.
    fn known(mut self) -> Self {
        let is_known = |time: &DbTime| Timestamp::from(*time) != UNKNOWN_START;
        self.from = self.from.filter(is_known);
        self.start_basis = self.start_basis.filter(|_| self.from.is_some());
        self.not_before = self.not_before.filter(is_known);
        self
    }
}

const PRICES: &str = "
    SELECT sheet.provider, sheet.model, sheet.region, sheet.currency, sheet.id AS price_sheet_id, input_price, output_price,
           cache_read_price, starts_at, ends_at, start_basis, not_before, ending
    FROM price_sheets AS sheet CROSS JOIN price_periods AS period
    WHERE period.sheet_id = sheet.id AND withdrawn_at IS NULL AND is_flagged = FALSE AND sheet.canonical_model = ";
const BY_OFFER: &str =
    " ORDER BY sheet.provider, sheet.model, sheet.region, starts_at, period.sequence, part";

const ESTIMATES: &str = "
    SELECT estimate_id AS id, canonical_model, author, engine_version, calibration_id, sheets, decisions, observed_at,
           row_values
    FROM model_estimates AS own CROSS JOIN estimates
    WHERE estimates.id = own.estimate_id AND canonical_model = ";
const NEWEST_FIRST: &str = " ORDER BY own.sequence DESC";

/// Most prices of one model.
const MOST_PRICES: u32 = 5_000;
/// Most estimates of one model, the newest ones.
const MOST_ESTIMATES: u32 = 1_000;

impl Store {
    /// The prices of all hosts of a model, offer by offer, in the order of their starts; up to those in force at a time,
    /// where one is given. Prices that were withdrawn or are under quarantine are left out.
    ///
    /// # Errors
    /// The query fails.
    pub async fn price_steps(
        &self,
        model: &str,
        as_of: Option<AsOf>,
    ) -> Result<Vec<PriceStep>, StoreError> {
        let prices = Query::new(PRICES)
            .value(model)
            .has_begun(as_of)
            .page(BY_OFFER, MOST_PRICES);
        let rows: Vec<PriceStep> = self.listed(prices).await?;
        Ok(rows.into_iter().map(PriceStep::known).collect())
    }

    /// The stored estimates of a model in the order of storing, from sheets that were seen up to a time, where one is given.
    ///
    /// # Errors
    /// The query fails.
    pub async fn estimates_of_model(
        &self,
        model: &str,
        as_of: Option<DbTime>,
    ) -> Result<Vec<ModelRow>, StoreError> {
        let estimates = Query::new(ESTIMATES)
            .value(model)
            .and("observed_at <= ", as_of)
            .page(NEWEST_FIRST, MOST_ESTIMATES);
        let mut rows: Vec<ModelRow> = self.listed(estimates).await?;
        rows.reverse();
        Ok(rows)
    }
}
