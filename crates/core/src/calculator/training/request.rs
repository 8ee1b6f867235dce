//! The question that `/training` answers, read fault by fault.

use std::cell::RefCell;

use crate::calculator::inputs::{Count, InputOrigin, InputUsed, Inputs, MOST, Number};
use crate::input::cursor::{Cursor, one_of_hint};
use crate::reference::{
    Accelerator, RoutedLaw, accelerator, accelerators, routed_law, routed_laws,
};
use crate::roofline::{Activations, Demand, TokenCost};

/// Most layers, accelerators and the like of a request.
const MOST_COUNT: u32 = 100_000_000;
/// Most points of a series.
const MOST_POINTS: usize = 1_000;
/// Way of routing where none is stated: the best of the three published.
const DEFAULT_ROUTING: &str = "s-base";
/// Experts over active experts of the series where none are stated, up to the most that were published.
const DEFAULT_GRID: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// How good a sparse model is.
#[derive(Debug, Clone)]
pub(super) struct Quality {
    pub(super) law: &'static RoutedLaw,
    pub(super) active_parameters: f64,
    pub(super) experts_over_active: f64,
    pub(super) grid: Vec<f64>,
}

/// What the model is trained on.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) accelerator: &'static Accelerator,
    pub(super) accelerators: u32,
    pub(super) utilisation: f64,
    pub(super) weight_bytes_per_parameter: f64,
    pub(super) rental_usd_per_hour: Option<f64>,
}

/// A question with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) active_parameters: f64,
    pub(super) demand: Demand,
    pub(super) reinforcement: TokenCost,
    pub(super) inference: TokenCost,
    pub(super) pretraining_tokens: Option<f64>,
    pub(super) reinforcement_tokens: Option<f64>,
    pub(super) activations: Activations,
    pub(super) quality: Quality,
    pub(super) cluster: Option<Cluster>,
    pub(super) inputs: Vec<InputUsed>,
}

pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let fields = root.fields()?;
    let used = RefCell::new(Vec::new());
    let model = Inputs::of("model.", fields.get("model").as_ref(), &used);
    let active = model.number(&parameters("active_parameters"), 1e11);
    let size = (
        count(&model, "layers", 61),
        count(&model, "hidden_dimension", 7_168),
    );
    let experts_over_active = model.number(&ratio("experts_over_active"), 32.0);
    model.refuse_unknown();
    let demand = read_demand(&Inputs::of("demand.", fields.get("demand").as_ref(), &used));
    let costs = read_costs(&Inputs::of("costs.", fields.get("costs").as_ref(), &used));
    let tokens = Inputs::of("tokens.", fields.get("tokens").as_ref(), &used);
    let stated = read_tokens(&tokens);
    let activations = Inputs::of("activations.", fields.get("activations").as_ref(), &used);
    let activations = read_activations(&activations, size);
    let quality = Inputs::of("quality.", fields.get("quality").as_ref(), &used);
    let quality = read_quality(&quality, active, experts_over_active);
    let cluster = match fields.get("cluster") {
        Some(cluster) => read_cluster(&Inputs::of("cluster.", Some(&cluster), &used)).map(Some),
        None => Some(None),
    };
    fields.refuse_unknown();
    let (reinforcement, inference) = costs?;
    let (pretraining_tokens, reinforcement_tokens) = stated;
    Some(Question {
        active_parameters: active?,
        demand: demand?,
        reinforcement,
        inference,
        pretraining_tokens,
        reinforcement_tokens,
        activations: activations?,
        quality: quality?,
        cluster: cluster?,
        inputs: used.into_inner(),
    })
}

fn parameters(name: &'static str) -> Number {
    let (unit, range) = ("parameters", 1.0..=MOST);
    Number { name, unit, range }
}

/// Experts over active experts; beyond a million the law is of no use.
fn ratio(name: &'static str) -> Number {
    let (unit, range) = ("", 1.0..=1e6);
    Number { name, unit, range }
}

fn count(inputs: &Inputs<'_>, name: &'static str, other: u32) -> Option<u32> {
    let (unit, most) = (name_of_unit(name), MOST_COUNT);
    inputs.count(&Count { name, unit, most }, (other, InputOrigin::Default))
}

