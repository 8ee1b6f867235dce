//! The estimates of models: the sheets that they are drawn from, and lists of them.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::Kind::Id;
use crate::list::public_size::PublicSize;
use crate::list::query::{AsOf, NamePrefix};
use crate::list::row_values;
use crate::record::checksum::StoredDocument;
use crate::{DbTime, Store, StoreError};
use unroof_price_sheet::sheet::PriceSheet;

/// A sheet of a model.
#[derive(Debug, Clone, FromRow)]
pub struct ModelSheetRow {
    /// Id of its content.
    pub id: Uuid,
    /// Time at which it was first seen.
    pub observed_at: DbTime,
    #[sqlx(flatten)]
    document: StoredDocument,
}

impl ModelSheetRow {
    /// The sheet's document.
    ///
    /// # Errors
    /// It is damaged.
    pub fn document(self) -> Result<String, StoreError> {
        self.document.checked(self.id)
    }

    /// The sheet.
    ///
    /// # Errors
    /// The stored document is damaged.
    pub fn sheet(&self) -> Result<PriceSheet, StoreError> {
        self.document.sheet(self.id)
    }
}

/// A stored answer with its row in lists.
#[derive(Debug, Clone, FromRow)]
pub struct StoredAnswer {
    /// JSON: a nullable number per column of a list.
    pub row_values: String,
    #[sqlx(flatten)]
    document: StoredDocument,
}

impl StoredAnswer {
    /// The answer's document, of this id.
    ///
    /// # Errors
    /// It is damaged.
    pub fn document(self, id: Uuid) -> Result<String, StoreError> {
        self.document.checked(id)
    }
}

/// The estimate of a model as a flat row: median, 90 % interval and whether it is identified per quantity.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
#[schema(as = ModelItem)]
pub struct ModelRow {
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// The author of the model.
    pub author: String,
    /// Id of the estimate.
    pub id: Uuid,
    /// Sheets of the model: all hosts and all periods.
    pub sheets: i64,
    /// Separate pricing decisions among them.
    pub decisions: i64,
    /// Time at which the newest of its sheets was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// Version of the estimation engine.
    pub engine_version: String,
    /// The calibration behind the estimate.
    pub calibration_id: String,
    /// Published active parameters: of the model's architecture, else a size in its name; null where none is public.
    #[sqlx(rename = "canonical_model", try_from = "Option<String>")]
    #[schema(value_type = Option<f64>)]
    pub published_active_parameters: PublicSize<false>,
    /// Published total parameters, likewise.
    #[sqlx(rename = "canonical_model", try_from = "Option<String>")]
    #[schema(value_type = Option<f64>)]
    pub published_total_parameters: PublicSize<true>,
    /// Four values per quantity.
    #[serde(flatten, serialize_with = "row_values::quantities")]
    #[schema(ignore)]
    pub row_values: String,
}

/// A price in force of a model.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct ModelOfferRow {
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Currency as an ISO 4217 code.
    pub currency: String,
    /// The sheet in force.
    pub price_sheet_id: Uuid,
    /// Fresh prompt tokens, in `currency` per million.
    pub input_per_mtok: Option<f64>,
    /// Generated tokens, in `currency` per million.
    pub output_per_mtok: Option<f64>,
    /// Prompt tokens found in the cache, in `currency` per million.
    pub cache_read_per_mtok: Option<f64>,
}

/// A sheet in force, by which a provider sells a model.
#[derive(Debug, Clone, FromRow)]
pub struct SellerRow {
    /// Canonical name, `author/model`.
    pub canonical_model: String,
    /// Provider that bills for the offer.
    pub provider: String,
    /// The sheet in force.
    pub price_sheet_id: Uuid,
}

// A sheet without a period states what another source states better, or was withdrawn; one under quarantine is left out too.
const SHEETS: &str = "
    SELECT id, observed_at, document, checksum FROM price_sheets
    WHERE canonical_model = $1 AND observed = TRUE AND EXISTS (
        SELECT 1 FROM price_periods AS period
        WHERE period.sheet_id = price_sheets.id AND withdrawn_at IS NULL AND is_flagged = FALSE)
    ORDER BY id";

const DRAWN_FROM: &str = "
    SELECT sheet.id, sheet.observed_at, sheet.document, sheet.checksum
    FROM estimate_sheets AS drawn JOIN price_sheets AS sheet ON sheet.id = drawn.sheet_id
    WHERE drawn.estimate_id = $1
    ORDER BY sheet.id";

const ANSWER: &str = "SELECT row_values, document, checksum FROM estimates WHERE id = $1";

const MODELS: &str = "
    SELECT estimate_id AS id, canonical_model, author, engine_version, calibration_id, sheets, decisions, observed_at,
           row_values
    FROM (SELECT model_estimates.*, 'model' AS provider, canonical_model AS model FROM model_estimates) AS latest
    JOIN estimates ON estimates.id = latest.estimate_id
    WHERE canonical_model > ";
