//! The joint estimate against models with published values, each scored by a calibration that has not seen its family.

mod ridge;
mod score;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::prices::{PricedModel, Settings, Truth, calibrate};
use crate::clue::{observed, readings};
use crate::estimate::posterior::{Draws, PRIOR_DRAWS, Prior, sample, sample_prior};
use crate::estimate::quantities::JointQuantity as J;
use crate::model::assumptions::Assumptions;
use crate::model::clue_table::ReadingId;
use crate::model::machine::machines;
use crate::model::quantity::Quantity as Q;
use crate::model::unknowns::{Running, Unknowns};
use crate::reference::calibration::Calibration;
use crate::reference::{NamedRecord, TrackRecord, TrackRecords};
use crate::sheet::PriceSheet;
use crate::units::significant;
pub use score::{Bootstrap, Outcome, Score};

/// Draws per model: a tenth of the spread of an estimate from 1,000 of them is far below its own error.
const DRAWS: usize = 8_192;

/// The quantities with published values, each with its textbook reading.
const SCORED: [(J, Option<ReadingId>); 5] = [
    (
        J::ActiveParameters,
        Some(ReadingId::PriceLevelActiveParameters),
    ),
    (J::TotalParameters, None),
    (J::KvBytesRead, Some(ReadingId::OutputRatioKvBytes)),
    (J::KvBytesStored, Some(ReadingId::OutputRatioKvBytes)),
    (
        J::MemoryOverCompute,
        Some(ReadingId::OutputRatioMemoryBoundness),
    ),
];

/// Parts of a sheet that the estimate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each kind of clue takes part or does not"
)]
pub struct Shown {
    /// Input prices.
    pub input: bool,
    /// Output prices.
    pub output: bool,
    /// Maximum contexts.
    pub context: bool,
    /// Context tiers.
    pub tiers: bool,
}

impl Shown {
    /// All parts of a sheet.
    pub const ALL: Self = Self {
        input: true,
        output: true,
        context: true,
        tiers: true,
    };
}

/// Operating point of the ratio of times: H100, 8 of them, one byte per weight and element of the cache, 2.5 times the
/// optimal batch, a context of 8,192 tokens; caches are loaded at 50 GB/s per chip, a link of 400 Gbit/s.
const OPERATING_POINT: &str = r#"{"accelerator": "h100-sxm", "chips": 8, "weight_bytes_per_parameter": 1,
    "kv_bytes_per_element": 1, "batch_over_optimal_batch": 2.5, "mean_decode_context_tokens": 8192,
    "load_path_bytes_per_second": 5e10}"#;

/// Every estimate against the truth.
#[derive(Debug, Clone, Serialize)]
pub struct Validation {
    /// The calibration, where one was given; without it each model has one that has not seen its family.
    pub calibration_id: Option<String>,
    /// Score of each quantity.
    pub quantities: BTreeMap<&'static str, Score>,
    /// Score of each kind of reading on the quantity it is about.
    pub readings: Vec<ReadingScore>,
    /// Every model.
    pub by_model: Vec<ModelOutcome>,
}

/// The estimates of one model against its published values.
#[derive(Debug, Clone, Serialize)]
pub struct ModelOutcome {
    /// Its name.
    pub model: String,
    /// Its family.
    pub family: String,
    /// Hosts with a price.
    pub hosts: usize,
    /// By quantity.
    pub quantities: BTreeMap<&'static str, score::Outcome>,
}

/// Score of one kind of reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadingScore {
    /// The reading.
    pub id: &'static str,
    /// The quantity it is about.
    pub quantity: &'static str,
    /// Models on which it has a value.
    pub models: usize,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Root mean square error, natural logarithm.
    pub rmse_log: f64,
    /// Root mean square error of the prior on the same models.
    pub prior_rmse_log: f64,
    /// Whether it is better than the prior.
    pub beats_prior: bool,
}

impl Validation {
    /// Track records for answers to carry.
    #[must_use]
    pub fn track_records(&self) -> TrackRecords {
        let record = |name: &str, models, folds: [f64; 2], beats_prior| NamedRecord {
            name: name.to_owned(),
            record: TrackRecord {
                models,
                median_fold_error: significant(folds[0]),
                fold_error_90: significant(folds[1]),
                beats_prior,
            },
        };
        let of_quantity = |(name, score): (&&'static str, &Score)| {
            let folds = [score.median_fold_error, score.fold_error_90];
            record(name, score.models, folds, score.log_score_gain > 0.0)
        };
        let of_reading = |score: &ReadingScore| {
            let folds = [score.median_fold_error, score.fold_error_90];
            record(score.id, score.models, folds, score.beats_prior)
        };
        TrackRecords {
            quantities: self.quantities.iter().map(of_quantity).collect(),
            readings: self.readings.iter().map(of_reading).collect(),
        }
    }
}

