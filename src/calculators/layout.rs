//! `unroof layout`: a model on racks of chips, without a server.

use std::io::{self, Write};

use clap::Args;

use super::calculator::{
    Calculation, List, input, model_of, number, or_dash, percent, size, values, write_grounds,
    write_values, yes_no,
};
use crate::estimates::chart::{Chart, Line};
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
    #[command(flatten)]
    calculation: Calculation<LayoutRequest>,
}

pub(crate) fn run(arguments: &LayoutArguments) -> Result<(), Failure> {
    let chart = |answer: &LayoutAnswer| Some(chart(answer));
    arguments
        .calculation
        .run(layout, write_layout, chart, false)
        .map(drop)
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

fn write_layout(out: &mut dyn Write, answer: &LayoutAnswer) -> io::Result<()> {
    writeln!(out, "{}\n", label(&title(answer)))?;
    write_experts(out, &answer.experts)?;
    write_all_to_all(out, &answer.all_to_all)?;
    write_largest_layer(out, &answer.largest_expert_layer)?;
    write_pipeline(out, &answer.pipeline)?;
    write_memory(out, &answer.memory)?;
    List::of("series over the number of stages, per chip", &answer.series)
        .column("stages", |row| row.pipeline_stages.to_string())
        .column("weights", |row| size(row.weights_bytes_per_chip))
        .column("KV, fixed b", |row| size(row.kv_bytes_per_chip))
        .column("both", |row| size(row.total_bytes_per_chip))
        .column("fits", |row| yes_no(row.fits))
        .column("KV, fixed B", |row| {
            size(row.kv_bytes_per_chip_at_fixed_batch)
        })
        .column("bubble", |row| percent(row.training_bubble_share))
        .write(out)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}

fn write_experts(out: &mut dyn Write, experts: &ExpertPlacement) -> io::Result<()> {
    let even = if experts.divides_evenly {
        "evenly".to_owned()
    } else {
        format!("up to {} on one", experts.experts_per_chip_rounded_up)
    };
    let values = values! {
        "experts per chip" => format!("{}, {even}", readable(experts.experts_per_chip));
        "scale-up domains" => experts.scale_up_domains.to_string();
        "traffic leaving its domain" => percent(experts.share_leaving_domain);
        "scale-up over scale-out" => number(experts.scale_up_over_scale_out);
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
    let values = values! {
        "HBM of the domain" => size(largest.domain_capacity_bytes);
        "parameters per expert" => number(largest.parameters_per_expert);
        "experts per layer that fit" => number(largest.experts);
        "their bytes per layer" => or_dash(largest.bytes.map(size));
        "with a stage per domain" => number(largest.experts_with_a_stage_per_domain);
    };
    write_values(out, "largest expert layer of one scale-up domain", &values)
}

fn write_pipeline(out: &mut dyn Write, pipeline: &PipelineCosts) -> io::Result<()> {
    let free = pipeline.free_across_racks.map(yes_no);
    let values = values! {
        "layers per stage" => readable(pipeline.layers_per_stage);
        "expert time over hand-over time" => number(pipeline.expert_time_over_hand_over_time);
        "free across racks" => or_dash(free);
        "bubble of a training step" => percent(pipeline.training_bubble_share);
        "memory time per token" => milliseconds(pipeline.seconds_per_token);
        "with hops between stages" => milliseconds(pipeline.seconds_per_token_with_hops);
        "memory time in one stage" => milliseconds(pipeline.seconds_per_token_in_one_stage);
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
