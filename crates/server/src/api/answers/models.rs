//! `/models` and `/vendors`: one estimate per model, and a vendor's models together.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::answers::Answers;
use crate::compute::{Views, Work};
use crate::list::page::{AsOfQuery, Moment, fields, prefix};
use crate::list::{List, Piece, Rows, list};
use crate::service::extract::{Path, Query};
use unroof_edge::{
    CachedBody, KnownTag, NOT_FOUND, Names, NoModel, Problem, Reply, Running, StoreRefusals, Text,
    Unchanged,
};
use unroof_infer::estimate::margins::ImpliedMargin;
use unroof_infer::estimate::model::{ModelEstimate, ModelPool};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::vendor::{MOST_MODELS, VendorEstimate, VendorModel, estimate};
use unroof_infer::estimate::{Column, ModelCosts, columns};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::vendors::vendor;
use unroof_store::access::Scope;
use unroof_store::{
    AsOf, DbTime, ModelOfferRow, ModelRow, ModelSelection, ModelSheetRow, Store, StoreError,
    quantity_columns,
};

/// The columns of quantities, described.
pub(crate) fn described_columns() -> impl Iterator<Item = &'static Column> {
    let names: Vec<&str> = quantity_columns().collect();
    columns()
        .iter()
        .filter(move |column| names.contains(&column.name))
}

list! {
    /// List the estimate of every model
    ///
    /// One row per canonical model, by name: the joint estimate from the sheets of all its hosts and all periods together.
    list_models: "/models" in "estimates",
    "A page of models" of ModelRow,
    /// Filter of the estimates of models.
    ModelsQuery {
        /// Author of the model; several separated by commas.
        author: Names,
        canonical_model,
        /// Beginning of the canonical name, with or without what is before the last `/`, in any case.
        text q,
        /// Only from sheets that were seen up to this time: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
    }
}

impl List for ModelsQuery {
    const NAME: &'static str = "models";
    type Row = ModelRow;
    type Key = String;

    fn columns() -> Vec<String> {
        let values = quantity_columns().map(str::to_owned);
        fields::<ModelRow>().into_iter().chain(values).collect()
    }

    fn key(&self, row: &ModelRow) -> String {
        row.canonical_model.clone()
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, String>) -> Rows<ModelRow> {
        let selection = ModelSelection {
            author: Names::list(self.author.clone()),
            canonical_model: Names::list(self.canonical_model.clone()),
            prefix: prefix(self.q.as_deref())?,
            as_of: Moment::as_of(self.as_of, (piece.now)()).and_then(AsOf::given),
        };
        let rows = store.models(&selection, piece.after.as_deref(), piece.limit);
        Ok(rows.await?)
    }
}

/// The estimate of a model with the offers in force.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelDocument {
    /// Stored estimate of the model.
    #[serde(flatten)]
    estimate: ModelEstimate,
    /// Every offer of the model in force, by provider, model and region.
    offers: Vec<ModelOffer>,
}

/// An offer of a model, with its margins over the model's pooled cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelOffer {
    /// Offer of the model.
    #[serde(flatten)]
    pub(crate) offer: ModelOfferRow,
    /// Implied margin of input tokens, 1 − cost ÷ price; null without a price in US dollars.
    #[schema(required)]
    pub(crate) input_margin: Option<ImpliedMargin>,
    /// Implied margin of output tokens.
    #[schema(required)]
    pub(crate) output_margin: Option<ImpliedMargin>,
}

impl ModelOffer {
    fn new(offer: ModelOfferRow, costs: &ModelCosts) -> Self {
        let is_usd = offer.currency == "USD";
        let margin = |price: Option<f64>, cost| costs.margin(price.filter(|_| is_usd)?, cost);
        Self {
            input_margin: margin(offer.input_per_mtok, JointQuantity::CostInput),
            output_margin: margin(offer.output_per_mtok, JointQuantity::CostOutput),
            offer,
        }
    }
}

