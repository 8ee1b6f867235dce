//! The question that `/layout` answers, read fault by fault.

use std::cell::RefCell;

use crate::calculator::inputs::{Count, InputOrigin, InputUsed, Inputs, MOST, Number};
use crate::input::cursor::{Cursor, one_of_hint};
use crate::input::json::Json;
use crate::reference::{Accelerator, accelerator, accelerators};
use crate::roofline::{
    COMBINE_BYTES_PER_ELEMENT, DISPATCH_BYTES_PER_ELEMENT, ExpertModel, TrafficWidth,
};
use crate::units::{Bytes, BytesPerSecond, BytesPerToken};

/// Racks of the lecture, by the accelerator whose figures they take.
pub const PRESETS: [(&str, &str); 3] = [
    ("hopper-8", "h100-sxm"),
    ("blackwell-72", "gb200-nvl72"),
    ("rubin-72", "rubin-nvl144"),
];
const DEFAULT_PRESET: &str = "blackwell-72";

/// Most experts, GPUs, stages, sequences of a request.
const MOST_COUNT: u32 = 1_000_000;
/// Most layers of a model.
const MOST_LAYERS: u32 = 10_000;
/// Most points of a series.
const MOST_POINTS: usize = 1_000;

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

/// How it is laid out.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) expert_parallel_gpus: u32,
    pub(super) pipeline_stages: u32,
    pub(super) gpus_per_stage: u32,
    pub(super) sequences_per_micro_batch: f64,
    pub(super) micro_batches: u32,
    pub(super) sequences_per_gpu: f64,
    pub(super) width: TrafficWidth,
    pub(super) grid: Vec<u32>,
}

/// A question with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) hardware: Hardware,
    pub(super) model: Model,
    pub(super) layout: Layout,
    pub(super) inputs: Vec<InputUsed>,
}

pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let fields = root.fields()?;
    let used = RefCell::new(Vec::new());
    let hardware = read_hardware(fields.get("hardware").as_ref(), &used);
    let model = read_model(&Inputs::of("model.", fields.get("model").as_ref(), &used));
    let layout = Inputs::of("layout.", fields.get("layout").as_ref(), &used);
    let layout = read_layout(&layout, hardware.as_ref(), model.as_ref());
    fields.refuse_unknown();
    let (hardware, model, layout) = (hardware?, model?, layout?);
    Some(Question {
        hardware,
        model,
        layout,
        inputs: used.into_inner(),
    })
}

/// The accelerator of a preset, or the one with this id.
fn accelerator_of(name: &str) -> Option<&'static Accelerator> {
    let preset = PRESETS.iter().find(|(preset, _)| *preset == name);
    accelerator(preset.map_or(name, |(_, id)| *id))
}

fn read_name(field: &Cursor<'_>) -> Option<String> {
    let name = field.name()?;
    if accelerator_of(&name).is_none() {
        let presets = PRESETS.iter().map(|(preset, _)| *preset);
        let known: Vec<&str> = presets
            .chain(accelerators().iter().map(|row| row.id.as_str()))
            .collect();
        field.fault(
            format!("`{name}` is neither a preset nor an accelerator"),
            one_of_hint(&name, &known),
        );
        return None;
    }
    Some(name)
}

