//! `unroof plan`: the layouts that serve a load within limits on latency, without a server.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::Args;

use super::calculator::{
    Calculation, List, number, or_dash, percent, size, time, values, write_grounds, write_values,
};
use crate::estimates::chart::{Chart, Line};
use crate::estimates::report::{NO_BREAK, paragraph};
use crate::shell::terminal::width;
use crate::{Failure, label};
use unroof_base::units::{Seconds, readable};
use unroof_roofline::plan::question::request::PlanRequest;
use unroof_roofline::plan::{
    FrontItem, Layout, OffloadItem, PlanAnswer, PlanItem, PlanPoint, PoolItem, SensitivityItem,
    ServingKind, SplitItem, plan,
};
use unroof_roofline::reference::{FigureInterval, INTERVAL_NOTE};

/// Arguments of `unroof plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof plan --model Llama-3.1-70B --accelerator h100-sxm --chips 8 --weight-bytes 1 --input 4096 --output 1024 \\
    --ttft 1 --tpot 0.025
  unroof plan --model DeepSeek-V3 --accelerator h200-sxm --rate 50 --hit-rate 0.5 --input-spread 1 --ttft 3 --tpot 0.05
  unroof plan request.json --json | jq .plans[0]")]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    calculation: Calculation<PlanRequest>,
    /// Print where each number comes from instead of the plan
    #[arg(long)]
    sources: bool,
}

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let calculation = &arguments.calculation;
    let write = |out: &mut dyn Write, answer: &PlanAnswer| {
        let mut answer = answer.clone();
        calculation.name_flags(&mut answer.caveats, &mut answer.not_defined);
        if arguments.sources {
            return write_sources(out, &answer);
        }
        write_plan(out, &answer)
    };
    let is_drawn = !arguments.sources;
    let answer = calculation.run(plan, write, |answer| Some(chart(answer)), is_drawn)?;
    if answer.is_some_and(|answer| answer.plans.is_empty()) {
        return Err(Failure::Other(anyhow!("no layout keeps the limits"))
            .with_hint("the notes say what would do"));
    }
    Ok(())
}

/// The cost of a token over the length of a pass where the grid has it, else the front of speed against cost.
fn chart(answer: &PlanAnswer) -> Chart {
    let passes = answer.series.iter();
    let passes = passes.filter_map(|item| Some((item.pass_tokens?, item.usd_per_mtok?)));
    let passes: Vec<(f64, f64)> = passes.collect();
    let (x, name, points) = if passes.len() > 1 {
        ("tokens of a sequence per pass", "pass", passes)
    } else {
        let front = answer.front.iter();
        let point = |item: &FrontItem| Some((item.tokens_per_second_per_user, item.usd_per_mtok?));
        ("tok/s per user", "front", front.filter_map(point).collect())
    };
    Chart {
        title: title(answer),
        x,
        y: "USD/Mtok",
        lines: vec![Line {
            name: name.to_owned(),
            points,
        }],
    }
}

fn write_plan(mut out: &mut dyn Write, answer: &PlanAnswer) -> io::Result<()> {
    writeln!(out, "{}", label(&title(answer)))?;
    paragraph(&mut out, &question(answer), 0)?;
    writeln!(out)?;
    for caveat in &answer.caveats {
        paragraph(&mut out, &format!("note: {caveat}"), 0)?;
        writeln!(out)?;
    }
    write_accelerators(out, answer)?;
    if let Some(best) = answer.plans.first() {
        write_ranking(out, &answer.plans)?;
        write_best(out, best)?;
    }
    write_front(out, &answer.front)?;
    write_sensitivity(out, &answer.sensitivity)?;
    write_offload(out, &answer.offload)?;
    write_series(out, &answer.series)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}