fn name_of_unit(name: &'static str) -> &'static str {
    match name {
        "hidden_dimension" => "elements",
        "tokens_per_micro_batch" => "tokens",
        other => other,
    }
}

/// The talk's 500 million tokens a second for two months, a tenth of them from one model of the family [T].
fn read_demand(inputs: &Inputs<'_>) -> Option<Demand> {
    let number = |name, unit, range, other| inputs.number(&Number { name, unit, range }, other);
    let tokens_per_second = number("tokens_per_second", "tokens/s", 1e-6..=1e15, 500e6);
    let lifetime_days = number("lifetime_days", "days", 1e-3..=1e5, 60.0);
    let model_share = number("model_share", "", 1e-9..=1.0, 0.1);
    inputs.refuse_unknown();
    Some(Demand {
        tokens_per_second: tokens_per_second?,
        lifetime_days: lifetime_days?,
        model_share: model_share?,
    })
}

/// Reinforcement learning and inference, both at the utilisation of decoding.
fn read_costs(inputs: &Inputs<'_>) -> Option<(TokenCost, TokenCost)> {
    let number = |name, unit, range, other| inputs.number(&Number { name, unit, range }, other);
    let (name, unit) = (
        "reinforcement_flops_per_parameter",
        "FLOP/(parameter·token)",
    );
    let factor = number(name, unit, 2.0..=6.0, 3.0);
    let utilisation = number("relative_decode_utilisation", "", 1e-3..=1.0, 1.0 / 3.0);
    inputs.refuse_unknown();
    let (flops_per_parameter, relative_utilisation) = (factor?, utilisation?);
    let reinforcement = TokenCost {
        flops_per_parameter,
        relative_utilisation,
    };
    Some((reinforcement, TokenCost::inference(relative_utilisation)))
}

fn read_tokens(inputs: &Inputs<'_>) -> (Option<f64>, Option<f64>) {
    let tokens = |name| {
        let (unit, range) = ("tokens", 1.0..=1e24);
        inputs.number_or_none(&Number { name, unit, range }, None)
    };
    let stated = (tokens("pretraining"), tokens("reinforcement"));
    inputs.refuse_unknown();
    stated
}

/// 34 bytes per layer, token and hidden element in 16 bits are 17 values kept, with attention's scores computed again
/// \[KO22\].
fn read_activations(
    inputs: &Inputs<'_>,
    (layers, hidden_dimension): (Option<u32>, Option<u32>),
) -> Option<Activations> {
    let number = |name, unit, range, other| inputs.number(&Number { name, unit, range }, other);
    let tokens = count(inputs, "tokens_per_micro_batch", 4_096);
    let bytes_per_element = number("bytes_per_element", "B", 0.0625..=16.0, 2.0);
    let kept_per_layer = number("kept_per_layer", "values", 1.0..=1e6, 17.0);
    inputs.refuse_unknown();
    Some(Activations {
        layers: layers?,
        hidden_dimension: hidden_dimension?,
        kept_per_layer: kept_per_layer?,
        tokens: f64::from(tokens?),
        bytes_per_element: bytes_per_element?,
    })
}

fn read_quality(
    inputs: &Inputs<'_>,
    active_parameters: Option<f64>,
    experts_over_active: Option<f64>,
) -> Option<Quality> {
    let fields = inputs.fields.as_ref();
    let routing = fields.and_then(|fields| fields.get("routing"));
    let law = match &routing {
        Some(field) => read_law(field),
        None => routed_law(DEFAULT_ROUTING),
    };
    if let Some(law) = law {
        let from = routing.map_or(InputOrigin::Default, |_| InputOrigin::Stated);
        inputs.name("routing", &law.routing, from);
    }
    let of_model = active_parameters.map(|size| (size, InputOrigin::Derived));
    let size = inputs.number_or_none(&parameters("active_parameters"), of_model);
    let grid = match fields.and_then(|fields| fields.get("experts_over_active_grid")) {
        Some(field) => read_grid(&field),
        None => Some(DEFAULT_GRID.into()),
    };
    inputs.refuse_unknown();
    Some(Quality {
        law: law?,
        active_parameters: size?,
        experts_over_active: experts_over_active?,
        grid: grid?,
    })
}

fn read_law(field: &Cursor<'_>) -> Option<&'static RoutedLaw> {
    let choices: Vec<(&str, &RoutedLaw)> = routed_laws()
        .iter()
        .map(|law| (law.routing.as_str(), law))
        .collect();
    field.one_of(&choices)
}

fn read_grid(field: &Cursor<'_>) -> Option<Vec<f64>> {
    let items = field.items()?;
    let range = ratio("").range;
    if items.is_empty() || items.len() > MOST_POINTS {
        field.fault(
            format!("a list of {} ratios", items.len()),
            format!("write 1 to {MOST_POINTS} numbers from 1 to 1,000,000"),
        );
        return None;
    }
    field.list_of(|ratio| ratio.number_within(range.clone()))
}

fn read_cluster(inputs: &Inputs<'_>) -> Option<Cluster> {
    let fields = inputs.fields.as_ref()?;
    let hint = "name an accelerator of /reference/accelerators, such as \"h100-sxm\"";
    let row = fields
        .required("accelerator", hint)
        .and_then(|field| read_accelerator(&field));
    if let Some(row) = row {
        inputs.name("accelerator", &row.id, InputOrigin::Stated);
    }
    let number = |name, unit, range, other| inputs.number(&Number { name, unit, range }, other);
    let accelerators = count(inputs, "accelerators", 10_000);
    let utilisation = number("utilisation", "", 1e-3..=1.0, 0.4);
    let width = number("weight_bytes_per_parameter", "B", 0.0625..=16.0, 2.0);
    let typical = row.and_then(|row| row.rental_usd_per_hour.typical);
    let rental = Number {
        name: "rental_usd_per_hour",
        unit: "USD/h",
        range: 0.0..=1e6,
    };
    let rental_usd_per_hour =
        inputs.number_or_none(&rental, typical.map(|usd| (usd.0, InputOrigin::Reference)));
    inputs.refuse_unknown();
    Some(Cluster {
        accelerator: row?,
        accelerators: accelerators?,
        utilisation: utilisation?,
        weight_bytes_per_parameter: width?,
        rental_usd_per_hour,
    })
}

fn read_accelerator(field: &Cursor<'_>) -> Option<&'static Accelerator> {
    let id = field.name()?;
    let row = accelerator(&id);
    if row.is_none() {
        let known: Vec<&str> = accelerators().iter().map(|row| row.id.as_str()).collect();
        field.fault(
            format!("`{id}` is not a known accelerator"),
            one_of_hint(&id, &known),
        );
    }
    row
}