/// A name, or an object with a name and what is different about it.
fn read_hardware<'a>(
    field: Option<&Cursor<'a>>,
    used: &'a RefCell<Vec<InputUsed>>,
) -> Option<Hardware> {
    let bare = field.filter(|field| matches!(field.json, Json::Text(_)));
    let object = field.filter(|_| bare.is_none());
    let inputs = Inputs::of("hardware.", object, used);
    let named = inputs.stated("name");
    let name = match bare.or(named.as_ref()) {
        Some(field) => read_name(field).map(|name| (name, InputOrigin::Stated)),
        None => Some((DEFAULT_PRESET.to_owned(), InputOrigin::Default)),
    };
    let row = name.as_ref().and_then(|(name, _)| accelerator_of(name));
    if let (Some((name, from)), Some(row)) = (&name, row) {
        inputs.name("name", name, *from);
        inputs.name("accelerator", &row.id, InputOrigin::Reference);
    }
    let reference = |value: Option<f64>| value.map(|value| (value, InputOrigin::Reference));
    let figure = |name, unit, value: Option<f64>| {
        let range = 1.0..=MOST;
        inputs.number_or_none(&Number { name, unit, range }, reference(value))
    };
    let domain = Count {
        name: "scale_up_domain",
        unit: "GPUs",
        most: MOST_COUNT,
    };
    let of_row = row.map_or(1, |row| row.scale_up_domain);
    let scale_up_domain = inputs.count(&domain, (of_row, InputOrigin::Reference));
    let link = |read: fn(&Accelerator) -> Option<BytesPerSecond>| Some(read(row?)?.0);
    let scale_up = figure(
        "scale_up_bytes_per_second",
        "B/s",
        link(|row| row.scale_up_bytes_per_second),
    );
    let scale_out = figure(
        "scale_out_bytes_per_second",
        "B/s",
        link(|row| row.scale_out_bytes_per_second),
    );
    let hbm = figure("hbm_bytes", "B", row.map(|row| row.hbm_bytes.0));
    let bandwidth = row.map(|row| row.hbm_bytes_per_second.0);
    let hbm_bandwidth = figure("hbm_bytes_per_second", "B/s", bandwidth);
    inputs.refuse_unknown();
    Some(Hardware {
        accelerator: row?.id.clone(),
        scale_up_domain: scale_up_domain?,
        scale_up: scale_up.map(BytesPerSecond),
        scale_out: scale_out.map(BytesPerSecond),
        hbm: Bytes(hbm?),
        hbm_bandwidth: BytesPerSecond(hbm_bandwidth?),
    })
}

/// A model like DeepSeek V3 where nothing is stated, served in fp8 with its KV cache in bf16 \[DS6\].
fn read_model(inputs: &Inputs<'_>) -> Option<Model> {
    let count = |name, unit, most, other| {
        inputs.count(&Count { name, unit, most }, (other, InputOrigin::Default))
    };
    let number =
        |name, unit, range, other: f64| inputs.number(&Number { name, unit, range }, other);
    let experts = count("experts", "experts", MOST_COUNT, 256);
    let active = count(
        "active_experts",
        "experts",
        MOST_COUNT,
        experts.unwrap_or(8).min(8),
    );
    let hidden = count("hidden_dimension", "elements", MOST_COUNT, 7_168);
    let layers = count("layers", "layers", MOST_LAYERS, 61);
    // A model of few layers has experts in all of them.
    let moe_default = match layers {
        Some(layers) if layers < 58 => (layers, InputOrigin::Derived),
        _ => (58, InputOrigin::Default),
    };
    let (name, unit, most) = ("moe_layers", "layers", MOST_LAYERS);
    let moe_layers = inputs.count(&Count { name, unit, most }, moe_default);
    let total = number("total_parameters", "parameters", 1.0..=MOST, 671e9);
    let active_parameters = number("active_parameters", "parameters", 1.0..=MOST, 37e9);
    let width = number("weight_bytes_per_parameter", "B", 0.0625..=16.0, 1.0);
    let kv = number("kv_bytes_per_token", "B/token", 0.0..=1e12, 70_272.0);
    let context = number("context_tokens", "tokens", 0.0..=1e12, 4_989.0);
    inputs.refuse_unknown();
    if let (Some(experts), Some(active)) = (experts, active)
        && active > experts
    {
        inputs.fault(
            "active_experts",
            format!("{active} experts are active and a layer has {experts}"),
            &format!("write a whole number from 1 to {experts}, or state more `experts`"),
        );
    }
    if let (Some(total), Some(active)) = (total, active_parameters)
        && active > total
    {
        inputs.fault(
            "active_parameters",
            "more parameters are active than there are".to_owned(),
            "state at most `total_parameters`",
        );
    }
    if let (Some(layers), Some(moe_layers)) = (layers, moe_layers)
        && moe_layers > layers
    {
        inputs.fault(
            "moe_layers",
            format!("{moe_layers} layers have experts and the model has {layers}"),
            &format!("write a whole number from 1 to {layers}, or state more `layers`"),
        );
    }
    Some(Model {
        experts: ExpertModel {
            total_parameters: total?,
            active_parameters: active_parameters?,
            experts: experts?,
            active_experts: active?,
            moe_layers: moe_layers?,
        },
        hidden_dimension: hidden?,
        layers: layers?,
        weight_bytes_per_parameter: width?,
        kv_bytes_per_token: BytesPerToken(kv?),
        context_tokens: context?,
    })
}

