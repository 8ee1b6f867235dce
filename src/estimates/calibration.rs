//! `--calibration FILE`: the calibration that estimates use.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use unroof_infer::estimate::Estimator;
use unroof_roofline::reference::calibration::Calibration;

use crate::Failure;

/// The calibration to estimate with.
#[derive(Debug, Args)]
pub(crate) struct CalibrationArguments {
    /// Calibration written by `unroof-dev calibrate`; the built-in one if left out
    #[arg(long, env = "UNROOF_CALIBRATION", value_name = "FILE")]
    calibration: Option<PathBuf>,
}

impl CalibrationArguments {
    /// Whether another calibration than the built-in one is named.
    pub(crate) fn is_given(&self) -> bool {
        self.calibration.is_some()
    }

    /// The estimator with this calibration.
    pub(crate) fn estimator(&self) -> Result<Estimator, Failure> {
        let given = self.calibration.as_deref().map(read).transpose()?;
        Ok(given.map_or_else(Estimator::default, Estimator::new))
    }
}

/// Reads a calibration from a file.
pub(crate) fn read(file: &Path) -> Result<Calibration, Failure> {
    let text = crate::text_of(file)?;
    Calibration::read(&text)
        .with_context(|| format!("`{}` is not a calibration", file.display()))
        .map_err(Failure::Usage)
}
