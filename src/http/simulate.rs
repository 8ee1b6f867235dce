//! `POST /simulate`: what a model takes and costs on a machine.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    AdditionalProperties, Array, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type,
};

use super::app::App;
use super::calculator::{CalculatorRefusals, calculated};
use super::extract::NoQuery;
use super::extract::{Query, Question};
use super::names::{AcceleratorId, OfferedTierId, OpenModelName};
use super::problem::Problem;
use unroof_core::calculator::simulate::{SimulationAnswer, read_simulation};
use unroof_core::reference::architecture::Architecture;

/// Bytes of the answer for each point of a grid, about.
const BYTES_PER_POINT: usize = 700;

/// A question about a model on a machine. Whatever is left out has a default, which the answer names.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulateRequest {
    /// The model; DeepSeek-V3 where nothing is stated.
    #[schema(nullable = false)]
    model: Option<SimulatedModel>,
    /// Widths of what is held and multiplied.
    #[schema(nullable = false)]
    precision: Option<SimulatedPrecision>,
    /// The chips.
    #[schema(nullable = false)]
    machine: Option<SimulatedMachine>,
    /// What is reached of the peaks.
    #[schema(nullable = false)]
    efficiencies: Option<SimulatedEfficiencies>,
    /// What is run.
    #[schema(nullable = false)]
    operating_point: Option<SimulatedLoad>,
    /// Batches and contexts over which it is repeated, at most 10,000 points.
    #[schema(nullable = false)]
    grid: Option<SimulatedGrid>,
    /// Terms on which the machine is offered; the answer then has the price sheet it implies.
    #[schema(nullable = false)]
    price_sheet: Option<SimulatedOffer>,
}

/// A model by its name, or its architecture.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum SimulatedModel {
    /// A name of `/reference/open-models`, whatever its capitals.
    Name(OpenModelName),
    /// The same as an object.
    Named(NamedModel),
    /// An architecture.
    Stated(Architecture),
}

/// A model by its name.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedModel {
    /// A name of `/reference/open-models`.
    name: OpenModelName,
}

/// Widths of what is held and multiplied.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulatedPrecision {
    /// w; that of the published weights if left out.
    #[schema(nullable = false, minimum = 0.0625, maximum = 4)]
    weight_bytes_per_parameter: Option<f64>,
    /// `b_kv`; w within 1 and 2 if left out.
    #[schema(nullable = false, minimum = 0.0625, maximum = 4)]
    kv_bytes_per_element: Option<f64>,
    /// Width of attention's arithmetic; that of the cache if left out.
    #[schema(nullable = false, minimum = 0.0625, maximum = 4)]
    attention_bytes_per_element: Option<f64>,
}

/// The chips that serve one copy of the model. Figures other than the reference row's describe one chip.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulatedMachine {
    /// Id of `/reference/accelerators`.
    #[schema(nullable = false, default = "gb200-nvl72")]
    accelerator: Option<AcceleratorId>,
    /// G; the accelerator's serving unit if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, example = 144)]
    chips: Option<u32>,
    /// Chips of an instance that computes prompts, where it is another than the one that decodes; G if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000, example = 32)]
    prefill_chips: Option<u32>,
    /// `experts` (EP with data-parallel attention) deals the experts to the chips and keeps all other weights on each,
    /// `tensor` (TP) cuts every matrix; `experts` for a mixture if left out.
    #[schema(nullable = false)]
    spread: Option<SpreadName>,
    /// Rental of one chip.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    rental_usd_per_hour: Option<f64>,
    /// F: peak dense arithmetic in the format of the weights.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    flops_per_second: Option<f64>,
    /// The same in attention's format.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    attention_flops_per_second: Option<f64>,
    /// HBM bandwidth.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    bandwidth_bytes_per_second: Option<f64>,
    /// HBM capacity.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    capacity_bytes: Option<f64>,
    /// Chips on one scale-up interconnect.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    domain_size: Option<u32>,
    /// Scale-up bandwidth, one direction.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    scale_up_bytes_per_second: Option<f64>,
    /// Scale-out bandwidth, one direction.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e24)]
    scale_out_bytes_per_second: Option<f64>,
}

/// How a model is spread over chips.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum SpreadName {
    /// Experts are dealt to the chips.
    Experts,
    /// Every matrix is cut.
    Tensor,
}

/// `fitted` to published measurements (the default), `peak`, or either with other numbers.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum SimulatedEfficiencies {
    /// A name.
    Name(EfficienciesName),
    /// With other numbers.
    Stated(StatedEfficiencies),
}

/// A point to start from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum EfficienciesName {
    /// Fitted to published measurements; compute and memory overlap within attention and within the rest (E1').
    Fitted,
    /// All of the peaks, no exchanges, no overheads, full overlap (E1).
    Peak,
}

/// Shares of peak and overheads; those of the named point where left out.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatedEfficiencies {
    /// The point to start from; `fitted` if left out.
    #[schema(nullable = false)]
    name: Option<EfficienciesName>,
    /// `η_pre`
    #[schema(nullable = false, minimum = 1e-6, maximum = 1)]
    prefill: Option<f64>,
    /// `η_m`
    #[schema(nullable = false, minimum = 1e-6, maximum = 1)]
    decode_bandwidth: Option<f64>,
    /// `η_c`
    #[schema(nullable = false, minimum = 1e-6, maximum = 1)]
    decode_compute: Option<f64>,
    /// Whether exchanges between chips are counted.
    #[schema(nullable = false)]
    communication: Option<bool>,
    /// Share of link bandwidth.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1)]
    network: Option<f64>,
    /// Hidden vectors per token and layer that pass through memory beside weights and cache.
    #[schema(nullable = false, minimum = 0, maximum = 1e6)]
    vectors_per_token_and_layer: Option<f64>,
    /// Waiting per kernel.
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    seconds_per_stage: Option<f64>,
    /// What runs at the same time.
    #[schema(nullable = false)]
    overlap: Option<OverlapName>,
}

