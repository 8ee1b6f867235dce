//! The request of `/layout`: its fields and their defaults.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_base::input::read;
//! use unroof_roofline::calculator::layout::request::LayoutRequest;
//!
//! let request = read(br#"{"layout": {"pipeline_stages": 8}}"#, LayoutRequest::read)?;
//! assert_eq!(request.layout.pipeline_stages.value, Ok(Some(8)));
//! assert!(!request.layout.micro_batches.is_stated());
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use crate::calculator::inputs::{InputOrigin, InputUsed, Inputs};
use crate::calculator::scenario::{
    Chip, Model, ModelKind, Precision, StatedLoad, StatedMachine, StatedModel, StatedPrecision,
};
use crate::forward::{
    COMBINE_BYTES_PER_ELEMENT, DISPATCH_BYTES_PER_ELEMENT, ExpertModel, KvCache, SECONDS_PER_HOP,
    TrafficWidth,
};
use crate::reference::names::AcceleratorIdOrAll;
use unroof_base::input::body::{Body, List, Stated, bare_or, body, count, number, section, value};
use unroof_base::input::cursor::Cursor;
use unroof_base::units::{BytesPerToken, Seconds};

/// Limit of experts, chips and micro-batches of a request.
const MOST_COUNT: u32 = 1_000_000;
/// Most layers of a model.
const MOST_LAYERS: u32 = 1 << 24;
/// Sequences per chip in DeepSeek's own decoding, as published \[DS6\].
const SEQUENCES_PER_CHIP: f64 = 88.0;
/// Fields of a scenario that no value of a layout depends on.
const WITHOUT_EFFECT: &[&str] = &[
    "machine.rental_usd_per_hour",
    "machine.flops_per_second",
    "machine.attention_flops_per_second",
    "precision.arithmetic_bytes_per_element",
    "precision.attention_bytes_per_element",
];

body! {
    /// A layout request. A field that is left out has a default, which the answer names; `{}` is the lecture's rack.
    pub struct LayoutRequest {
        /// The model, by its name, its sizes, its architecture or its configuration; DeepSeek-V3 where nothing is stated.
        model: Stated<StatedModel> = value(ModelKind).flag("model"),
        /// Precisions of weights and KV cache.
        precision: StatedPrecision = section::<StatedPrecision>(),
        /// The chips and the racks around them, or the accelerator alone.
        machine: StatedMachine = bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll),
        /// The load: tokens in the cache of a sequence, and sequences per chip.
        load: StatedLoad = section::<StatedLoad>(),
        /// The layout.
        layout: LayoutPlan = section::<LayoutPlan>(),
    }

    /// Layout of the model.
    pub struct LayoutPlan {
        /// chips that hold the experts of a layer; if left out, the largest number in one domain that divides the experts evenly.
        expert_parallel_chips: Stated<u32> = count(1..=MOST_COUNT).unit("chips").flag("expert-parallel-chips"),
        /// P: pipeline stages; at most `layers`.
        pipeline_stages: Stated<u32> = count(1..=MOST_LAYERS).unit("stages").or(4).flag("pipeline-stages"),
        /// E: chips of a stage; if left out, those of the machine over the stages, or those of the experts.
        chips_per_stage: Stated<u32> = count(1..=MOST_COUNT).unit("chips"),
        /// b: sequences of a micro-batch; 88 per chip if left out.
        sequences_per_micro_batch: Stated<f64> = number(1.0..=1e9).unit("sequences").flag("sequences-per-micro-batch"),
        /// m: micro-batches of a training step.
        micro_batches: Stated<u32> = count(1..=MOST_COUNT).unit("micro-batches").or(16),
        /// Bytes per element on the way to the experts.
        dispatch_bytes_per_element: Stated<f64> = number(0.0..=16.0).unit("B").or(DISPATCH_BYTES_PER_ELEMENT),
        /// Bytes per element on the way back.
        combine_bytes_per_element: Stated<f64> = number(0.0..=16.0).unit("B").or(COMBINE_BYTES_PER_ELEMENT),
        /// Time of a transfer from one stage to the next, and from the last to the first; that of the network if left out.
        hop_seconds: Stated<f64> = number(0.0..=1.0).unit("s").or(SECONDS_PER_HOP.0).flag("hop-seconds"),
        /// Numbers of stages of the series, each at most `layers`; powers of two if left out.
        pipeline_stages_grid: Stated<Vec<u32>> = value(List::of(1..=MOST_LAYERS, 1..=1_000)).example([1, 2, 4, 8]),
    }
}

