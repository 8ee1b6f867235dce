//! `unroof plan`: the layouts that serve a load within limits on latency, without a server.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::calculator::{
    RequestFlags, answered, list_accelerators, or_dash, percent, print, remarks_with_flags, size,
    values, write_grounds, write_values,
};
use crate::estimates::chart::{Chart, Line, show};
use crate::estimates::report::{paragraph, table, write_table};
use crate::shell::terminal::width;
use crate::{Failure, label};
use unroof_base::units::{Seconds, readable};
use unroof_roofline::plan::question::request::PlanRequest;
use unroof_roofline::plan::{
    CheapestTier, FrontItem, Layout, Offloaded, PlanAnswer, PlanItem, PlanPoint, PoolItem,
    SensitivityItem, ServingKind, SplitItem, plan,
};

/// Arguments of `unroof plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof plan --model Llama-3.1-70B --accelerator h100-sxm --chips 8 --weight-bytes 1 --input 4096 --output 1024 \\
    --ttft 1 --tpot 0.025
  unroof plan --model DeepSeek-V3 --accelerator h200-sxm --rate 50 --hit-rate 0.5 --input-spread 1 --ttft 3 --tpot 0.05
  unroof plan request.json --json | jq .plans[0]")]
pub(crate) struct PlanArguments {
    /// File with a request as `POST /plan` takes it; `-` reads standard input; all defaults if left out
    file: Option<PathBuf>,
    #[command(flatten)]
    stated: RequestFlags<PlanRequest>,
    /// Print the answer as HTTP gives it
    #[arg(long)]
    json: bool,
    /// Save the curve of the answer as an SVG picture
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Print the ids of the accelerators instead
    #[arg(long, exclusive = true)]
    list_accelerators: bool,
}

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    if arguments.list_accelerators {
        return list_accelerators();
    }
    let file = arguments.file.as_deref();
    let mut answer = answered(file, &arguments.stated, plan)?;
    if !arguments.json {
        remarks_with_flags::<PlanRequest>(file, &mut answer.caveats, &mut answer.not_defined);
    }
    print(&answer, arguments.json, write_plan)?;
    show(
        Some(chart(&answer)),
        arguments.save.as_deref(),
        !arguments.json,
    )
}