/// What runs at the same time.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the body, which is read fault by fault")]
pub(super) enum OverlapName {
    /// E1: all arithmetic and all reading.
    Full,
    /// E1': those of attention, then those of the rest.
    AttentionApart,
    /// `full`
    #[serde(rename = "E1")]
    E1,
    /// `attention_apart`
    #[serde(rename = "E1'")]
    E1Prime,
}

/// What is run. The batch is stated in one way at most.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulatedLoad {
    /// B: sequences over all chips; 2.5 times the optimal batch, or the largest that fits, if no way is stated.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e12)]
    batch: Option<f64>,
    /// B/G
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e12)]
    batch_per_chip: Option<f64>,
    /// B/B*
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e12)]
    batch_over_optimal_batch: Option<f64>,
    /// L: tokens in the KV cache.
    #[schema(nullable = false, minimum = 0, maximum = 1e9, default = 8192)]
    context_tokens: Option<f64>,
    /// S: tokens of a prompt that are computed.
    #[schema(nullable = false, minimum = 1, maximum = 1e9, default = 4096)]
    prompt_tokens: Option<f64>,
    /// `P_c`: tokens before them that are found in the cache.
    #[schema(nullable = false, minimum = 0, maximum = 1e9, default = 0)]
    cached_prompt_tokens: Option<f64>,
    /// Prompts of a prefill pass; as many as make 16,384 tokens, per chip where experts are dealt out, if left out.
    #[schema(nullable = false, minimum = 1e-6, maximum = 1e12)]
    prompts_per_pass: Option<f64>,
    /// γ: tokens drafted per step.
    #[schema(nullable = false, minimum = 0, maximum = 1000, default = 0)]
    drafted_tokens: Option<f64>,
    /// V: tokens accepted per step, at most γ + 1.
    #[schema(nullable = false, minimum = 1, maximum = 1001, default = 1)]
    accepted_tokens_per_step: Option<f64>,
}

/// Every batch with every context; an axis that is left out stays at the operating point.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub(super) struct SimulatedGrid {
    #[schema(schema_with = batch_axis)]
    batch: Option<f64>,
    #[schema(schema_with = context_axis)]
    context_tokens: Option<f64>,
}

fn batch_axis() -> Schema {
    let description = "Batches; whole numbers where they are made from two ends.";
    axis(1e-6, 1e12, description)
}

fn context_axis() -> Schema {
    let description = "Contexts. Where they are made from two ends, the context at which memory overtakes arithmetic is \
                       added.";
    axis(0.0, 1e9, description)
}

/// A list of points, or two ends and points between them evenly apart in the log, or evenly apart from 0.
fn axis(least: f64, most: f64, description: &str) -> Schema {
    let point = || {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(least))
            .maximum(Some(most))
    };
    let count = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(2))
        .maximum(Some(10_000))
        .default(Some(json!(50)));
    let list = ArrayBuilder::new()
        .items(point())
        .min_items(Some(1))
        .max_items(Some(10_000))
        .description(Some("The points."));
    let ends = ObjectBuilder::new()
        .property("from", point().description(Some("First point.")))
        .property("to", point().description(Some("Last point.")))
        .property("points", count.description(Some("How many.")))
        .required("from")
        .required("to")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .description(Some(
            "Two ends, and points between them evenly apart in the log, or evenly apart from 0.",
        ));
    OneOfBuilder::new()
        .item(list)
        .item(ends)
        .description(Some(description))
        .build()
        .into()
}

/// The terms of an offer.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulatedOffer {
    /// `μ_in`: price = cost/(1 − μ).
    #[schema(nullable = false, minimum = -9, maximum = 0.999, default = 0.5)]
    input_margin: Option<f64>,
    /// `μ_out`
    #[schema(nullable = false, minimum = -9, maximum = 0.999, default = 0.5)]
    output_margin: Option<f64>,
    #[schema(schema_with = thresholds)]
    thresholds_tokens: Option<Vec<u32>>,
    /// Longest prompt; the model's longest context if left out, else 1,048,576.
    #[schema(nullable = false, minimum = 1, maximum = 1e9)]
    longest_context_tokens: Option<f64>,
    /// Standard batch over that of a fast mode; 1 offers none.
    #[schema(nullable = false, minimum = 1, maximum = 1e6, default = 4)]
    fast_mode_batch_ratio: Option<f64>,
    #[schema(schema_with = times_to_live)]
    cache_ttls_seconds: Option<Vec<u32>>,
    /// Id of `/reference/storage-tiers`; the cheapest for the longest time to live if left out.
    #[schema(nullable = false)]
    cache_storage_tier: Option<OfferedTierId>,
    /// Bandwidth per chip of the path that loads a cache; the scale-out link if left out.
    #[schema(nullable = false, minimum = 1, maximum = 1e18)]
    load_path_bytes_per_second: Option<f64>,
}

fn thresholds() -> Array {
    ascending("Prompt lengths above which prices step up, ascending.")
        .examples([json!([32_000])])
        .build()
}

fn times_to_live() -> Array {
    ascending("Times to live of cache offers, ascending.")
        .default(Some(json!([300, 3600])))
        .build()
}

fn ascending(description: &str) -> ArrayBuilder {
    let count = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(2_147_483_647));
    ArrayBuilder::new()
        .items(count)
        .unique_items(true)
        .max_items(Some(16))
        .description(Some(description))
}

/// Simulate a model on a machine
///
/// Time of a decode step and of a prefill pass with what it is spent on, speed per user and per accelerator, memory, the
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