/// The model that is laid out.
#[derive(Debug, Clone)]
pub(super) struct LaidOut {
    pub(super) experts: ExpertModel,
    pub(super) hidden_dimension: u32,
    pub(super) layers: u32,
    pub(super) weight_bytes_per_parameter: f64,
    pub(super) kv_bytes_per_token: BytesPerToken,
    pub(super) context_tokens: f64,
}

/// Layout of the model.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) expert_parallel_chips: u32,
    pub(super) pipeline_stages: u32,
    pub(super) chips_per_stage: u32,
    pub(super) sequences_per_micro_batch: f64,
    pub(super) micro_batches: u32,
    pub(super) sequences_per_chip: f64,
    pub(super) width: TrafficWidth,
    pub(super) hop: Seconds,
    pub(super) grid: Vec<u32>,
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) chip: Chip,
    pub(super) model: LaidOut,
    pub(super) layout: Layout,
    pub(super) inputs: Vec<InputUsed>,
}

pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = LayoutRequest::read(root)?;
    let inputs = Inputs::new(root, WITHOUT_EFFECT);
    let width = request.precision.cache_of_sizes();
    let model = Model::fill(&request.model, &inputs, width);
    let precision = request.precision.fill(&inputs, model.as_ref());
    let chip = request.machine.fill(&inputs, None, None);
    let context = inputs.or_default(&request.load.context_tokens);
    let model = model.zip(precision).zip(context);
    let model = model.map(|((model, precision), context)| laid_out(&model, precision, context));
    let layout = fill_layout(&request, &inputs, chip.as_ref(), model.as_ref());
    Some(Question {
        chip: chip?,
        model: model?,
        layout: layout?,
        inputs: inputs.into_used(),
    })
}

/// The figures of a model that a layout needs. A dense model has one expert, in no layer.
fn laid_out(model: &Model, precision: Precision, context_tokens: f64) -> LaidOut {
    let architecture = &model.architecture;
    let experts = architecture.experts;
    LaidOut {
        experts: ExpertModel {
            total_parameters: architecture.total_parameters,
            active_parameters: architecture.active_parameters,
            experts: experts.map_or(1, |experts| experts.routed),
            active_experts: experts.map_or(1, |experts| experts.active),
            moe_layers: architecture.expert_layers(),
        },
        hidden_dimension: architecture.hidden_dimension,
        layers: architecture.layers,
        weight_bytes_per_parameter: precision.weights,
        kv_bytes_per_token: KvCache::new(architecture).stored_per_token(precision.cache),
        context_tokens,
    }
}

/// The largest number of chips in a domain that divides the experts evenly: 64 of 72 for 256 experts.
fn even_share(experts: u32, domain: u32) -> u32 {
    let most = domain.min(experts);
    (1..=most)
        .rev()
        .find(|chips| experts.is_multiple_of(*chips))
        .unwrap_or(1)
}

/// Chips of a stage where those of the machine are stated.
fn of_machine(stated: &Stated<u32>, inputs: &Inputs<'_>, stages: u32) -> Option<u32> {
    let chips = inputs.or_else(stated, None)?;
    if !chips.is_multiple_of(stages) {
        inputs.fault(
            stated,
            format!("{chips} chips do not make {stages} stages of as many each"),
            "state a multiple of `pipeline_stages`",
        );
    }
    Some((chips / stages).max(1))
}

