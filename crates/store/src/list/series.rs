//! The prices and estimates of a model over time.

use sqlx::FromRow;
use uuid::Uuid;

use super::models::ModelRow;
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};

/// A price of a host of a model, with its period.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct PriceStepRow {
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Currency, an ISO 4217 code.
    pub currency: String,
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Fresh prompt tokens, in `currency` per million.
    pub input_price: Option<f64>,
    /// Price of generated tokens, in `currency` per million.
    pub output_price: Option<f64>,
    /// Prompt tokens found in the cache.
    pub cache_read_price: Option<f64>,
    /// Inclusive; [`UNKNOWN_START`](unroof_price_sheet::history::UNKNOWN_START) where it is not known.
    pub starts_at: DbTime,
    /// End of the period, exclusive.
    pub ends_at: Option<DbTime>,
    /// Source of the start: `stated`, `observed` or `source_added`.
    pub start_basis: String,
    /// Time at which the price before was last seen.
    pub not_before: Option<DbTime>,
    /// Reason for the end: `replaced`, `expired` or `delisted`.
    pub ending: Option<String>,
}

const PRICES: &str = "
    SELECT sheet.provider, sheet.model, sheet.region, sheet.currency, sheet.id AS sheet_id, input_price, output_price,
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
        as_of: Option<DbTime>,
    ) -> Result<Vec<PriceStepRow>, StoreError> {
        let prices = Query::new(PRICES)
            .value(model)
            .and("starts_at <= ", as_of)
            .page(BY_OFFER, MOST_PRICES);
        self.listed(prices).await
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
