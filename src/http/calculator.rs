//! Shared parts of the calculators: an answer as JSON or its series as CSV, and the refusals.

use std::collections::BTreeMap;

use axum::Extension;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

use super::app::App;
use super::budget::{Counted, Text};
use super::csv::write_csv_of_rows;
use super::problem::Problem;
use super::response_cache::prefers_csv;

/// Refusals of a calculator.
pub(super) struct CalculatorRefusals;

impl IntoResponses for CalculatorRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let refusals = [
            ("400", "The body is not JSON, or the query is wrong"),
            ("408", "The body did not arrive in time"),
            ("413", "Larger than 1 MiB"),
            ("415", "Not JSON in UTF-8"),
            (
                "422",
                "The body is JSON but not a valid request; `errors` lists every fault",
            ),
            ("503", "The request queue is full"),
        ];
        let problem = || Content::new(Some(Ref::from_schema_name("Problem")));
        let refusal = |description: &str| {
            ResponseBuilder::new()
                .description(description)
                .content("application/problem+json", problem())
                .build()
        };
        let refusals = refusals.map(|(status, text)| (status.to_owned(), refusal(text).into()));
        BTreeMap::from(refusals)
    }
}

/// Answer of a calculator: all of it as JSON, or its series as CSV. For a long answer, the calculator reserves memory
/// before it computes.
pub(super) async fn calculated<Answer: Serialize, Row: Serialize>(
    app: &App,
    headers: &HeaderMap,
    answer: impl FnOnce(&mut Text) -> Result<Answer, Problem> + Send + 'static,
    series: impl FnOnce(&Answer) -> &[Row] + Send + 'static,
) -> Result<axum::response::Response, Problem> {
    let is_csv = prefers_csv(headers);
    let budget = app.budget.clone();
    let text = app
        .compute(move |_| {
            let mut text = Text::new(&budget)?;
            let answer = answer(&mut text)?;
            if is_csv {
                text.write_with(|text| write_csv_of_rows(text, series(&answer)))?;
            } else {
                text.write_with(|text| serde_json::to_writer(text, &answer))?;
            }
            text.finish()
        })
        .await?;
    let media_type = if is_csv {
        "text/csv; charset=utf-8"
    } else {
        "application/json"
    };
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, media_type), (header::VARY, "accept")];
    Ok((headers, Extension(Counted), text).into_response())
}
