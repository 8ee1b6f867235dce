//! `POST /layout`: a model on racks of GPUs.

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
use super::names::RackName;
use super::problem::Problem;
use unroof_core::calculator::layout::{LayoutAnswer, layout};

/// A question about a layout. Whatever is left out has a default, which the answer names; `{}` is the lecture's rack.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutRequest {
    /// The GPUs and the racks around them.
    #[schema(nullable = false)]
    hardware: Option<LayoutHardware>,
    /// The model; DeepSeek V3 where nothing is stated.
    #[schema(nullable = false)]
    model: Option<LayoutModel>,
    /// How it is laid out.
    #[schema(nullable = false)]
    layout: Option<LayoutPlan>,
}

/// A rack by its name, or with other figures.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum LayoutHardware {
    /// The name.
    Name(RackName),
    /// The same with other figures.
    Stated(LayoutStatedHardware),
}

/// A rack with figures that differ from the reference data.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutStatedHardware {
    /// Preset or id of an accelerator.
    #[schema(nullable = false, default = "blackwell-72")]
    name: Option<RackName>,
    /// GPUs on one scale-up interconnect.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    scale_up_domain: Option<u32>,
    /// SU: scale-up bandwidth per GPU, one direction.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    scale_up_bytes_per_second: Option<f64>,
    /// SO: scale-out bandwidth per GPU, one direction.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    scale_out_bytes_per_second: Option<f64>,
    /// HBM of a GPU.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    hbm_bytes: Option<f64>,
    /// HBM bandwidth of a GPU.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    hbm_bytes_per_second: Option<f64>,
}

/// A mixture of experts.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutModel {
    /// Routed experts per layer.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 256)]
    experts: Option<u32>,
    /// Experts per layer that a token goes to; at most `experts`.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 8)]
    active_experts: Option<u32>,
    /// Elements of a token between layers.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 7168)]
    hidden_dimension: Option<u32>,
    /// Layers.
    #[schema(nullable = false, minimum = 1, maximum = 10_000, default = 61)]
    layers: Option<u32>,
    /// Layers with experts; at most `layers`.
    #[schema(nullable = false, minimum = 1, maximum = 10_000, default = 58)]
    moe_layers: Option<u32>,
    /// `N_t`
    #[schema(nullable = false, minimum = 1, maximum = 1e18, default = json!(671e9))]
    total_parameters: Option<f64>,
    /// `N_a`; the size of an expert follows from both.
    #[schema(nullable = false, minimum = 1, maximum = 1e18, default = json!(37e9))]
    active_parameters: Option<f64>,
    /// w: bytes per parameter as served.
    #[schema(nullable = false, minimum = 0.0625, maximum = 16, default = 1)]
    weight_bytes_per_parameter: Option<f64>,
    /// k: KV bytes stored per token, all layers, as served.
    #[schema(nullable = false, minimum = 0, maximum = 1e12, default = 70_272)]
    kv_bytes_per_token: Option<f64>,
    /// L: tokens in the KV cache of a sequence.
    #[schema(nullable = false, minimum = 0, maximum = 1e12, default = 4_989)]
    context_tokens: Option<f64>,
}

/// How the model is laid out.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutPlan {
    /// GPUs that the experts of a layer are spread over; if left out, as many of one domain as divide the experts evenly.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    expert_parallel_gpus: Option<u32>,
    /// P: pipeline stages; at most `layers`.
    #[schema(nullable = false, minimum = 1, maximum = 10_000, default = 4)]
    pipeline_stages: Option<u32>,
    /// E: GPUs of a stage; those of the experts if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    gpus_per_stage: Option<u32>,
    /// b: sequences of a micro-batch; 88 per GPU if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1e9)]
    sequences_per_micro_batch: Option<f64>,
    /// m: micro-batches of a training step.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, default = 16)]
    micro_batches: Option<u32>,
    /// `B_local`: sequences whose attention one GPU computes; b/E if left out.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e9)]
    sequences_per_gpu: Option<f64>,
    /// Bytes per element on the way to the experts.
    #[schema(nullable = false, minimum = 0, maximum = 16, default = 1)]
    dispatch_bytes_per_element: Option<f64>,
    /// Bytes per element on the way back.
    #[schema(nullable = false, minimum = 0, maximum = 16, default = 2)]
    combine_bytes_per_element: Option<f64>,
    #[schema(schema_with = stages_of_series)]
    pipeline_stages_grid: Option<Vec<u32>>,
}

fn stages_of_series() -> Array {
    let stages = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(10_000));
    ArrayBuilder::new()
        .items(stages)
        .min_items(Some(1))
        .max_items(Some(1_000))
        .description(Some(
            "Numbers of stages of the series, each at most `layers`; powers of two if left out.",
        ))
        .examples([json!([1, 2, 4, 8])])
        .build()
}

/// Lay a model out on racks
///
/// Where experts lie within and across racks and what they exchange, the largest expert layer that one scale-up domain
/// carries, what pipeline stages cost, and what lies in the memory of a GPU. `series` is the same over the number of
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
