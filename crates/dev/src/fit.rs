//! `unroof-dev fit`: the forward model's efficiencies, from published measurements.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::efficiencies::{Report, peer_markdown};
use crate::generated::{VALIDATION, json, write};

/// Arguments of `unroof-dev fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof-dev fit | less
  unroof-dev fit --json | jq .all
  unroof-dev fit --write")]
pub(crate) struct FitArguments {
    /// Write crates/roofline/data/efficiencies.json, docs/model/measurements.md, docs/model/errors.md and the section of
    /// docs/VALIDATION.md on aiconfigurator
    #[arg(long, conflicts_with = "json")]
    write: bool,
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "write")]
    project: PathBuf,
    /// Print the efficiencies alone, as they are written
    #[arg(long)]
    json: bool,
}

/// Fits, and prints or writes the result.
pub(crate) fn run(arguments: &FitArguments, out: &mut impl Write) -> Result<()> {
    let report = Report::shared()?;
    let efficiencies = json(&report.shipped())?;
    if arguments.json {
        out.write_all(efficiencies.as_bytes())?;
    } else if arguments.write {
        let project = &arguments.project;
        write(
            &project.join("crates/roofline/data/efficiencies.json"),
            &efficiencies,
        )?;
        write(
            &project.join("docs/model/measurements.md"),
            &report.markdown(),
        )?;
        write(
            &project.join("docs/model/errors.md"),
            &report.errors_markdown(),
        )?;
        write(&project.join(VALIDATION), &peer_markdown(&report.fitted))?;
        writeln!(
            out,
            "wrote crates/roofline/data/efficiencies.json, docs/model/measurements.md, docs/model/errors.md and a section of {VALIDATION}"
        )?;
    } else {
        out.write_all(report.markdown().as_bytes())?;
    }
    Ok(())
}