const IS_LAST: &str = "
    AND NOT EXISTS (
        SELECT 1 FROM model_estimates AS newer
        WHERE newer.canonical_model = latest.canonical_model AND newer.sequence > latest.sequence";

const OFFERS: &str = "
    SELECT sheet.provider, sheet.model, sheet.region, sheet.currency, sheet.id AS price_sheet_id,
           input_price AS input_per_mtok, output_price AS output_per_mtok,
           cache_read_price AS cache_read_per_mtok
    FROM price_sheets AS sheet CROSS JOIN price_intervals AS period
    WHERE period.sheet_id = sheet.id AND sheet.canonical_model = ";

const SELLERS: &str = "
    SELECT sheet.canonical_model, sheet.provider, sheet.id AS price_sheet_id
    FROM price_sheets AS sheet CROSS JOIN price_intervals AS period
    WHERE period.sheet_id = sheet.id";

const DOCUMENTS: Piece = Piece {
    sql: "
        SELECT sheet.id, sheet.observed_at, sheet.document, sheet.checksum
        FROM given CROSS JOIN price_sheets AS sheet
        WHERE sheet.id = given.column1",
    columns: &[Id],
};

impl Query<'_> {
    /// Only the newest estimate of a model, from the sheets that were seen up to a time, where one is given.
    pub(crate) fn newest_up_to(self, as_of: Option<DbTime>) -> Self {
        self.and("observed_at <= ", as_of)
            .text(IS_LAST)
            .and("newer.observed_at <= ", as_of)
            .text(")")
    }
}

/// Most offers of one model, and of the models of one author.
const MOST_OFFERS: u32 = 2_000;
const MOST_OFFERS_OF_AUTHOR: u32 = 20_000;

/// Filter of estimates of models.
#[derive(Debug, Clone, Default)]
pub struct ModelSelection {
    /// Authors; all where it is empty.
    pub author: Vec<String>,
    /// Canonical names; all where it is empty.
    pub canonical_model: Vec<String>,
    /// Prefix of a name.
    pub prefix: Option<NamePrefix>,
    /// Only sheets that were seen up to this time.
    pub as_of: Option<DbTime>,
}

impl Store {
    /// The sheets of a model that state a price, of every host and every period.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sheets_of_model(&self, model: &str) -> Result<Vec<ModelSheetRow>, StoreError> {
        self.rows(Query::new(SHEETS).bind(model)).await
    }

    /// The sheets that an estimate was drawn from.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sheets_of_estimate(&self, id: Uuid) -> Result<Vec<ModelSheetRow>, StoreError> {
        self.rows(Query::new(DRAWN_FROM).bind(id)).await
    }

    /// A stored answer, with its row.
    ///
    /// # Errors
    /// The query fails.
    pub async fn stored_answer(&self, id: Uuid) -> Result<Option<StoredAnswer>, StoreError> {
        self.row(Query::new(ANSWER).bind(id)).await
    }

    /// The newest estimate of every model, by name, after a name.
    ///
    /// # Errors
    /// The query fails.
    pub async fn models(
        &self,
        selection: &ModelSelection,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ModelRow>, StoreError> {
        let mut names = selection.author.iter().chain(&selection.canonical_model);
        // No stored text has NUL, and PostgreSQL refuses it.
        if names.any(|name| name.contains('\0')) {
            return Ok(Vec::new());
        }
        let list = Query::new(MODELS)
            .value(after.unwrap_or_default())
            .any_of("author", &selection.author)
            .any_of("canonical_model", &selection.canonical_model)
            .prefix(selection.prefix.as_ref())
            .newest_up_to(selection.as_of);
        self.listed(list.page(" ORDER BY canonical_model", limit))
            .await
    }

    /// The newest estimate of a model, from the sheets that were seen up to a time, where one is given.
    ///
    /// # Errors
    /// The query fails.
    pub async fn model(
        &self,
        model: &str,
        as_of: Option<DbTime>,
    ) -> Result<Option<ModelRow>, StoreError> {
        let selection = ModelSelection {
            canonical_model: vec![model.to_owned()],
            as_of,
            ..ModelSelection::default()
        };
        Ok(self.models(&selection, None, 1).await?.pop())
    }

    /// The prices of a model that are in force, by provider, model and region.
    ///
    /// # Errors
    /// The query fails.
    pub async fn offers_of_model(
        &self,
        model: &str,
        as_of: AsOf,
    ) -> Result<Vec<ModelOfferRow>, StoreError> {
        let offers = Query::new(OFFERS).value(model).text(" AND ");
        let offers = offers.in_force(as_of);
        let by_name = " ORDER BY sheet.provider, sheet.model, sheet.region";
        self.listed(offers.page(by_name, MOST_OFFERS)).await
    }

    /// Sellers of some models, by model, provider, name and region.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sellers_of_models(
        &self,
        models: &[String],
        at: AsOf,
    ) -> Result<Vec<SellerRow>, StoreError> {
        let sellers = Query::new(SELLERS)
            .any_of("sheet.canonical_model", models)
            .text(" AND ")
            .in_force(at);
        let by_name = " ORDER BY sheet.canonical_model, sheet.provider, sheet.model, sheet.region";
        self.listed(sellers.page(by_name, MOST_OFFERS_OF_AUTHOR))
            .await
    }

    /// Some sheets with their documents, in no order.
    ///
    /// # Errors
    /// The query fails.
    pub async fn sheets_with_ids(&self, ids: &[Uuid]) -> Result<Vec<ModelSheetRow>, StoreError> {
        let ids = ids.iter().map(|id| vec![(*id).into()]).collect();
        self.read_rows(&DOCUMENTS, &ids).await
    }
}