/// Estimates and readings of one model under one calibration.
struct Estimated {
    distributions: Vec<(score::Distribution, score::Distribution)>,
    readings: Vec<(&'static str, &'static str, f64)>,
}

/// Calibration by which models are estimated.
#[derive(Clone, Copy)]
pub enum By<'a> {
    /// One calibration.
    Calibration(&'a Calibration),
    /// A calibration that has not seen the model's family, by settings chosen from the others.
    LeavingOut(&'a dyn Fn(&[&PricedModel]) -> Settings),
}

/// Scores estimates of models with published values.
#[must_use]
pub fn validate(models: &[&PricedModel], by: By<'_>, shown: Shown) -> Validation {
    let priced: Vec<&PricedModel> = models
        .iter()
        .copied()
        .filter(|model| !model.sheets.is_empty())
        .collect();
    let families: BTreeSet<&str> = priced.iter().map(|model| model.family.as_str()).collect();
    let mut by_model = Vec::new();
    let mut readings: Vec<(&'static str, &'static str, f64, f64)> = Vec::new();
    for family in families {
        let (own, others): (Vec<&PricedModel>, Vec<&PricedModel>) = models
            .iter()
            .copied()
            .partition(|model| model.family == family);
        let left_out;
        let calibration = match by {
            By::Calibration(given) => given,
            By::LeavingOut(settings) => {
                left_out = calibrate(&others, &settings(&others));
                &left_out
            }
        };
        let ridges: Vec<Option<ridge::Ridge>> = SCORED
            .iter()
            .map(|(quantity, _)| ridge_on(&others, *quantity))
            .collect();
        for model in own.into_iter().filter(|model| !model.sheets.is_empty()) {
            let estimated = estimate(model, calibration, shown);
            let mut quantities = BTreeMap::new();
            for (((quantity, textbook), ridge), (estimate, prior)) in
                SCORED.iter().zip(&ridges).zip(&estimated.distributions)
            {
                let name = quantity.name();
                let truth = truth(&model.truth, *quantity);
                let of_reading = |id: ReadingId| {
                    estimated
                        .readings
                        .iter()
                        .find(|reading| reading.0 == id.name())
                };
                let textbook = textbook.and_then(of_reading).map(|reading| reading.2);
                let mut scores = score::Scores::new(truth, estimate, prior);
                scores.textbook_error = textbook.map(|value| value - truth);
                scores.ridge_error = ridge
                    .as_ref()
                    .and_then(|ridge| Some(ridge.predict(model)? - truth));
                quantities.insert(name, score::Outcome::new(truth, estimate, textbook, scores));
                let of_quantity = estimated
                    .readings
                    .iter()
                    .filter(|(_, quantity, _)| *quantity == name);
                readings.extend(of_quantity.map(|(id, quantity, value)| {
                    (*id, *quantity, value - truth, scores.prior_error)
                }));
            }
            by_model.push(ModelOutcome {
                model: model.name.clone(),
                family: model.family.clone(),
                hosts: model.sheets.len(),
                quantities,
            });
        }
    }
    let score_of = |quantity: J| {
        let name = quantity.name();
        let scores: Vec<(&str, score::Scores)> = by_model
            .iter()
            .map(|outcome| (outcome.family.as_str(), outcome.quantities[name].scores))
            .collect();
        (name, Score::new(&scores))
    };
    Validation {
        calibration_id: match by {
            By::Calibration(given) => Some(given.id()),
            By::LeavingOut(_) => None,
        },
        quantities: SCORED
            .iter()
            .map(|(quantity, _)| score_of(*quantity))
            .collect(),
        readings: reading_scores(&readings),
        by_model,
    }
}

/// Ridge regression of a quantity, where it is trained on models of other families.
fn ridge_on(models: &[&PricedModel], quantity: J) -> Option<ridge::Ridge> {
    let values: Vec<(&PricedModel, f64)> = models
        .iter()
        .map(|model| (*model, truth(&model.truth, quantity)))
        .collect();
    ridge::Ridge::fit(&values)
}

/// log of the published value, or of the value computed from it at the operating point.
fn truth(truth: &Truth, quantity: J) -> f64 {
    let machines = machines(&operating_point());
    let known = |quantity| {
        operating_point()
            .known(quantity)
            .map_or(f64::NAN, |(value, _)| value.ln())
    };
    quantity.log_value(&Unknowns {
        log_active_parameters: truth.log_active,
        log_total_parameters: truth.log_total,
        log_kv_bytes_read: truth.log_kv_read,
        log_kv_bytes_stored: truth.log_kv_stored,
        log_batch_over_optimal: known(Q::BatchOverOptimal),
        log_mean_decode_context: known(Q::MeanDecodeContext),
        log_utilisation: 0.0,
        log_rental: 0.0,
        is_dense: truth.is_dense(),
        machine: &machines[0],
        running: Running::typical(&machines[0]),
    })
}

/// The operating point on a unit that holds every model: one of eight chips would rule out the truth.
fn roomy_operating_point() -> Assumptions {
    let text = OPERATING_POINT.replace("\"chips\": 8", "\"chips\": 576");
    crate::input::read(text.as_bytes(), Assumptions::read)
        .expect("the operating point is well formed")
}

fn operating_point() -> Assumptions {
    crate::input::read(OPERATING_POINT.as_bytes(), Assumptions::read)
        .expect("the operating point is well formed")
}

/// The estimate of every scored quantity beside its prior, and the readings, each the median over hosts.
fn estimate(model: &PricedModel, calibration: &Calibration, shown: Shown) -> Estimated {
    let assumptions = operating_point();
    let prior = Prior::new(calibration, &roomy_operating_point());
    let contents: Vec<PriceSheet> = model
        .sheets
        .iter()
        .map(|sheet| with_shown(sheet, shown))
        .collect();
    let terms = observed(&contents, &assumptions, calibration);
    let posterior = sample(&prior, &terms, DRAWS);
    let prior_draws = sample_prior(&prior, PRIOR_DRAWS);
    let of = |draws: &Draws<'_>, quantity: J| {
        score::Distribution::new(
            draws.iter().map(|unknowns| quantity.log_value(&unknowns)),
            draws.weights(),
        )
    };
    let distributions = SCORED
        .iter()
        .map(|(quantity, _)| (of(&posterior.draws, *quantity), of(&prior_draws, *quantity)))
        .collect();
    Estimated {
        distributions,
        readings: typical_readings(&contents, &assumptions),
    }
}

