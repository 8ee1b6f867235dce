//! Shares of the classes of models by release date and cache offer: a multinomial logit.

use nalgebra::{Matrix3, Vector3};

use super::facts::Facts;
use crate::calibration::prices::count;
use crate::calibration::prices::data::PricedModel;
use crate::reference::AttentionKind;
use crate::reference::calibration::ModelClass;

/// Rounds of the bound optimisation; after half of them no share changes in its third digit.
const ROUNDS: usize = 300;
/// Prior standard deviations of a class's log odds: at the mean facts, per year, and for sold cache reads.
const PRIOR_SD: [f64; 3] = [2.0, 1.0, 1.0];

/// Classes of models with their log odds.
pub(super) fn classes(models: &[&PricedModel], facts: &[Facts]) -> Vec<ModelClass> {
    let kinds: Vec<(bool, AttentionKind)> = [true, false]
        .into_iter()
        .flat_map(|is_dense| AttentionKind::ALL.map(|attention| (is_dense, attention)))
        .collect();
    let rows: Vec<(usize, Vector3<f64>)> = models
        .iter()
        .zip(facts)
        .filter_map(|(model, facts)| {
            let own = (model.truth.is_dense(), model.truth.attention);
            let class = kinds.iter().position(|kind| *kind == own)?;
            Some((class, Vector3::new(1.0, facts.years, facts.cache)))
        })
        .collect();
    let odds = log_odds(kinds.len(), &rows);
    let mut shares = vec![0.0; kinds.len()];
    for (_, row) in &rows {
        for (share, probability) in shares.iter_mut().zip(probabilities(&odds, row)) {
            *share += probability / count(rows.len());
        }
    }
    kinds
        .into_iter()
        .zip(shares)
        .zip(odds)
        .map(|(((is_dense, attention), share), odds)| ModelClass {
            is_dense,
            attention,
            share,
            log_odds: odds.into(),
        })
        .collect()
}

/// Log odds with the greatest posterior density, by steps against a bound of the curvature (Böhning, 1992).
fn log_odds(classes: usize, rows: &[(usize, Vector3<f64>)]) -> Vec<Vector3<f64>> {
    let penalty = Matrix3::from_diagonal(&Vector3::from(PRIOR_SD.map(|sd| 1.0 / (sd * sd))));
    let squares: Matrix3<f64> = rows.iter().map(|(_, row)| row * row.transpose()).sum();
    let step = (squares * 0.5 + penalty)
        .try_inverse()
        .expect("the penalty is positive");
    let mut odds = vec![Vector3::zeros(); classes];
    for _ in 0..ROUNDS {
        let mut slopes: Vec<Vector3<f64>> = odds.iter().map(|own| -(penalty * own)).collect();
        for (class, row) in rows {
            for (slope, probability) in slopes.iter_mut().zip(probabilities(&odds, row)) {
                *slope -= row * probability;
            }
            slopes[*class] += row;
        }
        for (own, slope) in odds.iter_mut().zip(slopes) {
            *own += step * slope;
        }
    }
    odds
}

fn probabilities(odds: &[Vector3<f64>], row: &Vector3<f64>) -> Vec<f64> {
    let logs: Vec<f64> = odds.iter().map(|own| own.dot(row)).collect();
    crate::estimate::posterior::softmax(&logs)
}
