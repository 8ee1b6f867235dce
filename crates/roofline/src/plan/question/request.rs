//! The request of `/plan`, and the same with every default filled in.
//!
//! ```
//! use unroof_base::input::body::flags;
//! use unroof_roofline::plan::question::request::PlanRequest;
//!
//! let flags = flags::<PlanRequest>();
//! let limit = flags.iter().find(|flag| flag.name == "ttft").unwrap();
//! assert_eq!(limit.pointer, "/limits/time_to_first_token_seconds");
//! ```

use std::ops::RangeInclusive;

use super::traffic::{Traffic, fill_traffic};
use crate::calculator::inputs::{InputOrigin as Origin, InputUsed, Inputs};
use crate::calculator::scenario::efficiency::{Efficiency, STARTING_POINTS, StatedEfficiencies};
use crate::calculator::scenario::lengths::MOST_TOKENS;
use crate::calculator::scenario::machine::MOST_CHIPS;
use crate::calculator::scenario::prices::Prices;
use crate::calculator::scenario::{
    Chip, Model, ModelKind, PREFILL_FLAGS, Precision, StatedLoad, StatedMachine, StatedModel,
    StatedPrecision, StatedPrices,
};
use crate::forward::{Overheads, Speculation, token_acceptance};
use crate::plan::answer::{ServingEngine, ServingKind};
use crate::plan::grid::{Degrees, tray_chips};
use crate::reference::names::AcceleratorIdOrAll;
use crate::reference::{
    Accelerator, DraftDomain, accelerators, fitted_attainment, token_acceptance_of,
};
use unroof_base::input::body::{
    Body, List, OneOf, Stated, Truth, bare_or, body, number, object, optional, section, value,
};
use unroof_base::input::cursor::Cursor;

/// Degrees of parallelism.
const DEGREES: RangeInclusive<u32> = 1..=4_096;
/// Most points of an axis of the grid.
const MOST_POINTS: usize = 32;

/// Limit on the time per token where none is stated: DeepSeek's service gives 20 to 22 tokens per second \[DS6\].
const USUAL_PER_TOKEN_S: f64 = 0.05;

const PERCENTILES: &[(&str, Percentile)] = &[("p50", Percentile::P50), ("p95", Percentile::P95)];
/// Ways of serving that are searched; none for all.
pub const SERVINGS: &[(&str, Option<ServingKind>)] = &[
    ("any", None),
    ("aggregated", Some(ServingKind::Aggregated)),
    ("chunked", Some(ServingKind::Chunked)),
    ("disaggregated", Some(ServingKind::Disaggregated)),
];
/// Serving engines whose flags are known, by the names of requests.
pub const ENGINES: &[(&str, Option<ServingEngine>)] = &[
    ("vllm", Some(ServingEngine::Vllm)),
    ("sglang", Some(ServingEngine::Sglang)),
    ("none", None),
];
const UNITS: &[(&str, bool)] = &[("whole", true), ("average", false)];

