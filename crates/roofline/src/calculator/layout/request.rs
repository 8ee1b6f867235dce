//! The request of `/layout`: its fields and their defaults.

use crate::calculator::inputs::{InputOrigin, InputUsed, InputValue, Inputs, MOST};
use crate::forward::{
    COMBINE_BYTES_PER_ELEMENT, DISPATCH_BYTES_PER_ELEMENT, ExpertModel, KvCache, SECONDS_PER_HOP,
    TrafficWidth,
};
use crate::reference::architecture::Experts;
use crate::reference::names::{OpenModelName, RACKS, RackName};
use crate::reference::{OpenModel, accelerator, open_model};
use unroof_base::input::body::body;
use unroof_base::input::body::{Body, List, Stated, count, name_or, number, section, value};
use unroof_base::input::cursor::{Cursor, Recorded};
use unroof_base::units::{Bytes, BytesPerSecond, BytesPerToken, Seconds};

/// Limit of experts, GPUs and micro-batches of a request.
const MOST_COUNT: u32 = 1_000_000;
/// Most layers of a model.
const MOST_LAYERS: u32 = 10_000;
/// Sequences per GPU in DeepSeek's own decoding, as published \[DS6\].
const SEQUENCES_PER_GPU: f64 = 88.0;

body! {
    /// A layout request. A field that is left out has a default, which the answer names; `{}` is the lecture's rack.
    pub struct LayoutRequest {
        /// The GPUs and their rack: a rack by its name, or its figures.
        hardware: LayoutHardware = name_or::<LayoutHardware, _>(RackName),
        /// The model; DeepSeek V3 where nothing is stated.
        model: LayoutModel = section::<LayoutModel>(),
        /// Layout of the model over GPUs.
        layout: LayoutPlan = section::<LayoutPlan>(),
    }

    /// A rack with figures that differ from the reference data.
    pub struct LayoutHardware {
        /// Rack (hopper-8, blackwell-72, rubin-72, rubin-ultra-576) or id of an accelerator.
        name: Stated<&'static str> = value(RackName).or("blackwell-72").flag("hardware"),
        /// GPUs on one scale-up interconnect.
        scale_up_domain: Stated<u32> = count(1..=MOST_COUNT).unit("GPUs"),
        /// SU: scale-up bandwidth per GPU, one direction.
        scale_up_bytes_per_second: Stated<f64> = number(1.0..=MOST).unit("B/s"),
        /// SO: scale-out bandwidth per GPU, one direction.
        scale_out_bytes_per_second: Stated<f64> = number(1.0..=MOST).unit("B/s"),
        /// HBM of a GPU.
        hbm_bytes: Stated<f64> = number(1.0..=MOST).unit("B"),
        /// HBM bandwidth of a GPU.
        hbm_bytes_per_second: Stated<f64> = number(1.0..=MOST).unit("B/s"),
    }

    /// A mixture of experts.
    pub struct LayoutModel {
        /// A mixture of `/reference/open-models`, whose figures then are the defaults of the fields below.
        name: Stated<&'static str> = value(OpenModelName).flag("model"),
        /// Routed experts per layer.
        experts: Stated<u32> = count(1..=MOST_COUNT).unit("experts").or(256).flag("experts"),
        /// Experts per layer that a token goes to; at most `experts`.
        active_experts: Stated<u32> = count(1..=MOST_COUNT).unit("experts").or(8).flag("active-experts"),
        /// Elements of a token between layers.
        hidden_dimension: Stated<u32> = count(1..=MOST_COUNT).unit("elements").or(7_168),
        /// Layers of the model.
        layers: Stated<u32> = count(1..=MOST_LAYERS).unit("layers").or(61),
        /// Layers with experts; at most `layers`.
        moe_layers: Stated<u32> = count(1..=MOST_LAYERS).unit("layers").or(58),
        /// `N_t`: parameters of the model.
        total_parameters: Stated<f64> = number(1.0..=MOST).unit("parameters").or(671e9).flag("total-parameters"),
        /// `N_a`: parameters active per token; the size of an expert follows from both.
        active_parameters: Stated<f64> = number(1.0..=MOST).unit("parameters").or(37e9).flag("active-parameters"),
        /// w: bytes per parameter as served.
        weight_bytes_per_parameter: Stated<f64> = number(0.0625..=16.0).unit("B").or(1.0),
        /// k: KV bytes stored per token, all layers, as served.
        kv_bytes_per_token: Stated<f64> = number(0.0..=1e12).unit("B/token").or(35_136.0),
        /// L: tokens in the KV cache of a sequence.
        context_tokens: Stated<f64> = number(0.0..=1e12).unit("tokens").or(4_989.0),
    }

    /// Layout of the model.
    pub struct LayoutPlan {
        /// GPUs that hold the experts of a layer; if left out, the largest number in one domain that divides the experts evenly.
        expert_parallel_gpus: Stated<u32> = count(1..=MOST_COUNT).unit("GPUs").flag("expert-parallel-gpus"),
        /// P: pipeline stages; at most `layers`.
        pipeline_stages: Stated<u32> = count(1..=MOST_LAYERS).unit("stages").or(4).flag("pipeline-stages"),
        /// E: GPUs of a stage; those of the experts if left out.
        gpus_per_stage: Stated<u32> = count(1..=MOST_COUNT).unit("GPUs"),
        /// b: sequences of a micro-batch; 88 per GPU if left out.
        sequences_per_micro_batch: Stated<f64> = number(1.0..=1e9).unit("sequences").flag("sequences-per-micro-batch"),
        /// m: micro-batches of a training step.
        micro_batches: Stated<u32> = count(1..=MOST_COUNT).unit("micro-batches").or(16),
        /// `B_local`: sequences whose attention one GPU computes; b/E if left out.
        sequences_per_gpu: Stated<f64> = number(1e-6..=1e9).unit("sequences"),
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

/// One GPU, and the rack around it.
#[derive(Debug, Clone)]
pub(super) struct Hardware {
    pub(super) accelerator: String,
    pub(super) scale_up_domain: u32,
    pub(super) scale_up: Option<BytesPerSecond>,
    pub(super) scale_out: Option<BytesPerSecond>,
    pub(super) hbm: Bytes,
    pub(super) hbm_bandwidth: BytesPerSecond,
}

/// The model that is laid out.
#[derive(Debug, Clone)]
pub(super) struct Model {
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
    pub(super) expert_parallel_gpus: u32,
    pub(super) pipeline_stages: u32,
    pub(super) gpus_per_stage: u32,
    pub(super) sequences_per_micro_batch: f64,
    pub(super) micro_batches: u32,
    pub(super) sequences_per_gpu: f64,
    pub(super) width: TrafficWidth,
    pub(super) hop: Seconds,
    pub(super) grid: Vec<u32>,
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) hardware: Hardware,
    pub(super) model: Model,
    pub(super) layout: Layout,
    pub(super) inputs: Vec<InputUsed>,
}

pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = LayoutRequest::read(root)?;
    let inputs = Inputs::new(root.faults());
    let hardware = fill_hardware(&request.hardware, &inputs);
    let model = fill_model(&request.model, &inputs);
    let layout = fill_layout(&request.layout, &inputs, hardware.as_ref(), model.as_ref());
    Some(Question {
        hardware: hardware?,
        model: model?,
        layout: layout?,
        inputs: inputs.into_used(),
    })
}

