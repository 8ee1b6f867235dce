//! Answer of `/plan`.

use serde::Serialize;
use utoipa::ToSchema;

use super::candidate::{Candidate, Way};
use super::forward::{Engine, Parts};
use super::goal::Goal;
use super::grid::Layout;
use super::offload::{OffloadItem, offload};
use super::request::Question;
use super::search::Search;
use super::traffic::DAY_S;
use super::{front, sensitivity, series};
use crate::calculator::inputs::{EquationUsed, InputUsed, NoValue, equations};
use crate::units::{Bytes, Seconds};

const MILLION: f64 = 1e6;
/// Plans of an answer.
const MOST_PLANS: usize = 10;

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
    pub traffic: TrafficItem,
    /// What was searched.
    pub searched: SearchedItem,
    /// Plans within the limits, cheapest first; empty where there are none.
    pub plans: Vec<PlanItem>,
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
    /// Caveats.
    pub caveats: Vec<String>,
    /// The equations.
    pub equations: &'static [EquationUsed],
    /// Every value used, and where it comes from.
    pub inputs: Vec<InputUsed>,
}

/// Requests, and what they are made of.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct TrafficItem {
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

/// How prompts and answers are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServingKind {
    /// On the same chips.
    Aggregated,
    /// On chips of their own.
    Disaggregated,
}

/// A plan.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanItem {
    /// Place in the ranking.
    pub rank: usize,
    /// How prompts and answers are distributed.
    pub serving: ServingKind,
    /// Units that compute prompts; null where the same units decode.
    pub prefill: Option<PoolItem>,
    /// Units that decode, and compute prompts where no others do.
    pub decode: PoolItem,
    /// Prefill units over decode units; null for aggregated serving.
    pub prefill_units_per_decode_unit: Option<f64>,
    /// Chips of the plan.
    pub chips: f64,
    /// Scale-up domains of the plan: chips over chips of a domain.
    pub nodes: f64,
    /// Requests per second.
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
    /// Cost.
    pub cost: MoneyItem,
    /// Revenue and margin of a day, where prices are stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub day: Option<DayItem>,
    /// Power at the thermal design power of the chips.
    pub power: PowerItem,
    /// What keeps the batch, or the number of units, from being better: `time_per_output_token`, `memory`,
    /// `time_to_first_token`, `prefill_capacity` or `request_rate`.
    pub binds: Vec<&'static str>,
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
    /// Units.
    pub units: f64,
    /// All their chips.
    pub chips: f64,
    /// Scale-up domains: chips over chips of a domain.
    pub nodes: f64,
    /// Mean sequences of a unit that are answered; null for prefill.
    pub batch: Option<f64>,
    /// Most sequences of a unit that fit.
    pub most_sequences: f64,
    /// Prompts of a prefill pass; null where a unit only decodes.
    pub prompts_per_pass: Option<f64>,
    /// Share of the time that prefill takes; null where a unit only decodes.
    pub prefill_utilisation: Option<f64>,
    /// Weights on a chip.
    pub weights_bytes_per_chip: Bytes,
    /// KV cache and state on a chip, at the mean batch.
    pub kv_bytes_per_chip: Bytes,
    /// HBM of a chip.
    pub capacity_bytes_per_chip: Bytes,
    /// Time of a decode step at the mean batch, by part; null for prefill.
    pub step: Option<SplitItem>,
    /// Time of a prefill pass, by part; null where a unit only decodes.
    pub pass: Option<SplitItem>,
}

/// Time by part, in seconds. Parts overlap.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct SplitItem {
    /// Multiplying with weights.
    pub weight_compute_seconds: Seconds,
    /// Multiplying in attention.
    pub attention_compute_seconds: Seconds,
    /// Reading weights.
    pub weight_memory_seconds: Seconds,
    /// Reading the KV cache.
    pub kv_memory_seconds: Seconds,
    /// Exchanges between chips.
    pub communication_seconds: Seconds,
    /// Other traffic per token, and waiting between kernels.
    pub overhead_seconds: Seconds,
    /// The whole, with overlaps.
    pub total_seconds: Seconds,
    /// The longest part.
    pub longest: &'static str,
}

/// Time to the first token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct FirstTokenItem {
    /// Half of the requests have their first token by then.
    pub p50_seconds: Option<Seconds>,
    /// 95 % have.
    pub p95_seconds: Option<Seconds>,
    /// Mean wait for prefill.
    pub waiting_seconds: Option<Seconds>,
    /// Mean time of prefill.
    pub prefill_seconds: Seconds,
    /// Transfer of the cache; for aggregated serving, the rest of a decode step that is running.
    pub transfer_seconds: Seconds,
}