/// The cost of a token over the length of a pass where the grid has it, else the front of speed against cost.
fn chart(answer: &PlanAnswer) -> Chart {
    let passes = answer
        .series
        .iter()
        .filter_map(|item| Some((item.pass_tokens?, item.usd_per_mtok?)));
    let passes: Vec<(f64, f64)> = passes.collect();
    if passes.len() > 1 {
        return Chart {
            title: title(answer),
            x: "tokens of a sequence per pass",
            y: "USD/Mtok",
            lines: vec![Line {
                name: "pass".to_owned(),
                points: passes,
            }],
        };
    }
    let front = answer.front.iter();
    let points =
        front.filter_map(|item| Some((item.tokens_per_second_per_user, item.usd_per_mtok?)));
    Chart {
        title: title(answer),
        x: "tok/s per user",
        y: "USD/Mtok",
        lines: vec![Line {
            name: "front".to_owned(),
            points: points.collect(),
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
    if let Some(best) = answer.plans.first() {
        write_ranking(out, answer)?;
        write_best(out, best)?;
    }
    write_front(out, &answer.front)?;
    write_sensitivity(out, &answer.sensitivity)?;
    write_offload(out, answer)?;
    write_series(out, &answer.series)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
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

fn time(time: Seconds) -> String {
    if time.0 >= 1.0 {
        format!("{} s", readable(time.0))
    } else {
        format!("{} ms", readable(time.0 * 1e3))
    }
}

fn usd(amount: Option<f64>) -> String {
    or_dash(amount.map(readable))
}

/// A time with three digits.
fn short_time(seconds: Seconds) -> String {
    let (amount, unit) = if seconds.0 >= 1.0 {
        (seconds.0, "s")
    } else {
        (seconds.0 * 1e3, "ms")
    };
    let digits = [2, 1, 0][usize::from(amount >= 10.0) + usize::from(amount >= 100.0)];
    format!("{amount:.digits$} {unit}")
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
    format!("{} × {}", rounded(pool.units), layout(&pool.layout))
}

/// A number of units or chips: whole, or with one digit behind the point.
fn rounded(count: f64) -> String {
    readable((count * 10.0).round() / 10.0)
}

fn write_ranking(mut out: &mut dyn Write, answer: &PlanAnswer) -> io::Result<()> {
    writeln!(out, "{}", label("plans within the limits, cheapest first"))?;
    // A narrow terminal has no room for all.
    let is_narrow = width() < LEAST_WIDTH_FOR_ALL;
    let row = |plan: &PlanItem| {
        let prefill = plan.prefill.as_ref();
        let mut cells = vec![
            plan.rank.to_string(),
            prefill.map_or_else(|| "the same".to_owned(), pool),
            pool(&plan.decode),
            rounded(plan.chips),
            readable((plan.requests_per_second * 100.0).round() / 100.0),
            short(plan.cost.usd_per_mtok),
            usd(plan.cost.usd_per_day.map(f64::round)),
            or_dash(plan.time_to_first_token.p95_seconds.map(short_time)),
            short_time(plan.time_per_output_token.at_percentile_seconds),
        ];
        if is_narrow {
            cells.drain(PER_DAY);
        }
        cells
    };
    let mut header = vec![
        "", "prefill", "decode", "chips", "req/s", "$/Mtok", "$/day", "first", "next",
    ];
    if is_narrow {
        header.drain(PER_DAY);
    }
    write_table(&mut out, &table(&header, answer.plans.iter().map(row)))
}

/// Columns that the whole ranking needs.
const LEAST_WIDTH_FOR_ALL: usize = 76;
/// The columns of the ranking that follow from others: requests per second to USD per day.
const PER_DAY: std::ops::Range<usize> = 6..7;

fn write_best(out: &mut dyn Write, best: &PlanItem) -> io::Result<()> {
    let first = &best.time_to_first_token;
    let ratio = best
        .prefill_units_per_decode_unit
        .map(|ratio| format!("{} : 1", readable(ratio)));
    let cost = &best.cost;
    let serving = match best.serving {
        ServingKind::Aggregated => "aggregated",
        ServingKind::Disaggregated => "disaggregated",
    };
    let mut rows = Vec::from(values! {
        "serving" => serving.to_owned();
        "prefill units : decode units" => or_dash(ratio);
        "chips, nodes" => format!("{}, {}", rounded(best.chips), rounded(best.nodes));
        "prompt tokens" => format!("{} tok/s", readable(best.input_tokens_per_second.round()));
        "generated tokens" => format!("{} tok/s", readable(best.output_tokens_per_second.round()));
        "generated tokens per chip" => format!("{} tok/s", readable(best.output_tokens_per_second_per_chip));
        "first token, p50" => or_dash(first.p50_seconds.map(time));
        "first token, p95" => or_dash(first.p95_seconds.map(time));
        "  waiting, mean" => or_dash(first.waiting_seconds.map(time));
        "  prefill, mean" => time(first.prefill_seconds);
        "  transfer" => time(first.transfer_seconds);
        "next token, mean" => time(best.time_per_output_token.mean_seconds);
        "speed per user" => format!("{} tok/s", readable(best.time_per_output_token.tokens_per_second_per_user));
        "USD per request" => usd(cost.usd_per_request);
        "USD per Mtok" => usd(cost.usd_per_mtok);
        "USD per Mtok in, out" => format!("{}, {}", usd(cost.input_usd_per_mtok), usd(cost.output_usd_per_mtok));
        "USD per day" => usd(cost.usd_per_day.map(f64::round));
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
    write_pool(out, "decode", &best.decode)
}

fn write_pool(out: &mut dyn Write, name: &str, pool: &PoolItem) -> io::Result<()> {
    let mut rows = Vec::from(values! {
        "chips, nodes" => format!("{}, {}", rounded(pool.chips), rounded(pool.nodes));
        "weights per chip" => size(pool.weights_bytes_per_chip);
        "KV cache per chip" => size(pool.kv_bytes_per_chip);
        "HBM per chip" => size(pool.capacity_bytes_per_chip);
    });
    if let Some(batch) = pool.batch {
        rows.push((
            "sequences of a unit",
            format!(
                "{}, of {} that fit",
                rounded(batch),
                readable(pool.most_sequences)
            ),
        ));
    }
    if let Some(prompts) = pool.prompts_per_pass {
        rows.push(("prompts of a pass", readable(prompts)));
    }
    rows.extend(
        pool.prefill_utilisation
            .map(|share| ("time for prefill", percent(share))),
    );
    let steps = [("step", &pool.step), ("pass", &pool.pass)];
    for (name, split) in steps {
        if let Some(split) = split {
            rows.extend(of_split(name, split));
        }
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
    let name = if name == "step" {
        "decode step"
    } else {
        "prefill pass"
    };
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

fn write_front(mut out: &mut dyn Write, front: &[FrontItem]) -> io::Result<()> {
    if front.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("speed against cost"))?;
    let row = |item: &FrontItem| {
        vec![
            readable(item.tokens_per_second_per_user),
            usd(item.usd_per_mtok),
            rounded(item.chips),
            readable(item.requests_per_second),
            item.prefill
                .as_ref()
                .map_or_else(|| "the same".to_owned(), layout),
            layout(&item.decode),
        ]
    };
    let header = [
        "tok/s user",
        "$/Mtok",
        "chips",
        "req/s",
        "prefill",
        "decode",
    ];
    write_table(&mut out, &table(&header, front.iter().map(row)))
}

fn write_sensitivity(mut out: &mut dyn Write, items: &[SensitivityItem]) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("change of cost with an input"))?;
    let change =
        |change: Option<f64>| or_dash(change.map(|change| format!("{:+.1} %", change * 100.0)));
    let row = |item: &SensitivityItem| {
        vec![
            item.input.to_owned(),
            change(item.cost_change_at_minus_10_percent),
            change(item.cost_change_at_plus_10_percent),
        ]
    };
    write_table(
        &mut out,
        &table(&["input", "at −10 %", "at +10 %"], items.iter().map(row)),
    )
}

fn write_offload(mut out: &mut dyn Write, answer: &PlanAnswer) -> io::Result<()> {
    let offload = &answer.offload;
    let Some(bytes) = offload.cache_bytes else {
        return Ok(());
    };
    let heading = format!(
        "a cached prompt of {} tokens, {}",
        readable(offload.prefix_tokens.round()),
        size(bytes)
    );
    writeln!(out, "{}", label(&heading))?;
    let row = |tier: &Offloaded| {
        vec![
            tier.id.clone(),
            or_dash(tier.time_to_first_token_seconds.map(time)),
            usd(tier.retrieve_usd),
            usd(tier.hold_usd_per_hour),
            or_dash(tier.break_even_uses_per_hour.map(readable)),
        ]
    };
    let header = ["tier", "first token", "retrieve, $", "hold, $/h", "uses/h"];
    write_table(&mut out, &table(&header, offload.tiers.iter().map(row)))?;
    let row = |tier: &CheapestTier| {
        vec![
            tier.id.clone(),
            lifetime(tier.from_seconds),
            or_dash(tier.to_seconds.map(lifetime)),
        ]
    };
    writeln!(out, "{}", label("cheapest tier by time to live"))?;
    write_table(
        &mut out,
        &table(&["tier", "from", "to"], offload.cheapest.iter().map(row)),
    )
}

fn lifetime(seconds: Seconds) -> String {
    match seconds.0 {
        seconds if seconds >= 3_600.0 => format!("{} h", readable(seconds / 3_600.0)),
        seconds if seconds >= 60.0 => format!("{} min", readable(seconds / 60.0)),
        seconds => format!("{} s", readable(seconds)),
    }
}

fn write_series(mut out: &mut dyn Write, series: &[PlanPoint]) -> io::Result<()> {
    if series.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", label("over the grid"))?;
    let row = |item: &PlanPoint| {
        vec![
            or_dash(item.pass_tokens.map(readable)),
            percent(item.cache_hit_rate),
            or_dash(item.chips.map(rounded)),
            or_dash(item.requests_per_second.map(readable)),
            or_dash(item.pass_seconds.map(|seconds| time(Seconds(seconds)))),
            usd(item.usd_per_mtok),
            item.bound.unwrap_or("–").replace('_', " "),
        ]
    };
    let header = ["pass", "hits", "chips", "req/s", "time", "$/Mtok", "bound"];
    write_table(&mut out, &table(&header, series.iter().map(row)))
}
