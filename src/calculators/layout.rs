//! `unroof layout`: a model on racks of chips, without a server.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::calculator::{
    RequestFlags, answered, input, list_accelerators, model_of, or_dash, percent, print, size,
    values, write_grounds, write_values, yes_no,
};
use crate::estimates::chart::{Chart, Line, show};
use crate::estimates::report::{table, write_table};
use crate::{Failure, label};
use unroof_base::units::{Seconds, readable};
use unroof_roofline::calculator::layout::request::LayoutRequest;
use unroof_roofline::calculator::layout::{
    AllToAll, ExpertPlacement, LargestExpertLayer, LayoutAnswer, MemoryPerChip, PipelineCosts,
    StagesItem, layout,
};

/// Arguments of `unroof layout`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof layout
  unroof layout --accelerator h100-sxm --expert-parallel-chips 144 --json | jq .all_to_all
  unroof layout request.json --pipeline-stages 8")]
pub(crate) struct LayoutArguments {
    /// File with a request as `POST /layout` takes it; `-` reads standard input; all defaults if left out
    file: Option<PathBuf>,
    #[command(flatten)]
    stated: RequestFlags<LayoutRequest>,
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

pub(crate) fn run(arguments: &LayoutArguments) -> Result<(), Failure> {
    if arguments.list_accelerators {
        return list_accelerators();
    }
    let answer = answered(arguments.file.as_deref(), &arguments.stated, layout)?;
    print(&answer, arguments.json, write_layout)?;
    show(Some(chart(&answer)), arguments.save.as_deref(), false)
}

/// Memory of a chip over pipeline stages.
fn chart(answer: &LayoutAnswer) -> Chart {
    let line = |name: &str, bytes: fn(&StagesItem) -> f64| Line {
        name: name.to_owned(),
        points: answer
            .series
            .iter()
            .map(|item| (f64::from(item.pipeline_stages), bytes(item) / 1e9))
            .collect(),
    };
    Chart {
        title: title(answer),
        x: "pipeline stages",
        y: "GB per chip",
        lines: vec![
            line("weights", |item| item.weights_bytes_per_chip.0),
            line("KV cache", |item| item.kv_bytes_per_chip.0),
            line("both", |item| item.total_bytes_per_chip.0),
        ],
    }
}

fn title(answer: &LayoutAnswer) -> String {
    let accelerator = input(&answer.inputs, "machine.accelerator").unwrap_or_default();
    format!(
        "{} on {} × {accelerator}",
        model_of(&answer.inputs),
        answer.memory.chips
    )
}

fn milliseconds(time: Seconds) -> String {
    format!("{} ms", readable(time.0 * 1e3))
}

fn write_layout(mut out: &mut dyn Write, answer: &LayoutAnswer) -> io::Result<()> {
    writeln!(out, "{}\n", label(&title(answer)))?;
    write_experts(out, &answer.experts)?;
    write_all_to_all(out, &answer.all_to_all)?;
    write_largest_layer(out, &answer.largest_expert_layer)?;
    write_pipeline(out, &answer.pipeline)?;
    write_memory(out, &answer.memory)?;
    writeln!(
        out,
        "{}",
        label("series over the number of stages, per chip")
    )?;
    let row = |row: &StagesItem| {
        vec![
            row.pipeline_stages.to_string(),
            size(row.weights_bytes_per_chip),
            size(row.kv_bytes_per_chip),
            size(row.total_bytes_per_chip),
            yes_no(row.fits).to_owned(),
            size(row.kv_bytes_per_chip_at_fixed_batch),
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

fn write_experts(out: &mut dyn Write, experts: &ExpertPlacement) -> io::Result<()> {
    let even = if experts.divides_evenly {
        "evenly".to_owned()
    } else {
        format!("up to {} on one", experts.experts_per_chip_rounded_up)
    };
    let placement = format!("{}, {even}", readable(experts.experts_per_chip));
    let leaving = percent(experts.share_leaving_domain);
    let slower = or_dash(experts.scale_up_over_scale_out.map(readable));
    let values = values! {
        "experts per chip" => placement;
        "scale-up domains" => experts.scale_up_domains.to_string();
        "traffic leaving its domain" => leaving;
        "scale-up over scale-out" => slower;
    };
    write_values(out, "experts", &values)
}

fn write_all_to_all(out: &mut dyn Write, sent: &AllToAll) -> io::Result<()> {
    let time = |time: Option<Seconds>| or_dash(time.map(milliseconds));
    let values = values! {
        "all of it" => size(sent.bytes_per_chip_and_step);
        "inside the domain" => size(sent.bytes_inside_domain);
        "leaving it" => size(sent.bytes_leaving_domain);
        "time as laid out" => time(sent.seconds);
        "if all stayed inside" => time(sent.seconds_at_scale_up);
        "if all left" => time(sent.seconds_at_scale_out);
    };
    write_values(out, "all-to-all, per chip and decode step", &values)
}

fn write_largest_layer(out: &mut dyn Write, largest: &LargestExpertLayer) -> io::Result<()> {
    let number = |number: Option<f64>| or_dash(number.map(readable));
    let staged = number(largest.experts_with_a_stage_per_domain);
    let values = values! {
        "HBM of the domain" => size(largest.domain_capacity_bytes);
        "parameters per expert" => number(largest.parameters_per_expert);
        "experts per layer that fit" => number(largest.experts);
        "their bytes per layer" => or_dash(largest.bytes.map(size));
        "with a stage per domain" => staged;
    };
    write_values(out, "largest expert layer of one scale-up domain", &values)
}

fn write_pipeline(out: &mut dyn Write, pipeline: &PipelineCosts) -> io::Result<()> {
    let ratio = pipeline.expert_time_over_hand_over_time.map(readable);
    let free = pipeline.free_across_racks.map(yes_no);
    let bubble = percent(pipeline.training_bubble_share);
    let in_one_stage = milliseconds(pipeline.seconds_per_token_in_one_stage);
    let values = values! {
        "layers per stage" => readable(pipeline.layers_per_stage);
        "expert time over hand-over time" => or_dash(ratio);
        "free across racks" => or_dash(free);
        "bubble of a training step" => bubble;
        "memory time per token" => milliseconds(pipeline.seconds_per_token);
        "with hops between stages" => milliseconds(pipeline.seconds_per_token_with_hops);
        "memory time in one stage" => in_one_stage;
    };
    write_values(out, "pipeline", &values)
}

fn write_memory(out: &mut dyn Write, memory: &MemoryPerChip) -> io::Result<()> {
    let values = values! {
        "weights" => size(memory.weights_bytes_per_chip);
        "KV cache" => size(memory.kv_bytes_per_chip);
        "both" => size(memory.total_bytes_per_chip);
        "HBM" => size(memory.capacity_bytes_per_chip);
        "missing" => size(memory.missing_bytes_per_chip);
    };
    write_values(out, "memory per chip", &values)
}
