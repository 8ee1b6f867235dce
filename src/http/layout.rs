//! `POST /layout`: a model on racks of GPUs.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::app::App;
use super::calculator::{CalculatorRefusals, calculated};
use super::extract::NoQuery;
use super::extract::{Query, Question};
use super::problem::Problem;
use unroof_core::calculator::layout::request::LayoutRequest;
use unroof_core::calculator::layout::{LayoutAnswer, layout};

/// Lay a model out on racks
///
/// Placement of experts within and across racks and their traffic, the largest expert layer that one scale-up domain
/// holds, costs of pipeline stages, and memory use of a GPU. `series` has the layout over the number of
/// stages; `Accept: text/csv` gives it alone. Nothing is stored.
#[utoipa::path(
    post,
    path = "/layout",
    tag = "forward",
    request_body(content = LayoutRequest, content_type = "application/json", example = json!({
        "hardware": "blackwell-72",
        "model": {"experts": 256, "active_experts": 8, "total_parameters": 671e9, "active_parameters": 37e9},
        "layout": {"expert_parallel_gpus": 64, "pipeline_stages": 4}
    })),
    responses(
        (status = 200, description = "Answered", content((LayoutAnswer = "application/json"), (String = "text/csv"))),
        CalculatorRefusals,
    )
)]
pub(super) async fn lay_out_model(
    State(app): State<App>,
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
    Question(body): Question,
) -> Result<Response, Problem> {
    calculated(
        &app,
        &headers,
        move |_| Ok(layout(&body)?),
        |answer| &answer.series,
    )
    .await
}
