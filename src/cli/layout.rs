//! `unroof layout`: a model on racks of GPUs, on this machine alone.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use super::infer::read_input;
use super::report::{paragraph, table, write_table};
use super::{Failure, label};
use crate::forward::inputs::{EquationUsed, InputOrigin, InputUsed, InputValue, NoValue};
use crate::forward::layout::{LayoutAnswer, StagesItem, layout};
use crate::input::RequestError;
use crate::units::{Bytes, Seconds, readable};

/// Arguments of `unroof layout`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof layout
  unroof layout --hardware hopper-8 --expert-parallel-gpus 144 --json | jq .all_to_all
  unroof layout request.json --pipeline-stages 8")]
pub(super) struct LayoutArguments {
    /// File with a request as `POST /layout` takes it; `-` reads standard input; all defaults if left out
    file: Option<PathBuf>,
    /// A rack (hopper-8, blackwell-72, rubin-72) or the id of an accelerator
    #[arg(long, value_name = "NAME")]
    hardware: Option<String>,
    /// Routed experts per layer
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    experts: Option<String>,
    /// Experts per layer that a token goes to
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    active_experts: Option<String>,
    /// Parameters in all
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    total_parameters: Option<String>,
    /// Parameters active per token
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    active_parameters: Option<String>,
    /// GPUs that the experts of a layer are spread over
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    expert_parallel_gpus: Option<String>,
    /// Pipeline stages
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pipeline_stages: Option<String>,
    /// Sequences of a micro-batch
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    sequences_per_micro_batch: Option<String>,
    /// Print the answer as HTTP gives it
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &LayoutArguments) -> Result<(), Failure> {
    let flags = [
        ("hardware", "name", &arguments.hardware),
        ("model", "experts", &arguments.experts),
        ("model", "active_experts", &arguments.active_experts),
        ("model", "total_parameters", &arguments.total_parameters),
        ("model", "active_parameters", &arguments.active_parameters),
        (
            "layout",
            "expert_parallel_gpus",
            &arguments.expert_parallel_gpus,
        ),
        ("layout", "pipeline_stages", &arguments.pipeline_stages),
        (
            "layout",
            "sequences_per_micro_batch",
            &arguments.sequences_per_micro_batch,
        ),
    ];
    let answer = answered(arguments.file.as_deref(), &flags, layout)?;
    print(&answer, arguments.json, write_layout)
}

/// The answer to the request in a file, or to an empty one, with what the flags state in its place.
pub(super) fn answered<Answer>(
    file: Option<&Path>,
    flags: &[(&str, &str, &Option<String>)],
    answer: impl Fn(&[u8]) -> Result<Answer, RequestError>,
) -> Result<Answer, Failure> {
    let text = file.map_or_else(|| Ok(b"{}".to_vec()), read_input)?;
    let stated: Vec<_> = flags
        .iter()
        .filter_map(|(object, field, value)| Some((*object, *field, value.as_ref()?)))
        .collect();
    if stated.is_empty() {
        return Ok(answer(&text)?);
    }
    // What is wrong with the file is said of the file as it stands.
    if file.is_some() {
        answer(&text)?;
    }
    let mut request: Map<String, Value> =
        serde_json::from_slice(&text).context("the request is no object")?;
    for (object, field, value) in stated {
        let fields = request
            .entry(object)
            .or_insert_with(|| Value::Object(Map::new()));
        // An object may be written as its name alone.
        if let Value::String(name) = fields {
            *fields = serde_json::json!({"name": name});
        }
        fields[field] = stated_value(value);
    }
    let text = Value::Object(request).to_string();
    Ok(answer(text.as_bytes())?)
}

/// A number as it was written, anything else as a text.
fn stated_value(written: &str) -> Value {
    match serde_json::from_str(written) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => Value::String(written.to_owned()),
    }
}

/// Prints an answer as HTTP gives it, or for a person.
pub(super) fn print<Answer: Serialize>(
    answer: &Answer,
    as_json: bool,
    write: impl Fn(&mut dyn Write, &Answer) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    if as_json {
        let text = serde_json::to_string(answer).context("the answer has no text")?;
        writeln!(out, "{text}")?;
    } else {
        write(&mut out, answer)?;
    }
    Ok(())
}

/// A heading and two columns: what, and how much.
pub(super) fn write_values(
    mut out: &mut dyn Write,
    heading: &str,
    values: &[(&str, String)],
) -> io::Result<()> {
    writeln!(out, "{}", label(heading))?;
    let widest = values.iter().map(|(name, _)| name.chars().count()).max();
    for (name, value) in values {
        let gap = " ".repeat(widest.unwrap_or(0) - name.chars().count());
        paragraph(&mut out, &format!("{name}{gap}  {value}"), 2)?;
    }
    writeln!(out)
}