/// Show the estimate of a model
///
/// The joint estimate from all sheets of a canonical model: every host and every period. What differs between them is
/// markup, hardware and copying, not the model, so that a new price changes a margin more than the size. Each offer in
/// force is listed with its implied margin over the pooled cost. `as_of` answers from the sheets that were seen by then.
#[utoipa::path(
    get,
    path = "/models/{author}/{model}",
    tag = "estimates",
    params(ModelPath, AsOfQuery, KnownTag),
    responses(
        (status = 200, description = "The estimate with the offers in force", body = ModelDocument, headers(("etag" = String))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn show_model(
    State(answers): State<Arc<Answers>>,
    Path(path): Path<ModelPath>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let name = path.name();
    let as_of = query.as_of_or_now(answers.now());
    let body = || write_model(&answers, &name, as_of);
    answers
        .polled(format!("model {name} {:?}", as_of.given()), &headers, body)
        .await
}

async fn write_model(answers: &Answers, name: &str, as_of: AsOf) -> Result<CachedBody, Problem> {
    let permit = answers.permit_to_write().await?;
    let shown = ModelShown::read(&answers.store, name, as_of).await?;
    let shown = shown.ok_or_else(|| no_model(name, as_of.given()))?;
    let budget = answers.budget.clone();
    let write = move |_: &Running| {
        let mut text = Text::new(&budget)?;
        text.write_with(|text| std::io::Write::write_all(text, shown.document.as_bytes()))?;
        text.add_member("offers", &shown.offers)?;
        Ok(CachedBody::new(text.finish()?, "application/json", None))
    };
    permit.run(write).await?
}

/// A model in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct ModelPath {
    /// Author of the model, the first part of the canonical name.
    #[param(example = "google")]
    author: String,
    /// The second part of the canonical name.
    #[param(example = "gemini-2.5-pro")]
    model: String,
}

impl ModelPath {
    /// Canonical name of the model.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.author, self.model)
    }
}

/// A stored estimate of a model, with the offers in force.
pub(crate) struct ModelShown {
    /// Stored estimate, as JSON.
    document: String,
    /// The offers, by provider, model and region.
    pub(crate) offers: Vec<ModelOffer>,
}

impl ModelShown {
    /// The estimate of a model, from the sheets that were seen up to a time, with the offers in force then.
    ///
    /// # Errors
    /// The query fails, or the document is damaged.
    pub(crate) async fn read(
        store: &Store,
        name: &str,
        as_of: AsOf,
    ) -> Result<Option<Self>, StoreError> {
        let Some(row) = store.model(name, as_of.given()).await? else {
            return Ok(None);
        };
        let document = store.estimate(row.id, None).await?;
        let document = document.ok_or(StoreError::Damaged(row.id))?;
        let offers = store.offers_of_model(name, as_of).await?;
        let costs = ModelCosts::read(&document, &row.row_values);
        let offers = offers
            .into_iter()
            .map(|offer| ModelOffer::new(offer, &costs));
        Ok(Some(Self {
            offers: offers.collect(),
            document,
        }))
    }

    /// Stored estimate, as JSON.
    pub(crate) fn document(&self) -> &str {
        &self.document
    }
}

/// The problem of a name without an estimate.
pub(crate) fn no_model(name: &str, as_of: Option<DbTime>) -> Problem {
    let by_then = as_of.map_or("", |_| " at that time");
    let problem = Problem::new(
        NOT_FOUND,
        format!("there is no estimate of a model `{name}`{by_then}"),
    );
    problem.hint(
        "GET /models lists the models by their canonical names; a sheet that was just stored is part of its model's estimate \
         within seconds",
    )
}

/// A vendor's models together
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VendorDocument {
    /// The author of the models.
    #[schema(example = "anthropic")]
    vendor: String,
    /// The calibration behind the estimate.
    calibration_id: String,
    /// Models of the author that the vendor does not sell itself now, or beyond the first 16 by name.
    left_out: Vec<String>,
    /// The models with a common markup and a common accelerator; null where the vendor sells none of its models itself.
    #[schema(required)]
    together: Option<VendorEstimate>,
}

