//! All models at once, for pages that compare them: the prices of their offers in force, and since a time.

use sqlx::FromRow;

use super::estimates::AsOf;
use super::query::Query;
use super::{DbTime, Store, StoreError};

/// A price in force of some model, in US dollars per million tokens.
#[derive(Debug, Clone, FromRow)]
pub struct MarketOfferRow {
    /// author/model
    pub canonical_model: String,
    /// Billing provider.
    pub provider: String,
    /// Fresh prompt tokens.
    pub input_per_mtok: Option<f64>,
    /// Generated tokens.
    pub output_per_mtok: Option<f64>,
}

/// A price that was in force for a while.
#[derive(Debug, Clone, FromRow)]
pub struct PastPriceRow {
    /// author/model
    pub canonical_model: String,
    /// Inclusive start.
    pub starts_at: DbTime,
    /// Exclusive end; none until further notice.
    pub ends_at: Option<DbTime>,
    /// Generated tokens, in US dollars per million.
    pub output_per_mtok: f64,
}

const OFFERS: &str = "
    SELECT sheet.canonical_model, sheet.provider, input_price AS input_per_mtok, output_price AS output_per_mtok
    FROM price_intervals AS period CROSS JOIN price_sheets AS sheet
    WHERE sheet.id = period.sheet_id AND sheet.canonical_model IS NOT NULL AND sheet.currency = 'USD' AND";

const PAST: &str = "
    SELECT DISTINCT sheet.canonical_model, starts_at, ends_at, output_price AS output_per_mtok
    FROM price_periods AS period CROSS JOIN price_sheets AS sheet
    WHERE sheet.id = period.sheet_id AND withdrawn_at IS NULL AND sheet.currency = 'USD' AND output_price IS NOT NULL
      AND (ends_at IS NULL OR ends_at > $1) AND starts_at <= $2";

/// Most prices of all models together.
const MOST_OFFERS: u32 = 200_000;
/// Most prices of the models of a page.
const MOST_PAST: u32 = 50_000;

impl Store {
    /// The prices of all models that are in force, in US dollars.
    ///
    /// # Errors
    /// The query fails.
    pub async fn offers_of_all_models(
        &self,
        as_of: AsOf,
    ) -> Result<Vec<MarketOfferRow>, StoreError> {
        let is_any_ahead = self.is_any_ahead(as_of).await?;
        let (offers, at) = (Query::new(OFFERS), as_of.time());
        let offers = if is_any_ahead {
            offers.in_force_as_recorded(at)
        } else {
            offers.in_force(at)
        };
        let by_name = " ORDER BY sheet.canonical_model, sheet.provider, sheet.id";
        self.listed(offers.page(by_name, MOST_OFFERS)).await
    }

    /// The prices of some models that were in force between two times.
    ///
    /// # Errors
    /// The query fails.
    pub async fn prices_between(
        &self,
        models: &[String],
        from: DbTime,
        to: DbTime,
    ) -> Result<Vec<PastPriceRow>, StoreError> {
        let past = Query::new(PAST).bind(from).bind(to);
        let past = past.any_of("sheet.canonical_model", models);
        let by_time = " ORDER BY sheet.canonical_model, starts_at";
        self.listed(past.page(by_time, MOST_PAST)).await
    }
}
