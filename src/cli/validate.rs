//! `unroof validate`: the joint estimate against models whose truth is public.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::calibrate::{DataFiles, text};
use super::generated::{write, write_section};
use super::report::{paragraph, table, write_table};
use super::{Failure, terminal};
use crate::calibration::prices::{PricedModel, Settings};
use crate::calibration::validation::{By, Shown, Validation, experiments, svg, validate};
use crate::reference::calibration::Calibration;

/// Arguments of `unroof validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof validate
  unroof validate --json | jq .quantities.active_parameters
  unroof validate --models models.csv --prices prices.csv
  cargo run --release -- validate --write --experiments")]
pub(super) struct ValidateArguments {
    #[command(flatten)]
    data: DataFiles,
    /// A calibration to score; without it the built-in models are scored leaving one family out at a time, and models
    /// from files by the calibration that is part of the program
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Print every score and every model as JSON
    #[arg(long)]
    json: bool,
    /// Also score other settings and fewer clues; takes a few minutes
    #[arg(long, conflicts_with_all = ["json", "models", "calibration"])]
    experiments: bool,
    /// Write `data/track_record.json`, docs/VALIDATION.md and docs/images/joint-estimate.svg
    #[arg(long, conflicts_with_all = ["json", "models", "calibration"])]
    write: bool,
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "write")]
    project: PathBuf,
}

const PAGE: &str = "docs/VALIDATION.md";

pub(super) fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
    let models = arguments.data.read()?;
    let models: Vec<&PricedModel> = models.iter().collect();
    let given = arguments.calibration.as_deref().map(text).transpose()?;
    let given = given
        .as_deref()
        .map(Calibration::read)
        .transpose()
        .context("the calibration cannot be read")
        .map_err(Failure::Usage)?;
    let by_default = |_: &[&PricedModel]| Settings::default();
    let by = match &given {
        Some(given) => By::Calibration(given),
        None if arguments.data.are_named() => By::Calibration(Calibration::shipped()),
        None => By::LeavingOut(&by_default),
    };
    let validation = validate(&models, by, Shown::ALL);
    let mut out = terminal::stdout();
    if arguments.json {
        writeln!(
            out,
            "{}",
            serde_json::to_string_pretty(&validation).context("the scores have no text")?
        )?;
        return Ok(());
    }
    if arguments.write {
        write_files(&arguments.project, &validation)?;
        writeln!(
            out,
            "wrote data/track_record.json, {PAGE} and docs/images/joint-estimate.svg"
        )?;
    } else {
        print(&mut out, &validation)?;
    }
    if arguments.experiments {
        let tried = experiments(&models, |name| _ = writeln!(terminal::stderr(), "{name} …"));
        if arguments.write {
            write_section(&arguments.project.join(PAGE), &tried.markdown())?;
        } else {
            out.write_all(tried.markdown().as_bytes())?;
        }
    }
    Ok(())
}

fn write_files(project: &Path, validation: &Validation) -> Result<(), Failure> {
    let mut records = serde_json::to_string_pretty(&validation.track_records())
        .context("the track records have no text")?;
    records.push('\n');
    write(&project.join("data/track_record.json"), &records)?;
    write_section(&project.join(PAGE), &validation.markdown())?;
    let picture = svg(validation).map_err(anyhow::Error::msg)?;
    write(&project.join("docs/images/joint-estimate.svg"), &picture)
}

fn print(out: &mut impl Write, validation: &Validation) -> Result<(), Failure> {
    let row = |(name, score): (&&'static str, &crate::calibration::validation::Score)| {
        vec![
            name.replace('_', " "),
            score.models.to_string(),
            format!("{:.2}", score.rmse_log),
            format!("{:.2}", score.prior_rmse_log),
            format!("{:.1}×", score.median_fold_error),
            format!("{:+.2}", score.log_score_gain),
            format!("{:.0} %", 100.0 * score.coverage_50),
            format!("{:.0} %", 100.0 * score.coverage_90),
        ]
    };
    let header = [
        "", "models", "RMSE", "prior", "off by", "gain", "50 %", "90 %",
    ];
    write_table(out, &table(&header, validation.quantities.iter().map(row)))?;
    paragraph(
        out,
        "RMSE in natural logarithms beside that of the prior; off by: half of the models are nearer; gain in nats per \
         model over the prior; share of truths in the 50 % and in the 90 % interval. Every model is estimated from the \
         sheets of all its hosts.",
        0,
    )?;
    Ok(())
}
