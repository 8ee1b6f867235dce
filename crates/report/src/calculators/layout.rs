//! The answer of `/layout`: where experts and stages lie, what fits, and what the networks cost.

use maud::{Markup, html};

use super::parts::{bars, bytes, input, missing, time};
use crate::tables::Head::{Number, Text};
use crate::tables::{scrolling, table};
use crate::words::{count, or_dash, percent};
use unroof_base::units::{compact, readable};
use unroof_roofline::calculator::layout::{LayoutAnswer, StagesItem};

/// The answer in words.
#[must_use]
pub fn summary(answer: &LayoutAnswer) -> Markup {
    let (experts, memory) = (&answer.experts, &answer.memory);
    let share = memory.total_bytes_per_chip.0 / memory.capacity_bytes_per_chip.0;
    html! {
        p.lead data-finding {
            strong { (input(&answer.inputs, "model.name").unwrap_or_else(|| "A model of these sizes".to_owned())) } " on "
            (count(memory.chips)) " × " (input(&answer.inputs, "machine.accelerator").unwrap_or_default()) ": "
            (compact(experts.experts_per_chip)) " experts of each layer per chip, "
            @match experts.scale_up_domains {
                1 => "all in one rack",
                racks => { "over " (racks) " racks, so that " (percent(experts.share_leaving_domain)) " of their traffic leaves its rack" }
            }
            @if let Some(seconds) = answer.all_to_all.seconds { "; the traffic takes " (time(seconds.0)) " of a decode step" }
            "; weights and KV cache take " (percent(share)) " of the memory of a chip."
        }
        @if !memory.fits {
            p.warning {
                strong { "Does not fit. " } (bytes(memory.missing_bytes_per_chip.0)) " per chip are missing: use more stages, more chips per \
                 stage, fewer sequences or fewer bytes per weight."
            }
        }
        @if !experts.divides_evenly {
            p.warning { "The experts do not divide evenly: the fullest chip holds " (experts.experts_per_chip_rounded_up) " of each layer." }
        }
        (missing(&answer.not_defined))
    }
}

/// Memory, networks and stages.
#[must_use]
pub fn details(answer: &LayoutAnswer) -> Markup {
    html! {
        div.columns { (memory(answer)) (traffic(answer)) (pipeline(answer)) (largest(answer)) }
        (stages(answer))
    }
}

fn memory(answer: &LayoutAnswer) -> Markup {
    let memory = &answer.memory;
    let parts = [
        ("weights", memory.weights_bytes_per_chip.0),
        ("KV cache", memory.kv_bytes_per_chip.0),
        ("memory of a chip", memory.capacity_bytes_per_chip.0),
    ];
    let largest = parts.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    html! {
        div {
            h3 { "Memory of a chip" }
            (bars(&parts, largest, bytes))
        }
    }
}

fn traffic(answer: &LayoutAnswer) -> Markup {
    let traffic = &answer.all_to_all;
    let seconds = |seconds: Option<unroof_base::units::Seconds>| {
        or_dash(seconds.map(|seconds| seconds.0), time)
    };
    html! {
        div {
            h3 { "Traffic between chips and experts, per step" }
            dl {
                dt { "Bytes of a chip" } dd { (bytes(traffic.bytes_per_chip_and_step.0)) }
                dt { "Leaving the rack" } dd { (bytes(traffic.bytes_leaving_domain.0)) }
                dt { "Time as laid out" } dd { (seconds(traffic.seconds)) }
                dt { "All inside a rack" } dd { (seconds(traffic.seconds_at_scale_up)) }
                dt { "All between racks" } dd { (seconds(traffic.seconds_at_scale_out)) }
            }
        }
    }
}

fn pipeline(answer: &LayoutAnswer) -> Markup {
    let pipeline = &answer.pipeline;
    html! {
        div {
            h3 { "Pipeline" }
            dl {
                dt { "Layers of a stage" } dd { (compact(pipeline.layers_per_stage)) }
                dt { "Time per token" } dd { (time(pipeline.seconds_per_token.0)) }
                dt { "With the transfers" } dd { (time(pipeline.seconds_per_token_with_hops.0)) }
                dt { "In one stage" } dd { (time(pipeline.seconds_per_token_in_one_stage.0)) }
                dt { "Waiting in training" } dd { (percent(pipeline.training_bubble_share)) }
                @if let Some(free) = pipeline.free_across_racks {
                    dt { "Stages in other racks" }
                    dd { @if free { "cost no time" } @else { "cost time: the transfer takes longer than a stage’s expert traffic" } }
                }
            }
        }
    }
}

fn largest(answer: &LayoutAnswer) -> Markup {
    let largest = &answer.largest_expert_layer;
    html! {
        div {
            h3 { "The largest expert layer of a rack" }
            dl {
                dt { "Memory of a rack" } dd { (bytes(largest.domain_capacity_bytes.0)) }
                dt { "Parameters of an expert" } dd { (or_dash(largest.parameters_per_expert, compact)) }
                dt { "Experts of a layer, the whole model in a rack" } dd { (or_dash(largest.experts, readable)) }
                dt { "With a stage per rack" } dd { (or_dash(largest.experts_with_a_stage_per_domain, readable)) }
            }
        }
    }
}

fn stages(answer: &LayoutAnswer) -> Markup {
    html! {
        h3 { "Other numbers of stages" }
        (scrolling("Numbers of stages", &table(&[
            Number("Stages"), Number("Chips"), Number("Weights per chip"), Number("Cache per chip"), Text("Fits"), Number("Time per token"),
            Number("Waiting in training"),
        ], &html! { @for row in &answer.series { (stage(row)) } })))
        p.note { "A further stage halves no cache: as many more micro-batches are in flight. The time per token only gains transfers." }
    }
}

fn stage(row: &StagesItem) -> Markup {
    html! {
        tr {
            th.number scope="row" { (row.pipeline_stages) }
            td.number { (count(row.chips)) }
            td.number { (bytes(row.weights_bytes_per_chip.0)) }
            td.number { (bytes(row.kv_bytes_per_chip.0)) }
            td { @if row.fits { "yes" } @else { "no: " (bytes(row.missing_bytes_per_chip.0)) " missing" } }
            td.number { (time(row.seconds_per_token_with_hops.0)) }
            td.number { (percent(row.training_bubble_share)) }
        }
    }
}
