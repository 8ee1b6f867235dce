//! `unroof-dev costs`: how many costs of models with public sizes exceed their prices, and how far costs by sizes alone are
//! from those by architectures.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use unroof_base::units::readable;
use unroof_calibration::costs::{Exceeding, ModelCosts, costs};
use unroof_calibration::prices::built_in;
use unroof_infer::evidence::canonical_error::{LogErrors, Spreads, errors_of_open_models};
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::{AttentionKind, decode_context_rows, decode_contexts};

use crate::generated::write_section;

const PAGE: &str = "docs/VALIDATION.md";
/// Contexts beside the learned one, tokens.
const CONTEXTS: [f64; 2] = [8_192.0, 2_000.0];

/// Arguments of `unroof-dev costs`.
#[derive(Debug, Args)]
pub(crate) struct CostsArguments {
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
}

/// Writes the sections of costs and prices, and of costs by sizes alone.
pub(crate) fn run(arguments: &CostsArguments, out: &mut impl Write) -> Result<()> {
    let page = arguments.project.join(PAGE);
    write_section(&page, &markdown()?)?;
    write_section(&page, &canonical_markdown()?)?;
    writeln!(out, "wrote {PAGE}")?;
    Ok(())
}

/// Errors of costs by sizes alone, by kind of attention.
fn canonical_markdown() -> Result<String> {
    let models = errors_of_open_models();
    let mut text = "# Costs by sizes alone\n\nWritten by `unroof-dev costs`. A draw of the joint estimate has four sizes and a \
        kind of attention; layers, width, experts and the arithmetic of attention follow by regression \
        (`model/canonical.rs`). Each open-weight model is costed by its sizes alone and by its architecture, on H100, H200 \
        and B200 at β of 0.5 to 2.5 and contexts of 2,000 to 32,000: the median of cost by sizes over cost by architecture, \
        and the median and 90th percentile of the deviation.\n\n\
        | attention | models | input | median | 90 % | output | median | 90 % |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut row = |name: &str, kind: Option<AttentionKind>| -> std::fmt::Result {
        let own = models.iter().filter(|(model, _)| {
            kind.is_none_or(|kind| kind == AttentionKind::of(&model.architecture.attention))
        });
        let own: Vec<_> = own.collect();
        let errors: Vec<LogErrors> = own.iter().flat_map(|(_, errors)| errors.clone()).collect();
        let cells = [0, 1].map(|line| {
            let Spreads { bias, median, most } =
                Spreads::of(errors.iter().map(|error| error[line]));
            let percent = |log: f64| 100.0 * log.exp_m1();
            format!(
                "{:.2} | {:.1} % | {:.0} %",
                bias.exp(),
                percent(median),
                percent(most)
            )
        });
        writeln!(text, "| {name} | {} | {} |", own.len(), cells.join(" | "))
    };
    row("all", None)?;
    for kind in AttentionKind::ALL {
        row(kind.name(), Some(kind))?;
    }
    Ok(text)
}

fn markdown() -> Result<String> {
    let models = built_in();
    let calibration = Calibration::shipped();
    let learned = decode_contexts();
    let sold = decode_context_rows().iter().filter(|row| row.is_sold);
    let mut text = format!(
        "# Costs above prices\n\nWritten by `unroof-dev costs`. Each open-weight model has its published sizes stated; \
         machine, unit, load and utilisation are those of the prior. Counted are the models whose median cost exceeds the \
         least price of any seller, and of the author where it sells the model. A cost has no public truth except \
         DeepSeek's day.\n\nThe learned context has a median of {} tokens and a spread of {:.2} in the logarithm over the \
         providers of {} rows of [decode_contexts.csv](../crates/roofline/data/decode_contexts.csv).\n\n\
         | mean context | output, cheapest | output, author | input, cheapest | input, author |\n|---|---|---|---|---|\n",
        readable(learned.log_mean.exp().round()),
        learned.log_sd,
        sold.count(),
    );
    let mut row = |name: &str, context| -> std::fmt::Result {
        let costs = costs(&models, calibration, context);
        let count = |line, price: fn(&ModelCosts) -> [Option<f64>; 2]| {
            let Exceeding { above, of } = Exceeding::count(&costs, line, price);
            format!("{above} of {of}")
        };
        writeln!(
            text,
            "| {name} | {} | {} | {} | {} |",
            count(1, |model| model.cheapest),
            count(1, |model| model.first_party),
            count(0, |model| model.cheapest),
            count(0, |model| model.first_party),
        )
    };
    row("as learned", None)?;
    for context in CONTEXTS {
        row(&format!("{} tokens", readable(context)), Some(context))?;
    }
    Ok(text)
}