body! {
    /// A planning request. A field that is left out has a default, which the answer names.
    pub struct PlanRequest {
        /// The model, by its name, its sizes, its architecture or its configuration; DeepSeek-V3 where nothing is stated.
        model: Stated<StatedModel> = value(ModelKind).flag("model"),
        /// Precisions of weights, KV cache and attention.
        precision: StatedPrecision = section::<StatedPrecision>(),
        /// The chips, or the accelerator alone; `all` ranks the accelerators. Without `requests_per_second` the plan serves as
        /// many requests as the stated number of chips can.
        machine: StatedMachine = bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll),
        /// The chips that compute prompts, where they are others.
        prefill_machine: StatedMachine =
            bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll).with_flags(PREFILL_FLAGS),
        /// Efficiencies, as shares of the peaks: `fitted` to published measurements (the default), `peak`, or either
        /// with other numbers.
        efficiencies: StatedEfficiencies = bare_or::<StatedEfficiencies, _>("name", OneOf(STARTING_POINTS)),
        /// Requests and their lengths.
        load: StatedLoad = section::<StatedLoad>(),
        /// Limits on latency.
        limits: PlannedLimits = section::<PlannedLimits>(),
        /// Layouts that are searched.
        layouts: PlannedLayouts = section::<PlannedLayouts>(),
        /// Serving engine whose flags each plan is written as: `vllm`, `sglang`, or `none`, as if left out.
        engine: Stated<Option<ServingEngine>> = value(OneOf(ENGINES)).flag("engine"),
        /// Prices that the tokens are sold at; the answer then has revenue and margin.
        prices: Stated<StatedPrices> = value(object::<StatedPrices>()),
        /// Further questions, a row of the series each.
        grid: Stated<PlannedGrid> = value(object::<PlannedGrid>()),
    }

    /// Limits on latency.
    pub struct PlannedLimits {
        /// Most time from the arrival of a request to its first token: waiting, prefill, transfer of the cache; it does not bind
        /// if left out.
        time_to_first_token_seconds: Stated<f64> = number(1e-6..=1e6).unit("s").example(1).flag("ttft"),
        /// Most time per generated token, averaged over an answer; 50 ms if left out, the slowest that published services
        /// decode at.
        time_per_output_token_seconds: Stated<f64> = number(1e-6..=1e4).unit("s").example(0.025).flag("tpot"),
        /// Requests that keep the limits: half of them (`p50`) or 95 % (`p95`); `p95` if left out.
        percentile: Stated<Percentile> = value(OneOf(PERCENTILES)).flag("percentile"),
    }

    /// Layouts that are searched: all of the grid where nothing is stated.
    pub struct PlannedLayouts {
        /// `aggregated`: prompts and answers on the same chips, prompts in passes of their own; `chunked`: on the same chips,
        /// prompts in chunks beside the answers; `disaggregated`: on chips of their own; `any` if left out.
        serving: Stated<Option<ServingKind>> = value(OneOf(SERVINGS)).flag("serving"),
        /// Degrees of tensor parallelism.
        tensor: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=8)).flag("tensor").example([1, 8]),
        /// Degrees of data parallelism within a unit.
        data: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=24)).flag("data").example([32, 144]),
        /// Pipeline stages that are searched.
        pipeline: Stated<Vec<u32>> = value(List::of(DEGREES, 1..=8)).flag("pipeline").example([1]),
        /// `whole`: units are whole; `average`: units are switched on and off with the load, so that their mean number
        /// need not be whole. `whole` if left out.
        units: Stated<bool> = value(OneOf(UNITS)).flag("units"),
        /// Whether others may use the rest of a tray. If not, whole units pay for whole trays: boards of eight chips, or four of a
        /// rack; not unless stated, but where `machine.chips` is part of one.
        share_node: Stated<bool> = value(Truth).flag("share-node"),
    }

    /// Axes of a series.
    #[derive(Default)]
    #[at_least(1)]
    pub struct PlannedGrid {
        /// Tokens of a sequence that a pass computes, from 1 (decoding) to a whole prompt: the cost of a token falls
        /// from that of decoding to that of prefill.
        pass_tokens: Option<Vec<f64>> =
            optional(value(List::of(1.0..=MOST_TOKENS, 1..=MOST_POINTS)).flag("pass-grid").example([1, 16, 256])),
        /// Shares of the prompt tokens that are found in the cache.
        cache_hit_rate: Option<Vec<f64>> =
            optional(value(List::of(0.0..=1.0, 1..=MOST_POINTS)).flag("hit-rate-grid").example([0.0, 0.5])),
        /// γ: tokens drafted per step, accepted with the chances that follow from the load.
        drafted_tokens: Option<Vec<f64>> =
            optional(value(List::of(0.0..=64.0, 1..=MOST_POINTS)).flag("drafted-grid").example([0.0, 1.0, 3.0])),
        /// Numbers of chips in the grid.
        chips: Option<Vec<u32>> =
            optional(value(List::of(1..=MOST_CHIPS, 1..=MOST_POINTS)).flag("chips-grid").example([8, 16])),
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

/// Limits on latency, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) first_token_s: Option<f64>,
    pub(crate) per_token_s: Option<f64>,
    pub(crate) percentile: Percentile,
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) model: Model,
    pub(crate) precision: Precision,
    pub(crate) speculation: Speculation,
    /// α: chance that the first drafted token is accepted.
    pub(crate) token_acceptance: f64,
    /// Layers that draft a token.
    pub(crate) draft_layers: f64,
    pub(crate) efficiency: Efficiency,
    /// Efficiency of the chips that compute prompts.
    pub(crate) prefill_efficiency: Efficiency,
    pub(crate) decode_chip: Chip,
    pub(crate) prefill_chip: Chip,
    /// Greatest number of chips.
    pub(crate) budget: Option<u32>,
    pub(crate) load: Traffic,
    pub(crate) limits: Limits,
    pub(crate) degrees: Degrees,
    /// The way of serving that is searched; both where there is none.
    pub(crate) serving: Option<ServingKind>,
    pub(crate) whole_units: bool,
    /// Whether others may use the rest of a tray.
    pub(crate) share_node: bool,
    /// Engine whose flags are wanted.
    pub(crate) engine: Option<ServingEngine>,
    pub(crate) prices: Option<Prices>,
    pub(crate) grid: PlannedGrid,
    pub(crate) inputs: Vec<InputUsed>,
}

impl Question {
    /// Whether prompts are computed on another kind of chip.
    pub(crate) fn has_two_chips(&self) -> bool {
        !self.decode_chip.is_like(&self.prefill_chip)
    }

    /// Whether trays are rented whole: the chips that are stated may be part of one.
    pub(crate) fn whole_trays(&self) -> bool {
        let tray = tray_chips(self.decode_chip.domain);
        !self.share_node && self.budget.is_none_or(|chips| chips.is_multiple_of(tray))
    }