fn fill_hardware(stated: &LayoutHardware, inputs: &Inputs<'_>) -> Option<Hardware> {
    let name = inputs.or_default(&stated.name)?;
    let rack = RACKS.iter().find(|(rack, _)| *rack == name);
    let row = accelerator(rack.map_or(name, |(_, id)| *id))?;
    let from = InputOrigin::Reference;
    inputs.name("hardware.accelerator", &row.id, from);
    let link = |field, of_row: Option<BytesPerSecond>| {
        let bandwidth = inputs.or_else(field, of_row.map(|link| (link.0, from)));
        bandwidth.map(BytesPerSecond)
    };
    let (up, out) = (
        row.scale_up_bytes_per_second,
        row.scale_out_bytes_per_second,
    );
    let hbm_bandwidth = row.hbm_bytes_per_second.0;
    // In the order in which the answer lists them.
    Some(Hardware {
        accelerator: row.id.clone(),
        scale_up_domain: inputs.or(&stated.scale_up_domain, row.scale_up_domain, from)?,
        scale_up: link(&stated.scale_up_bytes_per_second, up),
        scale_out: link(&stated.scale_out_bytes_per_second, out),
        hbm: Bytes(inputs.or(&stated.hbm_bytes, row.hbm_bytes.0, from)?),
        hbm_bandwidth: BytesPerSecond(inputs.or(
            &stated.hbm_bytes_per_second,
            hbm_bandwidth,
            from,
        )?),
    })
}

