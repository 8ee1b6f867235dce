//! The longest context of a model by its date, sizes, cache and kind of attention: a regression with Student-t errors.

use nalgebra::SVector;
use statrs::distribution::{Continuous, StudentsT};

use super::facts::Facts;
use super::regression::penalised;
use crate::prices::count;
use crate::prices::data::PricedModel;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::ContextLaw;

/// Degrees of freedom that the errors may have: a few models are offered with a context far from that of their time. The most
/// likely are taken.
const DEGREES_OF_FREEDOM: [f64; 5] = [2.0, 3.0, 4.0, 6.0, 10.0];
/// Rounds of re-weighting.
const ROUNDS: usize = 30;
/// Weight of the penalty on slopes, in models whose figures differ by a factor of e.
const PENALTY: f64 = 2.0;
/// Years, log `N_a`, log `N_t`, log `k_st`; and the kinds of attention.
const FIGURES: usize = 4;
const SLOPES: usize = FIGURES + AttentionKind::COUNT;

type Slopes = SVector<f64, SLOPES>;
/// Figures of a model, and the log of its longest context.
type Row = (Slopes, f64);
/// Centre of the rows, slopes and the value at the centre.
type Fitted = (Slopes, Slopes, f64);

/// The law of maximum contexts.
pub(super) fn context_law(models: &[&PricedModel], facts: &[Facts]) -> ContextLaw {
    let rows: Vec<Row> = models
        .iter()
        .zip(facts)
        .map(|(model, facts)| {
            let truth = &model.truth;
            let mut row = Slopes::zeros();
            row[0] = facts.years;
            row[1] = truth.log_active;
            row[2] = truth.log_total;
            row[3] = truth.log_kv_stored;
            row[FIGURES + truth.attention as usize] = 1.0;
            (row, truth.log_context)
        })
        .collect();
    let likely = |left: &(f64, ContextLaw), right: &(f64, ContextLaw)| left.0.total_cmp(&right.0);
    let fits = DEGREES_OF_FREEDOM.map(|freedom| fit(&rows, freedom));
    let best = fits.into_iter().max_by(likely);
    best.expect("there are degrees of freedom").1
}

/// The law with errors of these degrees of freedom, and its log likelihood.
fn fit(rows: &[Row], freedom: f64) -> (f64, ContextLaw) {
    let mut weights = vec![1.0; rows.len()];
    let mut fitted = (Slopes::zeros(), Slopes::zeros(), 0.0);
    let mut variance = 1.0;
    for _ in 0..ROUNDS {
        fitted = weighted_fit(rows, &weights);
        let squares: f64 = rows
            .iter()
            .zip(&weights)
            .map(|(row, weight)| weight * residual(&fitted, row).powi(2))
            .sum();
        variance = squares / count(rows.len()).max(1.0);
        for (row, weight) in rows.iter().zip(&mut weights) {
            let standardised = residual(&fitted, row).powi(2) / variance;
            *weight = (freedom + 1.0) / (freedom + standardised);
        }
    }
    let scale = variance.sqrt();
    let errors = StudentsT::new(0.0, scale, freedom).expect("scale and freedom are positive");
    let log_likelihood = rows.iter().map(|row| errors.ln_pdf(residual(&fitted, row)));
    let (centre, slopes, intercept) = fitted;
    let law = ContextLaw {
        intercept: intercept - slopes.dot(&centre),
        per_year: slopes[0],
        active: slopes[1],
        total: slopes[2],
        stored: slopes[3],
        by_kind: std::array::from_fn(|kind| slopes[FIGURES + kind]),
        scale,
        degrees_of_freedom: freedom,
    };
    (log_likelihood.sum(), law)
}

fn residual((centre, slopes, intercept): &Fitted, (row, value): &Row) -> f64 {
    value - intercept - slopes.dot(&(row - centre))
}

/// Centre of the rows, slopes and the value at the centre.
fn weighted_fit(rows: &[Row], weights: &[f64]) -> Fitted {
    let total: f64 = weights.iter().sum();
    let mut centre = Slopes::zeros();
    let mut mean = 0.0;
    for ((row, value), weight) in rows.iter().zip(weights) {
        centre += row * (weight / total);
        mean += value * weight / total;
    }
    let away = rows.iter().zip(weights);
    let away = away.map(|((row, value), weight)| (row - centre, value - mean, *weight));
    (centre, penalised(Slopes::repeat(PENALTY), away), mean)
}
