//! What the calculators share: an answer as JSON or its series as CSV, and how they refuse.

use axum::Extension;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::IntoResponses;

use super::app::App;
use super::budget::{Counted, Text};
use super::csv::write_csv_of_rows;
use super::problem::Problem;
use super::response_cache::prefers_csv;

/// How a calculator refuses.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes the answers, which are problems")]
pub(super) enum CalculatorRefusals {
    /// The body is not JSON, or the query is wrong
    #[response(status = 400, content_type = "application/problem+json")]
    Unreadable(Problem),
    /// The body did not arrive in time
    #[response(status = 408, content_type = "application/problem+json")]
    TooSlow(Problem),
    /// Larger than 1 MiB
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// Not JSON in UTF-8
    #[response(status = 415, content_type = "application/problem+json")]
    NotJson(Problem),
    /// The body is JSON but no such request; `errors` lists every fault
    #[response(status = 422, content_type = "application/problem+json")]
    Invalid(Problem),
    /// Too many requests wait for their answer
    #[response(status = 503, content_type = "application/problem+json")]
    Busy(Problem),
}

/// What a calculator answers: all of it as JSON, or its series as CSV. Where the answer is going to be long, the calculator makes
/// room for it before it works it out.
pub(super) async fn calculated<Answer: Serialize, Row: Serialize>(
    app: &App,
    headers: &HeaderMap,
    answer: impl FnOnce(&mut Text) -> Result<Answer, Problem> + Send + 'static,
    series: impl FnOnce(&Answer) -> &[Row] + Send + 'static,
) -> Result<Response, Problem> {
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
