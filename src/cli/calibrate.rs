//! `unroof calibrate`: what open-weight models and their prices teach.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::{Failure, terminal};
use crate::calibration::prices::{PricedModel, Settings, built_in, calibrate, read};

/// Where models and prices come from.
#[derive(Debug, Args)]
pub(super) struct DataFiles {
    /// Models with their published architecture; the built-in ones if left out
    #[arg(long, value_name = "CSV", requires = "prices")]
    models: Option<PathBuf>,
    /// What hosts charge for them, one row per model and host
    #[arg(long, value_name = "CSV", requires = "models")]
    prices: Option<PathBuf>,
    /// Their context tiers
    #[arg(long, value_name = "CSV", requires = "models")]
    tiers: Option<PathBuf>,
}

impl DataFiles {
    /// Whether files are named.
    pub(super) fn are_named(&self) -> bool {
        self.models.is_some()
    }

    pub(super) fn read(&self) -> Result<Vec<PricedModel>, Failure> {
        let (Some(models), Some(prices)) = (&self.models, &self.prices) else {
            return Ok(built_in());
        };
        let tiers = self.tiers.as_deref().map(text).transpose()?;
        read(&text(models)?, &text(prices)?, tiers.as_deref())
            .map_err(anyhow::Error::from)
            .map_err(Failure::Usage)
    }
}

pub(super) fn text(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file)
        .with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(Failure::Usage)
}

/// Arguments of `unroof calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof calibrate --output - | jq .price_law
  unroof calibrate --models models.csv --prices prices.csv --tiers tiers.csv --output mine.json
  cargo run --release -- calibrate")]
pub(super) struct CalibrateArguments {
    #[command(flatten)]
    data: DataFiles,
    /// Where the calibration is written; `-` prints it
    #[arg(long, value_name = "FILE", default_value = "data/calibration.json")]
    output: PathBuf,
}

pub(super) fn run(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let models = arguments.data.read()?;
    let calibration = calibrate(&models.iter().collect::<Vec<_>>(), &Settings::default());
    let mut document =
        serde_json::to_string_pretty(&calibration).context("the calibration has no text")?;
    document.push('\n');
    let mut out = terminal::stdout();
    let file = &arguments.output;
    if file == Path::new("-") {
        out.write_all(document.as_bytes())?;
        return Ok(());
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, document))
        .with_context(|| format!("cannot write `{}`", file.display()))
        .map_err(Failure::Usage)?;
    writeln!(
        out,
        "wrote {}, calibration {}",
        file.display(),
        calibration.id()
    )?;
    Ok(())
}
