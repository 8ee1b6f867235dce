//! All models at once, for pages that compare them: the prices of their offers in force, and since a time.

use serde::Deserialize;
use sqlx::FromRow;
use uuid::Uuid;

use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::Kind;
use crate::list::query::AsOf;
use crate::{DbTime, Store, StoreError};

/// The newest estimate of a model.
#[derive(Debug, Clone, FromRow)]
pub struct NewestEstimateRow {
    /// Id of the estimate.
    pub id: Uuid,
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// Author of the model.
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
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// The prices, as the database writes them in JSON.
    #[sqlx(json)]
    pub offers: Vec<MarketOffer>,
}

/// A price in force, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MarketOffer {
    /// Billing provider.
    pub provider: String,
    /// Fresh prompt tokens.
    pub input_per_mtok: Option<f64>,
    /// Price of generated tokens, USD per million.
    pub output_per_mtok: Option<f64>,
}

/// A price that was in force for a while.
#[derive(Debug, Clone, FromRow)]
pub struct PastPriceRow {
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// Start of the period, inclusive.
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

/// The prices of a model as an array of objects, one for each [`MarketOffer`].
const OFFERS_OF_SQLITE: &str = "json_group_array(json_object(";
const OFFERS_OF_POSTGRES: &str = "json_agg(json_build_object(";
const OFFERS: &str = "
        'provider', sheet.provider, 'input_per_mtok', input_price, 'output_per_mtok', output_price)) AS offers
    FROM price_sheets AS sheet CROSS JOIN price_intervals AS period
    WHERE period.sheet_id = sheet.id AND sheet.currency = 'USD' AND sheet.canonical_model > '' AND";

const PAST: &str = "
    SELECT DISTINCT sheet.canonical_model, starts_at, ends_at, output_price AS output_per_mtok
    FROM price_sheets AS sheet CROSS JOIN price_periods AS period
    WHERE period.sheet_id = sheet.id AND withdrawn_at IS NULL AND sheet.currency = 'USD' AND output_price IS NOT NULL
      AND (ends_at IS NULL OR ends_at > $1) AND starts_at <= $2";

/// Greatest number of models that are read.
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
        let array = match self.pool {
            Pool::Postgres { .. } => OFFERS_OF_POSTGRES,
            Pool::Sqlite { .. } => OFFERS_OF_SQLITE,
        };
        let offers = Query::new("SELECT sheet.canonical_model, ").text(array);
        let offers = offers.text(OFFERS).in_force(as_of);
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
