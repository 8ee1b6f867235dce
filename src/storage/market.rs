//! All models at once, for pages that compare them: the prices of their offers in force, and since a time.

use sqlx::FromRow;
use uuid::Uuid;

use super::list::AsOf;
use super::query::Query;
use super::rows::Piece;
use super::value::Kind;
use super::{DbTime, Store, StoreError};

/// The newest estimate of a model.
#[derive(Debug, Clone, FromRow)]
pub struct NewestEstimateRow {
    /// Id of the estimate.
    pub id: Uuid,
    /// author/model
    pub canonical_model: String,
    /// author
    pub author: String,
}

/// The numbers of an estimate.
#[derive(Debug, Clone, FromRow)]
pub struct EstimateNumbersRow {
    /// Id of the estimate.
    pub id: Uuid,
    /// JSON: a nullable number per column of a list.
    pub row_values: String,
}

/// The prices in force of a model. A row per model, since a row costs more than a price.
#[derive(Debug, Clone, FromRow)]
pub struct MarketOffersRow {
    /// author/model
    pub canonical_model: String,
    offers: String,
}

/// A price in force, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarketOffer<'a> {
    /// Billing provider.
    pub provider: &'a str,
    /// Fresh prompt tokens.
    pub input_per_mtok: Option<f64>,
    /// Generated tokens.
    pub output_per_mtok: Option<f64>,
}

impl MarketOffersRow {
    /// Its prices.
    pub fn offers(&self) -> impl Iterator<Item = MarketOffer<'_>> {
        self.offers.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ' ');
            let mut price = || parts.next().map(|price| price.parse().ok());
            Some(MarketOffer {
                input_per_mtok: price()?,
                output_per_mtok: price()?,
                provider: parts.next()?,
            })
        })
    }
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

const NEWEST: &str = "
    SELECT estimate_id AS id, canonical_model, author FROM model_estimates AS latest WHERE canonical_model > ''";

const NUMBERS: Piece = Piece {
    sql: "SELECT id, row_values FROM given JOIN estimates ON estimates.id = given.column1",
    columns: &[Kind::Id],
};

// No name has a line feed.
const OFFERS: &str = "
    SELECT sheet.canonical_model,
           string_agg(coalesce(CAST(input_price AS text), '') || ' ' || coalesce(CAST(output_price AS text), '') || ' '
                      || sheet.provider, '\n') AS offers
    FROM price_sheets AS sheet CROSS JOIN price_intervals AS period
    WHERE period.sheet_id = sheet.id AND sheet.currency = 'USD' AND sheet.canonical_model > '' AND";

const PAST: &str = "
    SELECT DISTINCT sheet.canonical_model, starts_at, ends_at, output_price AS output_per_mtok
    FROM price_sheets AS sheet CROSS JOIN price_periods AS period
    WHERE period.sheet_id = sheet.id AND withdrawn_at IS NULL AND sheet.currency = 'USD' AND output_price IS NOT NULL
      AND (ends_at IS NULL OR ends_at > $1) AND starts_at <= $2";

/// Most models.
const MOST_MODELS: u32 = 50_000;
/// Most prices of the models of a page.
const MOST_PAST: u32 = 50_000;

impl Store {
    /// The newest estimate of every model, by name, from the sheets that were seen up to a time, where one is given.
    ///
    /// # Errors
    /// The query fails.
    pub async fn newest_estimates(
        &self,
        as_of: Option<DbTime>,
    ) -> Result<Vec<NewestEstimateRow>, StoreError> {
        let newest = Query::new(NEWEST).newest_up_to(as_of);
        let by_name = " ORDER BY canonical_model";
        self.listed(newest.page(by_name, MOST_MODELS)).await
    }

    /// The numbers of estimates, in any order.
    ///
    /// # Errors
    /// The query fails.
    pub async fn numbers_of_estimates(
        &self,
        ids: impl Iterator<Item = Uuid> + Send,
    ) -> Result<Vec<EstimateNumbersRow>, StoreError> {
        let ids = ids.map(|id| vec![id.into()]).collect();
        self.read_rows(&NUMBERS, &ids).await
    }

    /// The prices that are in force of every model that has one, in US dollars, by name.
    ///
    /// # Errors
    /// The query fails.
    pub async fn offers_of_all_models(
        &self,
        as_of: AsOf,
    ) -> Result<Vec<MarketOffersRow>, StoreError> {
        let offers = Query::new(OFFERS).in_force_as_of(as_of);
        let by_name = " GROUP BY sheet.canonical_model ORDER BY sheet.canonical_model";
        self.listed(offers.page(by_name, MOST_MODELS)).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_may_be_missing() {
        let row = MarketOffersRow {
            canonical_model: "a/b".to_owned(),
            offers: "0.15 2 x\n 3e-7 y z".to_owned(),
        };
        let offer = |provider, input_per_mtok, output_per_mtok| MarketOffer {
            provider,
            input_per_mtok,
            output_per_mtok,
        };
        assert_eq!(
            row.offers().collect::<Vec<_>>(),
            [
                offer("x", Some(0.15), Some(2.0)),
                offer("y z", None, Some(3e-7))
            ]
        );
    }
}
