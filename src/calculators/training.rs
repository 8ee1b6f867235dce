//! `unroof training`: tokens, compute and memory of training a model, without a server.

use std::io::{self, Write};

use clap::Args;

use super::calculator::{
    Calculation, List, model_of, or_dash, percent, size, values, write_grounds, write_values,
    yes_no,
};
use crate::estimates::chart::{Chart, Line};
use crate::estimates::report::paragraph;
use crate::{Failure, label};
use unroof_base::units::readable;
use unroof_roofline::calculator::training::request::TrainingRequest;
use unroof_roofline::calculator::training::{
    QualityItem, TokensFrom, TrainingAnswer, TrainingPhase, training,
};

/// Arguments of `unroof training`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof training
  unroof training --model DeepSeek-V3 --chips 2048 --tokens-per-second 50e6 --model-share 1
  unroof training request.json --json | jq .series")]
pub(crate) struct TrainingArguments {
    #[command(flatten)]
    calculation: Calculation<TrainingRequest>,
}

pub(crate) fn run(arguments: &TrainingArguments) -> Result<(), Failure> {
    let chart = |answer: &TrainingAnswer| Some(chart(answer));
    let calculation = &arguments.calculation;
    calculation
        .run(training, write_training, chart, false)
        .map(drop)
}

/// Dense equivalents over sparsity.
fn chart(answer: &TrainingAnswer) -> Chart {
    let point = |item: &QualityItem| (item.experts_over_active, item.dense_equivalent_over_active);
    Chart {
        title: title(answer),
        x: "experts over active experts",
        y: "dense equivalent over active parameters",
        lines: vec![Line {
            name: answer.quality.law.name.clone(),
            points: answer.series.iter().map(point).collect(),
        }],
    }
}

fn title(answer: &TrainingAnswer) -> String {
    let machine = &answer.machine;
    let model = model_of(&answer.inputs);
    format!(
        "training {model} on {} × {}",
        machine.chips, machine.accelerator
    )
}

fn write_training(out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    writeln!(out, "{}\n", label(&title(answer)))?;
    write_phases(out, answer)?;
    let trained = &answer.overtraining;
    write_values(
        out,
        "overtraining",
        &values! {
            "Chinchilla tokens" => readable(trained.chinchilla_tokens);
            "pretraining tokens" => readable(trained.pretraining_tokens);
            "overtraining" => times(trained.overtraining);
        },
    )?;
    write_optimum(out, answer)?;
    List::of("activations, per micro-batch", &answer.activations)
        .column("scheme", |item| item.scheme.in_words().to_owned())
        .column("bytes", |item| size(item.bytes))
        .column("FLOP", |item| readable(item.flops_per_parameter_and_token))
        .column("compute", |item| times(item.compute_over_all_kept))
        .column("pretraining FLOP", |item| {
            readable(item.pretraining_compute_flop)
        })
        .write(out)?;
    write_quality(out, answer)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}

/// A ratio, as a factor.
fn times(ratio: f64) -> String {
    format!("{}×", readable(ratio))
}

fn name(phase: TrainingPhase) -> &'static str {
    match phase {
        TrainingPhase::Pretraining => "pretraining",
        TrainingPhase::ReinforcementLearning => "RL",
        TrainingPhase::Inference => "inference",
    }
}

fn origin(tokens: TokensFrom) -> &'static str {
    match tokens {
        TokensFrom::Stated => "stated",
        TokensFrom::Equalised => "equalised",
        TokensFrom::Demand => "demand",
    }
}

fn write_phases(mut out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    List::of("tokens and compute", &answer.phases)
        .column("phase", |phase| name(phase.phase).to_owned())
        .column("tokens", |phase| readable(phase.tokens))
        .column("from", |phase| origin(phase.tokens_from).to_owned())
        .column("FLOP", |phase| readable(phase.compute_flop))
        .column("days", |phase| readable(phase.days.round()))
        .column("million USD", |phase| {
            or_dash(phase.usd.map(|usd| readable(usd / 1e6)))
        })
        .write(out)?;
    let cost = &answer.reinforcement;
    let total = &answer.total;
    let said = format!(
        "FLOP count at the utilisation of pretraining. Training takes {}, with inference {}. A token of reinforcement \
         learning costs {} times one of pretraining.",
        readable(total.training_compute_flop),
        readable(total.compute_flop),
        readable(cost.compute_per_token_over_pretraining),
    );
    paragraph(&mut out, &said, 0)?;
    writeln!(out)
}

/// The rule of equal costs next to the best model that costs as much.
fn write_optimum(mut out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    List::of("least loss for the same compute", &answer.optimum)
        .column("law", |item| item.law.name.to_owned())
        .column("parameters", |item| readable(item.parameters))
        .column("tokens", |item| readable(item.pretraining_tokens))
        .column("over 20·N", |item| times(item.overtraining))
        .column("inference", |item| percent(item.inference_share))
        .column("loss", |item| format!("{:.3}", item.loss))
        .column("request", |item| format!("{:.3}", item.loss_of_request))
        .write(out)?;
    let halves: Vec<String> = answer.phases[..2]
        .iter()
        .map(|phase| readable(phase.tokens_of_equal_halves))
        .collect();
    let said = format!(
        "Pretraining and inference together, a dense model. With half of all compute for training instead of two thirds, \
         pretraining has {} tokens and reinforcement learning {}.",
        halves[0], halves[1]
    );
    paragraph(&mut out, &said, 0)?;
    writeln!(out)
}

fn write_quality(mut out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    List::of(
        "what sparsity is worth",
        std::iter::once(&answer.quality.at).chain(&answer.series),
    )
    .column("experts/active", |item| readable(item.experts_over_active))
    .column("active parameters", |item| readable(item.active_parameters))
    .column("dense equivalent", |item| {
        readable(item.dense_equivalent_parameters)
    })
    .column("gain", |item| times(item.dense_equivalent_over_active))
    .column("published range", |item| {
        yes_no(item.inside_published_range)
    })
    .write(out)?;
    let quality = &answer.quality;
    let mut said = vec![format!(
        "The first row is the model of the request. Law of {} routing: {}.",
        quality.law.name, quality.law.source
    )];
    if quality.size_beyond_published > 1.0 {
        let times = readable(quality.size_beyond_published);
        said.push(format!(
            "The size lies {times} times beyond the published models."
        ));
    }
    if quality.experts_beyond_published > 1.0 {
        let times = readable(quality.experts_beyond_published);
        said.push(format!("The sparsity lies {times} times beyond them."));
    }
    if quality.beyond_cutoff {
        said.push("According to the same source, experts add nothing at this size.".to_owned());
    }
    paragraph(&mut out, &said.join(" "), 0)?;
    writeln!(out)
}
