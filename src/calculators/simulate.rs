//! `unroof simulate`: a model on a machine, without a server.

use std::io::{self, Write};

use clap::Args;

use super::calculator::{
    Calculation, List, input, model_of, number, or_dash, percent, size, time, values,
    write_grounds, write_values, yes_no,
};
use crate::estimates::chart::{Chart, Line};
use crate::estimates::report::paragraph;
use crate::shell::terminal;
use crate::{Failure, label};
use unroof_base::units::{Decimal, Seconds, readable};
use unroof_price_sheet::sheet::CacheWrite;
use unroof_roofline::calculator::simulate::request::SimulateRequest;
use unroof_roofline::calculator::simulate::{
    Bound, Change, Decode, ImpliedSheet, LearnedItem, Memory, Prefill, Roofline, SeriesItem,
    SimulationAnswer, Split, simulate,
};
use unroof_roofline::reference::{FigureInterval, INTERVAL_NOTE, open_models};

/// Rows of a series in the report; `--json` has all of them.
const MOST_ROWS: usize = 40;

/// Arguments of `unroof simulate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof simulate --model DeepSeek-V3 --accelerator h800 --chips 144 --batch-per-chip 88 --context 4989
  unroof simulate --model Llama-3.1-70B --accelerator h100-sxm --batch 1 --context 4096 --efficiencies peak
  unroof simulate request.json --json | jq .price_sheet.infer_request | unroof infer -")]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    calculation: Calculation<SimulateRequest>,
    /// Print the names of the open-weight models instead
    #[arg(long, exclusive = true)]
    list_models: bool,
}

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    if arguments.list_models {
        let mut out = terminal::stdout();
        for model in open_models() {
            writeln!(out, "{}", model.name)?;
        }
        return Ok(());
    }
    let calculation = &arguments.calculation;
    calculation
        .run(simulate, write_simulation, chart, true)
        .map(drop)
}

/// Cost of generated tokens, or the time of a step, over contexts where they vary, a curve per batch; else over batches.
fn chart(answer: &SimulationAnswer) -> Option<Chart> {
    if answer.series.len() < 2 {
        return None;
    }
    let has_cost = answer
        .series
        .iter()
        .all(|item| item.cost_output_usd_per_mtok.is_some());
    let y = |item: &SeriesItem| match item.cost_output_usd_per_mtok.filter(|_| has_cost) {
        Some(usd) => usd,
        None => item.step_seconds * 1e3,
    };
    let of_batch =
        |left: &SeriesItem, right: &SeriesItem| left.batch.total_cmp(&right.batch).is_eq();
    let batches: Vec<&[SeriesItem]> = answer.series.chunk_by(of_batch).collect();
    let over_contexts = batches.iter().any(|rows| rows.len() > 1);
    let lines = if over_contexts {
        let line = |rows: &&[SeriesItem]| Line {
            name: format!("batch {}", readable(rows[0].batch)),
            points: rows
                .iter()
                .map(|item| (item.context_tokens, y(item)))
                .collect(),
        };
        batches.iter().map(line).collect()
    } else {
        let points = answer.series.iter().map(|item| (item.batch, y(item)));
        vec![Line {
            name: "all".to_owned(),
            points: points.collect(),
        }]
    };
    Some(Chart {
        title: title(answer),
        x: if over_contexts {
            "context tokens"
        } else {
            "batch"
        },
        y: if has_cost { "USD/Mtok" } else { "step, ms" },
        lines,
    })
}

fn title(answer: &SimulationAnswer) -> String {
    let value = |name| input(&answer.inputs, name);
    let model = model_of(&answer.inputs);
    let (chips, chip) = (value("machine.chips"), value("machine.accelerator"));
    format!(
        "{model} on {} × {}",
        chips.unwrap_or_default(),
        chip.unwrap_or_default()
    )
}

