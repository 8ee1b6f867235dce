//! `unroof-dev calibrate`: fits the calibration to open-weight models and their prices.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use unroof_calibration::cost_law;
use unroof_calibration::prices::{PricedModel, Settings, built_in, calibrate, read};

use crate::generated::{json, write};

/// Arguments of `unroof-dev calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof-dev calibrate
  unroof-dev calibrate --models models.csv --prices prices.csv --tiers tiers.csv --output mine.json
  unroof infer sheet.json --calibration mine.json")]
pub(crate) struct CalibrateArguments {
    /// Models with a published architecture; the built-in ones if left out
    #[arg(long, value_name = "CSV", requires = "prices")]
    models: Option<PathBuf>,
    /// Prices of the models, one row per model and host
    #[arg(long, value_name = "CSV", requires = "models")]
    prices: Option<PathBuf>,
    /// Context tiers of the models
    #[arg(long, value_name = "CSV", requires = "models")]
    tiers: Option<PathBuf>,
    /// Output file; `-` prints the calibration
    #[arg(
        long,
        value_name = "FILE",
        default_value = "crates/roofline/data/calibration.json"
    )]
    output: PathBuf,
}

/// Calibrates, and writes or prints the result.
pub(crate) fn run(arguments: &CalibrateArguments, out: &mut impl Write) -> Result<()> {
    let models = arguments.read()?;
    let models: Vec<&PricedModel> = models.iter().collect();
    let mut calibration = calibrate(&models, &Settings::default());
    if arguments.models.is_none() {
        calibration.cost_law = cost_law::fit(&models);
    }
    let document = json(&calibration)?;
    let file = &arguments.output;
    if file == Path::new("-") {
        out.write_all(document.as_bytes())?;
        return Ok(());
    }
    write(file, &document)?;
    let id = calibration.id();
    writeln!(out, "wrote {}, calibration {id}", file.display())?;
    Ok(())
}

impl CalibrateArguments {
    fn read(&self) -> Result<Vec<PricedModel>> {
        let (Some(models), Some(prices)) = (&self.models, &self.prices) else {
            return Ok(built_in());
        };
        let tiers = self.tiers.as_deref().map(text).transpose()?;
        Ok(read(&text(models)?, &text(prices)?, tiers.as_deref())?)
    }
}

fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
}
