//! Answer of `/plan`: the cheapest fleets for a traffic, their latency, cost and power.

use serde::Serialize;
use utoipa::ToSchema;

use super::grid::Layout;
use crate::calculator::inputs::{EquationUsed, InputUsed, NoValue, equations};
use crate::reference::{AcceleratorStatus, FigureInterval};
use unroof_base::units::{Bytes, Seconds};

/// Layouts that serve a load within limits, ranked by cost.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanAnswer {
    /// The model, if it has a name.
    pub model: Option<String>,
    /// The accelerator that decodes.
    pub accelerator: String,
    /// The accelerator that computes prompts.
    pub prefill_accelerator: String,
    /// Requests and tokens.
    pub load: LoadItem,
    /// Size of the search.
    pub searched: SearchedItem,
    /// The cheapest plan on each accelerator: what can be rented by the upper end of the 80 % interval of cost, then what is
    /// announced, then what has no known rent; the rest of the answer is of the first. Empty unless the request asks for `all`.
    pub accelerators: Vec<PlannedAccelerator>,
    /// Plans within the limits, cheapest at the upper end of the 80 % interval first; empty where there are none.
    pub plans: Vec<PlanItem>,
    /// Changes of the request that would each give a plan; empty where there is one, or where none of them would.
    pub nearest: Vec<NearestItem>,
    /// Cheapest plans over speed: none of them is both slower and dearer than another.
    pub front: Vec<FrontItem>,
    /// Change of the cheapest plan's cost with each input.
    pub sensitivity: Vec<SensitivityItem>,
    /// Caches kept outside the accelerators against computing them again.
    pub offload: OffloadItem,
    /// The grid, one flat row per point; empty without one.
    pub series: Vec<PlanPoint>,
    /// Values that are null, and why.
    pub not_defined: Vec<NoValue>,
    /// Caveats about the answer, as sentences.
    pub caveats: Vec<String>,
    /// Equations behind the answer.
    pub equations: &'static [EquationUsed],
    /// Every value used, and where it comes from.
    pub inputs: Vec<InputUsed>,
    /// Sources of the reference data among them.
    pub sources: Vec<SourceItem>,
}

impl PlanAnswer {
    /// Reasons for doubt about accelerators, each with the ids that it is about.
    #[must_use]
    pub fn doubts(&self) -> Vec<(&str, Vec<&str>)> {
        let mut doubts: Vec<(&str, Vec<&str>)> = Vec::new();
        for item in &self.accelerators {
            for caveat in &item.caveats {
                match doubts.iter_mut().find(|(doubt, _)| doubt == caveat) {
                    Some((_, ids)) => ids.push(&item.accelerator),
                    None => doubts.push((caveat, vec![&item.accelerator])),
                }
            }
        }
        doubts
    }
}

/// Source of numbers of the reference data.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceItem {
    /// Numbers that it is the source of.
    pub subject: String,
    /// Publications, and what is an estimate.
    pub source: String,
}

/// Requests, and what they are made of.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct LoadItem {
    /// Mean tokens of a prompt.
    pub input_tokens: f64,
    /// Mean tokens of an answer.
    pub output_tokens: f64,
    /// Share of the prompt tokens found in the cache.
    pub cache_hit_rate: f64,
    /// Mean tokens in the cache of a sequence, over its generated tokens.
    pub mean_context_tokens: f64,
    /// Stated requests per second; null where the number of chips decides.
    pub requests_per_second: Option<f64>,
}

/// Size of the search.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct SearchedItem {
    /// Layouts of the grid.
    pub layouts: usize,
    /// Units compared: layouts that hold the model, with each number of prompts per pass, for each way of serving.
    pub units: usize,
}

/// One change of a request without a plan, which would give one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct NearestItem {
    /// The input that changes: a limit that binds, the chips, or the width of the weights; `limits` where both limits must be
    /// relaxed by a factor, and neither alone would do.
    pub input: &'static str,
    /// Value of the request.
    pub stated: f64,
    /// The nearest value with a plan: the least limit to two digits, the fewest chips in whole trays, the widest format.
    pub would_do: f64,
}

