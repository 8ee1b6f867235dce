//! `unroof-dev validate`: the track record and the page of the joint estimate.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use unroof_calibration::prices::{PricedModel, Settings, built_in};
use unroof_calibration::validation::{By, Shown, board};
use unroof_roofline::reference::held_out_csv;

use crate::generated::{VALIDATION, json, write};
use crate::joint::{experiments, experiments_markdown, markdown};

/// Arguments of `unroof-dev validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    /// Score other settings and fewer clues too; takes a few minutes
    #[arg(long)]
    experiments: bool,
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
}

/// Scores the built-in models in every setting, each by calibrations that have not seen it, and writes the results.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut impl Write) -> Result<()> {
    let models = built_in();
    let models: Vec<&PricedModel> = models.iter().collect();
    let by = By::LeavingOut(&|_| Settings::default());
    let board = board(&models, by, Shown::ALL);
    let project = &arguments.project;
    let records = json(&board.track_records())?;
    write(
        &project.join("crates/roofline/data/track_record.json"),
        &records,
    )?;
    let estimates = held_out_csv(&board.held_out());
    write(
        &project.join("crates/roofline/data/held_out.csv"),
        &estimates,
    )?;
    let page = markdown(&board);
    write(&project.join(VALIDATION), &page)?;
    writeln!(
        out,
        "wrote crates/roofline/data/track_record.json, crates/roofline/data/held_out.csv and {VALIDATION}"
    )?;
    if arguments.experiments {
        let tried = experiments(&models, |name| _ = writeln!(out, "{name} …"));
        let page = experiments_markdown(&page, &tried);
        write(&project.join(VALIDATION), &page)?;
    }
    Ok(())
}