fn fill_layout(
    request: &LayoutRequest,
    inputs: &Inputs<'_>,
    chip: Option<&Chip>,
    model: Option<&LaidOut>,
) -> Option<Layout> {
    let derived = InputOrigin::Derived;
    let stated = &request.layout;
    let domain = chip.map_or(1, |chip| chip.domain);
    let (experts, layers) = model.map_or((1, MOST_LAYERS), |model| {
        (model.experts.experts, model.layers)
    });
    let stages = inputs.or(&stated.pipeline_stages, layers.min(4), InputOrigin::Default);
    let of_machine = of_machine(&request.machine.chips, inputs, stages.unwrap_or(1));
    let even = even_share(
        experts,
        of_machine.map_or(domain, |chips| chips.min(domain)),
    );
    let expert_chips = inputs.or(&stated.expert_parallel_chips, even, derived);
    let of_experts = if experts > 1 {
        expert_chips.unwrap_or(even)
    } else {
        domain
    };
    let of_stage = of_machine.unwrap_or(of_experts);
    let chips_per_stage = inputs.or(&stated.chips_per_stage, of_stage, derived);
    if of_machine.is_some() && stated.chips_per_stage.is_stated() {
        inputs.fault(
            &stated.chips_per_stage,
            "the chips of a stage are those of the machine over the stages",
            "state either `machine.chips` or `chips_per_stage`",
        );
    }
    let sequences = inputs.or(
        &stated.sequences_per_micro_batch,
        SEQUENCES_PER_CHIP * f64::from(chips_per_stage.unwrap_or(1)),
        InputOrigin::Default,
    );
    let micro_batches = inputs.or_default(&stated.micro_batches);
    let per_chip = sequences.zip(chips_per_stage);
    let per_chip = per_chip.map(|(sequences, chips)| (sequences / f64::from(chips), derived));
    let sequences_per_chip = inputs.or_else(&request.load.batch_per_chip, per_chip);
    let dispatch = inputs.or_default(&stated.dispatch_bytes_per_element);
    let combine = inputs.or_default(&stated.combine_bytes_per_element);
    let hop = inputs.or_default(&stated.hop_seconds);
    let grid = fill_grid(&stated.pipeline_stages_grid, inputs, layers);
    if let Some(stages) = stages
        && stages > layers
    {
        inputs.fault(
            &stated.pipeline_stages,
            format!("{stages} stages need a layer each and the model has {layers}"),
            format!("write a whole number from 1 to {layers}"),
        );
    }
    Some(Layout {
        expert_parallel_chips: expert_chips?,
        pipeline_stages: stages?,
        chips_per_stage: chips_per_stage?,
        sequences_per_micro_batch: sequences?,
        micro_batches: micro_batches?,
        sequences_per_chip: sequences_per_chip?,
        width: TrafficWidth {
            dispatch_bytes: dispatch?,
            combine_bytes: combine?,
        },
        hop: Seconds(hop?),
        grid: grid?,
    })
}

/// The numbers of stages of the series; powers of two where none are stated.
fn fill_grid(stated: &Stated<Vec<u32>>, inputs: &Inputs<'_>, layers: u32) -> Option<Vec<u32>> {
    let Some(grid) = stated.value.clone().ok()? else {
        let powers = (0..7).map(|power| 1 << power);
        return Some(powers.filter(|stages| *stages <= layers).collect());
    };
    for (index, stages) in grid
        .iter()
        .enumerate()
        .filter(|(_, stages)| **stages > layers)
    {
        inputs.fault_of_item(
            stated,
            index,
            format!("`{stages}` is not a whole number from 1 to {layers}"),
            format!("write a whole number from 1 to {layers}"),
        );
    }
    Some(grid)
}
