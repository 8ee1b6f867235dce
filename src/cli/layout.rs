//! `unroof layout`: a model on racks of GPUs, on this machine alone.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::calculator::{
    answered, or_dash, percent, print, size, write_grounds, write_values, yes_no,
};
use super::report::{table, write_table};
use super::{Failure, label};
use unroof_core::calculator::layout::{LayoutAnswer, StagesItem, layout};
use unroof_core::units::{Seconds, readable};

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

fn milliseconds(time: Seconds) -> String {
    format!("{} ms", readable(time.0 * 1e3))
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