/// Time per generated token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct PerTokenItem {
    /// Over all answers.
    pub mean_seconds: Seconds,
    /// At the percentile of the limits.
    pub at_percentile_seconds: Seconds,
    /// Tokens per second of a user: one over the mean.
    pub tokens_per_second_per_user: f64,
}

/// Cost of a plan in USD; null where a rent is not known.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct MoneyItem {
    /// Per hour.
    pub usd_per_hour: Option<f64>,
    /// Per day.
    pub usd_per_day: Option<f64>,
    /// Per request.
    pub usd_per_request: Option<f64>,
    /// Per million tokens, prompt and generated ones.
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
    pub fresh_input_tokens: f64,
    /// Prompt tokens found in the cache.
    pub cached_input_tokens: f64,
    /// Generated tokens.
    pub output_tokens: f64,
    /// Revenue.
    pub revenue_usd: f64,
    /// Rent.
    pub cost_usd: Option<f64>,
    /// Revenue less rent.
    pub profit_usd: Option<f64>,
    /// Profit over rent.
    pub profit_over_cost: Option<f64>,
}

/// Power of all chips; null where a thermal design power is not published.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct PowerItem {
    /// Watts.
    pub watts: Option<f64>,
    /// Joules per generated token.
    pub joules_per_output_token: Option<f64>,
    /// Watt-hours per request.
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
    /// Chips.
    pub chips: f64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// How prompts and answers are distributed.
    pub serving: ServingKind,
    /// Layout of a decode unit.
    pub decode: Layout,
    /// Layout of a prefill unit, where there are some.
    pub prefill: Option<Layout>,
}

/// Change of cost with an input.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SensitivityItem {
    /// The input.
    pub input: &'static str,
    /// Change of the cost per request where the input is a tenth lower; null where no plan is left.
    pub cost_change_at_minus_10_percent: Option<f64>,
    /// The same where it is a tenth higher.
    pub cost_change_at_plus_10_percent: Option<f64>,
}

/// A row of the grid.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanPoint {
    /// Tokens of a sequence that a pass computes; null off this axis.
    pub pass_tokens: Option<f64>,
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
    /// What takes longest in the pass, or binds the plan.
    pub bound: Option<&'static str>,
    /// Time per generated token at the percentile; null for a pass.
    pub time_per_output_token_seconds: Option<f64>,
    /// Time to the first token at the percentile; null for a pass.
    pub time_to_first_token_seconds: Option<f64>,
}

pub(super) fn answer(question: &Question, search: &Search<'_>, goal: &Goal) -> PlanAnswer {
    let found = search.candidates(goal);
    let found = distinct(found);
    let plans: Vec<PlanItem> = found
        .iter()
        .take(MOST_PLANS)
        .enumerate()
        .map(|(index, candidate)| plan_item(question, goal, candidate, index + 1))
        .collect();
    let (not_defined, caveats) = remarks(question, search, &found);
    PlanAnswer {
        model: question.model.name.clone(),
        accelerator: question.decode_chip.row.id.clone(),
        prefill_accelerator: question.prefill_chip.row.id.clone(),
        traffic: TrafficItem {
            input_tokens: question.traffic.input.mean(),
            output_tokens: question.traffic.output.mean(),
            cache_hit_rate: question.traffic.hit_rate,
            mean_context_tokens: question.mean_context(),
            requests_per_second: question.traffic.rate,
        },
        searched: SearchedItem {
            layouts: search.considered,
            units: search.units(),
        },
        front: front::front(search, goal),
        sensitivity: sensitivity::sensitivity(question, &found),
        offload: offload(question, found.first()),
        series: series::series(question, goal, found.first()),
        plans,
        not_defined,
        caveats,
        equations: EQUATIONS,
        inputs: question.inputs.clone(),
    }
}

/// The cheapest candidate of every decode layout and way of serving.
fn distinct(found: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    for candidate in found {
        if kept.len() >= MOST_PLANS {
            break;
        }
        let kind = |candidate: &Candidate<'_>| (candidate.serving(), candidate.layouts().1);
        if !kept.iter().any(|other| kind(other) == kind(&candidate)) {
            kept.push(candidate);
        }
    }
    kept
}

