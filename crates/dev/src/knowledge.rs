//! `unroof-dev knowledge`: fits the law of knowledge scores, and scores estimates with and without them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use jiff::civil::Date;
use serde::Deserialize;
use unroof_calibration::knowledge::{ScoredModel, fit};
use unroof_calibration::prices::{PricedModel, Settings, built_in};
use unroof_calibration::validation::{By, ModelOutcome, Shown, validate};
use unroof_infer::estimate::judgement::published::open_model_of;
use unroof_infer::evidence::release::years;
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_roofline::reference::RecordSetting;
use unroof_roofline::reference::calibration::{Calibration, KnowledgeRecord};

use crate::generated::{json, write};

/// Smallest model of the fit, parameters: smaller ones are rarely sold, and answer by chance.
const SMALLEST: f64 = 2e9;

/// Arguments of `unroof-dev knowledge`.
#[derive(Debug, Args)]
#[command(after_help = "\
The table has the columns name, creator, released, open_weights, total_b (billions), and omniscience_accuracy (a share).
Effort is read from the brackets of a name, and the variant with the least effort is taken.

Examples:
  unroof-dev knowledge scores.csv --leave-out 'Command,Hunyuan'
  unroof-dev knowledge scores.csv --write")]
pub(crate) struct KnowledgeArguments {
    /// Table of models and scores
    #[arg(value_name = "CSV")]
    scores: PathBuf,
    /// Models to leave out: parts of their names, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    leave_out: Vec<String>,
    /// Write the law and its record into the calibration
    #[arg(long)]
    write: bool,
}

/// A row of the table of scores.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    creator: String,
    released: Option<Date>,
    open_weights: String,
    total_b: Option<f64>,
    omniscience_accuracy: Option<f64>,
}

impl Row {
    /// The name without its brackets, and whether these name an effort of reasoning.
    fn name_and_effort(&self) -> (&str, bool) {
        let Some((name, variant)) = self.name.split_once(" (") else {
            return (&self.name, false);
        };
        let efforts = ["Reasoning", "low", "medium", "high", "xhigh", "max"];
        (
            name,
            efforts.iter().any(|effort| variant.starts_with(effort)),
        )
    }

    fn scored(&self) -> Option<ScoredModel> {
        let total_parameters = 1e9 * self.total_b?;
        if self.open_weights != "True" || total_parameters < SMALLEST {
            return None;
        }
        let (name, reasons) = self.name_and_effort();
        let canonical = canonical_model(&name.replace(' ', "-"));
        let open = canonical.and_then(|name| open_model_of(&name));
        Some(ScoredModel {
            open_model: open.map(|open| open.name.clone()),
            vendor: self.creator.clone(),
            total_parameters,
            years: years(self.released?),
            accuracy: self.omniscience_accuracy?,
            reasons,
        })
    }
}

/// Fits, scores and prints; writes where it is asked to.
pub(crate) fn run(arguments: &KnowledgeArguments, out: &mut impl Write) -> Result<()> {
    let scores = arguments.read()?;
    let models = built_in();
    let models: Vec<&PricedModel> = models.iter().collect();
    let settings = |_: &[&PricedModel]| Settings::default();
    let by = By::LeavingOut(&settings);
    let shown = Shown {
        scores: &scores,
        ..Shown::ALL
    };
    writeln!(
        out,
        "| sheets | models | quantity | error without | with | 90 % holds without | with |"
    )?;
    writeln!(out, "|---|--:|---|--:|--:|--:|--:|")?;
    let mut record = KnowledgeRecord::default();
    for (label, setting) in [
        ("author's own", RecordSetting::AuthorAlone),
        ("all hosts", RecordSetting::PooledHosts),
    ] {
        let without = validate(&models, setting, by, Shown::ALL).by_model;
        let with = validate(&models, setting, by, shown).by_model;
        for quantity in ["total_parameters", "active_parameters"] {
            let [before, after] = [&without, &with].map(|all| errors(all, &scores, quantity));
            writeln!(
                out,
                "| {label} | {} | {quantity} | {:.2} | {:.2} | {:.0} % | {:.0} % |",
                after.models,
                before.rmse,
                after.rmse,
                100.0 * before.coverage,
                100.0 * after.coverage
            )?;
            if setting == RecordSetting::AuthorAlone && quantity == "total_parameters" {
                record = KnowledgeRecord {
                    models: after.models,
                    rmse_without: two_digits(before.rmse),
                    rmse_with: two_digits(after.rmse),
                    coverage_90: two_digits(after.coverage),
                };
            }
        }
    }
    let law = fit(&scores.iter().collect::<Vec<_>>(), record).context("too few vendors")?;
    writeln!(out, "\n{}", json(&law)?)?;
    if arguments.write {
        let calibration = Calibration {
            knowledge: law,
            ..Calibration::shipped().clone()
        };
        write(
            &PathBuf::from("crates/roofline/data/calibration.json"),
            &json(&calibration)?,
        )?;
    }
    Ok(())
}

fn two_digits(value: f64) -> f64 {
    (100.0 * value).round() / 100.0
}

/// Errors of a quantity.
struct Errors {
    models: usize,
    /// Root mean square of log(estimate/truth).
    rmse: f64,
    /// Share of 90 % intervals that hold the truth.
    coverage: f64,
}

#[expect(clippy::cast_precision_loss, reason = "some hundred models")]
fn errors(outcomes: &[ModelOutcome], scores: &[ScoredModel], quantity: &str) -> Errors {
    let is_scored = |outcome: &&ModelOutcome| {
        scores
            .iter()
            .any(|scored| scored.open_model.as_deref() == Some(&*outcome.model))
    };
    let found: Vec<_> = outcomes
        .iter()
        .filter(is_scored)
        .map(|outcome| &outcome.quantities[quantity])
        .collect();
    let squares: f64 = found
        .iter()
        .map(|of| (of.median / of.truth).ln().powi(2))
        .sum();
    let held = found
        .iter()
        .filter(|of| (of.low_90..=of.high_90).contains(&of.truth))
        .count();
    let all = found.len() as f64;
    Errors {
        models: found.len(),
        rmse: (squares / all).sqrt(),
        coverage: held as f64 / all,
    }
}

impl KnowledgeArguments {
    /// The models of the table, each at its least effort.
    fn read(&self) -> Result<Vec<ScoredModel>> {
        let mut table = csv::Reader::from_path(&self.scores)
            .with_context(|| format!("cannot read `{}`", self.scores.display()))?;
        let mut least: BTreeMap<(String, String), ScoredModel> = BTreeMap::new();
        for row in table.deserialize() {
            let row: Row = row?;
            if self
                .leave_out
                .iter()
                .any(|part| row.name.to_lowercase().contains(&part.to_lowercase()))
            {
                continue;
            }
            let Some(scored) = row.scored() else {
                continue;
            };
            let name = row.name_and_effort().0.to_owned();
            let known = least
                .entry((row.creator, name))
                .or_insert_with(|| scored.clone());
            if known.reasons && !scored.reasons {
                *known = scored;
            }
        }
        Ok(least.into_values().collect())
    }
}
