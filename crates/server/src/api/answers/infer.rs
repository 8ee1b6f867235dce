//! `POST /infer`: the estimate of a price sheet.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::known_answers::question;
use super::model_link::ModelLink;
use super::observation::Observation;
use super::some_of_answer::{InferReply, members, only};
use super::storing::Storing;
use crate::compute::Views;
use crate::list::page::Moment;
use crate::query::query;
use crate::service::access::Sender;
use crate::service::extract::{Query, Question};
use unroof_base::input::schema::{Name, one_of_texts};
use unroof_edge::{BodyRefusals, Counted, INVALID, Problem, missing_scope};
use unroof_infer::estimate::{Format, InferBody};
use unroof_price_sheet::catalog::{CATALOGS, Catalog};
use unroof_store::ObservedBy;
use unroof_store::access::Scope;

query! {
    /// Format of the body, and whether the answer is stored.
    InferQuery {
        /// Format of the sheet in the body; the canonical form if left out.
        format: CatalogName,
        /// The entry's key in its catalog; needed with `format`.
        #[param(nullable = false, inline, value_type = Option<Name>, example = "gemini/gemini-2.5-pro")]
        model: Option<String>,
        /// `false` only computes. `true` if left out; but for a caller without a key, on a service that needs keys, `false`.
        #[param(nullable = false)]
        store: Option<bool>,
        /// Whether the sheet is an observation of a price, as it is by itself where no assumptions are stated, or a question:
        /// that is stored and listed, but is not a price, not history and not news. With assumptions, or `store=false`, `true` is refused.
        #[param(nullable = false)]
        observe: Option<bool>,
        /// Time of observation of the price; now if left out.
        /// RFC 3339, milliseconds since 1970, or `now`.
        observed_at: Moment,
        /// Members of the answer to return, separated by commas; all if left out. `quantities` has the figures of each, without
        /// prior, moves, equation and track record; a quantity that is named, such as `quantities.active_parameters`, is whole.
        /// The whole answer is stored.
        #[param(nullable = false, pattern = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?(,[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?)*$")]
        fields: Option<String>,
    }
}

/// A catalog, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CatalogName(&'static Catalog);

impl<'de> Deserialize<'de> for CatalogName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map(Self).map_err(D::Error::custom)
    }
}

impl PartialSchema for CatalogName {
    fn schema() -> RefOr<Schema> {
        one_of_texts(CATALOGS.map(Catalog::name)).into()
    }
}

impl ToSchema for CatalogName {}

impl InferQuery {
    fn format(&self, at: impl FnOnce() -> Timestamp) -> Result<Format, Problem> {
        let wrong = |detail: &str, hint: &str| Err(Problem::of_query(detail).hint(hint));
        let is_name = |model: &&String| !model.trim().is_empty() && !model.contains('\0');
        match (self.format, self.model.as_ref().filter(is_name)) {
            (None, _) if self.model.is_none() => Ok(Format::Canonical),
            (Some(CatalogName(catalog)), Some(model)) => Ok(Format::Entry {
                catalog,
                model: model.clone(),
                at: at(),
            }),
            (Some(CatalogName(catalog)), None) => wrong(
                &format!("`format={}` needs `model`", catalog.name()),
                "add `&model=` with the entry's key in the catalog",
            ),
            (None, _) => wrong(
                "`model` goes with `format`",
                "leave `model` out: a canonical sheet names its model",
            ),
        }
    }
}

/// The observation of a price that is sent in a format.
pub(crate) fn observed_by(format: &Format, is_now: bool) -> ObservedBy {
    match format {
        Format::Canonical => ObservedBy::post(is_now),
        Format::Entry { catalog, .. } => ObservedBy::entry(catalog.name(), is_now),
    }
}

