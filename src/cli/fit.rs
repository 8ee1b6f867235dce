//! `unroof fit`: the forward model's efficiencies, from published measurements.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::generated::{write, write_section};
use super::{Failure, terminal};
use crate::calibration::{Report, svg};

/// Arguments of `unroof fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof fit | less
  unroof fit --json | jq .fitted
  cargo run --release -- fit --write")]
pub(super) struct FitArguments {
    /// Write data/efficiencies.json, docs/VALIDATION.md and docs/images/validation.svg
    #[arg(long, conflicts_with = "json")]
    write: bool,
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "write")]
    project: PathBuf,
    /// Print the efficiencies alone, as they are written
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &FitArguments) -> Result<(), Failure> {
    let report = Report::new().map_err(anyhow::Error::from)?;
    let mut efficiencies =
        serde_json::to_string_pretty(&report.file()).context("the efficiencies have no text")?;
    efficiencies.push('\n');
    let mut out = terminal::stdout();
    if arguments.json {
        out.write_all(efficiencies.as_bytes())?;
    } else if arguments.write {
        let picture = svg(&report).map_err(anyhow::Error::msg)?;
        let project = &arguments.project;
        write(&project.join("data/efficiencies.json"), &efficiencies)?;
        write_section(&project.join("docs/VALIDATION.md"), &report.markdown())?;
        write(&project.join("docs/images/validation.svg"), &picture)?;
        writeln!(
            out,
            "wrote data/efficiencies.json, docs/VALIDATION.md and docs/images/validation.svg"
        )?;
    } else {
        out.write_all(report.markdown().as_bytes())?;
    }
    Ok(())
}
