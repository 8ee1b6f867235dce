//! `POST /training`: what the training of a model takes.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::app::App;
use super::calculator::{CalculatorRefusals, calculated};
use super::extract::NoQuery;
use super::extract::{Query, Question};
use super::problem::Problem;
use unroof_core::calculator::training::request::TrainingRequest;
use unroof_core::calculator::training::{TrainingAnswer, training};

/// Plan the training of a model
///
/// Pretraining, reinforcement learning and inference that cost the same, from traffic and lifetime; how far that
/// overtrains the model; the memory of activations against computing them again; and what sparsity is worth by the
/// published law. `series` is the last over sparsity; `Accept: text/csv` gives it alone. Nothing is stored.
#[utoipa::path(
    post,
    path = "/training",
    tag = "forward",
    request_body(content = TrainingRequest, content_type = "application/json", example = json!({
        "model": {"active_parameters": 1e11},
        "demand": {"tokens_per_second": 500e6, "lifetime_days": 60, "model_share": 0.1},
        "cluster": {"accelerator": "gb200-nvl72", "accelerators": 100_000}
    })),
    responses(
        (status = 200, description = "Answered", content((TrainingAnswer = "application/json"), (String = "text/csv"))),
        CalculatorRefusals,
    )
)]
pub(super) async fn plan_training(
    State(app): State<App>,
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
    Question(body): Question,
) -> Result<Response, Problem> {
    calculated(
        &app,
        &headers,
        move |_| Ok(training(&body)?),
        |answer| &answer.series,
    )
    .await
}
