//! Maintainers' commands: fits, calibrations, and the documents generated from them.

mod calibrate;
mod contexts;
mod costs;
pub mod efficiencies;
mod fit;
mod generated;
pub mod joint;
mod knowledge;
mod ratios;
pub mod reporting;
mod rivals;
mod validate;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};

/// Fits, calibrations and generated documents of unroof.
#[derive(Debug, Parser)]
#[command(name = "unroof-dev", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fit the forward model's efficiencies to published measurements
    Fit(fit::FitArguments),
    /// Fit the population of models and the price law to open-weight models
    Calibrate(calibrate::CalibrateArguments),
    /// Score sizes read from ratios of vendors' figures
    Ratios(ratios::RatiosArguments),
    /// Score KV bytes read from speeds by context
    Contexts(contexts::ContextsArguments),
    /// Count the open-weight models whose costs exceed their prices
    Costs(costs::CostsArguments),
    /// Fit the law of knowledge scores to a table of scores
    Knowledge(knowledge::KnowledgeArguments),
    /// Print the folds of the validation, to fit other methods to them
    Rivals(rivals::RivalsArguments),
    /// Write the track record and the page of the joint estimate
    Validate(validate::ValidateArguments),
}

/// Runs the command named in the arguments.
pub fn run<Arguments>(arguments: Arguments, out: &mut impl Write) -> anyhow::Result<()>
where
    Arguments: IntoIterator<Item: Into<OsString> + Clone>,
{
    match CommandLine::try_parse_from(arguments)?.command {
        Command::Fit(arguments) => fit::run(&arguments, out),
        Command::Calibrate(arguments) => calibrate::run(&arguments, out),
        Command::Contexts(arguments) => contexts::run(&arguments, out),
        Command::Ratios(arguments) => ratios::run(&arguments, out),
        Command::Costs(arguments) => costs::run(&arguments, out),
        Command::Knowledge(arguments) => knowledge::run(&arguments, out),
        Command::Rivals(arguments) => rivals::run(&arguments, out),
        Command::Validate(arguments) => validate::run(&arguments, out),
    }
}
