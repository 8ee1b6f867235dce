//! The request of `/plan`, and the same with every default filled in.

use std::ops::RangeInclusive;

use super::chip::{Chip, ChipScale};
use super::lengths::{Lengths, MOST_TOKENS};
use super::model::{
    Model, ModelKind, PlannedModel, PlannedPrecision, Precision, fill_model, fill_precision,
};
use super::traffic::{PlannedTraffic, Traffic, fill_traffic};
use crate::calculator::inputs::{InputOrigin as Origin, InputUsed, Inputs};
use crate::forward::Speculation;
use crate::plan::grid::Degrees;
use crate::reference::accelerator;
use crate::reference::names::AcceleratorId;
use unroof_base::input::body::body;
use unroof_base::input::body::{Body, List, OneOf, Stated, count, number, object, section, value};
use unroof_base::input::cursor::Cursor;

/// Most chips of a plan.
const MOST_CHIPS: u32 = 1_000_000;
/// Rents in USD per hour.
const RENTS: RangeInclusive<f64> = 1e-6..=1e6;
/// Degrees of parallelism that may be stated.
const DEGREES: RangeInclusive<u32> = 1..=4_096;
/// Most points of an axis of the grid.
const MOST_POINTS: usize = 32;

const EFFICIENCIES: &[(&str, bool)] = &[("fitted", false), ("peak", true)];
const PERCENTILES: &[(&str, Percentile)] = &[("p50", Percentile::P50), ("p95", Percentile::P95)];
const SERVINGS: &[(&str, ServingKinds)] = &[
    ("both", ServingKinds::Both),
    ("aggregated", ServingKinds::Aggregated),
    ("disaggregated", ServingKinds::Disaggregated),
];
const UNITS: &[(&str, bool)] = &[("whole", true), ("average", false)];

body! {
    /// A planning request. A field that is left out has a default, which the answer names.
    pub struct PlanRequest {
        /// The model, by its name or its architecture; DeepSeek-V3 where nothing is stated.
        model: Stated<PlannedModel> = value(ModelKind).flag("model"),
        /// Precisions of weights, KV cache and attention.
        precision: PlannedPrecision = section::<PlannedPrecision>(),
        /// Chips that serve the model.
        machine: PlannedMachine = section::<PlannedMachine>(),
        /// Shares of the peaks: `fitted` to published measurements, or `peak`; `fitted` if left out.
        efficiencies: Stated<bool> = value(OneOf(EFFICIENCIES)).flag("efficiencies"),
        /// Requests and their lengths.
        traffic: PlannedTraffic = section::<PlannedTraffic>(),
        /// Limits on the latency of answers.
        limits: PlannedLimits = section::<PlannedLimits>(),
        /// Layouts that are searched.
        layouts: PlannedLayouts = section::<PlannedLayouts>(),
        /// Prices that the tokens are sold at; the answer then has revenue and margin.
        prices: Stated<PlannedPrices> = value(object::<PlannedPrices>()),
        /// Further questions, a row of the series each.
        grid: Stated<PlannedGrid> = value(object::<PlannedGrid>()),
    }

    /// The chips: one kind, or one for prefill and one for decoding.
    pub struct PlannedMachine {
        /// Accelerator, an id of `/reference/accelerators`.
        accelerator: Stated<&'static str> = value(AcceleratorId).or("h100-sxm").flag("accelerator"),
        /// Id of the accelerator that computes prompts, where it is another one.
        prefill_accelerator: Stated<&'static str> = value(AcceleratorId).flag("prefill-accelerator"),
        /// Most chips; without `requests_per_second` the plan serves as many requests as these can.
        chips: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(8).flag("chips"),
        /// Rent of one chip; the typical one of the reference data if left out.
        rental_usd_per_hour: Stated<f64> = number(RENTS).unit("USD/h").flag("rental"),
        /// Rent of one prefill chip.
        prefill_rental_usd_per_hour: Stated<f64> = number(RENTS).unit("USD/h").flag("prefill-rental"),
    }

    /// Limits on latency. A limit that is left out does not bind.
    pub struct PlannedLimits {
        /// Most time from the arrival of a request to its first token: waiting, prefill, transfer of the cache.
        time_to_first_token_seconds: Stated<f64> = number(1e-6..=1e6).unit("s").example(1).flag("ttft"),
        /// Most time per generated token, averaged over an answer.
        time_per_output_token_seconds: Stated<f64> = number(1e-6..=1e4).unit("s").example(0.025).flag("tpot"),
        /// Requests that keep the limits: half of them (`p50`) or 95 % (`p95`); `p95` if left out.
        percentile: Stated<Percentile> = value(OneOf(PERCENTILES)).flag("percentile"),
    }

    /// Layouts that are searched: all of the grid where nothing is stated.
    pub struct PlannedLayouts {
        /// `aggregated`: prompts and answers on the same chips; `disaggregated`: on chips of their own; `both` if left
        /// out.
        serving: Stated<ServingKinds> = value(OneOf(SERVINGS)).flag("serving"),
        /// Degrees of tensor parallelism.
        tensor: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=8)).flag("tensor").example([1, 8]),
        /// Degrees of data parallelism within a unit.
        data: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=24)).flag("data").example([32, 144]),
        /// Pipeline stages that are searched.
        pipeline: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=8)).flag("pipeline").example([1]),
        /// `whole`: units are whole; `average`: units are switched on and off with the load, so that their mean number
        /// need not be whole. `whole` if left out.
        units: Stated<bool> = value(OneOf(UNITS)).flag("units"),
    }

    /// Prices of tokens, in USD per million.
    pub struct PlannedPrices {
        /// Price of prompt tokens that are computed.
        input_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("input-price"),
        /// Price of prompt tokens that are found in the cache.
        cached_input_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("cached-price"),
        /// Price of generated tokens.
        output_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("output-price"),
    }

    /// Axes of a series.
    #[at_least(1)]
    pub struct PlannedGrid {
        /// Tokens of a sequence that a pass computes, from 1 (decoding) to a whole prompt: the cost of a token falls
        /// from that of decoding to that of prefill.
        pass_tokens: Stated<Vec<f64>> = value(List::of(1.0..=MOST_TOKENS, 1..=MOST_POINTS)).flag("pass-grid").example([1, 16, 256]),
        /// Shares of the prompt tokens that are found in the cache.
        cache_hit_rate: Stated<Vec<f64>> = value(List::of(0.0..=1.0, 1..=MOST_POINTS)).flag("hit-rate-grid").example([0.0, 0.5]),
        /// Numbers of chips in the grid.
        chips: Stated<Vec<u32>> = value(List::of(1..=MOST_CHIPS, 1..=MOST_POINTS)).flag("chips-grid").example([8, 16]),
    }
}

