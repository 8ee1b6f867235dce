//! `POST /simulate`: time, memory and cost of a model on a machine.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::app::App;
use super::calculator::{CalculatorRefusals, calculated};
use super::extract::NoQuery;
use super::extract::{Query, Question};
use super::problem::Problem;
use unroof_core::calculator::simulate::request::SimulateRequest;
use unroof_core::calculator::simulate::{SimulationAnswer, read_simulation};

/// Approximate bytes of the answer per point of a grid.
const BYTES_PER_POINT: usize = 700;

/// Simulate a model on a machine
///
/// Time of a decode step and of a prefill pass by component, speed per user and per accelerator, memory, the
/// largest batch that fits, cost per token. With `grid`, `series` repeats it over batches and contexts; `Accept:
/// text/csv` gives the series alone. With `price_sheet`, the answer has the sheet that the machine implies, ready to be
/// sent to `/infer`. Nothing is stored.
#[utoipa::path(
    post,
    path = "/simulate",
    tag = "forward",
    request_body(content = SimulateRequest, content_type = "application/json", example = json!({
        "model": "DeepSeek-V3",
        "machine": {"accelerator": "h800", "chips": 144},
        "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 2},
        "operating_point": {"batch_per_chip": 88, "context_tokens": 4989},
        "grid": {"batch": {"from": 1, "to": 20_000, "points": 40}},
        "price_sheet": {"input_margin": 0.5, "output_margin": 0.5, "thresholds_tokens": [32_000]}
    })),
    responses(
        (status = 200, description = "Answered", content((SimulationAnswer = "application/json"), (String = "text/csv"))),
        CalculatorRefusals,
    )
)]
pub(super) async fn simulate_model(
    State(app): State<App>,
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
    Question(body): Question,
) -> Result<Response, Problem> {
    calculated(
        &app,
        &headers,
        move |text| {
            let question = read_simulation(&body)?;
            text.expect(question.points() * BYTES_PER_POINT)?;
            Ok(question.answer())
        },
        |answer| &answer.series,
    )
    .await
}
