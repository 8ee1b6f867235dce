//! `unroof-dev costs`: how many costs of models with public sizes exceed their prices.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use unroof_core::calibration::costs::{Exceeding, ModelCosts, costs};
use unroof_core::calibration::prices::built_in;
use unroof_core::reference::calibration::Calibration;
use unroof_core::reference::{decode_context_rows, decode_contexts};
use unroof_core::units::readable;

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

/// Writes the section of costs and prices.
pub(crate) fn run(arguments: &CostsArguments, out: &mut impl Write) -> Result<()> {
    let section = markdown()?;
    write_section(&arguments.project.join(PAGE), &section)?;
    writeln!(out, "wrote {PAGE}")?;
    Ok(())
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
         providers of {} rows of [decode_contexts.csv](../data/decode_contexts.csv).\n\n\
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