/// Share of requests that keep the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// Half of the requests keep the limit.
    P50,
    /// 95 % of the requests keep the limit.
    P95,
}

impl Percentile {
    /// Share of requests that keep the limit.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P95 => 0.95,
        }
    }

    /// Standard deviations above the mean of a normal variable.
    pub(crate) fn deviations(self) -> f64 {
        match self {
            Self::P50 => 0.0,
            Self::P95 => 1.644_853_6,
        }
    }
}

/// Ways of serving that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServingKinds {
    /// Shared and separate chips.
    Both,
    /// Prompts and answers on the same chips.
    Aggregated,
    /// Prompts and answers on chips of their own.
    Disaggregated,
}

/// Limits on latency, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) first_token_s: Option<f64>,
    pub(crate) per_token_s: Option<f64>,
    pub(crate) percentile: Percentile,
}

/// Prices in USD per million tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prices {
    pub(crate) input: f64,
    pub(crate) cached_input: f64,
    pub(crate) output: f64,
}

/// Axes of a series.
#[derive(Debug, Clone, Default)]
pub(crate) struct Axes {
    pub(crate) pass_tokens: Vec<f64>,
    pub(crate) hit_rates: Vec<f64>,
    pub(crate) chips: Vec<u32>,
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) model: Model,
    pub(crate) precision: Precision,
    pub(crate) speculation: Speculation,
    pub(crate) is_peak: bool,
    pub(crate) decode_chip: Chip,
    pub(crate) prefill_chip: Chip,
    /// Greatest number of chips.
    pub(crate) budget: Option<u32>,
    pub(crate) traffic: Traffic,
    pub(crate) limits: Limits,
    pub(crate) degrees: Degrees,
    pub(crate) kinds: ServingKinds,
    pub(crate) whole_units: bool,
    pub(crate) prices: Option<Prices>,
    pub(crate) axes: Axes,
    pub(crate) inputs: Vec<InputUsed>,
}

impl Question {
    /// Whether prompts are computed on another kind of chip.
    pub(crate) fn has_two_chips(&self) -> bool {
        self.decode_chip.row.id != self.prefill_chip.row.id
    }

    /// The input lengths of prompts: the tokens that are computed.
    pub(crate) fn fresh(&self) -> Lengths {
        self.traffic.input.times(1.0 - self.traffic.hit_rate)
    }

    /// Mean tokens in the cache of a sequence that is being answered, over its generated tokens.
    pub(crate) fn mean_context(&self) -> f64 {
        self.traffic.input.mean() + self.traffic.output.mean_generated_before()
    }
}

