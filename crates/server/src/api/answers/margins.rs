//! `/margins`: what hosts of open models ask over what the engine says that serving them costs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::models::no_model;
use crate::answers::Answers;
use crate::list::page::AsOfQuery;
use crate::service::extract::{Path, Query};
use unroof_edge::{
    CachedBody, KnownTag, NOT_FOUND, NoModel, Problem, Reply, Running, StoreRefusals, Unchanged,
};
use unroof_infer::evidence::open_name::open_model_of;
use unroof_infer::hosts::league::{HostTable, ModelMargins, PricedOffer, hosts, sellers_of_model};
use unroof_price_sheet::catalog::canonical::{Mode, mode_of};
use unroof_store::{MarketOffer, MarketOffersRow, ModelOfferRow};

/// List hosts by their margins on open models
///
/// Every host with what it asks for open models over the engine's cost at their published architecture: medians over its models,
/// the dearest first. The cost does not depend on a host; a host that is dear for its cost may be fast, small or safe. `law` has the
/// usual prices for a cost, with their record on families and sellers that a fit has not seen.
#[utoipa::path(
    get,
    path = "/margins",
    tag = "estimates",
    params(AsOfQuery, KnownTag),
    responses(
        (status = 200, description = "The hosts, the dearest first", body = HostTable, headers(("etag" = String))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_margins(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let as_of = query.as_of_or_now(answers.now());
    let body = async || {
        let rows = answers.store.offers_of_all_models(as_of).await?;
        write(&answers, move || hosts(&offers_of_all(rows))).await
    };
    let key = format!("margins {:?}", as_of.given());
    answers.polled(key, &headers, body).await
}

/// An open model in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct OpenModelPath {
    /// Author of the model, the first part of the canonical name.
    #[param(example = "openai")]
    author: String,
    /// The second part of the canonical name.
    #[param(example = "gpt-oss-120b")]
    model: String,
}

/// List the sellers of an open model by their margins
///
/// The price of each seller of a model whose architecture is published, beside the engine's cost and the price that is usual for
/// this cost. The cost takes machine, load, context and utilisation as the prior has them: `/models/{author}/{model}` has those
/// that its prices suggest.
#[utoipa::path(
    get,
    path = "/margins/{author}/{model}",
    tag = "estimates",
    params(OpenModelPath, AsOfQuery, KnownTag),
    responses(
        (status = 200, description = "The sellers, the cheapest first", body = ModelMargins, headers(("etag" = String))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn show_margins(
    State(answers): State<Arc<Answers>>,
    Path(path): Path<OpenModelPath>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let name = format!("{}/{}", path.author, path.model);
    let as_of = query.as_of_or_now(answers.now());
    let body = async || {
        if answers.store.model(&name, as_of.given()).await?.is_none() {
            return Err(no_model(&name, as_of.given()));
        }
        if open_model_of(&name).is_none() {
            return Err(not_open(&name));
        }
        let rows = answers.store.offers_of_model(&name, as_of).await?;
        let offers = offers_of(&name, rows);
        let model = name.clone();
        write(&answers, move || sellers_of_model(&model, &offers)).await
    };
    let key = format!("margins of {name} {:?}", as_of.given());
    answers.polled(key, &headers, body).await
}

/// The problem of a model without a published architecture.
fn not_open(name: &str) -> Problem {
    let problem = format!(
        "the architecture of `{name}` is not published: nothing is known to compute its cost from"
    );
    let hint = "GET /models/{author}/{model} has its margins over the cost that its prices suggest; GET /reference/open-models lists \
                the models with a published architecture";
    Problem::new(NOT_FOUND, problem).hint(hint)
}

/// The offers of one model that have a price in US dollars.
fn offers_of(model: &str, rows: Vec<ModelOfferRow>) -> Vec<PricedOffer> {
    // A fast mode has a cost of its own.
    let is_plain = |row: &ModelOfferRow| mode_of(&row.model) != Some(Mode::Speed);
    let in_usd = rows
        .into_iter()
        .filter(|row| row.currency == "USD" && is_plain(row));
    let offer = |row: ModelOfferRow| PricedOffer {
        model: model.to_owned(),
        provider: row.provider,
        prices: [row.input_per_mtok, row.output_per_mtok],
    };
    in_usd.map(offer).collect()
}

fn offers_of_all(rows: Vec<MarketOffersRow>) -> Vec<PricedOffer> {
    let of_model = |row: MarketOffersRow| {
        let model = row.canonical_model;
        let offer = move |offer: MarketOffer| PricedOffer {
            model: model.clone(),
            provider: offer.provider,
            prices: [offer.input_per_mtok, offer.output_per_mtok],
        };
        row.offers.into_iter().map(offer)
    };
    rows.into_iter().flat_map(of_model).collect()
}

/// A document that the workers compute.
async fn write<Document: Serialize>(
    answers: &Answers,
    document: impl FnOnce() -> Document + Send + 'static,
) -> Result<CachedBody, Problem> {
    let permit = answers.permit_to_write().await?;
    let budget = answers.budget.clone();
    let write = move |_: &Running| CachedBody::json(&budget, &document());
    permit.run(write).await?
}