/// The mixture that is named, and its experts.
type Named = (&'static OpenModel, Experts);

/// The named mixture, if there is a name.
///
/// # Errors
/// [`Recorded`] if the name is not that of a mixture.
fn fill_name(stated: &LayoutModel, inputs: &Inputs<'_>) -> Result<Option<Named>, Recorded> {
    let name = stated.name.value.as_ref().map_err(|_| Recorded)?;
    let Some(model) = name.and_then(open_model) else {
        return Ok(None);
    };
    inputs.name("model.name", &model.name, InputOrigin::Stated);
    let Some(experts) = model.architecture.experts else {
        inputs.fault(
            &stated.name,
            "a dense model has no experts to lay out",
            "name a mixture of experts",
        );
        return Err(Recorded);
    };
    Ok(Some((model, experts)))
}

/// A named model's own figure, else the default of the field.
fn of_named<T: Clone + Into<InputValue>>(
    named: Option<Named>,
    inputs: &Inputs<'_>,
    field: &Stated<T>,
    own: impl Fn(&OpenModel, Experts) -> T,
) -> Option<T> {
    match named {
        Some((model, experts)) => inputs.or(field, own(model, experts), InputOrigin::Reference),
        None => inputs.or_default(field),
    }
}

/// The model of the request, as `/simulate` takes it; DeepSeek V3 in fp8 where nothing is stated.
fn fill_model(stated: &LayoutModel, inputs: &Inputs<'_>) -> Option<Model> {
    let named = fill_name(stated, inputs).ok()?;
    let experts = of_named(named, inputs, &stated.experts, |_, experts| experts.routed);
    let active = named.map_or(8, |(_, experts)| experts.active);
    let active = experts.unwrap_or(active).min(active);
    let active_experts = inputs.or(&stated.active_experts, active, InputOrigin::Default);
    let hidden_dimension = of_named(named, inputs, &stated.hidden_dimension, |model, _| {
        model.architecture.hidden_dimension
    });
    let layers = of_named(named, inputs, &stated.layers, |model, _| {
        model.architecture.layers
    });
    // A model of few layers has experts in all of them.
    let moe_layers = match layers {
        _ if named.is_some() => of_named(named, inputs, &stated.moe_layers, |_, experts| {
            experts.layers
        }),
        Some(layers) if layers < 58 => inputs.or(&stated.moe_layers, layers, InputOrigin::Derived),
        _ => inputs.or_default(&stated.moe_layers),
    };
    let total_parameters = of_named(named, inputs, &stated.total_parameters, |model, _| {
        model.architecture.total_parameters
    });
    let active_parameters = of_named(named, inputs, &stated.active_parameters, |model, _| {
        model.architecture.active_parameters
    });
    let native = |model: &OpenModel| model.native_formats().mean(&model.architecture);
    let width = of_named(
        named,
        inputs,
        &stated.weight_bytes_per_parameter,
        |model, _| native(model),
    );
    let kv = of_named(named, inputs, &stated.kv_bytes_per_token, |model, _| {
        let element_bytes = native(model).clamp(1.0, 2.0);
        KvCache::new(&model.architecture)
            .stored_per_token(element_bytes)
            .0
    });
    let context_tokens = inputs.or_default(&stated.context_tokens);
    let at_most = |field, part: Option<u32>, whole: Option<u32>, parts: &str, name: &str| {
        if let (Some(part), Some(whole)) = (part, whole)
            && part > whole
        {
            inputs.fault(
                field,
                format!("{part} {parts} {whole}"),
                format!("write a whole number from 1 to {whole}, or state more `{name}`"),
            );
        }
    };
    let parts = "experts are active and a layer has";
    at_most(
        &stated.active_experts,
        active_experts,
        experts,
        parts,
        "experts",
    );
    let parts = "layers have experts and the model has";
    at_most(&stated.moe_layers, moe_layers, layers, parts, "layers");
    let (total_parameters, active_parameters) = (total_parameters?, active_parameters?);
    if active_parameters > total_parameters {
        inputs.fault(
            &stated.active_parameters,
            "more active than total parameters",
            "state at most `total_parameters`",
        );
    }
    Some(Model {
        experts: ExpertModel {
            total_parameters,
            active_parameters,
            experts: experts?,
            active_experts: active_experts?,
            moe_layers: moe_layers?,
        },
        hidden_dimension: hidden_dimension?,
        layers: layers?,
        weight_bytes_per_parameter: width?,
        kv_bytes_per_token: BytesPerToken(kv?),
        context_tokens: context_tokens?,
    })
}

/// The largest number of GPUs in a domain that divides the experts evenly: 64 of 72 for 256 experts.
fn even_share(experts: u32, domain: u32) -> u32 {
    let most = domain.min(experts);
    (1..=most)
        .rev()
        .find(|gpus| experts.is_multiple_of(*gpus))
        .unwrap_or(1)
}

fn fill_layout(
    stated: &LayoutPlan,
    inputs: &Inputs<'_>,
    hardware: Option<&Hardware>,
    model: Option<&Model>,
) -> Option<Layout> {
    let derived = InputOrigin::Derived;
    let domain = hardware.map_or(1, |hardware| hardware.scale_up_domain);
    let (experts, layers) = model.map_or((1, MOST_LAYERS), |model| {
        (model.experts.experts, model.layers)
    });
    let even = even_share(experts, domain);
    let gpus = inputs.or(&stated.expert_parallel_gpus, even, derived);
    let stages = inputs.or(&stated.pipeline_stages, layers.min(4), InputOrigin::Default);
    let gpus_per_stage = inputs.or(&stated.gpus_per_stage, gpus.unwrap_or(even), derived);
    let sequences = inputs.or(
        &stated.sequences_per_micro_batch,
        SEQUENCES_PER_GPU * f64::from(gpus_per_stage.unwrap_or(1)),
        InputOrigin::Default,
    );
    let micro_batches = inputs.or_default(&stated.micro_batches);
    let per_gpu = sequences.zip(gpus_per_stage);
    let per_gpu = per_gpu.map(|(sequences, gpus)| (sequences / f64::from(gpus), derived));
    let sequences_per_gpu = inputs.or_else(&stated.sequences_per_gpu, per_gpu);
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
        expert_parallel_gpus: gpus?,
        pipeline_stages: stages?,
        gpus_per_stage: gpus_per_stage?,
        sequences_per_micro_batch: sequences?,
        micro_batches: micro_batches?,
        sequences_per_gpu: sequences_per_gpu?,
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