/// The cheapest plan on one accelerator; null where none keeps the limits.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlannedAccelerator {
    /// Id of the accelerator that decodes.
    pub accelerator: String,
    /// Whether it can be had.
    pub status: AcceleratorStatus,
    /// Rent of a chip; null where none is known.
    pub usd_per_hour: Option<f64>,
    /// Published measurements of such chips behind the times.
    pub measured_rows: u32,
    /// Distribution of prompts and answers.
    pub serving: Option<ServingKind>,
    /// Layout of a prefill unit, where there are some.
    pub prefill: Option<Layout>,
    /// Layout of a decode unit.
    pub decode: Option<Layout>,
    /// Chips that are rented.
    pub chips: Option<f64>,
    /// Requests per second that they serve.
    pub requests_per_second: Option<f64>,
    /// Time per generated token at the percentile of the limits.
    pub time_per_output_token_seconds: Option<Seconds>,
    /// Rent per million tokens, prompt and generated ones, USD; null where no rent is known.
    pub usd_per_mtok: Option<f64>,
    /// Lower end of the 80 % interval of that cost.
    pub usd_per_mtok_low_80: Option<f64>,
    /// Upper end of it, by which accelerators are ranked.
    pub usd_per_mtok_high_80: Option<f64>,
    /// Reasons for doubt, or why there is no plan, as sentences.
    pub caveats: Vec<String>,
}

/// Distribution of prompts and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServingKind {
    /// Prompts and answers on the same chips, prompts in passes that go first.
    Aggregated,
    /// Prompts and answers on the same chips, prompts in chunks that decode steps compute beside the answers.
    Chunked,
    /// Prompts and answers on chips of their own.
    Disaggregated,
}

/// A fleet that serves the traffic.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanItem {
    /// Place in the ranking.
    pub rank: usize,
    /// Intervals of the times, speeds and costs, by the errors on measurements that the fit had not seen; empty at peak.
    pub intervals: Vec<FigureInterval>,
    /// Distribution of prompts and answers.
    pub serving: ServingKind,
    /// Units that compute prompts; null where the same units decode.
    pub prefill: Option<PoolItem>,
    /// Units that decode, and compute prompts where no others do.
    pub decode: PoolItem,
    /// Prefill units over decode units; null where the same units do both.
    pub prefill_units_per_decode_unit: Option<f64>,
    /// Chips of the plan, with those of the last tray that no unit uses.
    pub chips: f64,
    /// Scale-up domains of the plan: chips over chips of a domain.
    pub nodes: f64,
    /// Requests per second that the fleet serves.
    pub requests_per_second: f64,
    /// Prompt tokens per second, those found in the cache included.
    pub input_tokens_per_second: f64,
    /// Generated tokens per second.
    pub output_tokens_per_second: f64,
    /// Generated tokens per second over all chips.
    pub output_tokens_per_second_per_chip: f64,
    /// Time to the first token.
    pub time_to_first_token: FirstTokenItem,
    /// Time per generated token.
    pub time_per_output_token: PerTokenItem,
    /// Cost of the fleet.
    pub cost: MoneyItem,
    /// Revenue and margin of a day, where prices are stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub day: Option<DayItem>,
    /// Power at the thermal design power of the chips.
    pub power: PowerItem,
    /// Limits that keep the batch, or the number of units, from being better: `time_per_output_token`, `memory`,
    /// `time_to_first_token`, `prefill_capacity` or `request_rate`.
    pub binds: Vec<&'static str>,
    /// The plan as flags of the stated engine; empty where none is stated.
    pub engine_flags: Vec<EngineFlag>,
}

/// A serving engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServingEngine {
    /// `vllm serve`
    Vllm,
    /// `python -m sglang.launch_server`
    Sglang,
}

/// Units that are started with a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlaggedUnits {
    /// All units, where the same ones compute prompts and answers.
    All,
    /// Units that compute prompts.
    Prefill,
    /// Units that decode.
    Decode,
}

impl FlaggedUnits {
    /// Name of the units in answers and in the flags of engines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// A flag of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EngineFlag {
    /// Units that are started with it.
    pub units: FlaggedUnits,
    /// The flag, with its value where it has one.
    pub flag: String,
    /// Part of the plan that it follows from.
    pub reason: String,
}

/// Units of one layout.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PoolItem {
    /// Id of the accelerator.
    pub accelerator: String,
    /// Layout of a unit.
    pub layout: Layout,
    /// Chips of a unit.
    pub chips_per_unit: u32,
    /// Units of the pool.
    pub units: f64,
    /// Chips of all units of the pool.
    pub chips: f64,
    /// Scale-up domains: chips over chips of a domain.
    pub nodes: f64,
    /// Mean sequences of a unit that are answered; null for prefill.
    pub batch: Option<f64>,
    /// Most sequences of a unit that fit.
    pub most_sequences: f64,
    /// Prompts of a prefill pass; null where there are none.
    pub prompts_per_pass: Option<f64>,
    /// Prompt tokens of each group of chips that a decode step computes beside the answers; null where prompts have passes of their
    /// own.
    pub chunk_tokens: Option<f64>,
    /// Share of the time that prefill takes, or that chunks add to decode steps; null where a unit only decodes.
    pub prefill_utilisation: Option<f64>,
    /// Weights on a chip.
    pub weights_bytes_per_chip: Bytes,
    /// KV cache and state on a chip, at the mean batch.
    pub kv_bytes_per_chip: Bytes,
    /// HBM of a chip.
    pub capacity_bytes_per_chip: Bytes,
    /// Time of a decode step at the mean batch, by part; null for prefill.
    pub step: Option<SplitItem>,
    /// Time of a prefill pass, or of a decode step with chunks, by part; null where a unit only decodes.
    pub pass: Option<SplitItem>,
}

