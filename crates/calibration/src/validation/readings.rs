//! Single readings against the published values.

use std::collections::BTreeMap;

use serde::Serialize;

use super::score::{quantile, root_mean_square, sorted};
use unroof_infer::clue;
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_price_sheet::sheet::PriceSheet;

/// Score of one kind of reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadingScore {
    /// Id of the reading.
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

/// A kind of reading with the quantity it is about, and its logarithm.
pub(super) type Typical = (&'static str, &'static str, f64);

/// Error of a kind of reading on the quantity it is about, and that of the prior; natural logarithms.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingError {
    pub(super) id: &'static str,
    pub(super) quantity: &'static str,
    pub(super) error: f64,
    pub(super) prior_error: f64,
}

/// log of each kind of reading that has a value, the median over sheets.
pub(super) fn typical_readings(contents: &[PriceSheet], assumptions: &Assumptions) -> Vec<Typical> {
    let mut values: BTreeMap<(&'static str, &'static str), Vec<f64>> = BTreeMap::new();
    for reading in contents
        .iter()
        .flat_map(|content| clue::readings(content, assumptions))
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
        .map(|((id, quantity), logs)| (id, quantity, quantile(&sorted(logs.into_iter()), 0.5)))
        .collect()
}

/// Scores of each kind of reading on the quantity it is about.
pub(super) fn reading_scores<'e>(
    errors: impl Iterator<Item = &'e ReadingError>,
) -> Vec<ReadingScore> {
    let mut by_reading: BTreeMap<_, Vec<&ReadingError>> = BTreeMap::new();
    for error in errors {
        let reading = (error.id, error.quantity);
        by_reading.entry(reading).or_default().push(error);
    }
    by_reading
        .into_iter()
        .map(|((id, quantity), errors)| {
            let folds = sorted(errors.iter().map(|of| of.error.abs().exp()));
            let rmse_log = root_mean_square(errors.iter().map(|of| of.error));
            let prior_rmse_log = root_mean_square(errors.iter().map(|of| of.prior_error));
            ReadingScore {
                id,
                quantity,
                models: errors.len(),
                median_fold_error: quantile(&folds, 0.5),
                fold_error_90: quantile(&folds, 0.9),
                rmse_log,
                prior_rmse_log,
                beats_prior: rmse_log < prior_rmse_log,
            }
        })
        .collect()
}