/// Reads the request. A fault in one section does not stop the checks of the others.
pub(crate) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = PlanRequest::read(root)?;
    let inputs = Inputs::new(root.faults());
    let model = fill_model(&request.model, &inputs);
    let precision = fill_precision(&request.precision, &inputs, model.as_ref());
    let chips = fill_chips(&request.machine, &inputs);
    let is_peak = inputs.choice(&request.efficiencies, EFFICIENCIES, false);
    let has_budget = request.machine.chips.is_stated();
    let budget = match request.machine.chips.value {
        Ok(None) => Some(None),
        _ => inputs.or_else(&request.machine.chips, None).map(Some),
    };
    let traffic = fill_traffic(&request.traffic, &inputs, has_budget);
    let limits = fill_limits(&request.limits, &inputs);
    let layouts = &request.layouts;
    let kinds = inputs.choice(&layouts.serving, SERVINGS, ServingKinds::Both);
    let whole_units = inputs.choice(&layouts.units, UNITS, true);
    let listed = |field: &Stated<Vec<u32>>| field.value.clone().ok().map(Option::unwrap_or_default);
    let degrees = Degrees {
        tensor: listed(&layouts.tensor)?,
        data: listed(&layouts.data)?,
        pipeline: listed(&layouts.pipeline)?,
    };
    let prices = match &request.prices.value {
        Ok(Some(stated)) => Some(fill_prices(stated, &inputs)?),
        Ok(None) => None,
        Err(_) => return None,
    };
    let axes = match &request.grid.value {
        Ok(Some(stated)) => fill_axes(stated)?,
        Ok(None) => Axes::default(),
        Err(_) => return None,
    };
    let (decode_chip, prefill_chip) = chips?;
    let (traffic, speculation) = traffic?;
    Some(Question {
        model: model?,
        precision: precision?,
        speculation,
        is_peak: is_peak?,
        decode_chip,
        prefill_chip,
        budget: budget?,
        traffic,
        limits: limits?,
        degrees,
        kinds: kinds?,
        whole_units: whole_units?,
        prices,
        axes,
        inputs: inputs.into_used(),
    })
}

/// The chips that decode and those that compute prompts.
fn fill_chips(stated: &PlannedMachine, inputs: &Inputs<'_>) -> Option<(Chip, Chip)> {
    let row = inputs
        .or_default(&stated.accelerator)
        .and_then(accelerator)?;
    let own = match stated.prefill_accelerator.value {
        Ok(None) => None,
        Ok(Some(id)) => {
            inputs.name("machine.prefill_accelerator", id, Origin::Stated);
            accelerator(id)
        }
        Err(_) => return None,
    };
    let typical = |row: &crate::reference::Accelerator| {
        let usd = row.rental_usd_per_hour.typical;
        usd.map(|usd| (usd.0, Origin::Reference))
    };
    let rent = inputs.or_else(&stated.rental_usd_per_hour, typical(row));
    let decode = Chip {
        row,
        usd_per_hour: rent,
        scale: ChipScale::NONE,
    };
    let of_prefill = match own {
        Some(own) => typical(own),
        None => rent.map(|usd| (usd, Origin::Derived)),
    };
    let prefill = Chip {
        row: own.unwrap_or(row),
        usd_per_hour: inputs.or_else(&stated.prefill_rental_usd_per_hour, of_prefill),
        scale: ChipScale::NONE,
    };
    Some((decode, prefill))
}

fn fill_limits(stated: &PlannedLimits, inputs: &Inputs<'_>) -> Option<Limits> {
    let limit = |field: &Stated<f64>| match field.value {
        Ok(None) => Some(None),
        _ => inputs.or_else(field, None).map(Some),
    };
    let first_token = limit(&stated.time_to_first_token_seconds);
    let per_token = limit(&stated.time_per_output_token_seconds);
    let percentile = inputs.choice(&stated.percentile, PERCENTILES, Percentile::P95);
    Some(Limits {
        first_token_s: first_token?,
        per_token_s: per_token?,
        percentile: percentile?,
    })
}

fn fill_prices(stated: &PlannedPrices, inputs: &Inputs<'_>) -> Option<Prices> {
    let input = inputs.or_default(&stated.input_usd_per_mtok);
    let cached_input = inputs.or_default(&stated.cached_input_usd_per_mtok);
    let output = inputs.or_default(&stated.output_usd_per_mtok);
    Some(Prices {
        input: input?,
        cached_input: cached_input?,
        output: output?,
    })
}

fn fill_axes(stated: &PlannedGrid) -> Option<Axes> {
    Some(Axes {
        pass_tokens: stated.pass_tokens.value.clone().ok()?.unwrap_or_default(),
        hit_rates: stated
            .cache_hit_rate
            .value
            .clone()
            .ok()?
            .unwrap_or_default(),
        chips: stated.chips.value.clone().ok()?.unwrap_or_default(),
    })
}
