//! The answer from the candidates of a search.

use super::answer::{
    DayItem, EQUATIONS, FirstTokenItem, LoadItem, MoneyItem, NearestItem, PerTokenItem, PlanAnswer,
    PlanItem, PoolItem, PowerItem, SearchedItem, SplitItem,
};
use super::binding::binds;
use super::engine_flags::engine_flags;
use super::search::Search;
use super::{front, nearest, sensitivity, series, sources};
use crate::calculator::inputs::NoValue;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::question::traffic::DAY_S;
use crate::plan::serving::candidate::{Candidate, Way};
use crate::plan::serving::forward::{Engine, Parts};
use crate::plan::serving::offload::offload;
use crate::reference::{FigureInterval, TimeRange, unmeasured};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::units::{Bytes, Seconds};

const MILLION: f64 = 1e6;
/// Plans of an answer.
const MOST_PLANS: usize = 10;
/// Ratio of costs up to which two plans cost as much.
const AS_CHEAP: f64 = 1.001;

pub(super) fn answer(question: &Question, wanted: &CancelToken) -> Result<PlanAnswer, Cancelled> {
    let (search, goal) = (&Search::new(question), &Goal::of(question));
    let found = distinct(question, search.candidates(goal));
    let plans: Vec<PlanItem> = found
        .iter()
        .take(MOST_PLANS)
        .enumerate()
        .map(|(index, candidate)| plan_item(question, goal, candidate, index + 1))
        .collect();
    let nearest = if found.is_empty() {
        nearest::nearest(question, search)
    } else {
        Vec::new()
    };
    wanted.check()?;
    let (not_defined, caveats) = remarks(question, search, &found, &nearest);
    let front = front::front(search, goal);
    wanted.check()?;
    let sensitivity = sensitivity::sensitivity(question, &found);
    let series = series::series(question, goal, found.first(), wanted)?;
    Ok(PlanAnswer {
        model: question.model.name.clone(),
        accelerator: question.decode_chip.row.id.clone(),
        prefill_accelerator: question.prefill_chip.row.id.clone(),
        load: LoadItem {
            input_tokens: question.load.input.mean(),
            output_tokens: question.load.output.mean(),
            cache_hit_rate: question.load.hit_rate(),
            mean_context_tokens: question.mean_context(),
            requests_per_second: question.load.rate,
        },
        searched: SearchedItem {
            layouts: search.considered,
            units: search.units(),
        },
        accelerators: Vec::new(),
        nearest,
        front,
        sensitivity,
        offload: offload(question, found.first()),
        series,
        plans,
        not_defined,
        caveats,
        equations: EQUATIONS,
        inputs: question.inputs.clone(),
        sources: sources::sources(question),
    })
}

/// The cheapest candidate of every decode layout and way of serving; among those that cost as much, one whose prefill
/// layout divides experts and layers most evenly.
fn distinct<'s>(question: &Question, found: Vec<Candidate<'s>>) -> Vec<Candidate<'s>> {
    let kind = |candidate: &Candidate<'_>| (candidate.serving(), candidate.layouts().1);
    let unevenness = |candidate: &Candidate<'_>| {
        let prefill = candidate.layouts().0;
        prefill.map_or(1.0, |layout| {
            layout.unevenness(&question.model.architecture)
        })
    };
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    for candidate in found {
        let place = (kept.iter()).position(|other| kind(other) == kind(&candidate));
        let Some(other) = place.map(|place| &mut kept[place]) else {
            if kept.len() < MOST_PLANS {
                kept.push(candidate);
            }
            continue;
        };
        let is_as_cheap = candidate.ranked_cost() <= other.ranked_cost() * AS_CHEAP;
        if is_as_cheap && unevenness(&candidate) < unevenness(other) {
            *other = candidate;
        }
    }
    kept.sort_by(|left, right| left.ranked_cost().total_cmp(&right.ranked_cost()));
    kept
}

