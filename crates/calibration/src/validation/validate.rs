//! Estimates of a setting against published values, each by a calibration that has not seen its model.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::estimate::{Estimated, Shown, estimate};
use super::published::{SCORED, truth};
use super::readings::{ReadingScore, reading_scores};
use super::ridge::Ridge;
use super::score::{Counted, Outcome, Score, Scores};
use super::scored::scored_models;
use super::setting::{Fold, folds};
use crate::prices::{PricedModel, Settings, calibrate};
use unroof_infer::estimate::quantities::JointQuantity as J;
use unroof_infer::evidence::clue_table::ReadingId;
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

/// Scores estimates of models with published values from the sheets of all their hosts.
#[must_use]
pub fn validate(models: &[&PricedModel], by: By<'_>, shown: Shown) -> Validation {
    validate_setting(models, RecordSetting::PooledHosts, by, shown)
}

/// Scores estimates of models with published values in a setting.
#[must_use]
pub fn validate_setting(
    models: &[&PricedModel],
    setting: RecordSetting,
    by: By<'_>,
    shown: Shown,
) -> Validation {
    let is_listed = |name: &str| match by {
        By::Calibration(_) => true,
        By::LeavingOut(_) => scored_models(setting).any(|listed| listed == name),
    };
    validation(&folds(models, setting), by, shown, is_listed)
}

/// A reading of one model: its id, the quantity it is about, its error, and that of the prior.
type ReadingError = (&'static str, &'static str, f64, f64);

pub(super) fn validation(
    folds: &[Fold],
    by: By<'_>,
    shown: Shown,
    is_listed: impl Fn(&str) -> bool,
) -> Validation {
    let (by_model, readings): (Vec<Vec<ModelOutcome>>, Vec<Vec<ReadingError>>) =
        in_parallel(folds, |fold| outcomes(fold, by, shown))
            .into_iter()
            .unzip();
    let by_model: Vec<ModelOutcome> = by_model.into_iter().flatten().collect();
    let readings: Vec<ReadingError> = readings.into_iter().flatten().collect();
    Validation {
        calibration_id: match by {
            By::Calibration(given) => Some(given.id()),
            By::LeavingOut(_) => None,
        },
        quantities: scores(&by_model, |outcome| is_listed(&outcome.model)),
        all_models: scores(&by_model, |_| true),
        readings: reading_scores(&readings),
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

/// Every estimate of a fold, and every reading.
fn outcomes(fold: &Fold, by: By<'_>, shown: Shown) -> (Vec<ModelOutcome>, Vec<ReadingError>) {
    let training: Vec<&PricedModel> = fold.training.iter().collect();
    let calibration = match by {
        By::Calibration(given) => without_markup(given, fold.hidden.as_deref()),
        By::LeavingOut(settings) => calibrate(&training, &settings(&training)),
    };
    let ridges = SCORED.map(|(quantity, _)| ridge_on(&training, quantity));
    let mut by_model = Vec::new();
    let mut readings = Vec::new();
    for case in &fold.cases {
        let model = &case.model;
        let truth = |quantity| truth(&model.truth, quantity);
        let estimated = estimate(model, &calibration, shown, truth);
        let mut quantities = BTreeMap::new();
        for (place, (quantity, textbook)) in SCORED.into_iter().enumerate() {
            let (outcome, of_quantity) =
                outcome(&estimated, place, textbook, model, ridges[place].as_ref());
            quantities.insert(quantity.name(), outcome);
            readings.extend(of_quantity);
        }
        by_model.push(ModelOutcome {
            model: model.name.clone(),
            family: model.family.clone(),
            host: match model.sheets.as_slice() {
                [alone] => Some(alone.provider.clone()),
                _ => None,
            },
            hosts: model.sheets.len(),
            quantities,
            group: case.group.clone(),
            weight: case.weight,
        });
    }
    (by_model, readings)
}

/// The estimate of one quantity against the truth, and the errors of the readings that are about it.
fn outcome(
    estimated: &Estimated,
    place: usize,
    textbook: Option<ReadingId>,
    model: &PricedModel,
    ridge: Option<&Ridge>,
) -> (Outcome, Vec<ReadingError>) {
    let quantity = SCORED[place].0;
    let truth = truth(&model.truth, quantity);
    let (distribution, prior, exact) = &estimated.quantities[place];
    let of_id = |id: ReadingId| {
        let mut readings = estimated.readings.iter();
        readings.find(|reading| reading.0 == id.name())
    };
    let textbook = textbook.and_then(of_id).map(|reading| reading.2);
    let mut scores = Scores::new(truth, distribution, prior, exact.as_ref());
    scores.textbook_error = textbook.map(|value| value - truth);
    scores.ridge_error = ridge.and_then(|ridge| Some(ridge.predict(model)? - truth));
    let of_quantity = estimated
        .readings
        .iter()
        .filter(|reading| reading.1 == quantity.name());
    let errors = of_quantity
        .map(|(id, quantity, value)| (*id, *quantity, value - truth, scores.prior_error))
        .collect();
    (Outcome::new(truth, distribution, textbook, scores), errors)
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
    let counted = |quantity: J| -> Option<(&'static str, Score)> {
        let own = by_model.iter().filter(|outcome| wanted(outcome));
        let counted = own.map(|outcome| Counted {
            group: &outcome.group,
            weight: outcome.weight,
            scores: &outcome.quantities[quantity.name()].scores,
        });
        let counted: Vec<Counted<'_>> = counted.collect();
        Some((quantity.name(), Score::new(&counted)?))
    };
    SCORED
        .iter()
        .filter_map(|(quantity, _)| counted(*quantity))
        .collect()
}

/// Ridge regression of a quantity, where it is trained on models of other families.
fn ridge_on(models: &[&PricedModel], quantity: J) -> Option<Ridge> {
    let values: Vec<(&PricedModel, f64)> = models
        .iter()
        .map(|model| (*model, truth(&model.truth, quantity)))
        .collect();
    Ridge::fit(&values)
}