fn remarks(
    question: &Question,
    search: &Search<'_>,
    found: &[Candidate<'_>],
) -> (Vec<NoValue>, Vec<String>) {
    let mut not_defined = Vec::new();
    let mut note = |value, reason: &str| {
        not_defined.push(NoValue {
            value,
            reason: reason.to_owned(),
        });
    };
    let chips = [&question.decode_chip, &question.prefill_chip];
    if chips.iter().any(|chip| chip.usd_per_hour.is_none()) {
        note(
            "plans.cost",
            "the rent is not known: state `machine.rental_usd_per_hour`",
        );
    }
    if chips.iter().any(|chip| chip.row.tdp_watts.is_none()) {
        note(
            "plans.power",
            "the thermal design power of the accelerator is not published",
        );
    }
    let first = found.first();
    if first.is_some_and(|first| first.first_token().is_none()) {
        note(
            "plans.time_to_first_token.p50_seconds",
            "prefill units are always busy: state `limits.time_to_first_token_seconds`, or whole units",
        );
    }
    let mut caveats = Vec::new();
    if !search.holds_model() {
        caveats.push(
            "no layout of these chips holds the model and one sequence: state more `machine.chips`"
                .to_owned(),
        );
    } else if found.is_empty() {
        caveats.push(
            "no layout keeps the limits with these chips: relax `limits`, or state more `machine.chips`"
                .to_owned(),
        );
    }
    if question.is_peak {
        caveats.push("peak rooflines are several times too fast".to_owned());
    }
    if chips.iter().any(|chip| chip.scale_out().is_none()) {
        caveats.push(format!(
            "the bandwidth of {} between scale-up domains is not published, so that transfers of caches and \
             exchanges between domains are not counted",
            question.prefill_chip.row.id
        ));
    }
    (not_defined, caveats)
}

/// A plan as the answer shows it.
pub(super) fn plan_item(
    question: &Question,
    goal: &Goal,
    candidate: &Candidate<'_>,
    rank: usize,
) -> PlanItem {
    let traffic = &question.traffic;
    let rate = candidate.rate;
    let (prefill, decode) = pools(question, candidate);
    let output = rate * traffic.output.mean();
    let first = candidate.first_token();
    let (mean_s, at_percentile_s) = candidate.per_token_s(goal);
    let watts = candidate.watts();
    let ratio = prefill.as_ref().map(|prefill| prefill.units / decode.units);
    PlanItem {
        rank,
        serving: candidate.serving(),
        nodes: decode.nodes + prefill.as_ref().map_or(0.0, |prefill| prefill.nodes),
        prefill_units_per_decode_unit: ratio,
        chips: candidate.chips(),
        requests_per_second: rate,
        input_tokens_per_second: rate * traffic.input.mean(),
        output_tokens_per_second: output,
        output_tokens_per_second_per_chip: output / candidate.chips(),
        time_to_first_token: FirstTokenItem {
            p50_seconds: first.as_ref().map(|first| Seconds(first.quantile(0.5))),
            p95_seconds: first.as_ref().map(|first| Seconds(first.quantile(0.95))),
            waiting_seconds: first.as_ref().map(|first| Seconds(first.mean_wait_s())),
            prefill_seconds: Seconds(candidate.mean_prefill_s()),
            transfer_seconds: Seconds(candidate.transfer_s()),
        },
        time_per_output_token: PerTokenItem {
            mean_seconds: Seconds(mean_s),
            at_percentile_seconds: Seconds(at_percentile_s),
            tokens_per_second_per_user: 1.0 / mean_s,
        },
        cost: money(question, candidate, prefill.as_ref(), &decode),
        day: day(question, candidate),
        power: PowerItem {
            watts,
            joules_per_output_token: watts.map(|watts| watts / output),
            watt_hours_per_request: watts.map(|watts| watts / rate / 3_600.0),
        },
        binds: binds(question, goal, candidate),
        prefill,
        decode,
    }
}

fn pools(question: &Question, candidate: &Candidate<'_>) -> (Option<PoolItem>, PoolItem) {
    let context = question.mean_context();
    match &candidate.way {
        Way::Aggregated { unit, units, work } => {
            let engine = &unit.decode.engine;
            let pool = PoolItem {
                batch: Some(work.batch),
                prompts_per_pass: Some(unit.prefill.prompts),
                prefill_utilisation: Some(work.prefill_share),
                step: Some(split(&engine.step(work.batch.max(1.0), context))),
                pass: Some(split(&unit.prefill.parts)),
                ..pool(engine, *units, context, work.batch)
            };
            (None, pool)
        }
        Way::Disaggregated {
            prefill,
            decode,
            pairing,
            batch,
        } => {
            let input = question.traffic.input.mean();
            let utilisation = candidate.rate / pairing.prefill_units / prefill.capacity();
            let of_prefill = PoolItem {
                prompts_per_pass: Some(prefill.prompts),
                prefill_utilisation: Some(utilisation),
                pass: Some(split(&prefill.parts)),
                ..pool(
                    &prefill.engine,
                    pairing.prefill_units,
                    input,
                    prefill.servers(),
                )
            };
            let of_decode = PoolItem {
                batch: Some(*batch),
                step: Some(split(&decode.engine.step(batch.max(1.0), context))),
                ..pool(&decode.engine, pairing.decode_units, context, *batch)
            };
            (Some(of_prefill), of_decode)
        }
    }
}

fn pool(engine: &Engine<'_>, units: f64, context: f64, sequences: f64) -> PoolItem {
    let memory = engine.memory(context);
    let chips = engine.chips();
    PoolItem {
        accelerator: engine.chip.row.id.clone(),
        layout: engine.layout,
        chips_per_unit: engine.layout.chips(),
        units,
        chips: units * chips,
        nodes: units * chips / f64::from(engine.chip.row.scale_up_domain),
        batch: None,
        most_sequences: memory.largest_batch(),
        prompts_per_pass: None,
        prefill_utilisation: None,
        weights_bytes_per_chip: Bytes(memory.weights / chips),
        kv_bytes_per_chip: Bytes(memory.per_sequence * sequences / chips),
        capacity_bytes_per_chip: Bytes(memory.capacity / chips),
        step: None,
        pass: None,
    }
}

fn split(parts: &Parts) -> SplitItem {
    SplitItem {
        weight_compute_seconds: Seconds(parts.weight_compute_s),
        attention_compute_seconds: Seconds(parts.attention_compute_s),
        weight_memory_seconds: Seconds(parts.weight_memory_s),
        kv_memory_seconds: Seconds(parts.kv_memory_s),
        communication_seconds: Seconds(parts.communication_s),
        overhead_seconds: Seconds(parts.overhead_s),
        total_seconds: Seconds(parts.total_s),
        longest: parts.longest(),
    }
}

fn money(
    question: &Question,
    candidate: &Candidate<'_>,
    prefill: Option<&PoolItem>,
    decode: &PoolItem,
) -> MoneyItem {
    let traffic = &question.traffic;
    let usd_per_hour = candidate.usd_per_hour();
    let hourly = candidate.rate * 3_600.0;
    let tokens = (traffic.input.mean() + traffic.output.mean()) * hourly;
    let of_pool = |pool: &PoolItem, usd: Option<f64>, tokens: f64| {
        usd.map(|usd| pool.chips * usd / (hourly * tokens) * MILLION)
    };
    // Units that do both are charged by the time that each takes.
    let share = match prefill {
        Some(_) => 0.0,
        None => decode.prefill_utilisation.unwrap_or(0.0),
    };
    let decode_usd = question.decode_chip.usd_per_hour;
    let input = match prefill {
        Some(prefill) => of_pool(
            prefill,
            question.prefill_chip.usd_per_hour,
            traffic.input.mean(),
        ),
        None => of_pool(
            decode,
            decode_usd.map(|usd| usd * share),
            traffic.input.mean(),
        ),
    };
    MoneyItem {
        usd_per_hour,
        usd_per_day: usd_per_hour.map(|usd| usd * 24.0),
        usd_per_request: candidate.usd_per_request(),
        usd_per_mtok: usd_per_hour.map(|usd| usd / tokens * MILLION),
        input_usd_per_mtok: input,
        output_usd_per_mtok: of_pool(
            decode,
            decode_usd.map(|usd| usd * (1.0 - share)),
            traffic.output.mean(),
        ),
    }
}

fn day(question: &Question, candidate: &Candidate<'_>) -> Option<DayItem> {
    let prices = question.prices?;
    let traffic = &question.traffic;
    let requests = candidate.rate * DAY_S;
    let input = requests * traffic.input.mean();
    let cached = input * traffic.hit_rate;
    let fresh = input - cached;
    let output = requests * traffic.output.mean();
    let revenue =
        (fresh * prices.input + cached * prices.cached_input + output * prices.output) / MILLION;
    let cost = candidate.usd_per_hour().map(|usd| usd * 24.0);
    Some(DayItem {
        fresh_input_tokens: fresh,
        cached_input_tokens: cached,
        output_tokens: output,
        revenue_usd: revenue,
        cost_usd: cost,
        profit_usd: cost.map(|cost| revenue - cost),
        profit_over_cost: cost.map(|cost| (revenue - cost) / cost),
    })
}

/// Limits within a fiftieth of which a plan works.
pub(super) fn binds(
    question: &Question,
    goal: &Goal,
    candidate: &Candidate<'_>,
) -> Vec<&'static str> {
    const NEAR: f64 = 0.98;
    let mut binds = Vec::new();
    let (_, per_token_s) = candidate.per_token_s(goal);
    if goal
        .limits
        .per_token_s
        .is_some_and(|limit| per_token_s >= NEAR * limit)
    {
        binds.push("time_per_output_token");
    }
    let (decode, batch) = match &candidate.way {
        Way::Aggregated { unit, work, .. } => (&unit.decode, work.batch),
        Way::Disaggregated { decode, batch, .. } => (*decode, *batch),
    };
    if batch >= NEAR * decode.most_that_fits() {
        binds.push("memory");
    }
    let share = goal.limits.percentile.share();
    let first = candidate.first_token().map(|first| first.quantile(share));
    if let (Some(limit), Some(first)) = (goal.limits.first_token_s, first)
        && first >= NEAR * limit
    {
        binds.push("time_to_first_token");
    }
    if candidate.prefill_utilisation() >= NEAR {
        binds.push("prefill_capacity");
    }
    if binds.is_empty() && question.traffic.rate.is_some() {
        binds.push("request_rate");
    }
    binds
}

