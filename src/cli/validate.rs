//! `unroof validate`: the joint estimate against models whose truth is public.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Failure;
use super::calibrate::{DataFiles, text};
use crate::calibration::validation::{Lines, validate};
use crate::reference::calibration::Calibration;

/// Arguments of `unroof validate`.
#[derive(Debug, Args)]
pub(super) struct ValidateArguments {
    #[command(flatten)]
    data: DataFiles,
    /// A calibration to score; without it and without files, each family is scored by one that has not seen it
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Print every score and every model as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
    let models = arguments.data.read()?;
    let given = arguments.calibration.as_deref().map(text).transpose()?;
    let given = given
        .as_deref()
        .map(Calibration::read)
        .transpose()
        .context("the calibration cannot be read")
        .map_err(Failure::Usage)?;
    let shipped = arguments.data.are_named().then(Calibration::shipped);
    let validation = validate(&models, given.as_ref().or(shipped), Lines::Both);
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", serde_json::to_string_pretty(&validation).context("the scores have no text")?)?;
    Ok(())
}
