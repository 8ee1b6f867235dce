//! `/estimates/{id}/density`: prior and posterior of a stored estimate, drawn again.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use uuid::Uuid;

use super::estimate_density::EstimateDensity;
use crate::compute::{DRAW, Views};
use crate::service::extract::{NoQuery, Path};
use unroof_edge::{CONFLICT, CachedBody, KnownTag, Problem, Reply, StoreRefusals, Unchanged};
use unroof_infer::estimate::density::Densities;
use unroof_infer::estimate::{NotRepeatable, Question};
use unroof_store::{ModelSheetRow, StoreError};

/// Show the prior and posterior of an estimate
///
/// Per quantity the density before and after the sheets are read, both on one logarithmic grid of 64 values, per unit of
/// ln(value); and 500 draws of all quantities together, each of equal weight. They are drawn again from the stored sheets,
/// by the same engine and the same calibration: the medians are those of the estimate. An estimate of another engine or
/// calibration is refused.
#[utoipa::path(
    get,
    path = "/estimates/{id}/density",
    tag = "estimates",
    params(("id" = Uuid, Path, description = "Id of the estimate"), KnownTag),
    responses(
        (status = 200, description = "Densities and draws", body = EstimateDensity, headers(("etag" = String))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such estimate", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The estimate is by another engine or calibration", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_density(
    State(views): State<Views>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    headers: HeaderMap,
) -> Reply {
    let body = async || {
        let density = read_density(&views, id).await?;
        CachedBody::json(&views.answers.budget, &*density)
    };
    views
        .answers
        .polled(format!("density {id}"), &headers, body)
        .await
}

/// The densities of a stored estimate.
///
/// # Errors
/// There is no such estimate, it was made by another engine or calibration, or the service is busy.
pub(crate) async fn read_density(views: &Views, id: Uuid) -> Result<Arc<EstimateDensity>, Problem> {
    // One in memory may have been deleted.
    if views
        .answers
        .store
        .stored_estimates(&[id])
        .await?
        .is_empty()
    {
        return Err(Problem::not_found("estimate"));
    }
    let drawn = views
        .compute
        .densities
        .try_get_with(id, Box::pin(draw(views, id)));
    drawn
        .await
        .map_err(|problem: Arc<Problem>| (*problem).clone())
}

async fn draw(views: &Views, id: Uuid) -> Result<Arc<EstimateDensity>, Problem> {
    let document = views.answers.store.estimate(id, None).await?;
    let document = document.ok_or_else(|| Problem::not_found("estimate"))?;
    let sheets = views.answers.store.sheets_of_estimate(id).await?;
    let estimator = views.compute.estimator.clone();
    let density = views.compute.run(DRAW, move |running| {
        let sheets = documents(sheets)?;
        let question = Question::of_stored(&document, &sheets, &estimator)
            .map_err(|reason| not_repeatable(&document, &reason))?;
        let (samples, serving) = question.samples_and_serving(&estimator, running.wanted())?;
        Ok(EstimateDensity {
            id,
            calibration_id: estimator.calibration_id().to_owned(),
            engine_version: unroof_infer::estimate::ENGINE_VERSION.to_owned(),
            densities: Densities::of(&samples),
            serving,
        })
    });
    density.await.map(Arc::new)
}

/// The documents of sheets, by their ids.
pub(crate) fn documents(sheets: Vec<ModelSheetRow>) -> Result<BTreeMap<Uuid, String>, StoreError> {
    let document = |sheet: ModelSheetRow| Ok((sheet.id, sheet.document()?));
    sheets.into_iter().map(document).collect()
}

/// The name of the model in a stored estimate.
#[derive(Deserialize)]
struct Named {
    canonical_model: Option<String>,
    #[serde(default)]
    price_sheets: Vec<NamedSheet>,
}

#[derive(Deserialize)]
struct NamedSheet {
    #[serde(default)]
    canonical_model: Option<String>,
}

/// The refusal of an estimate whose draws cannot be made again, with the way to the newest one.
pub(crate) fn not_repeatable(document: &str, reason: &NotRepeatable) -> Problem {
    let named: Option<Named> = serde_json::from_str(document).ok();
    let model = named.and_then(|named| {
        let of_sheet = |sheet: NamedSheet| sheet.canonical_model;
        named
            .canonical_model
            .or_else(|| named.price_sheets.into_iter().find_map(of_sheet))
    });
    let hint = match model {
        Some(model) => format!("GET /models/{model} has the id of the newest estimate of this model"),
        None => "GET /estimates/latest has the ids of the newest estimates; POST /infer estimates the sheet again"
            .to_owned(),
    };
    Problem::new(CONFLICT, reason.to_string()).hint(hint)
}
