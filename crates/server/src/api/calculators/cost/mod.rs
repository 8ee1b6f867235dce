//! `POST /cost`: the exact cost of a usage, or of a list of usages line by line.

mod lines;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use self::lines::answer_lines;
use crate::compute::{CALCULATE, Views};
use crate::service::extract::{NoQuery, Question};
use unroof_base::input::RequestError;
use unroof_edge::{BodyRefusals, Counted, NDJSON, NOT_FOUND, Problem, Text, media_type};
use unroof_price_sheet::cost::{Cost, CostEntry, CostRequest, SheetInForce, cost, read_cost};
use unroof_store::{AsOf, PriceInForce};

/// Compute the exact cost of a usage
///
/// Prices the tokens of a request by the stored price of an offer at a time, or by a sheet in the body. Every amount is
/// an exact decimal. The lines name the cells used; schedules, context tiers, service tiers and modifiers are applied as
/// the sheet states them. A used meter without a price has a line without an amount, and the total is null: nothing is
/// billed at 0 because its price is unknown. `sources` has the total by the sheet of every source that lists the offer.
/// With the media type `application/x-ndjson`, the body is a list of such requests, one per line; the answer has a line
/// for each while the body is read, faults included, and a last line `done` with the sums by currency, or `failed`.
/// Nothing is stored.
#[utoipa::path(
    post,
    path = "/cost",
    tag = "price sheets",
    // openapi-python-client needs an optional parameter where there are two kinds of bodies.
    params(("x-request-id" = Option<String>, Header, nullable = false,
        description = "Id of the request, as the answer and the log have it; generated if left out")),
    request_body(content(
        (CostRequest = "application/json", example = json!({
            "price_sheet": {
                "schema": "pricesheet/v1",
                "provider": "acme",
                "model": "m-1",
                "currency": "USD",
                "unit": "per_1m_tokens",
                "rates": [
                    {"input": "1.25", "output": "10.00", "cache_read": "0.125"},
                    {"context_tier": {"min_prompt_tokens": 200_000}, "input": "2.50", "output": "15.00", "cache_read": "0.25"}
                ],
                "sources": [{"url": "https://acme.example/prices", "format": "official"}]
            },
            "at": "2026-11-20T17:00:00Z",
            "usage": {"input_tokens": 12_000, "cached_input_tokens": 10_000, "output_tokens": 800, "reasoning_tokens": 300}
        })),
        (CostRequest = "application/x-ndjson", example = json!({
            "offer": {"provider": "google", "model": "gemini-2.5-pro"},
            "usage": {"input_tokens": 12_000, "output_tokens": 800}
        })),
    )),
    responses(
        (status = 200, description = "The cost, or a line for each usage", content((Cost = "application/json"), (CostEntry = "application/x-ndjson"))),
        BodyRefusals,
        (status = 404, description = "The offer has no price in force at the time", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn price_usage(
    State(views): State<Views>,
    _: NoQuery,
    request: Request,
) -> Result<Response, Problem> {
    if is_list(request.headers()) {
        views.compute.workers.has_room()?;
        return Ok(answer_lines(views, request.into_body()));
    }
    let Question(body) = Question::from_request(request, &views).await?;
    let mut request = views
        .compute
        .run(CALCULATE, move |_| Ok(read_cost(&body)?))
        .await?;
    let as_of = as_of(&views, &request);
    let at = as_of.time().into();
    let priced_by = match priced_by(&views, &mut request, as_of).await? {
        PriceInForce::Sheet(priced_by) => priced_by,
        missing => {
            let fault = request.offer.map(|offer| missing.fault(&offer, at));
            return Err(match (missing, fault) {
                (PriceInForce::None, Some(fault)) => {
                    Problem::new(NOT_FOUND, fault.detail).hint(fault.hint)
                }
                (_, fault) => RequestError::Wrong(fault.into_iter().collect()).into(),
            });
        }
    };
    let budget = views.answers.budget.clone();
    let (id, usage) = (request.id, request.usage);
    let text = views
        .compute
        .run(CALCULATE, move |_| {
            let cost = cost(id, &priced_by, &usage, at);
            let mut text = Text::new(&budget)?;
            text.write_with(|text| serde_json::to_writer(text, &cost))?;
            text.finish()
        })
        .await?;
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, Extension(Counted), text).into_response())
}

/// The moment whose prices count: that of the request, or now.
pub(crate) fn as_of(views: &Views, request: &CostRequest) -> AsOf {
    let now = || AsOf::Now(views.answers.now().into());
    request.at.map_or_else(now, |at| AsOf::Time(at.into()))
}

/// The sheet that prices a usage: that of the request, which is taken out of it, or that of the offer at a time.
///
/// # Errors
/// A query fails.
pub(crate) async fn priced_by(
    views: &Views,
    request: &mut CostRequest,
    as_of: AsOf,
) -> Result<PriceInForce, Problem> {
    Ok(match (request.price_sheet.take(), &request.offer) {
        (Some(sheet), _) => PriceInForce::Sheet(Arc::new(SheetInForce::stated(sheet))),
        (None, Some(offer)) => views.answers.store.price_in_force(offer, as_of).await?,
        // Refused when the body was read.
        (None, None) => PriceInForce::None,
    })
}

/// Whether the body is a list of usages.
fn is_list(headers: &HeaderMap) -> bool {
    let is_plain = !headers.contains_key(header::CONTENT_ENCODING);
    is_plain && media_type(headers).is_some_and(|stated| stated.eq_ignore_ascii_case(NDJSON))
}