/// Every number that goes into the plan, and the publication behind it.
fn write_sources(mut out: &mut dyn Write, answer: &PlanAnswer) -> io::Result<()> {
    writeln!(out, "{}", label(&title(answer)))?;
    writeln!(out)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)?;
    for item in &answer.sources {
        paragraph(&mut out, &format!("{}: {}", item.subject, item.source), 2)?;
    }
    Ok(())
}

fn title(answer: &PlanAnswer) -> String {
    let model = answer.model.as_deref().unwrap_or("a stated architecture");
    if answer.accelerator == answer.prefill_accelerator {
        format!("{model} on {}", answer.accelerator)
    } else {
        format!(
            "{model}: prefill on {}, decoding on {}",
            answer.prefill_accelerator, answer.accelerator
        )
    }
}

fn question(answer: &PlanAnswer) -> String {
    let traffic = &answer.load;
    let rate = traffic
        .requests_per_second
        .map(|rate| format!("{} requests/s, ", readable(rate)));
    format!(
        "{}{} tokens in ({} from the cache), {} out; {} layouts, {} units compared",
        rate.unwrap_or_default(),
        readable(traffic.input_tokens.round()),
        percent(traffic.cache_hit_rate),
        readable(traffic.output_tokens.round()),
        answer.searched.layouts,
        answer.searched.units,
    )
}

/// A time with three digits.
fn short_time(seconds: Seconds) -> String {
    let (amount, unit) = if seconds.0 >= 1.0 {
        (seconds.0, "s")
    } else {
        (seconds.0 * 1e3, "ms")
    };
    let digits = [2, 1, 0][usize::from(amount >= 10.0) + usize::from(amount >= 100.0)];
    format!("{amount:.digits$}{NO_BREAK}{unit}")
}

/// A cost with four digits.
fn short(amount: Option<f64>) -> String {
    or_dash(amount.map(|amount| {
        if amount >= 1.0 {
            format!("{amount:.2}")
        } else {
            format!("{amount:.4}")
        }
    }))
}

/// `TP8`, `EP144`, `TP4 EP32 PP2`, as engines name layouts.
fn layout(layout: &Layout) -> String {
    let mut parts = Vec::new();
    if layout.tensor > 1 || layout.expert == 1 {
        parts.push(format!("TP{}", layout.tensor));
    }
    if layout.expert > 1 {
        parts.push(format!("EP{}", layout.expert));
    }
    if layout.pipeline > 1 {
        parts.push(format!("PP{}", layout.pipeline));
    }
    parts.join(" ")
}

fn pool(pool: &PoolItem) -> String {
    let layout = layout(&pool.layout);
    format!("{}{NO_BREAK}×{NO_BREAK}{layout}", rounded(pool.units))
}

/// A number of units or chips: whole, or with one digit behind the point.
fn rounded(count: f64) -> String {
    readable((count * 10.0).round() / 10.0)
}

/// Columns of the terminal that the whole ranking needs; else the cost of a day, which follows from others, is left out.
const LEAST_WIDTH_FOR_ALL: usize = 92;

/// The units that compute prompts; how those do that decode, where there are no others.
fn prefill(units: Option<String>, serving: ServingKind) -> String {
    units.unwrap_or_else(|| match serving {
        ServingKind::Chunked => "chunks".to_owned(),
        ServingKind::Aggregated | ServingKind::Disaggregated => "passes".to_owned(),
    })
}

fn write_accelerators(mut out: &mut dyn Write, answer: &PlanAnswer) -> io::Result<()> {
    let items = &answer.accelerators;
    if items.is_empty() {
        return Ok(());
    }
    List::of(
        "the cheapest plan on each accelerator, by the upper end of cost",
        items,
    )
    .column("accelerator", |item| item.accelerator.clone())
    .column("$/h", |item| {
        or_dash(item.usd_per_hour.map(|usd| format!("{usd:.2}")))
    })
    .column("rows", |item| item.measured_rows.to_string())
    .column("decode", |item| or_dash(item.decode.as_ref().map(layout)))
    .column("chips", |item| or_dash(item.chips.map(rounded)))
    .column("$/Mtok", |item| short(item.usd_per_mtok))
    .column("80 %", |item| {
        let ends = item.usd_per_mtok_low_80.zip(item.usd_per_mtok_high_80);
        or_dash(ends.map(|(low, high)| range(low, high)))
    })
    .write(out)?;
    for (doubt, ids) in answer.doubts() {
        paragraph(&mut out, &format!("{doubt}: {}", ids.join(", ")), 2)?;
    }
    writeln!(out)
}