/// Estimate from a price sheet
///
/// Answers with the joint estimate: every quantity with its median, its 50 % and 90 % intervals, the prior next to it and
/// the clues that moved it; and with every textbook reading that the sheet allows, each with its equation, its inputs and
/// what it assumes, or with the reason why it is not defined; and with the conflicts between them. Several hosts' sheets
/// of one model are sent as `price_sheets` and answered together. Unless the request has `store=false`, or comes without a key to a
/// service that needs keys and does not have `store=true`, the answer is stored under an id made of the pricing
/// content, the assumptions, the engine version and the calibration: the same question has the same id everywhere, so sending
/// it again is safe and answers 200 instead of 201. `model_estimate` and the header `Link` lead to the estimate from all
/// sheets of the model, and say where the two differ; they are not part of what is stored.
#[utoipa::path(
    post,
    path = "/infer",
    tag = "estimates",
    params(InferQuery),
    request_body(content = InferBody, content_type = "application/json", example = json!({
        "price_sheet": {
            "schema": "pricesheet/v1",
            "provider": "google",
            "model": "gemini-2.5-pro",
            "currency": "USD",
            "unit": "per_1m_tokens",
            "limits": {"context": 1_048_576},
            "rates": [
                {"input": "1.25", "output": "10.00", "cache_read": "0.125", "cache_storage_per_hour": "4.50"},
                {"context_tier": {"min_prompt_tokens": 200_000}, "input": "2.50", "output": "15.00",
                 "cache_read": "0.25", "cache_storage_per_hour": "4.50"}
            ],
            "sources": [{"url": "https://ai.google.dev/gemini-api/docs/pricing", "format": "official"}]
        },
        "assumptions": {"accelerator": "gb200-nvl72", "active_parameters": {"low": 5e10, "high": 2e11}}
    })),
    responses(
        (status = 201, description = "Answered and stored", body = InferReply,
            headers(("location" = String, description = "Path of the stored estimate"),
                ("link" = String, description = "Path of the estimate of the model, where there is one"))),
        (status = 200, description = "A known estimate, or one computed without storing", body = InferReply),
        BodyRefusals,
    )
)]
pub(crate) async fn infer_price_sheet(
    State(views): State<Views>,
    Query(query): Query<InferQuery>,
    sender: Sender,
    uri: Uri,
    Question(body): Question,
) -> Result<Response, Problem> {
    let may_observe = sender.may_observe();
    if query.observe == Some(true) && !may_observe {
        return Err(missing_scope(sender.scope, Scope::Observe));
    }
    let seen_at = query
        .observed_at
        .map(|moment| moment.not_after(views.answers.now()))
        .transpose()?;
    let storing = Storing::of(query.store, sender.is_stranger());
    let question = question(
        &uri,
        &body,
        (may_observe, storing.stored),
        &sender.providers,
    );
    if let Some(known) = views.answers.known_answer(&question).await? {
        tracing::info!(estimate.id = %known.id, is_new = false, "answered");
        return Ok(known.as_ref().into_response());
    }
    let members = query.fields.as_deref().map(members).transpose()?;
    let format = query.format(|| seen_at.unwrap_or_else(|| views.answers.now()))?;
    let observed_by = observed_by(&format, seen_at.is_none());
    if storing.stored {
        // While the database is unreachable, nothing is computed in vain.
        views.answers.version().await?;
    }
    let answered = views.compute.answer(body, format).await?;
    let is_stated = answered.has_assumptions();
    if is_stated && query.observe == Some(true) {
        return Err(Problem::new(
            INVALID,
            "a sheet with assumptions is a question, not an observation of a price",
        )
        .hint("leave out `assumptions`, or `observe=true`"));
    }
    if !storing.stored && query.observe == Some(true) {
        let problem = Problem::of_query("`observe=true` goes with storing");
        return Err(problem.hint("leave out `store=false`, or `observe=true`"));
    }
    let is_observed = query.observe.unwrap_or(!is_stated && may_observe);
    if storing.stored && is_observed {
        sender.check_sheets(answered.sheets())?;
    }
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let mut status = StatusCode::OK;
    let mut observation = None;
    let mut unchanged_since = None;
    let mut asked_at = seen_at;
    if storing.stored {
        let version = views.answers.store.newest();
        let Sender { actor, payer, .. } = sender;
        let observed_by = is_observed.then(|| observed_by.sent_by(actor));
        let stored = answered.save_paid(&views, seen_at, observed_by, &payer);
        let (saved, stored_at) = stored.await?;
        asked_at = Some(stored_at);
        if saved.is_new {
            status = StatusCode::CREATED;
        }
        unchanged_since = saved.version.is_none().then_some(version);
        observation = Some(if is_observed {
            Observation::of_sheets(answered.sheets(), saved.effects, query.observe.is_some())
        } else {
            Observation::of_question(is_stated, may_observe)
        });
        let location = HeaderValue::from_str(&format!("/estimates/{}", answered.answer.id));
        headers.extend(location.ok().map(|location| (header::LOCATION, location)));
    }
    let mut model = None;
    if query.store != Some(false) {
        let quantities = &answered.answer.joint.quantities;
        let asked_at = asked_at.unwrap_or_else(|| views.answers.now());
        model = ModelLink::of(
            &views.answers.store,
            answered.sheets(),
            quantities,
            asked_at,
        )
        .await;
        let link = model.as_ref().map(ModelLink::header);
        let link = link.and_then(|link| HeaderValue::from_str(&link).ok());
        headers.extend(link.map(|link| (header::LINK, link)));
    }
    let id = answered.answer.id;
    tracing::info!(estimate.id = %id, is_new = status == StatusCode::CREATED, "answered");
    let mut document = answered.into_document(observation.as_ref(), &storing, model.as_ref())?;
    if let Some(members) = members {
        let part = only(&document, &members)?;
        document = views.answers.budget.take(part.len())?.keep(part);
    }
    if let Some(version) = unchanged_since {
        let answer = (&headers, &document);
        views
            .answers
            .keep_answer(question, version, id, answer)
            .await;
    }
    Ok((status, headers, Extension(Counted), document).into_response())
}