/// Time by part, in seconds. Parts overlap.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct SplitItem {
    /// Time of multiplying with weights.
    pub weight_compute_seconds: Seconds,
    /// Time of multiplying in attention.
    pub attention_compute_seconds: Seconds,
    /// Time of reading weights.
    pub weight_memory_seconds: Seconds,
    /// Reading the KV cache.
    pub kv_memory_seconds: Seconds,
    /// Time of exchanges between chips.
    pub communication_seconds: Seconds,
    /// Memory traffic per token beside weights and cache, waiting between kernels, and drafting.
    pub overhead_seconds: Seconds,
    /// The whole, with overlaps.
    pub total_seconds: Seconds,
    /// Name of the longest part.
    pub longest: &'static str,
}

/// Time to the first token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct FirstTokenItem {
    /// Half of the requests have their first token by then.
    pub p50_seconds: Option<Seconds>,
    /// Time within which 95 % of requests have the first token.
    pub p95_seconds: Option<Seconds>,
    /// Mean wait for prefill.
    pub waiting_seconds: Option<Seconds>,
    /// Mean time of prefill.
    pub prefill_seconds: Seconds,
    /// Transfer of the cache; where the same units decode, the rest of a decode step that is running.
    pub transfer_seconds: Seconds,
}

/// Time per generated token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct PerTokenItem {
    /// Mean time per token over all answers.
    pub mean_seconds: Seconds,
    /// Time per token at the percentile of the limits.
    pub at_percentile_seconds: Seconds,
    /// Tokens per second of a user: one over the mean.
    pub tokens_per_second_per_user: f64,
}

/// Cost of a plan in USD; null where a rent is not known.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct MoneyItem {
    /// Rent per hour, USD.
    pub usd_per_hour: Option<f64>,
    /// Rent per day, USD.
    pub usd_per_day: Option<f64>,
    /// Rent per request, USD.
    pub usd_per_request: Option<f64>,
    /// Rent per million tokens, prompt and generated ones, USD.
    pub usd_per_mtok: Option<f64>,
    /// Per million prompt tokens: rent of the chips that compute them.
    pub input_usd_per_mtok: Option<f64>,
    /// Per million generated tokens: rent of the chips that decode.
    pub output_usd_per_mtok: Option<f64>,
}

/// A day at stated prices.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct DayItem {
    /// Prompt tokens that are computed.
    pub input_tokens: f64,
    /// Prompt tokens found in the cache.
    pub cached_input_tokens: f64,
    /// Generated tokens per day.
    pub output_tokens: f64,
    /// Revenue per day, USD.
    pub revenue_usd: f64,
    /// Rent per day, USD.
    pub cost_usd: Option<f64>,
    /// Revenue less rent, USD per day.
    pub profit_usd: Option<f64>,
    /// Profit over rent of a day.
    pub profit_over_cost: Option<f64>,
}

/// Power of all chips; null where a thermal design power is not published.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct PowerItem {
    /// Power of the fleet, watts.
    pub watts: Option<f64>,
    /// Joules per generated token.
    pub joules_per_output_token: Option<f64>,
    /// Energy per request, watt-hours.
    pub watt_hours_per_request: Option<f64>,
}

/// The cheapest plan at one speed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FrontItem {
    /// Limit on the time per generated token.
    pub time_per_output_token_seconds: Seconds,
    /// Speed at the percentile of the limits.
    pub tokens_per_second_per_user: f64,
    /// Cost per million tokens, prompt and generated ones.
    pub usd_per_mtok: Option<f64>,
    /// Chips of the fleet.
    pub chips: f64,
    /// Requests per second that the chips serve.
    pub requests_per_second: f64,
    /// Distribution of prompts and answers.
    pub serving: ServingKind,
    /// Layout of a decode unit.
    pub decode: Layout,
    /// Layout of a prefill unit, where there are some.
    pub prefill: Option<Layout>,
}