fn write_simulation(mut out: &mut dyn Write, answer: &SimulationAnswer) -> io::Result<()> {
    writeln!(out, "{}\n", label(&title(answer)))?;
    for caveat in &answer.caveats {
        paragraph(&mut out, &format!("note: {caveat}"), 0)?;
        writeln!(out)?;
    }
    write_roofline(out, &answer.roofline)?;
    write_memory(out, &answer.memory)?;
    write_decode(out, &answer.decode, &answer.intervals)?;
    write_prefill(out, &answer.prefill, &answer.intervals)?;
    if !answer.intervals.is_empty() {
        paragraph(&mut out, INTERVAL_NOTE, 2)?;
        writeln!(out)?;
    }
    if let Some(learned) = &answer.learned {
        write_learned(out, learned)?;
    }
    if answer.series.len() > 1 {
        write_series(out, &answer.series)?;
    }
    if let Some(sheet) = &answer.price_sheet {
        write_sheet(out, sheet)?;
    }
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}

fn bound(bound: Bound) -> String {
    match bound {
        Bound::Memory => "memory".to_owned(),
        Bound::Compute => "compute".to_owned(),
    }
}

fn usd(usd_per_mtok: f64) -> String {
    format!("{} USD/Mtok", readable(usd_per_mtok))
}

fn cost(usd_per_mtok: Option<f64>) -> String {
    or_dash(usd_per_mtok.map(usd))
}

fn speed(per_second: f64) -> String {
    format!("{} tok/s", readable(per_second))
}

fn write_roofline(out: &mut dyn Write, roofline: &Roofline) -> io::Result<()> {
    let attention = &roofline.attention;
    let intensity = attention.flop_per_kv_byte.zip(attention.bound);
    let attention = intensity.map(|(flop, waits)| {
        let ridge = readable(attention.ridge_flop_per_byte);
        format!(
            "{} FLOP/B against {ridge}: {}",
            readable(flop),
            bound(waits)
        )
    });
    let crossover = roofline
        .crossover_context_tokens
        .map(|tokens| format!("{} tokens", readable(tokens.round())));
    write_values(
        out,
        "roofline, at peak",
        &values! {
            "compute over bandwidth, ρ" => readable(roofline.compute_to_bandwidth);
            "KV bytes stored per token" => roofline.kv_bytes_per_token_stored.to_string();
            "KV bytes read per token at 8,192" => roofline.kv_bytes_per_token_read.to_string();
            "KV bytes read per further token" => roofline.kv_bytes_per_token_read_slope.to_string();
            "optimal batch, B*" => readable(roofline.optimal_batch.round());
            "B/B*" => readable(roofline.batch_over_optimal_batch);
            "crossover context, L0" => or_dash(crossover);
            "memory time over compute time, r" => readable(roofline.memory_time_over_compute_time);
            "attention" => or_dash(attention);
            "latency floor" => time(roofline.latency_floor_seconds);
            "latency floor of one sequence" => time(roofline.latency_floor_of_one_sequence_seconds);
            "HBM sweep, τ" => time(roofline.sweep_time_seconds);
            "worst-case latency, 2τ" => time(roofline.worst_case_latency_seconds);
        },
    )
}

fn write_memory(out: &mut dyn Write, memory: &Memory) -> io::Result<()> {
    let share = memory.used_bytes.0 / memory.capacity_bytes.0;
    let fits = match &memory.does_not_fit {
        None => "yes".to_owned(),
        Some(lacking) => format!(
            "no, {} missing: {}",
            size(lacking.missing_bytes),
            lacking.detail
        ),
    };
    write_values(
        out,
        "memory of all chips",
        &values! {
            "HBM" => size(memory.capacity_bytes);
            "reserved" => size(memory.reserved_bytes);
            "weights" => size(memory.weights_bytes);
            "KV cache and state" => size(memory.kv_bytes);
            "used" => format!("{}, {}", size(memory.used_bytes), percent(share));
            "largest batch" => number(memory.largest_batch);
            "fits" => fits;
        },
    )
}

