//! `unroof validate`: scores the joint estimate on models whose architecture is public.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use unroof_calibration::prices::{PricedModel, Settings, built_in, read};
use unroof_calibration::validation::{Board, By, Score, Scored, Shown, board};
use unroof_roofline::reference::RecordSetting;
use unroof_roofline::reference::calibration::Calibration;

use super::calibration;
use super::report::{paragraph, table, write_table};
use crate::shell::terminal;
use crate::{Failure, text_of};

/// Arguments of `unroof validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof validate
  unroof validate --json | jq .quantities.active_parameters
  unroof validate --json | jq .author_alone.quantities
  unroof validate --models models.csv --prices prices.csv")]
pub(crate) struct ValidateArguments {
    /// Models with a published architecture; the built-in ones if left out
    #[arg(long, value_name = "CSV", requires = "prices")]
    models: Option<PathBuf>,
    /// Prices of the models, one row per model and host
    #[arg(long, value_name = "CSV", requires = "models")]
    prices: Option<PathBuf>,
    /// Context tiers of the models
    #[arg(long, value_name = "CSV", requires = "models")]
    tiers: Option<PathBuf>,
    /// Calibration to score; if left out, built-in models are scored by calibrations that have not seen them, and models from
    /// files with the built-in calibration
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Print every score and every model as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
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
    let board = board(&models, by, Shown::ALL);
    let mut out = terminal::stdout();
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&board).context("the scores could not be serialised")?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    print(&mut out, &board)
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

/// The settings, and what each is estimated from and calibrated without.
const SETTINGS: [(RecordSetting, &str); 4] = [
    (
        RecordSetting::PooledHosts,
        "(a) all hosts pooled; family left out",
    ),
    (
        RecordSetting::AuthorAlone,
        "(b) the author's sheet alone; author left out",
    ),
    (
        RecordSetting::OtherHostAlone,
        "(c) one other host alone; family and host left out",
    ),
    (
        RecordSetting::AllPeriods,
        "(d) all hosts and periods pooled; family left out",
    ),
];

fn print(out: &mut impl Write, board: &Board) -> Result<(), Failure> {
    for (setting, title) in SETTINGS {
        writeln!(out, "{title}")?;
        print_scores(out, &board.setting(setting).quantities)?;
    }
    writeln!(out, "(a) on the models of (d)")?;
    print_scores(out, &board.all_periods.today)?;
    paragraph(
        out,
        "RMSE of the logarithm, for the estimate, the prior and a ridge regression on two prices; off by: median factor \
         between estimate and true value; gain: log score over the prior in nats per model, with its 80 % interval over \
         resampled families, in (b) vendors; 50 %, 90 %: share of true values inside the interval.",
        0,
    )?;
    Ok(())
}

fn print_scores(out: &mut impl Write, scored: &Scored) -> Result<(), Failure> {
    if scored.is_empty() {
        writeln!(out, "no model has such sheets\n")?;
        return Ok(());
    }
    let row = |(name, score): (&&'static str, &Score)| {
        let [low, high] = score.bootstrap.log_score_gain_80;
        vec![
            name.replace('_', " "),
            score.models.to_string(),
            format!("{:.2}", score.rmse_log),
            format!("{:.2}", score.prior_rmse_log),
            score
                .ridge_rmse_log
                .map_or("–".to_owned(), |ridge| format!("{ridge:.2}")),
            format!("{:.1}×", score.median_fold_error),
            format!("{:+.2}", score.log_score_gain),
            format!("{low:+.2} to {high:+.2}"),
            format!("{:.0} %", 100.0 * score.coverage_50),
            format!("{:.0} %", 100.0 * score.coverage_90),
        ]
    };
    let header = [
        "", "models", "RMSE", "prior", "ridge", "off by", "gain", "80 %", "50 %", "90 %",
    ];
    write_table(out, &table(&header, scored.iter().map(row)))?;
    writeln!(out)?;
    Ok(())
}