/// Ends of an interval of cost.
fn range(low: f64, high: f64) -> String {
    format!("{}–{}", short(Some(low)), short(Some(high)))
}

fn write_ranking(out: &mut dyn Write, plans: &[PlanItem]) -> io::Result<()> {
    let per_second = |plan: &PlanItem| (plan.requests_per_second * 100.0).round() / 100.0;
    let mut list = List::of("plans within the limits, by the upper end of cost", plans)
        .column("", |plan| plan.rank.to_string())
        .column("prefill", |plan| {
            prefill(plan.prefill.as_ref().map(pool), plan.serving)
        })
        .column("decode", |plan| pool(&plan.decode))
        .column("chips", |plan| rounded(plan.chips))
        .column("req/s", |plan| readable(per_second(plan)))
        .column("$/Mtok", |plan| short(plan.cost.usd_per_mtok))
        .column("80 %", |plan| {
            let interval = FigureInterval::find(&plan.intervals, "cost.usd_per_mtok");
            or_dash(interval.map(|interval| range(interval.low_80, interval.high_80)))
        });
    if width() >= LEAST_WIDTH_FOR_ALL {
        list = list.column("$/day", |plan| {
            number(plan.cost.usd_per_day.map(f64::round))
        });
    }
    list.column("first", |plan| {
        or_dash(plan.time_to_first_token.p95_seconds.map(short_time))
    })
    .column("next", |plan| {
        short_time(plan.time_per_output_token.at_percentile_seconds)
    })
    .write(out)
}