/// What every report of a calculator ends with.
pub(super) fn write_grounds(
    mut out: &mut dyn Write,
    not_defined: &[NoValue],
    equations: &[EquationUsed],
    inputs: &[InputUsed],
) -> io::Result<()> {
    if !not_defined.is_empty() {
        writeln!(out, "{}", label("not defined"))?;
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for entry in not_defined {
            match reasons
                .iter_mut()
                .find(|(reason, _)| *reason == entry.reason)
            {
                Some((_, values)) => values.push(entry.value),
                None => reasons.push((&entry.reason, vec![entry.value])),
            }
        }
        for (reason, values) in reasons {
            paragraph(&mut out, &values.join(", "), 2)?;
            paragraph(&mut out, reason, 4)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", label("equations"))?;
    for equation in equations {
        let text = format!(
            "{} {} [{}]",
            equation.id, equation.equation, equation.source
        );
        paragraph(&mut out, text.trim_start(), 2)?;
    }
    writeln!(out)?;
    writeln!(out, "{}", label("values used"))?;
    let rows = inputs.iter().map(|input| {
        let value = match &input.value {
            InputValue::Number(number) => format!("{} {}", readable(*number), input.unit),
            InputValue::Name(name) => name.clone(),
        };
        let from = match input.from {
            InputOrigin::Stated => "stated",
            InputOrigin::Reference => "reference",
            InputOrigin::Derived => "derived",
            InputOrigin::Default => "default",
        };
        vec![
            input.name.clone(),
            value.trim_end().to_owned(),
            from.to_owned(),
        ]
    });
    write_table(&mut out, &table(&["name", "value", "from"], rows))
}

/// A value with its unit, or a dash.
pub(super) fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

/// Bytes in the unit that they are spoken of in.
pub(super) fn size(bytes: Bytes) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(unit, _)| bytes.0 >= *unit);
    match unit {
        Some((unit, name)) if bytes.0 < 1e16 => {
            // Four digits are enough to compare by.
            let (whole, decimals) = (bytes.0 / unit, [2, 1, 0]);
            let digits = decimals[usize::from(whole >= 10.0) + usize::from(whole >= 100.0)];
            format!("{whole:.digits$} {name}")
        }
        _ => bytes.to_string(),
    }
}

fn milliseconds(time: Seconds) -> String {
    format!("{} ms", readable(time.0 * 1e3))
}

pub(super) fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn write_layout(mut out: &mut dyn Write, answer: &LayoutAnswer) -> io::Result<()> {
    let experts = &answer.experts;
    let even = if experts.divides_evenly {
        "evenly".to_owned()
    } else {
        format!("up to {} on one", experts.experts_per_gpu_rounded_up)
    };
    let placement = format!("{}, {even}", readable(experts.experts_per_gpu));
    let slower = experts.scale_up_over_scale_out.map(readable);
    write_values(
        out,
        "experts",
        &[
            ("experts per GPU", placement),
            ("scale-up domains", experts.scale_up_domains.to_string()),
            (
                "traffic leaving its domain",
                percent(experts.share_leaving_domain),
            ),
            ("scale-up over scale-out", or_dash(slower)),
        ],
    )?;
    let sent = &answer.all_to_all;
    let time = |time: Option<Seconds>| or_dash(time.map(milliseconds));
    write_values(
        out,
        "all-to-all, per GPU and decode step",
        &[
            ("all of it", size(sent.bytes_per_gpu_and_step)),
            ("inside the domain", size(sent.bytes_inside_domain)),
            ("leaving it", size(sent.bytes_leaving_domain)),
            ("time as laid out", time(sent.seconds)),
            ("if all stayed inside", time(sent.seconds_at_scale_up)),
            ("if all left", time(sent.seconds_at_scale_out)),
        ],
    )?;
    let largest = &answer.largest_expert_layer;
    write_values(
        out,
        "largest expert layer of one scale-up domain",
        &[
            ("HBM of the domain", size(largest.domain_hbm_bytes)),
            (
                "parameters per expert",
                or_dash(largest.parameters_per_expert.map(readable)),
            ),
            (
                "experts per layer that fit",
                or_dash(largest.experts.map(readable)),
            ),
            ("their bytes per layer", or_dash(largest.bytes.map(size))),
            (
                "with a stage per domain",
                or_dash(largest.experts_with_a_stage_per_domain.map(readable)),
            ),
        ],
    )?;
    let pipeline = &answer.pipeline;
    let free = pipeline.free_across_racks.map(yes_no);
    let ratio = pipeline.expert_time_over_hand_over_time.map(readable);
    write_values(
        out,
        "pipeline",
        &[
            ("layers per stage", readable(pipeline.layers_per_stage)),
            ("expert time over hand-over time", or_dash(ratio)),
            ("free across racks", or_dash(free)),
            (
                "bubble of a training step",
                percent(pipeline.training_bubble_share),
            ),
            (
                "memory time per token",
                milliseconds(pipeline.seconds_per_token),
            ),
            (
                "the same in one stage",
                milliseconds(pipeline.seconds_per_token_in_one_stage),
            ),
        ],
    )?;
    let memory = &answer.memory;
    write_values(
        out,
        "memory per GPU",
        &[
            ("weights", size(memory.weights_bytes_per_gpu)),
            ("KV cache", size(memory.kv_bytes_per_gpu)),
            ("both", size(memory.total_bytes_per_gpu)),
            ("HBM", size(memory.hbm_bytes_per_gpu)),
            ("missing", size(memory.missing_bytes_per_gpu)),
        ],
    )?;
    writeln!(out, "{}", label("over the number of stages, per GPU"))?;
    let row = |row: &StagesItem| {
        vec![
            row.pipeline_stages.to_string(),
            size(row.weights_bytes_per_gpu),
            size(row.kv_bytes_per_gpu),
            size(row.total_bytes_per_gpu),
            yes_no(row.fits).to_owned(),
            size(row.kv_bytes_per_gpu_at_fixed_batch),
            percent(row.training_bubble_share),
        ]
    };
    let header = [
        "stages",
        "weights",
        "KV, fixed b",
        "both",
        "fits",
        "KV, fixed B",
        "bubble",
    ];
    write_table(&mut out, &table(&header, answer.series.iter().map(row)))?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}
