//! `--evidence FILE`: public facts about models, which estimates of these models read beside prices.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::Value;

use super::calibration::CalibrationArguments;
use crate::Failure;
use crate::calculators::calculator::table_or_json;
use unroof_base::input::body::Body;
use unroof_base::input::cursor::nearest_names;
use unroof_infer::estimate::{Estimator, ModelFacts, Request};
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_price_sheet::sheet::{EvidenceItem, PriceSheet};

/// Calibration and public facts of estimates that are stored.
#[derive(Debug, Args)]
pub(crate) struct EstimatorArguments {
    #[command(flatten)]
    calibration: CalibrationArguments,
    /// Public facts about models, such as knowledge scores, for the estimates of stored models: a CSV table or a JSON list with the
    /// columns model, kind, benchmark, accuracy, effort, architecture, source and date
    #[arg(long, env = "UNROOF_EVIDENCE", value_name = "FILE")]
    evidence: Option<PathBuf>,
}

impl EstimatorArguments {
    /// Whether another calibration than the built-in one, or a file of facts, is named.
    pub(crate) fn are_given(&self) -> bool {
        self.calibration.is_given() || self.evidence.is_some()
    }

    /// The estimator with this calibration and these facts.
    pub(crate) fn estimator(&self) -> Result<Estimator, Failure> {
        let estimator = self.calibration.estimator()?;
        let Some(file) = &self.evidence else {
            return Ok(estimator);
        };
        let mut facts = ModelFacts::new();
        for (model, fact) in read(file)? {
            facts.entry(model).or_default().push(fact);
        }
        Ok(estimator.with_facts(facts))
    }
}

/// Puts the facts of a file on the sheets of the models that they are about.
pub(super) fn add(file: &Path, requests: &mut [Request]) -> Result<(), Failure> {
    let facts = read(file)?;
    let mut found = false;
    let mut names = Vec::new();
    for sheet in requests.iter_mut().flat_map(|request| &mut request.sheets) {
        let name = name_of(sheet);
        let own = facts.iter().filter(|(model, _)| *model == name);
        let before = sheet.evidence.len();
        sheet.evidence.extend(own.map(|(_, fact)| fact.clone()));
        found |= sheet.evidence.len() > before;
        names.push(name);
    }
    if found || names.is_empty() {
        return Ok(());
    }
    let mut known: Vec<&str> = facts.iter().map(|(model, _)| model.as_str()).collect();
    known.dedup();
    let nearest = nearest_names(&names[0], &known);
    let failure = anyhow!("no row of `{}` is about {}", file.display(), names[0]);
    Err(Failure::Usage(failure).with_hint(match nearest.as_slice() {
        [] => "name the model in the column `model` as the sheet does".to_owned(),
        nearest => format!("did you mean the sheet of {}?", nearest.join(" or ")),
    }))
}

/// The canonical name of a sheet's model, else its name at the seller.
fn name_of(sheet: &PriceSheet) -> String {
    let canonical = sheet.canonical_model.clone();
    canonical.unwrap_or_else(|| canonical_name(&sheet.model))
}

fn canonical_name(model: &str) -> String {
    canonical_model(model).unwrap_or_else(|| model.to_owned())
}

/// The facts of a CSV table or a JSON list, with their models.
fn read(file: &Path) -> Result<Vec<(String, EvidenceItem)>, Failure> {
    let mut rows = table_or_json(file)?;
    let list = rows
        .as_array_mut()
        .context("the evidence is not a list of facts")?;
    let mut models = Vec::new();
    for (place, row) in list.iter_mut().enumerate() {
        let model = row.as_object_mut().and_then(|row| row.remove("model"));
        let Some(Value::String(model)) = model else {
            let missing = anyhow!("fact {} of `{}` has no `model`", place + 1, file.display());
            let hint = "name its model, such as \"openai/gpt-5.4\"";
            return Err(Failure::Usage(missing).with_hint(hint));
        };
        models.push(canonical_name(&model));
    }
    let text = rows.to_string();
    let facts = unroof_base::input::read(text.as_bytes(), |root| root.list_of(EvidenceItem::read));
    let facts = facts.map_err(|error| Failure::RefusedIn(file.to_owned(), error))?;
    Ok(models.into_iter().zip(facts).collect())
}