fn write_best(mut out: &mut dyn Write, best: &PlanItem) -> io::Result<()> {
    let first = &best.time_to_first_token;
    let ratio = best
        .prefill_units_per_decode_unit
        .map(|ratio| format!("{} : 1", readable(ratio)));
    let (cost, next) = (&best.cost, &best.time_per_output_token);
    let ranged = |figure, value, shown: fn(f64) -> String| {
        FigureInterval::ranged(&best.intervals, figure, value, shown)
    };
    let ranged_time = |figure, at: Seconds| ranged(figure, at.0, |seconds| time(Seconds(seconds)));
    let usd = |figure, cost: Option<f64>| or_dash(cost.map(|usd| ranged(figure, usd, readable)));
    let serving = match best.serving {
        ServingKind::Aggregated => "aggregated",
        ServingKind::Chunked => "chunked",
        ServingKind::Disaggregated => "disaggregated",
    };
    let mut rows = Vec::from(values! {
        "serving" => serving.to_owned();
        "prefill units : decode units" => or_dash(ratio);
        "chips, nodes" => format!("{}, {}", rounded(best.chips), rounded(best.nodes));
        "prompt tokens" => format!("{} tok/s", readable(best.input_tokens_per_second.round()));
        "generated tokens" => format!("{} tok/s", readable(best.output_tokens_per_second.round()));
        "generated tokens per chip" => format!("{} tok/s", readable(best.output_tokens_per_second_per_chip));
        "first token, p50" => or_dash(first.p50_seconds.map(|time| ranged_time("time_to_first_token.p50_seconds", time)));
        "first token, p95" => or_dash(first.p95_seconds.map(|time| ranged_time("time_to_first_token.p95_seconds", time)));
        "  waiting, mean" => or_dash(first.waiting_seconds.map(time));
        "  prefill, mean" => time(first.prefill_seconds);
        "  transfer" => time(first.transfer_seconds);
        "next token, mean" => ranged_time("time_per_output_token.mean_seconds", next.mean_seconds);
        "speed per user" => ranged("time_per_output_token.tokens_per_second_per_user", next.tokens_per_second_per_user, |speed| {
            format!("{} tok/s", readable(speed))
        });
        "requests per second" => ranged("requests_per_second", best.requests_per_second, readable);
        "USD per request" => usd("cost.usd_per_request", cost.usd_per_request);
        "USD per Mtok" => usd("cost.usd_per_mtok", cost.usd_per_mtok);
        "USD per Mtok in" => usd("cost.input_usd_per_mtok", cost.input_usd_per_mtok);
        "USD per Mtok out" => usd("cost.output_usd_per_mtok", cost.output_usd_per_mtok);
        "USD per day" => usd("cost.usd_per_day", cost.usd_per_day.map(f64::round));
        "power" => or_dash(best.power.watts.map(|watts| format!("{} kW", readable(watts / 1e3))));
        "energy per generated token" => or_dash(best.power.joules_per_output_token.map(|joules| format!("{} J", readable(joules))));
        "binds" => best.binds.join(", ").replace('_', " ");
    });
    if let Some(day) = &best.day {
        rows.extend(values! {
            "revenue per day" => format!("{} USD", readable(day.revenue_usd.round()));
            "profit per day" => or_dash(day.profit_usd.map(|usd| format!("{} USD", readable(usd.round()))));
            "profit over cost" => or_dash(day.profit_over_cost.map(percent));
        });
    }
    write_values(out, "the cheapest plan", &rows)?;
    if let Some(prefill) = &best.prefill {
        write_pool(out, "prefill", prefill)?;
    }
    write_pool(out, "decode", &best.decode)?;
    if !best.intervals.is_empty() {
        paragraph(&mut out, INTERVAL_NOTE, 2)?;
        writeln!(out)?;
    }
    if best.engine_flags.is_empty() {
        return Ok(());
    }
    List::of("flags of the engine", &best.engine_flags)
        .column("units", |flag| flag.units.name().to_owned())
        .column("flag", |flag| flag.flag.clone())
        .column("because", |flag| flag.reason.clone())
        .write(out)
}

fn write_pool(out: &mut dyn Write, name: &str, pool: &PoolItem) -> io::Result<()> {
    let mut rows = Vec::from(values! {
        "chips, nodes" => format!("{}, {}", rounded(pool.chips), rounded(pool.nodes));
        "weights per chip" => size(pool.weights_bytes_per_chip);
        "KV cache per chip" => size(pool.kv_bytes_per_chip);
        "HBM per chip" => size(pool.capacity_bytes_per_chip);
    });
    let most = readable(pool.most_sequences);
    let sequences = pool
        .batch
        .map(|batch| format!("{}, of {most} that fit", rounded(batch)));
    let optional = [
        ("sequences of a unit", sequences),
        ("prompts of a pass", pool.prompts_per_pass.map(readable)),
        ("prompt tokens of a chunk", pool.chunk_tokens.map(readable)),
        ("time for prefill", pool.prefill_utilisation.map(percent)),
    ];
    rows.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let pass = match pool.chunk_tokens {
        Some(_) => "step with a chunk",
        None => "prefill pass",
    };
    for (name, split) in [("decode step", &pool.step), (pass, &pool.pass)] {
        rows.extend(split.iter().flat_map(|split| of_split(name, split)));
    }
    let heading = format!(
        "{name}: {} × {} of {}",
        rounded(pool.units),
        layout(&pool.layout),
        pool.accelerator
    );
    write_values(out, &heading, &rows)
}

