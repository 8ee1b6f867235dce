//! `POST /training`: tokens, compute and memory of training a model.

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
/// Tokens and compute of pretraining, reinforcement learning and inference at equal cost, from traffic and lifetime;
/// overtraining; the memory of activations under several recomputation schemes; and the dense equivalent of a sparse
/// model. `series` has the dense equivalents over sparsity; `Accept: text/csv` gives it alone. Nothing is stored.
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