/// Change of cost with an input.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SensitivityItem {
    /// Name of the input.
    pub input: &'static str,
    /// Change of the cost per request where the input is a tenth lower; null where no plan is left.
    pub cost_change_at_minus_10_percent: Option<f64>,
    /// Change of the cost per request where the input is a tenth higher; null where no plan is left.
    pub cost_change_at_plus_10_percent: Option<f64>,
}

/// A row of the grid.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct PlanPoint {
    /// Tokens of a sequence that a pass computes; null off this axis.
    pub pass_tokens: Option<f64>,
    /// Tokens drafted per step; null off this axis.
    pub drafted_tokens: Option<f64>,
    /// Tokens accepted per step; null off that axis.
    pub accepted_tokens_per_step: Option<f64>,
    /// Share of the prompt tokens found in the cache.
    pub cache_hit_rate: f64,
    /// Most chips; null where none is stated.
    pub chips_limit: Option<f64>,
    /// Whether a plan keeps the limits.
    pub is_feasible: bool,
    /// Chips of the plan, or of the unit of a pass.
    pub chips: Option<f64>,
    /// Requests per second; null for a pass.
    pub requests_per_second: Option<f64>,
    /// Time of a pass; null off this axis.
    pub pass_seconds: Option<f64>,
    /// Cost of a million tokens of the pass, or of prompt and generated tokens of the plan.
    pub usd_per_mtok: Option<f64>,
    /// Longest part of the pass, or the limit that binds the plan.
    pub bound: Option<&'static str>,
    /// Time per generated token at the percentile; null for a pass.
    pub time_per_output_token_seconds: Option<f64>,
    /// Time to the first token at the percentile; null for a pass.
    pub time_to_first_token_seconds: Option<f64>,
}

/// A cached prompt on every tier.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OffloadItem {
    /// Tokens of the cached prefix: the mean prompt.
    pub prefix_tokens: f64,
    /// Bytes of its cache.
    pub cache_bytes: Option<Bytes>,
    /// Computing it again, then every storage tier, fastest first; empty where no plan keeps the limits.
    pub tiers: Vec<Offloaded>,
    /// The cheapest tier over the time to live, from short to long.
    pub cheapest: Vec<CheapestTier>,
}

/// A prefix on one tier.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Offloaded {
    /// Id of `/reference/storage-tiers`; computing it again has one of its own.
    pub id: String,
    /// Name of the storage tier.
    pub name: String,
    /// Time until the prefix is in HBM: loading, or computing it again; null where a bandwidth is not known.
    pub time_to_first_token_seconds: Option<Seconds>,
    /// Retrieving the prefix once.
    pub retrieve_usd: Option<f64>,
    /// Holding it for an hour.
    pub hold_usd_per_hour: Option<f64>,
    /// Uses per hour above which holding it costs less than computing it again.
    pub break_even_uses_per_hour: Option<f64>,
    /// Hit rate from which keeping every prompt there for an hour pays: of uses and the first computation, the share that is
    /// uses.
    pub pays_from_hit_rate: Option<f64>,
}

/// The cheapest tier between two times to live.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CheapestTier {
    /// Id of the storage tier.
    pub id: String,
    /// Time to live from which the tier is the cheapest.
    pub from_seconds: Seconds,
    /// Time to live up to which the tier is the cheapest; null without an end.
    pub to_seconds: Option<Seconds>,
}

equations! {
    "E1'" "step and pass times as in /simulate, of a layout" "SB, D" => "plans.decode.step", "plans.prefill.pass";
    "E21" "HBM: w·N_t·copies + B·cache(L) ≤ C, pipeline stages share both" "T" => "plans.decode.most_sequences";
    "" "P(wait) = ρ^(√(2(c + 1)) − 1); wait if waiting = (C_a² + C_s²)/2·S/(c·(1 − ρ))" "AC, SK" =>
        "plans.time_to_first_token";
    "" "B = λ·steps·T(B) per unit; at a percentile B + z·√B" "D" => "plans.decode.batch", "plans.time_per_output_token";
    "" "T(B)/(1 − λ·T_pass/n): decoding has the time that prefill leaves" "D" =>
        "plans.time_per_output_token of aggregated serving";
    "" "T(B)/(1 − λ·S/C·(T(B, C) − T(B))/n): steps with chunks of C tokens take T(B, C)" "D" =>
        "plans.time_per_output_token of chunked serving";
    "" "transfer = cache(S)/(link·chips of a prompt)" "D" => "plans.time_to_first_token.transfer_seconds";
    "" "USD/Mtok = rent/(requests·tokens)" "D" => "plans.cost";
    "" "W = chips·TDP" "D" => "plans.power.watts";
    "E16" "recompute = R·pass/n; retrieve_X = cache·read_X; hold_X = cache·hold_X" "D, MK" => "offload.tiers";
}