fn remarks(
    question: &Question,
    search: &Search<'_>,
    found: &[Candidate<'_>],
    nearest: &[NearestItem],
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
    if found.is_empty() {
        caveats.push(no_plan(search, nearest));
    }
    let idle = first.map_or(0.0, |first| first.chips() - first.used_chips());
    if idle > 1e-6 {
        caveats.push(format!(
            "{idle} of the chips of the cheapest plan are idle, since trays are rented whole: `layouts.share_node` pays for \
             those that are used"
        ));
    }
    let ranges = first.and_then(Candidate::time_ranges);
    if ranges.is_some_and(|ranges| ranges.iter().any(|range| !range.was_measured)) {
        caveats.push(unmeasured(&question.decode_chip.row.generation));
    }
    caveats.extend(question.model.caveat());
    if question.is_peak() {
        caveats.push("peak rooflines are several times too fast".to_owned());
    }
    if chips.iter().any(|chip| chip.scale_out.is_none()) {
        caveats.push(format!(
            "the bandwidth of {} between scale-up domains is not published, so that transfers of caches and \
             exchanges between domains are not counted",
            question.prefill_chip.row.id
        ));
    }
    (not_defined, caveats)
}

/// The reason why every layout fails.
pub(super) fn no_layout(search: &Search<'_>) -> &'static str {
    if search.holds_model() {
        "no layout keeps the limits with these chips"
    } else {
        "no layout of these chips holds the model and one sequence"
    }
}

/// The reason why every layout fails, and the changes that would do.
fn no_plan(search: &Search<'_>, nearest: &[NearestItem]) -> String {
    let reason = no_layout(search);
    let changes: Vec<String> = nearest.iter().map(NearestItem::words).collect();
    if changes.is_empty() {
        return format!("{reason}; no single change of a limit, the chips or the weights would do");
    }
    format!("{reason}: {} would do", changes.join(", or "))
}

/// A plan as the answer shows it.
pub(super) fn plan_item(
    question: &Question,
    goal: &Goal,
    candidate: &Candidate<'_>,
    rank: usize,
) -> PlanItem {
    let traffic = &question.load;
    let rate = candidate.rate;
    let (prefill, decode) = pools(question, candidate);
    let output = rate * traffic.output.mean();
    let first = candidate.first_token();
    let (mean_s, at_percentile_s) = candidate.per_token_s(goal);
    let watts = candidate.watts();
    let ratio = prefill.as_ref().map(|prefill| prefill.units / decode.units);
    let cost = money(question, candidate, prefill.as_ref(), &decode);
    let mut item = PlanItem {
        rank,
        intervals: Vec::new(),
        engine_flags: Vec::new(),
        serving: candidate.serving(),
        nodes: candidate.nodes(),
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
        cost,
        day: day(question, candidate),
        power: PowerItem {
            watts,
            joules_per_output_token: watts.map(|watts| watts / output),
            watt_hours_per_request: watts.map(|watts| watts / rate / 3_600.0),
        },
        binds: binds(question, goal, candidate),
        prefill,
        decode,
    };
    item.intervals = intervals(question, candidate, &item);
    if let Some(engine) = question.engine {
        item.engine_flags = engine_flags(question, engine, &item);
    }
    item
}

/// Intervals of a plan's times, speeds and costs; none of the bare rooflines.
fn intervals(
    question: &Question,
    candidate: &Candidate<'_>,
    item: &PlanItem,
) -> Vec<FigureInterval> {
    let Some([of_prefill, of_decode]) = candidate.time_ranges() else {
        return Vec::new();
    };
    let of_cost = TimeRange {
        low_90: candidate.cost_factor(|range| range.low_90),
        low_80: candidate.cost_factor(|range| range.low_80),
        high_80: candidate.cost_factor(|range| range.high_80),
        high_90: candidate.cost_factor(|range| range.high_90),
        ..*of_decode
    };
    let next = &item.time_per_output_token;
    let mut intervals = vec![
        of_decode.of_time("time_per_output_token.mean_seconds", next.mean_seconds.0),
        of_decode.of_time(
            "time_per_output_token.at_percentile_seconds",
            next.at_percentile_seconds.0,
        ),
        of_decode.of_speed(
            "time_per_output_token.tokens_per_second_per_user",
            next.tokens_per_second_per_user,
        ),
    ];
    let first = &item.time_to_first_token;
    let cost = &item.cost;
    // A load decides how many chips are needed, stated chips how many requests they serve.
    let of_day = cost.usd_per_day.filter(|_| question.load.rate.is_some());
    let times = [
        (
            of_prefill,
            "time_to_first_token.p50_seconds",
            first.p50_seconds.map(|time| time.0),
        ),
        (
            of_prefill,
            "time_to_first_token.p95_seconds",
            first.p95_seconds.map(|time| time.0),
        ),
        (&of_cost, "cost.usd_per_request", cost.usd_per_request),
        (&of_cost, "cost.usd_per_mtok", cost.usd_per_mtok),
        (
            of_prefill,
            "cost.input_usd_per_mtok",
            cost.input_usd_per_mtok,
        ),
        (
            of_decode,
            "cost.output_usd_per_mtok",
            cost.output_usd_per_mtok,
        ),
        (&of_cost, "cost.usd_per_day", of_day),
    ];
    let of_time =
        |(range, figure, value): (&TimeRange, _, Option<f64>)| Some(range.of_time(figure, value?));
    intervals.extend(times.into_iter().filter_map(of_time));
    if question.load.rate.is_none() {
        intervals.push(of_cost.of_speed("requests_per_second", item.requests_per_second));
    }
    intervals
}

fn pools(question: &Question, candidate: &Candidate<'_>) -> (Option<PoolItem>, PoolItem) {
    let context = question.mean_context();
    match &candidate.way {
        Way::Aggregated { unit, units, work } => {
            let engine = &unit.decode.engine;
            let batch = work.batch.max(1.0);
            let (prompts_per_pass, chunk_tokens, pass) = match &unit.chunks {
                Some(chunks) => (
                    None,
                    Some(chunks.tokens()),
                    chunks.step(&unit.decode, batch),
                ),
                None => (Some(unit.prefill.prompts), None, unit.prefill.parts),
            };
            let pool = PoolItem {
                batch: Some(work.batch),
                prompts_per_pass,
                chunk_tokens,
                prefill_utilisation: Some(work.prefill_share),
                step: Some(split(&engine.step(batch, context))),
                pass: Some(split(&pass)),
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
            let input = question.load.input.mean();
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
        nodes: units * chips / f64::from(engine.chip.domain),
        batch: None,
        most_sequences: memory.largest_batch(),
        prompts_per_pass: None,
        chunk_tokens: None,
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
    let traffic = &question.load;
    let usd_per_hour = candidate.usd_per_hour();
    let hourly = candidate.rate * 3_600.0;
    let tokens = (traffic.input.mean() + traffic.output.mean()) * hourly;
    // Chips that no unit uses are charged to the pools in proportion.
    let rented = candidate.chips() / candidate.used_chips();
    let of_pool = |pool: &PoolItem, usd: Option<f64>, tokens: f64| {
        usd.map(|usd| pool.chips * rented * usd / (hourly * tokens) * MILLION)
    };
    let prefill_usd = question.prefill_chip.usd_per_hour;
    let decode_usd = question.decode_chip.usd_per_hour;
    // Units that do both are charged by the time that each takes.
    let share = decode.prefill_utilisation.filter(|_| prefill.is_none());
    let share = share.unwrap_or(0.0);
    let (computing, usd) = match prefill {
        Some(prefill) => (prefill, prefill_usd),
        None => (decode, decode_usd.map(|usd| usd * share)),
    };
    let generating_usd = decode_usd.map(|usd| usd * (1.0 - share));
    MoneyItem {
        usd_per_hour,
        usd_per_day: usd_per_hour.map(|usd| usd * 24.0),
        usd_per_request: candidate.usd_per_request(),
        usd_per_mtok: usd_per_hour.map(|usd| usd / tokens * MILLION),
        input_usd_per_mtok: of_pool(computing, usd, traffic.input.mean()),
        output_usd_per_mtok: of_pool(decode, generating_usd, traffic.output.mean()),
    }
}

fn day(question: &Question, candidate: &Candidate<'_>) -> Option<DayItem> {
    let prices = question.prices?;
    let traffic = &question.load;
    let requests = candidate.rate * DAY_S;
    let input = requests * traffic.input.mean();
    let cached = input * traffic.hit_rate();
    let output = requests * traffic.output.mean();
    let revenue =
        ((input - cached) * prices.input + cached * prices.cached_input + output * prices.output)
            / MILLION;
    let cost = candidate.usd_per_hour().map(|usd| usd * 24.0);
    Some(DayItem {
        input_tokens: input,
        cached_input_tokens: cached,
        output_tokens: output,
        revenue_usd: revenue,
        cost_usd: cost,
        profit_usd: cost.map(|cost| revenue - cost),
        profit_over_cost: cost.map(|cost| (revenue - cost) / cost),
    })
}