/// The largest number of GPUs within a domain that experts divide evenly over: 64 of 72 for 256 experts.
fn even_share(experts: u32, domain: u32) -> u32 {
    let most = domain.min(experts);
    (1..=most)
        .rev()
        .find(|gpus| experts.is_multiple_of(*gpus))
        .unwrap_or(1)
}

fn read_layout(
    inputs: &Inputs<'_>,
    hardware: Option<&Hardware>,
    model: Option<&Model>,
) -> Option<Layout> {
    let count = |name, unit, other| {
        let most = MOST_COUNT;
        inputs.count(&Count { name, unit, most }, other)
    };
    let (experts, layers) = model.map_or((1, MOST_LAYERS), |model| {
        (model.experts.experts, model.layers)
    });
    let even = even_share(
        experts,
        hardware.map_or(1, |hardware| hardware.scale_up_domain),
    );
    let gpus = count("expert_parallel_gpus", "GPUs", (even, InputOrigin::Derived));
    let stages = Count {
        name: "pipeline_stages",
        unit: "stages",
        most: MOST_LAYERS,
    };
    let stages = inputs.count(&stages, (layers.min(4), InputOrigin::Default));
    let per_stage = gpus.unwrap_or(even);
    let gpus_per_stage = count("gpus_per_stage", "GPUs", (per_stage, InputOrigin::Derived));
    let number = |name, unit, range, other| inputs.number(&Number { name, unit, range }, other);
    // 88 sequences per GPU are what DeepSeek published of its own decoding [DS6].
    let micro_batch = 88.0 * f64::from(gpus_per_stage.unwrap_or(1));
    let (name, unit) = ("sequences_per_micro_batch", "sequences");
    let sequences = number(name, unit, 1.0..=1e9, micro_batch);
    let micro_batches = count("micro_batches", "micro-batches", (16, InputOrigin::Default));
    let per_gpu = sequences
        .zip(gpus_per_stage)
        .map(|(sequences, gpus)| (sequences / f64::from(gpus), InputOrigin::Derived));
    let range = 1e-6..=1e9;
    let (name, unit) = ("sequences_per_gpu", "sequences");
    let sequences_per_gpu = inputs.number_or_none(&Number { name, unit, range }, per_gpu);
    let dispatch = number(
        "dispatch_bytes_per_element",
        "B",
        0.0..=16.0,
        DISPATCH_BYTES_PER_ELEMENT,
    );
    let combine = number(
        "combine_bytes_per_element",
        "B",
        0.0..=16.0,
        COMBINE_BYTES_PER_ELEMENT,
    );
    let grid = read_grid(inputs, layers);
    inputs.refuse_unknown();
    if let Some(stages) = stages
        && stages > layers
    {
        inputs.fault(
            "pipeline_stages",
            format!("{stages} stages need a layer each and the model has {layers}"),
            &format!("write a whole number from 1 to {layers}"),
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
        grid: grid?,
    })
}

/// The numbers of stages of the series; powers of two where none are stated.
fn read_grid(inputs: &Inputs<'_>, layers: u32) -> Option<Vec<u32>> {
    let stated = inputs.stated("pipeline_stages_grid");
    let Some(field) = stated else {
        let powers = (0..7).map(|power| 1 << power);
        return Some(powers.filter(|stages| *stages <= layers).collect());
    };
    let items = field.items()?;
    if items.is_empty() || items.len() > MOST_POINTS {
        field.fault(
            format!("a list of {} numbers of stages", items.len()),
            format!("write 1 to {MOST_POINTS} whole numbers from 1 to {layers}"),
        );
        return None;
    }
    field.list_of(|stages| stages.whole_number(1..=layers))
}