fn of_split(name: &'static str, split: &SplitItem) -> Vec<(&'static str, String)> {
    let mut rows = vec![(name, time(split.total_seconds))];
    rows.extend(values! {
        "  multiplying with weights" => time(split.weight_compute_seconds);
        "  reading weights" => time(split.weight_memory_seconds);
        "  multiplying in attention" => time(split.attention_compute_seconds);
        "  reading the KV cache" => time(split.kv_memory_seconds);
        "  exchanges between chips" => time(split.communication_seconds);
        "  other traffic and waiting" => time(split.overhead_seconds);
    });
    rows
}

fn write_front(out: &mut dyn Write, front: &[FrontItem]) -> io::Result<()> {
    if front.is_empty() {
        return Ok(());
    }
    List::of("speed against cost", front)
        .column("tok/s user", |item| {
            readable(item.tokens_per_second_per_user)
        })
        .column("$/Mtok", |item| number(item.usd_per_mtok))
        .column("chips", |item| rounded(item.chips))
        .column("req/s", |item| readable(item.requests_per_second))
        .column("prefill", |item| {
            prefill(item.prefill.as_ref().map(layout), item.serving)
        })
        .column("decode", |item| layout(&item.decode))
        .write(out)
}

fn write_sensitivity(out: &mut dyn Write, items: &[SensitivityItem]) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    List::of("change of cost with an input", items)
        .column("input", |item| item.input.to_owned())
        .column("at −10 %", |item| {
            change(item.cost_change_at_minus_10_percent)
        })
        .column("at +10 %", |item| {
            change(item.cost_change_at_plus_10_percent)
        })
        .write(out)
}

fn change(of_cost: Option<f64>) -> String {
    or_dash(of_cost.map(|change| format!("{:+.1} %", change * 100.0)))
}

fn write_offload(out: &mut dyn Write, offload: &OffloadItem) -> io::Result<()> {
    let Some(bytes) = offload.cache_bytes else {
        return Ok(());
    };
    let heading = format!(
        "a cached prompt of {} tokens, {}",
        readable(offload.prefix_tokens.round()),
        size(bytes)
    );
    List::of(&heading, &offload.tiers)
        .column("tier", |tier| tier.id.clone())
        .column("first token", |tier| {
            or_dash(tier.time_to_first_token_seconds.map(time))
        })
        .column("retrieve, $", |tier| number(tier.retrieve_usd))
        .column("hold, $/h", |tier| number(tier.hold_usd_per_hour))
        .column("uses/h", |tier| number(tier.break_even_uses_per_hour))
        .column("pays from", |tier| {
            or_dash(tier.pays_from_hit_rate.map(percent))
        })
        .write(out)?;
    List::of("cheapest tier by time to live", &offload.cheapest)
        .column("tier", |tier| tier.id.clone())
        .column("from", |tier| lifetime(tier.from_seconds))
        .column("to", |tier| or_dash(tier.to_seconds.map(lifetime)))
        .write(out)
}

fn lifetime(seconds: Seconds) -> String {
    match seconds.0 {
        seconds if seconds >= 3_600.0 => format!("{} h", readable(seconds / 3_600.0)),
        seconds if seconds >= 60.0 => format!("{} min", readable(seconds / 60.0)),
        seconds => format!("{} s", readable(seconds)),
    }
}

fn write_series(out: &mut dyn Write, series: &[PlanPoint]) -> io::Result<()> {
    if series.is_empty() {
        return Ok(());
    }
    List::of("over the grid", series)
        .column("pass", |item| number(item.pass_tokens))
        .column("drafts", |item| number(item.drafted_tokens))
        .column("hits", |item| percent(item.cache_hit_rate))
        .column("chips", |item| or_dash(item.chips.map(rounded)))
        .column("req/s", |item| number(item.requests_per_second))
        .column("time", |item| {
            or_dash(item.pass_seconds.map(|seconds| time(Seconds(seconds))))
        })
        .column("$/Mtok", |item| number(item.usd_per_mtok))
        .column("bound", |item| item.bound.unwrap_or("–").replace('_', " "))
        .write(out)
}