/// Show a vendor's models together
///
/// The models of an author as the author itself sells them, drawn with one markup and one accelerator in common: the ratio
/// of two of them is known better than the size of either. Of each model the sheet in force counts.
#[utoipa::path(
    get,
    path = "/vendors/{name}",
    tag = "estimates",
    params(
        ("name" = String, Path, description = "Author of the models, as in canonical names", example = "google"),
        AsOfQuery,
        KnownTag,
    ),
    responses(
        (status = 200, description = "The vendor's models together", body = VendorDocument, headers(("etag" = String))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such vendor", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_vendor(
    State(views): State<Views>,
    Path(name): Path<String>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let as_of = query.as_of_or_now(views.answers.now());
    let body = || write_vendor(&views, &name, as_of);
    views
        .answers
        .polled(format!("vendor {name} {:?}", as_of.given()), &headers, body)
        .await
}

/// A model of a vendor, drawn once and weighed for every markup.
const DRAW_OF_VENDOR: Work = Work::new(Scope::Read, 60, 176);
/// Models of a vendor that are looked at.
const MOST_LISTED: u32 = 500;

async fn write_vendor(views: &Views, name: &str, as_of: AsOf) -> Result<CachedBody, Problem> {
    let selection = ModelSelection {
        author: vec![name.to_owned()],
        as_of: as_of.given(),
        ..ModelSelection::default()
    };
    let models = views.answers.store.models(&selection, None, MOST_LISTED);
    let models = models.await?;
    if models.is_empty() {
        let problem = Problem::new(
            NOT_FOUND,
            format!("there is no model by the author `{name}`"),
        );
        return Err(problem.hint("GET /models lists the models; the part before `/` is the author"));
    }
    let mut left_out: Vec<String> = models.into_iter().map(|row| row.canonical_model).collect();
    let sold = own_sheets(&views.answers, &left_out, name, as_of).await?;
    left_out.retain(|model| sold.iter().all(|(sold, _)| sold != model));
    let (estimator, budget) = (
        views.compute.estimator.clone(),
        views.answers.budget.clone(),
    );
    let seller = name.to_owned();
    let work = DRAW_OF_VENDOR.times(sold.len());
    let document = views.compute.run(work, move |running| {
        let models = sold
            .into_iter()
            .map(|(canonical_model, sheets)| VendorModel {
                sheets: ModelPool::new(&canonical_model, &sheets).used(),
                canonical_model,
            });
        let models: Vec<VendorModel> = models.collect();
        let together = estimate(&seller, &models, estimator.calibration(), running.wanted())?;
        let document = VendorDocument {
            vendor: seller,
            calibration_id: estimator.calibration_id().to_owned(),
            left_out,
            together,
        };
        CachedBody::json(&budget, &document)
    });
    document.await
}

/// The sheets in force by which a vendor sells models itself, by model: of the first [`MOST_MODELS`] that it sells.
pub(crate) async fn own_sheets(
    answers: &Answers,
    models: &[String],
    seller: &str,
    at: AsOf,
) -> Result<Vec<(String, Vec<PriceSheet>)>, Problem> {
    let seller = vendor(seller);
    let mut sold: Vec<(String, Vec<Uuid>)> = Vec::new();
    for row in answers.store.sellers_of_models(models, at).await? {
        if vendor(&row.provider) != seller {
            continue;
        }
        match sold.last_mut() {
            Some((model, ids)) if *model == row.canonical_model => ids.push(row.price_sheet_id),
            _ => sold.push((row.canonical_model, vec![row.price_sheet_id])),
        }
    }
    sold.truncate(MOST_MODELS);
    let ids: Vec<Uuid> = sold.iter().flat_map(|(_, ids)| ids.clone()).collect();
    let rows = answers.store.sheets_with_ids(&ids).await?;
    let rows = rows.into_iter().map(|row| (row.id, row));
    let mut rows: HashMap<Uuid, ModelSheetRow> = rows.collect();
    let mut sheet = |id: Uuid| rows.remove(&id).ok_or(StoreError::Damaged(id))?.sheet();
    let mut sheets = |ids: Vec<Uuid>| ids.into_iter().map(&mut sheet).collect::<Result<_, _>>();
    let sold = sold.into_iter();
    Ok(sold
        .map(|(model, ids)| Ok((model, sheets(ids)?)))
        .collect::<Result<_, StoreError>>()?)
}
