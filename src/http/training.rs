//! `POST /training`: what the training of a model takes.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, Type};

use super::app::App;
use super::calculator::{CalculatorRefusals, calculated};
use super::extract::NoQuery;
use super::extract::{Query, Question};
use super::names::{AcceleratorId, RoutingName};
use super::problem::Problem;
use unroof_core::calculator::training::{TrainingAnswer, training};

/// A question about training. Whatever is left out has a default, which the answer names; `{}` is the lecture's model.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingRequest {
    /// The model.
    #[schema(nullable = false)]
    model: Option<TrainingModel>,
    /// How much it is asked over its life.
    #[schema(nullable = false)]
    demand: Option<TrainingDemand>,
    /// What a token costs.
    #[schema(nullable = false)]
    costs: Option<TrainingCosts>,
    /// Tokens that are decided already; what is left out costs as much as inference.
    #[schema(nullable = false)]
    tokens: Option<TrainingTokens>,
    /// What the backward pass needs of the forward pass.
    #[schema(nullable = false)]
    activations: Option<TrainingActivations>,
    /// Which published law says what sparsity is worth, and where it is asked.
    #[schema(nullable = false)]
    quality: Option<TrainingQuality>,
    /// What it is trained on; without it there are no times and no costs.
    #[schema(nullable = false)]
    cluster: Option<TrainingCluster>,
}

/// A model.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingModel {
    /// `N_a`
    #[schema(nullable = false, minimum = 1, maximum = 1e18, default = json!(1e11))]
    active_parameters: Option<f64>,
    /// Layers.
    #[schema(nullable = false, minimum = 1, maximum = 100_000_000, default = 61)]
    layers: Option<u32>,
    /// Elements of a token between layers.
    #[schema(nullable = false, minimum = 1, maximum = 100_000_000, default = 7168)]
    hidden_dimension: Option<u32>,
    /// Experts per layer over those active per token.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 32)]
    experts_over_active: Option<f64>,
}

/// How much a family of models is asked.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingDemand {
    /// Tokens per second of the family.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e15, default = json!(500e6))]
    tokens_per_second: Option<f64>,
    /// How long the model is served.
    #[schema(nullable = false, minimum = 1e-3, maximum = 100_000, default = 60)]
    lifetime_days: Option<f64>,
    /// Share of the tokens that this model generates.
    #[schema(nullable = false, minimum = 1e-9, maximum = 1, default = 0.1)]
    model_share: Option<f64>,
}

/// What a token costs.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingCosts {
    /// FLOP per active parameter and token of reinforcement learning: 2 if nothing that was generated is learnt from, 6
    /// if all of it is.
    #[schema(nullable = false, minimum = 2, maximum = 6, default = 3)]
    reinforcement_flops_per_parameter: Option<f64>,
    /// η: utilisation of decoding over that of pretraining, a third if left out.
    #[schema(nullable = false, minimum = 1e-3, maximum = 1)]
    relative_decode_utilisation: Option<f64>,
}

/// Tokens that are decided already.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingTokens {
    /// `D_pre`
    #[schema(nullable = false, minimum = 1, maximum = 1e24)]
    pretraining: Option<f64>,
    /// `D_RL`
    #[schema(nullable = false, minimum = 1, maximum = 1e24)]
    reinforcement: Option<f64>,
}

/// What is kept of the forward pass.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingActivations {
    /// Tokens under way at once.
    #[schema(nullable = false, minimum = 1, maximum = 100_000_000, default = 4096)]
    tokens_per_micro_batch: Option<u32>,
    /// Width of an element.
    #[schema(nullable = false, minimum = 0.0625, maximum = 16, default = 2)]
    bytes_per_element: Option<f64>,
    /// Values of the hidden dimension kept per layer and token.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 17)]
    kept_per_layer: Option<f64>,
}

/// What sparsity is worth.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingQuality {
    /// How tokens find their expert.
    #[schema(nullable = false, default = "s-base")]
    routing: Option<RoutingName>,
    /// Size that the law is asked about; that of the model if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    active_parameters: Option<f64>,
    #[schema(schema_with = ratios_of_series)]
    experts_over_active_grid: Option<Vec<f64>>,
}

fn ratios_of_series() -> Array {
    let ratio = ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(1))
        .maximum(Some(1_000_000));
    ArrayBuilder::new()
        .items(ratio)
        .min_items(Some(1))
        .max_items(Some(1_000))
        .description(Some(
            "Experts over active experts of the series; powers of two up to 512 if left out.",
        ))
        .examples([json!([1, 8, 64])])
        .build()
}

/// Accelerators.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingCluster {
    /// Id of `/reference/accelerators`.
    accelerator: AcceleratorId,
    /// How many.
    #[schema(nullable = false, minimum = 1, maximum = 100_000_000, default = 10_000)]
    accelerators: Option<u32>,
    /// Share of peak arithmetic that pretraining reaches.
    #[schema(nullable = false, minimum = 1e-3, maximum = 1, default = 0.4)]
    utilisation: Option<f64>,
    /// Width of what is multiplied; it picks the peak.
    #[schema(nullable = false, minimum = 0.0625, maximum = 16, default = 2)]
    weight_bytes_per_parameter: Option<f64>,
    /// Rent of one; the typical one of the reference data if left out.
    #[schema(nullable = false, minimum = 0, maximum = 1_000_000)]
    rental_usd_per_hour: Option<f64>,
}

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