/// The sheet, reduced to these parts.
fn with_shown(sheet: &PriceSheet, shown: Shown) -> PriceSheet {
    let mut content = sheet.pricing_content();
    for cell in &mut content.rates {
        cell.input = cell.input.take().filter(|_| shown.input);
        cell.output = cell.output.take().filter(|_| shown.output);
    }
    content
        .rates
        .retain(|cell| shown.tiers || cell.context_tier.min_prompt_tokens == 0);
    content.limits.context = content.limits.context.filter(|_| shown.context);
    content
}

/// log of each kind of reading that has a value, the median over sheets.
fn typical_readings(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
) -> Vec<(&'static str, &'static str, f64)> {
    let mut values: BTreeMap<(&'static str, &'static str), Vec<f64>> = BTreeMap::new();
    for reading in contents
        .iter()
        .flat_map(|content| readings(content, assumptions))
    {
        if let Some(value) = reading.number().filter(|value| *value > 0.0) {
            values
                .entry((reading.id.name(), reading.quantity))
                .or_default()
                .push(value.ln());
        }
    }
    values
        .into_iter()
        .map(|((id, quantity), logs)| {
            (
                id,
                quantity,
                score::quantile(&score::sorted(logs.into_iter()), 0.5),
            )
        })
        .collect()
}

/// Each kind of reading on the quantity it is about, from (reading, quantity, error, error of the prior).
fn reading_scores(errors: &[(&'static str, &'static str, f64, f64)]) -> Vec<ReadingScore> {
    let mut by_reading: BTreeMap<(&'static str, &'static str), Vec<(f64, f64)>> = BTreeMap::new();
    for (id, quantity, error, prior_error) in errors {
        by_reading
            .entry((id, quantity))
            .or_default()
            .push((*error, *prior_error));
    }
    by_reading
        .into_iter()
        .map(|((id, quantity), errors)| {
            let folds = score::sorted(errors.iter().map(|(error, _)| error.abs().exp()));
            let rmse_log = score::root_mean_square(errors.iter().map(|(error, _)| *error));
            let prior_rmse_log = score::root_mean_square(errors.iter().map(|(_, prior)| *prior));
            ReadingScore {
                id,
                quantity,
                models: errors.len(),
                median_fold_error: score::quantile(&folds, 0.5),
                fold_error_90: score::quantile(&folds, 0.9),
                rmse_log,
                prior_rmse_log,
                beats_prior: rmse_log < prior_rmse_log,
            }
        })
        .collect()
}