fn split(split: &Split) -> Vec<(&'static str, String)> {
    let mut rows = Vec::from(values! {
        "multiplying with weights" => time(split.weight_compute_seconds);
        "reading weights" => time(split.weight_memory_seconds);
        "multiplying in attention" => time(split.attention_compute_seconds);
        "reading the KV cache" => time(split.kv_memory_seconds);
        "exchanges between chips" => time(split.communication_seconds);
        "other traffic per token" => time(split.token_overhead_seconds);
        "waiting between kernels" => time(split.stage_overhead_seconds);
    });
    if split.draft_seconds.0 > 0.0 {
        rows.push(("drafting tokens", time(split.draft_seconds)));
    }
    rows
}

/// A figure with its interval, where it has one.
fn ranged(
    intervals: &[FigureInterval],
    figure: &str,
    value: f64,
    shown: fn(f64) -> String,
) -> String {
    FigureInterval::ranged(intervals, figure, value, shown)
}

fn write_decode(
    out: &mut dyn Write,
    decode: &Decode,
    intervals: &[FigureInterval],
) -> io::Result<()> {
    let ranged = |figure, value, shown| ranged(intervals, figure, value, shown);
    let total = decode.time.total_seconds.0;
    let (of_user, of_chip) = (
        decode.tokens_per_second_per_user,
        decode.tokens_per_second_per_chip,
    );
    let of_tokens = decode.cost_usd_per_mtok;
    let mut values = split(&decode.time);
    values.extend(values! {
        "all, with overlaps" => ranged("decode.time.total_seconds", total, |s| time(Seconds(s)));
        "speed per user" => ranged("decode.tokens_per_second_per_user", of_user, speed);
        "throughput per chip" => ranged("decode.tokens_per_second_per_chip", of_chip, speed);
        "throughput of all chips" => ranged("decode.tokens_per_second", decode.tokens_per_second, speed);
        "cost of generated tokens" => or_dash(of_tokens.map(|cost| ranged("decode.cost_usd_per_mtok", cost, usd)));
        "users to fill the batch" => readable(decode.users_to_fill_batch.round());
        "share of the provider's traffic" => readable(decode.share_of_provider_traffic);
        "limit of arithmetic alone" => cost(decode.cost_compute_limit_usd_per_mtok);
        "limit of reading the cache alone" => cost(decode.cost_kv_limit_usd_per_mtok);
    });
    if decode.drafted_tokens > 0.0 {
        values.extend(values! {
            "drafted tokens per step" => readable(decode.drafted_tokens);
            "accepted tokens per step" => readable(decode.accepted_tokens_per_step);
        });
    }
    let heading = format!(
        "decode, {} sequences at {} tokens",
        readable(decode.batch),
        readable(decode.context_tokens)
    );
    write_values(out, &heading, &values)
}

fn write_prefill(
    out: &mut dyn Write,
    prefill: &Prefill,
    intervals: &[FigureInterval],
) -> io::Result<()> {
    let ranged = |figure, value, shown| ranged(intervals, figure, value, shown);
    let (total, of_chip) = (
        prefill.time.total_seconds.0,
        prefill.tokens_per_second_per_chip,
    );
    let (first, of_tokens) = (
        prefill.time_to_first_token_seconds.0,
        prefill.cost_usd_per_mtok,
    );
    let mut values = split(&prefill.time);
    values.extend(values! {
        "all, with overlaps" => ranged("prefill.time.total_seconds", total, |s| time(Seconds(s)));
        "time to the first token" => ranged("prefill.time_to_first_token_seconds", first, |s| time(Seconds(s)));
        "throughput per chip" => ranged("prefill.tokens_per_second_per_chip", of_chip, speed);
        "cost of prompt tokens" => or_dash(of_tokens.map(|cost| ranged("prefill.cost_usd_per_mtok", cost, usd)));
    });
    let heading = format!(
        "prefill, {} prompts of {} tokens on {} chips",
        readable(prefill.prompts_per_pass),
        readable(prefill.input_tokens),
        readable(prefill.chips)
    );
    write_values(out, &heading, &values)
}

