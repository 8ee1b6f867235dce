//! The longest context of a model by its date, sizes and cache: a regression with Student-t errors.

use nalgebra::{SMatrix, SVector};

use super::facts::Facts;
use crate::calibration::prices::count;
use crate::calibration::prices::data::PricedModel;
use crate::reference::calibration::ContextLaw;

/// Degrees of freedom of the errors: a few models are offered with a context far from that of their time.
const DEGREES_OF_FREEDOM: f64 = 4.0;
/// Rounds of re-weighting.
const ROUNDS: usize = 30;
/// Weight of the penalty on slopes, in models whose figures differ by a factor of e.
const PENALTY: f64 = 2.0;
/// Years, log `N_a`, log `N_t`, log `k_st`.
const SLOPES: usize = 4;

/// The law of maximum contexts.
pub(super) fn context_law(models: &[&PricedModel], facts: &[Facts]) -> ContextLaw {
    let rows: Vec<(SVector<f64, SLOPES>, f64)> = models
        .iter()
        .zip(facts)
        .map(|(model, facts)| {
            let truth = &model.truth;
            let row = SVector::from([
                facts.years,
                truth.log_active,
                truth.log_total,
                truth.log_kv_stored,
            ]);
            (row, truth.log_context)
        })
        .collect();
    let mut weights = vec![1.0; rows.len()];
    let mut fitted = (SVector::zeros(), SVector::zeros(), 0.0);
    let mut variance = 1.0;
    for _ in 0..ROUNDS {
        fitted = weighted_fit(&rows, &weights);
        let (centre, slopes, intercept) = &fitted;
        let residual =
            |row: &(SVector<f64, SLOPES>, f64)| row.1 - intercept - slopes.dot(&(row.0 - centre));
        let squares: f64 = rows
            .iter()
            .zip(&weights)
            .map(|(row, weight)| weight * residual(row).powi(2))
            .sum();
        variance = squares / count(rows.len()).max(1.0);
        for (row, weight) in rows.iter().zip(&mut weights) {
            let standardised = residual(row).powi(2) / variance;
            *weight = (DEGREES_OF_FREEDOM + 1.0) / (DEGREES_OF_FREEDOM + standardised);
        }
    }
    let (centre, slopes, intercept) = fitted;
    ContextLaw {
        intercept: intercept - slopes.dot(&centre),
        per_year: slopes[0],
        active: slopes[1],
        total: slopes[2],
        stored: slopes[3],
        scale: variance.sqrt(),
        degrees_of_freedom: DEGREES_OF_FREEDOM,
    }
}

/// Centre of the rows, slopes and the value at the centre.
fn weighted_fit(
    rows: &[(SVector<f64, SLOPES>, f64)],
    weights: &[f64],
) -> (SVector<f64, SLOPES>, SVector<f64, SLOPES>, f64) {
    let total: f64 = weights.iter().sum();
    let mut centre = SVector::<f64, SLOPES>::zeros();
    let mut mean = 0.0;
    for ((row, value), weight) in rows.iter().zip(weights) {
        centre += row * (weight / total);
        mean += value * weight / total;
    }
    let mut normal = SMatrix::<f64, SLOPES, SLOPES>::identity() * PENALTY;
    let mut across = SVector::<f64, SLOPES>::zeros();
    for ((row, value), weight) in rows.iter().zip(weights) {
        let away = row - centre;
        normal += away * away.transpose() * *weight;
        across += away * (*weight * (value - mean));
    }
    let slopes = normal
        .cholesky()
        .expect("the penalty is positive")
        .solve(&across);
    (centre, slopes, mean)
}
