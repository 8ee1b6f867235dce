//! Shares of the classes of models by release date and cache offer: a multinomial logit.

use nalgebra::{Cholesky, DMatrix, Matrix3, Matrix3xX, MatrixXx3, Vector3};

use super::facts::Facts;
use super::sizes;
use crate::prices::count;
use crate::prices::data::PricedModel;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::{ModelClass, Sizes};

/// Rounds of the bound optimisation; after half of them no share changes in its third digit.
const ROUNDS: usize = 1_000;
/// Prior standard deviations of a class's log odds: at the mean facts, per year, and for sold cache reads.
const PRIOR_SD: [f64; 3] = [2.0, 1.0, 1.0];
/// Shares of these variances that classes have in common: all dense ones or all mixtures, and both classes of one kind of
/// attention; the last is a class's own. A few models show what is common to many classes, and hardly more.
const IN_COMMON: [f64; 3] = [1.0, 0.5, 0.1];

/// Dense or not, and the kind of attention.
type Class = (bool, AttentionKind);

/// Classes of models with their log odds.
pub(super) fn classes(
    models: &[&PricedModel],
    facts: &[Facts],
    [dense, mixture]: [&Sizes; 2],
) -> Vec<ModelClass> {
    let kinds: Vec<Class> = [true, false]
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
    let odds = log_odds(&kinds, &rows);
    let mut shares = vec![0.0; kinds.len()];
    for (_, row) in &rows {
        for (share, probability) in shares.iter_mut().zip(probabilities(&odds, row)) {
            *share += probability / count(rows.len());
        }
    }
    kinds
        .into_iter()
        .zip(shares)
        .zip(odds.row_iter())
        .map(|((class, share), odds)| ModelClass {
            is_dense: class.0,
            attention: class.1,
            share,
            size: sizes::of_class(models, class, if class.0 { dense } else { mixture }),
            log_odds: [odds[0], odds[1], odds[2]],
        })
        .collect()
}

/// Covariance of the log odds of classes, over that of a single effect.
fn covariance(kinds: &[Class]) -> DMatrix<f64> {
    let [of_size, of_kind, own] = IN_COMMON;
    DMatrix::from_fn(kinds.len(), kinds.len(), |left, right| {
        let (left, right) = (kinds[left], kinds[right]);
        let both = |is_common: bool, variance: f64| if is_common { variance } else { 0.0 };
        both(left.0 == right.0, of_size)
            + both(left.1 == right.1, of_kind)
            + both(left == right, own)
    })
}

/// Log odds with the greatest posterior density, by steps against a bound of the curvature (Böhning, 1992). They are a
/// root of the prior covariance times coordinates that are independent of one another.
fn log_odds(kinds: &[Class], rows: &[(usize, Vector3<f64>)]) -> MatrixXx3<f64> {
    let covariance = covariance(kinds);
    let greatest = covariance.symmetric_eigenvalues().max();
    let root = Cholesky::new(covariance)
        .expect("classes have variance of their own")
        .unpack();
    let penalty = Matrix3::from_diagonal(&Vector3::from(PRIOR_SD.map(|sd| 1.0 / (sd * sd))));
    let squares: Matrix3<f64> = rows.iter().map(|(_, row)| row * row.transpose()).sum();
    let step = (squares * (0.5 * greatest) + penalty)
        .try_inverse()
        .expect("the penalty is positive");
    let mut free = MatrixXx3::<f64>::zeros(kinds.len());
    for _ in 0..ROUNDS {
        let odds = &root * &free;
        let mut slopes = Matrix3xX::<f64>::zeros(kinds.len());
        for (class, row) in rows {
            for (mut slope, probability) in slopes.column_iter_mut().zip(probabilities(&odds, row))
            {
                slope -= row * probability;
            }
            let mut own = slopes.column_mut(*class);
            own += row;
        }
        free += (root.transpose() * slopes.transpose() - &free * penalty) * step;
    }
    root * free
}

fn probabilities(odds: &MatrixXx3<f64>, row: &Vector3<f64>) -> Vec<f64> {
    let logs = odds * row;
    unroof_infer::posterior::softmax(logs.as_slice())
}