fn write_learned(out: &mut dyn Write, learned: &LearnedItem) -> io::Result<()> {
    let change = |of: Change, shown: fn(f64) -> String| {
        format!("{} → {}", shown(of.before), shown(of.after))
    };
    let error = Change {
        before: learned.error_before,
        after: learned.error_after,
    };
    write_values(
        out,
        &format!("learned from {} rows of your own", learned.rows),
        &values! {
            "median |ln(predicted/measured)|" => change(error, readable);
            "share of peak arithmetic" => change(learned.compute, percent);
            "share of HBM bandwidth" => change(learned.bandwidth, percent);
            "waiting per kernel" => change(learned.seconds_per_stage, |seconds| time(Seconds(seconds)));
        },
    )
}

fn write_series(mut out: &mut dyn Write, series: &[SeriesItem]) -> io::Result<()> {
    List::of("over the grid", series.iter().take(MOST_ROWS))
        .column("batch", |row| readable(row.batch))
        .column("context", |row| readable(row.context_tokens.round()))
        .column("step", |row| time(Seconds(row.step_seconds)))
        .column("tok/s user", |row| readable(row.tokens_per_second_per_user))
        .column("tok/s chip", |row| readable(row.tokens_per_second_per_chip))
        .column("USD/Mtok", |row| number(row.cost_output_usd_per_mtok))
        .column("waits for", |row| bound(row.bound))
        .column("fits", |row| yes_no(row.fits))
        .write(out)?;
    if series.len() > MOST_ROWS {
        let rest = series.len() - MOST_ROWS;
        paragraph(
            &mut out,
            &format!("… and {rest} more; --json has them all"),
            2,
        )?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_sheet(mut out: &mut dyn Write, implied: &ImpliedSheet) -> io::Result<()> {
    List::of(
        "the price sheet it implies, USD/Mtok",
        &implied.infer_request.price_sheet.rates,
    )
    .column("tier", |rate| rate.service_tier.clone())
    .column("prompt", |rate| match rate.context_tier.min_prompt_tokens {
        0 => String::new(),
        tokens => format!("> {}", readable(f64::from(tokens))),
    })
    .column("input", |rate| amount(rate.input.as_ref()))
    .column("output", |rate| amount(rate.output.as_ref()))
    .column("cache read", |rate| amount(rate.cache_read.as_ref()))
    .column("cache write", |rate| {
        let writes: Vec<String> = rate.cache_write.iter().map(cache_write).collect();
        writes.join("\n")
    })
    .write(out)?;
    let all_in = &implied.all_in_efficiencies;
    paragraph(
        &mut out,
        &format!(
            "note: a prompt token costs {} times the value of E16, a generated token {} times that of E1; {}",
            readable(all_in.input_cost_factor),
            readable(all_in.output_cost_factor),
            all_in.note
        ),
        2,
    )?;
    writeln!(out)?;
    List::of("values that its readings recover", &implied.reads_back)
        .column("reading", |back| back.reading.to_owned())
        .column("quantity", |back| back.quantity.to_owned())
        .column("value", |back| match back.value {
            Some(value) => readable(value),
            None => back.not_read.unwrap_or_default().to_owned(),
        })
        .write(out)
}

fn amount(price: Option<&Decimal>) -> String {
    price.map_or_else(String::new, |price| readable(price.to_f64()))
}

fn cache_write(write: &CacheWrite) -> String {
    let ttl = write.ttl_seconds.map(|ttl| format!(" for {ttl} s"));
    readable(write.price.to_f64()) + &ttl.unwrap_or_default()
}
