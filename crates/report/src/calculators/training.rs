//! The answer of `/training`: tokens, compute, time and cost of each phase.

use maud::{Markup, html};

use super::parts::{bytes, missing, number, part, usd};
use crate::tables::Head::{Number, Text};
use crate::tables::{scrolling, table};
use crate::words::{or_dash, percent};
use unroof_base::units::{compact, readable};
use unroof_roofline::calculator::training::{
    TokensFrom, TrainingAnswer, TrainingPhase, TrainingPhaseItem,
};

/// The answer in words.
#[must_use]
pub fn summary(answer: &TrainingAnswer) -> Markup {
    let over = &answer.overtraining;
    let size = number(&answer.inputs, "model.active_parameters").unwrap_or_default();
    html! {
        p.lead data-finding {
            "A model of " strong { (compact(size)) } " active parameters"
            @if let Some(served) = answer.phases.last() { " that generates " (compact(served.tokens)) " tokens in its life" }
            " is trained on " strong { (compact(over.pretraining_tokens)) " tokens" }
            @if answer.phases.first().is_some_and(|first| first.tokens_from == TokensFrom::Equalised) { " where pretraining costs as much as serving" }
            ": " (compact(over.overtraining)) " times the number that is optimal for training alone."
            " Training takes " strong { (compact(answer.total.training_days)) " days" } " on "
            (readable(answer.machine.chips.into())) " × " (answer.machine.accelerator)
            @if let Some(cost) = answer.total.training_usd { " and costs " strong { (usd(cost)) } }
            "."
        }
        (missing(&answer.not_defined))
    }
}

/// Phases, the optimum, memory and sparsity.
#[must_use]
pub fn details(answer: &TrainingAnswer) -> Markup {
    html! {
        (phases(answer))
        div.columns { (optimum(answer)) (activations(answer)) (sparsity(answer)) }
    }
}

fn phase_name(phase: TrainingPhase) -> &'static str {
    match phase {
        TrainingPhase::Pretraining => "pretraining",
        TrainingPhase::ReinforcementLearning => "reinforcement learning",
        TrainingPhase::Inference => "inference",
    }
}

fn phases(answer: &TrainingAnswer) -> Markup {
    html! {
        h3 { "Where the compute goes" }
        (scrolling("Phases", &table(&[
            Text("Phase"), Number("Tokens"), Number("Compute, FLOP"), Text("Share"), Number("Days"), Number("Rent"),
        ], &html! { @for phase in &answer.phases { (phase_row(phase)) } })))
        p.note { "Compute is the arithmetic that pretraining does in the same machine time. The three cost the same unless tokens are stated." }
    }
}

fn phase_row(phase: &TrainingPhaseItem) -> Markup {
    html! {
        tr {
            th scope="row" { (phase_name(phase.phase)) }
            td.number { (compact(phase.tokens)) }
            td.number { (readable(phase.compute_flop)) }
            td { (part(phase.share_of_compute)) " " (percent(phase.share_of_compute)) }
            td.number { (compact(phase.days)) }
            td.number { (or_dash(phase.usd, usd)) }
        }
    }
}

fn optimum(answer: &TrainingAnswer) -> Markup {
    html! {
        div {
            h3 { "The best size for the same compute" }
            p.note { "Pretraining and inference together, by published laws of loss." }
            (scrolling("Best sizes", &table(&[
                Text("Law"), Number("Parameters"), Number("Tokens"), Number("Loss"), Number("Loss as asked"),
            ], &html! {
                @for item in &answer.optimum {
                    tr {
                        th scope="row" { (item.law.name) }
                        td.number { (compact(item.parameters)) }
                        td.number { (compact(item.pretraining_tokens)) }
                        td.number { (format!("{:.3}", item.loss)) }
                        td.number { (format!("{:.3}", item.loss_of_request)) }
                    }
                }
            })))
        }
    }
}

fn activations(answer: &TrainingAnswer) -> Markup {
    html! {
        div {
            h3 { "Memory of a micro-batch" }
            (table(&[Text("Activations"), Number("Bytes"), Number("Compute")], &html! {
                @for item in &answer.activations {
                    tr {
                        th scope="row" { (item.scheme.in_words()) }
                        td.number { (bytes(item.bytes.0)) }
                        td.number { "× " (compact(item.compute_over_all_kept)) }
                    }
                }
            }))
        }
    }
}

fn sparsity(answer: &TrainingAnswer) -> Markup {
    let at = &answer.quality.at;
    let largest = answer
        .series
        .iter()
        .map(|row| row.dense_equivalent_over_active)
        .fold(0.0, f64::max);
    html! {
        div {
            h3 { "As good as a dense model of " (compact(at.dense_equivalent_parameters)) " parameters" }
            table.parts {
                tbody {
                    @for row in &answer.series {
                        tr {
                            th scope="row" { "1 of " (readable(row.experts_over_active)) " experts" }
                            td { (part(row.dense_equivalent_over_active / largest)) }
                            td.number { (compact(row.dense_equivalent_parameters)) }
                        }
                    }
                }
            }
            p.note {
                "By the law of “" (answer.quality.law.name) "”."
                @if !at.inside_published_range { " No published model is of this size and sparsity, so the law is extrapolated." }
            }
        }
    }
}
