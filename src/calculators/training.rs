//! `unroof training`: tokens, compute and memory of training a model, without a server.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::calculator::{
    RequestFlags, answered, list_accelerators, model_of, or_dash, percent, print, size, values,
    write_grounds, write_values, yes_no,
};
use crate::estimates::chart::{Chart, Line, show};
use crate::estimates::report::{paragraph, table, write_table};
use crate::{Failure, label};
use unroof_base::units::readable;
use unroof_roofline::calculator::training::request::TrainingRequest;
use unroof_roofline::calculator::training::{
    ActivationsItem, OptimumItem, QualityItem, TokensFrom, TrainingAnswer, TrainingPhase,
    TrainingPhaseItem, training,
};

/// Arguments of `unroof training`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof training
  unroof training --model DeepSeek-V3 --chips 2048 --tokens-per-second 50e6 --model-share 1
  unroof training request.json --json | jq .series")]
pub(crate) struct TrainingArguments {
    /// File with a request as `POST /training` takes it; `-` reads standard input; all defaults if left out
    file: Option<PathBuf>,
    #[command(flatten)]
    stated: RequestFlags<TrainingRequest>,
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

pub(crate) fn run(arguments: &TrainingArguments) -> Result<(), Failure> {
    if arguments.list_accelerators {
        return list_accelerators();
    }
    let answer = answered(arguments.file.as_deref(), &arguments.stated, training)?;
    print(&answer, arguments.json, write_training)?;
    show(Some(chart(&answer)), arguments.save.as_deref(), false)
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

fn write_training(mut out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    writeln!(out, "{}\n", label(&title(answer)))?;
    write_phases(out, answer)?;
    let trained = &answer.overtraining;
    write_values(
        out,
        "overtraining",
        &values! {
            "Chinchilla tokens" => readable(trained.chinchilla_tokens);
            "pretraining tokens" => readable(trained.pretraining_tokens);
            "overtraining" => format!("{}×", readable(trained.overtraining));
        },
    )?;
    write_optimum(out, answer)?;
    writeln!(out, "{}", label("activations, per micro-batch"))?;
    let row = |item: &ActivationsItem| {
        vec![
            item.scheme.in_words().to_owned(),
            size(item.bytes),
            readable(item.flops_per_parameter_and_token),
            format!("{}×", readable(item.compute_over_all_kept)),
            readable(item.pretraining_compute_flop),
        ]
    };
    let header = ["scheme", "bytes", "FLOP", "compute", "pretraining FLOP"];
    write_table(
        &mut out,
        &table(&header, answer.activations.iter().map(row)),
    )?;
    write_quality(out, answer)?;
    write_grounds(out, &answer.not_defined, answer.equations, &answer.inputs)
}

fn write_phases(mut out: &mut dyn Write, answer: &TrainingAnswer) -> io::Result<()> {
    writeln!(out, "{}", label("tokens and compute"))?;
    let row = |phase: &TrainingPhaseItem| {
        let name = match phase.phase {
            TrainingPhase::Pretraining => "pretraining",
            TrainingPhase::ReinforcementLearning => "RL",
            TrainingPhase::Inference => "inference",
        };
        let from = match phase.tokens_from {
            TokensFrom::Stated => "stated",
            TokensFrom::Equalised => "equalised",
            TokensFrom::Demand => "demand",
        };
        vec![
            name.to_owned(),
            readable(phase.tokens),
            from.to_owned(),
            readable(phase.compute_flop),
            readable(phase.days.round()),
            or_dash(phase.usd.map(|usd| readable(usd / 1e6))),
        ]
    };
    let header = ["phase", "tokens", "from", "FLOP", "days", "million USD"];
    write_table(&mut out, &table(&header, answer.phases.iter().map(row)))?;
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
    writeln!(out, "{}", label("least loss for the same compute"))?;
    let row = |item: &OptimumItem| {
        vec![
            item.law.name.to_owned(),
            readable(item.parameters),
            readable(item.pretraining_tokens),
            format!("{}×", readable(item.overtraining)),
            percent(item.inference_share),
            format!("{:.3}", item.loss),
            format!("{:.3}", item.loss_of_request),
        ]
    };
    let header = [
        "law",
        "parameters",
        "tokens",
        "over 20·N",
        "inference",
        "loss",
        "request",
    ];
    write_table(&mut out, &table(&header, answer.optimum.iter().map(row)))?;
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
    writeln!(out, "{}", label("what sparsity is worth"))?;
    let row = |item: &QualityItem| {
        vec![
            readable(item.experts_over_active),
            readable(item.active_parameters),
            readable(item.dense_equivalent_parameters),
            format!("{}×", readable(item.dense_equivalent_over_active)),
            yes_no(item.inside_published_range).to_owned(),
        ]
    };
    let header = [
        "experts/active",
        "active parameters",
        "dense equivalent",
        "gain",
        "published range",
    ];
    let rows = std::iter::once(&answer.quality.at).chain(&answer.series);
    write_table(&mut out, &table(&header, rows.map(row)))?;
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