    /// Shares of the peaks that chips of this kind reach.
    pub(crate) fn efficiency_of(&self, chip: &Chip) -> Efficiency {
        if chip.row.generation == self.decode_chip.row.generation {
            self.efficiency
        } else {
            self.prefill_efficiency
        }
    }

    /// Whether times are those of the bare rooflines.
    pub(crate) fn is_peak(&self) -> bool {
        self.efficiency.overheads == Overheads::NONE
    }

    /// Mean tokens of a prompt that are computed.
    pub(crate) fn fresh_tokens(&self) -> f64 {
        self.load.input.mean() * (1.0 - self.load.hit_rate())
    }

    /// Mean tokens in the cache of a sequence that is being answered, over its generated tokens.
    pub(crate) fn mean_context(&self) -> f64 {
        self.load.input.mean() + self.load.output.mean_generated_before()
    }
}

/// Reads the request: a question, or one for each accelerator where it asks for all.
pub(crate) fn read_questions(root: &Cursor<'_>) -> Option<Vec<Question>> {
    let request = PlanRequest::read(root)?;
    if !request.machine.names_all() {
        return Some(vec![request.question(root, None)?]);
    }
    let mut questions = Vec::new();
    for row in accelerators() {
        questions.push(request.question(root, Some(row))?);
        // What is wrong with one is wrong with all, and is said once.
        if root.faults().count() > 0 {
            return None;
        }
    }
    Some(questions)
}

impl PlanRequest {
    /// The question, of chips of one row where the request asks for all. A fault in one section does not stop the checks of
    /// the others.
    fn question(&self, root: &Cursor<'_>, row: Option<&'static Accelerator>) -> Option<Question> {
        let inputs = Inputs::new(root, &[]);
        let width = self.precision.cache_of_sizes();
        let model = Model::fill(&self.model, &inputs, width);
        let precision = self.precision.fill(&inputs, model.as_ref());
        let served = model.as_ref().zip(precision.as_ref());
        let decode_chip = match row {
            Some(row) => self.machine.fill_as(row, &inputs, served),
            None => self.machine.fill(&inputs, None, served),
        };
        let prefill_chip = (self.prefill_machine).fill(&inputs, decode_chip.as_ref(), served);
        let efficiency = |inputs: &Inputs<'_>, chip: Option<&Chip>| {
            let reached = chip.map_or(fitted_attainment().all, |chip| chip.row.attainment());
            self.efficiencies.fill(inputs, reached)
        };
        let of_decode = efficiency(&inputs, decode_chip.as_ref());
        let of_prefill = efficiency(&Inputs::new(root, &[]), prefill_chip.as_ref());
        let has_budget = self.machine.chips.is_stated();
        let budget = inputs.stated(&self.machine.chips);
        let load = fill_traffic(&self.load, &inputs, has_budget);
        let limits = fill_limits(&self.limits, &inputs);
        let layouts = &self.layouts;
        let serving = inputs.choice(&layouts.serving, SERVINGS, None);
        let whole_units = inputs.choice(&layouts.units, UNITS, true);
        let share_node = inputs.or(&layouts.share_node, false, Origin::Default);
        let engine = inputs.choice(&self.engine, ENGINES, None);
        let degrees = Degrees {
            tensor: layouts.tensor.list()?,
            data: layouts.data.list()?,
            pipeline: layouts.pipeline.list()?,
        };
        let prices = self.prices.filled(|stated| stated.fill(&inputs)).ok()?;
        let grid = self.grid.value.clone().ok()?.unwrap_or_default();
        let (load, speculation) = load?;
        // What is drafted in the grid is accepted as the load says.
        let token_acceptance = if speculation.drafted > 0.0 {
            token_acceptance(speculation.accepted, speculation.drafted)
        } else {
            token_acceptance_of(self.load.domain.value.ok()?.unwrap_or(DraftDomain::Mixed))
        };
        Some(Question {
            model: model?,
            precision: precision?,
            speculation,
            token_acceptance,
            draft_layers: self.load.draft_layers.value.ok()?.unwrap_or(1.0),
            efficiency: of_decode?,
            prefill_efficiency: of_prefill?,
            decode_chip: decode_chip?,
            prefill_chip: prefill_chip?,
            budget: budget.ok()?,
            load,
            limits: limits?,
            degrees,
            serving: serving?,
            whole_units: whole_units?,
            share_node: share_node?,
            engine: engine?,
            prices,
            grid,
            inputs: inputs.into_used(),
        })
    }
}

fn fill_limits(stated: &PlannedLimits, inputs: &Inputs<'_>) -> Option<Limits> {
    Some(Limits {
        first_token_s: inputs.stated(&stated.time_to_first_token_seconds).ok()?,
        per_token_s: Some(inputs.or(
            &stated.time_per_output_token_seconds,
            USUAL_PER_TOKEN_S,
            Origin::Default,
        )?),
        percentile: inputs.choice(&stated.percentile, PERCENTILES, Percentile::P95)?,
    })
}