impl Candidate<'_> {
    pub(super) fn serving(&self) -> ServingKind {
        match self.way {
            Way::Aggregated { .. } => ServingKind::Aggregated,
            Way::Disaggregated { .. } => ServingKind::Disaggregated,
        }
    }

    /// Layouts of prefill units, if there are some, and of decode units.
    pub(super) fn layouts(&self) -> (Option<Layout>, Layout) {
        match &self.way {
            Way::Aggregated { unit, .. } => (None, unit.decode.engine.layout),
            Way::Disaggregated {
                prefill, decode, ..
            } => (Some(prefill.engine.layout), decode.engine.layout),
        }
    }

    fn mean_prefill_s(&self) -> f64 {
        match &self.way {
            Way::Aggregated { unit, .. } => unit.prefill.alone().mean_service_s(),
            Way::Disaggregated { prefill, .. } => prefill.alone().mean_service_s(),
        }
    }

    fn transfer_s(&self) -> f64 {
        match &self.way {
            Way::Aggregated { work, .. } => work.first.added_s,
            Way::Disaggregated { prefill, .. } => prefill.transfer_s,
        }
    }

    fn prefill_utilisation(&self) -> f64 {
        match &self.way {
            Way::Aggregated { work, .. } => work.prefill_share,
            Way::Disaggregated {
                prefill, pairing, ..
            } => self.rate / pairing.prefill_units / prefill.capacity(),
        }
    }
}

equations! {
    "E1'" "step and pass times as in /simulate, of a layout" "SB, D" => "plans.decode.step", "plans.prefill.pass";
    "E21" "HBM: w·N_t·copies + B·cache(L) ≤ C, pipeline stages share both" "T" => "plans.decode.most_sequences";
    "" "P(wait) = ρ^(√(2(c + 1)) − 1); wait if waiting = (C_a² + C_s²)/2·S/(c·(1 − ρ))" "AC, SK" =>
        "plans.time_to_first_token";
    "" "B = λ·steps·T(B) per unit; at a percentile B + z·√B" "D" => "plans.decode.batch", "plans.time_per_output_token";
    "" "T(B)/(1 − λ·T_pass/n): decoding has the time that prefill leaves" "D" =>
        "plans.time_per_output_token of aggregated serving";
    "" "transfer = cache(S)/(link·chips of a prompt)" "D" => "plans.time_to_first_token.transfer_seconds";
    "" "USD/Mtok = rent/(requests·tokens)" "D" => "plans.cost";
    "" "W = chips·TDP" "D" => "plans.power.watts";
    "E16" "recompute = R·pass/n; retrieve_X = cache·read_X; hold_X = cache·hold_X" "D, MK" => "offload.tiers";
}
