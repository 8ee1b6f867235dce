//! Estimates of a setting against published values, each by a calibration that has not seen its model.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::estimate::{Shown, estimate};
use super::published::SCORED;
use super::readings::{ReadingError, ReadingScore, reading_scores};
use super::ridge::Ridge;
use super::score::{Counted, Outcome, Score};
use super::scored::scored_models;
use super::setting::{Case, Fold, folds};
use crate::knowledge;
use crate::prices::{PricedModel, Settings, calibrate};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::RecordSetting;
use unroof_roofline::reference::calibration::Calibration;

/// Scores of every quantity, by name.
pub type Scored = BTreeMap<&'static str, Score>;

/// Every estimate of a setting against the truth.
#[derive(Debug, Clone, Serialize)]
pub struct Validation {
    /// The calibration, where one was given; without it each model has one that has not seen its family or author.
    pub calibration_id: Option<String>,
    /// Score of each quantity on the models of `data/scored_models.csv`, or on all where the calibration was given.
    pub quantities: Scored,
    /// Score of each quantity on all models.
    pub all_models: Scored,
    /// Score of each kind of reading on the quantity it is about.
    pub readings: Vec<ReadingScore>,
    /// Every model; where hosts are taken alone, every host of it.
    pub by_model: Vec<ModelOutcome>,
}

/// The estimates of one model against its published values.
#[derive(Debug, Clone, Serialize)]
pub struct ModelOutcome {
    /// Name of the model.
    pub model: String,
    /// Family of the model.
    pub family: String,
    /// The host whose sheet it is estimated from, where that is one alone.
    pub host: Option<String>,
    /// Hosts with a price that it is estimated from.
    pub hosts: usize,
    /// Outcomes by quantity.
    pub quantities: BTreeMap<&'static str, Outcome>,
    /// Errors of the readings of its sheets.
    #[serde(skip)]
    readings: Vec<ReadingError>,
    /// The family or vendor by which scores are resampled.
    #[serde(skip)]
    group: String,
    /// Weight of the outcome in the score of the model.
    #[serde(skip)]
    pub(super) weight: f64,
}

/// Calibration by which models are estimated.
#[derive(Clone, Copy)]
pub enum By<'a> {
    /// One calibration; only the markup of a host that a setting leaves out is unknown to it.
    Calibration(&'a Calibration),
    /// A calibration that has not seen what a setting leaves out, by settings chosen from the rest.
    LeavingOut(&'a (dyn Fn(&[&PricedModel]) -> Settings + Sync)),
}

impl By<'_> {
    /// Whether a model counts in the scores of a setting: all do where the calibration was given.
    pub(super) fn counts(self, setting: RecordSetting, model: &str) -> bool {
        match self {
            Self::Calibration(_) => true,
            Self::LeavingOut(_) => scored_models(setting).any(|listed| listed == model),
        }
    }
}

/// Scores estimates of models with published values in a setting.
#[must_use]
pub fn validate(
    models: &[&PricedModel],
    setting: RecordSetting,
    by: By<'_>,
    shown: Shown<'_>,
) -> Validation {
    validation(&folds(models, setting), setting, by, shown)
}

pub(super) fn validation(
    folds: &[Fold],
    setting: RecordSetting,
    by: By<'_>,
    shown: Shown<'_>,
) -> Validation {
    let by_fold = in_parallel(folds, |fold| outcomes(fold, by, shown));
    let by_model: Vec<ModelOutcome> = by_fold.into_iter().flatten().collect();
    Validation {
        calibration_id: match by {
            By::Calibration(given) => Some(given.id()),
            By::LeavingOut(_) => None,
        },
        quantities: scores(&by_model, |outcome| by.counts(setting, &outcome.model)),
        all_models: scores(&by_model, |_| true),
        readings: reading_scores(by_model.iter().flat_map(|outcome| &outcome.readings)),
        by_model,
    }
}

/// The results of a function in the order of its arguments, by all processors.
fn in_parallel<In: Sync, Out: Send>(items: &[In], work: impl Fn(&In) -> Out + Sync) -> Vec<Out> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers.min(items.len()) {
            scope.spawn(|| {
                while let place = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(place)
                {
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.push((place, result));
                    }
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Every estimate of a fold.
fn outcomes(fold: &Fold, by: By<'_>, shown: Shown<'_>) -> Vec<ModelOutcome> {
    let training: Vec<&PricedModel> = fold.training.iter().collect();
    let mut calibration = match by {
        By::Calibration(given) => without_markup(given, fold.hidden.as_deref()),
        By::LeavingOut(settings) => calibrate(&training, &settings(&training)),
    };
    let models = fold.cases.iter().map(|case| case.model.name.as_str());
    if let Some(law) = knowledge::fit_without(&models.collect::<Vec<_>>(), shown.scores) {
        calibration.knowledge = law;
    }
    let ridges = SCORED.map(|(quantity, _)| Ridge::fit(&training, quantity));
    let outcome = |case: &Case| {
        let model = &case.model;
        let (quantities, readings) = estimate(model, &calibration, &ridges, shown);
        ModelOutcome {
            model: model.name.clone(),
            family: model.family.clone(),
            host: match model.sheets.as_slice() {
                [alone] => Some(alone.provider.clone()),
                _ => None,
            },
            hosts: model.sheets.len(),
            quantities,
            readings,
            group: case.group.clone(),
            weight: case.weight,
        }
    };
    fold.cases.iter().map(outcome).collect()
}

/// The calibration as it is for a vendor that it does not know.
fn without_markup(given: &Calibration, hidden: Option<&str>) -> Calibration {
    let mut calibration = given.clone();
    calibration
        .hosts
        .retain(|host, _| hidden.is_none_or(|hidden| vendor(host) != hidden));
    calibration
}

/// Scores of every quantity over the outcomes that are wanted.
pub(super) fn scores(by_model: &[ModelOutcome], wanted: impl Fn(&ModelOutcome) -> bool) -> Scored {
    let wanted: Vec<&ModelOutcome> = by_model.iter().filter(|outcome| wanted(outcome)).collect();
    let score = |(quantity, _): &(JointQuantity, _)| {
        let counted = wanted.iter().map(|outcome| Counted {
            group: &outcome.group,
            weight: outcome.weight,
            scores: &outcome.quantities[quantity.name()].scores,
        });
        let counted: Vec<Counted<'_>> = counted.collect();
        Some((quantity.name(), Score::new(&counted)?))
    };
    SCORED.iter().filter_map(score).collect()
}
