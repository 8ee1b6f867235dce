//! `unroof validate`: scores the joint estimate on models whose architecture is public.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use unroof_core::calibration::prices::{PricedModel, Settings, built_in, read};
use unroof_core::calibration::validation::{By, Score, Shown, Validation, validate};
use unroof_core::reference::calibration::Calibration;

use super::report::{paragraph, table, write_table};
use super::{Failure, calibration, terminal, text_of};

/// Arguments of `unroof validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof validate
  unroof validate --json | jq .quantities.active_parameters
  unroof validate --models models.csv --prices prices.csv")]
pub(super) struct ValidateArguments {
    /// Models with a published architecture; the built-in ones if left out
    #[arg(long, value_name = "CSV", requires = "prices")]
    models: Option<PathBuf>,
    /// Their prices, one row per model and host
    #[arg(long, value_name = "CSV", requires = "models")]
    prices: Option<PathBuf>,
    /// Their context tiers
    #[arg(long, value_name = "CSV", requires = "models")]
    tiers: Option<PathBuf>,
    /// Calibration to score; if left out, built-in models are scored by leave-one-family-out cross-validation, and models from
    /// files with the built-in calibration
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Print every score and every model as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
    let models = arguments.read()?;
    let models: Vec<&PricedModel> = models.iter().collect();
    let given = arguments
        .calibration
        .as_deref()
        .map(calibration::read)
        .transpose()?;
    let by_default = |_: &[&PricedModel]| Settings::default();
    let by = match &given {
        Some(given) => By::Calibration(given),
        None if arguments.models.is_some() => By::Calibration(Calibration::shipped()),
        None => By::LeavingOut(&by_default),
    };
    let validation = validate(&models, by, Shown::ALL);
    let mut out = terminal::stdout();
    if arguments.json {
        let text = serde_json::to_string_pretty(&validation)
            .context("the scores could not be serialised")?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    print(&mut out, &validation)
}

impl ValidateArguments {
    fn read(&self) -> Result<Vec<PricedModel>, Failure> {
        let (Some(models), Some(prices)) = (&self.models, &self.prices) else {
            return Ok(built_in());
        };
        let tiers = self.tiers.as_deref().map(text_of).transpose()?;
        read(&text_of(models)?, &text_of(prices)?, tiers.as_deref())
            .map_err(anyhow::Error::from)
            .map_err(Failure::Usage)
    }
}

fn print(out: &mut impl Write, validation: &Validation) -> Result<(), Failure> {
    let row = |(name, score): (&&'static str, &Score)| {
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
        "RMSE of the logarithm, for the estimate and for the prior; off by: median factor between estimate and true value; gain: log score over the \
         prior in nats per model; 50 %, 90 %: share of true values inside the interval. Every model is estimated from the \
         sheets of all its hosts.",
        0,
    )?;
    Ok(())
}
