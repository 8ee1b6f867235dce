//! Linear regression by penalised least squares.

use nalgebra::{SMatrix, SVector};

/// Slopes of values over figures, from rows of both and a weight; each slope is drawn to 0 by a penalty of its own.
pub(super) fn penalised<const SLOPES: usize>(
    penalties: SVector<f64, SLOPES>,
    rows: impl Iterator<Item = (SVector<f64, SLOPES>, f64, f64)>,
) -> SVector<f64, SLOPES> {
    let mut normal = SMatrix::from_diagonal(&penalties);
    let mut across = SVector::zeros();
    for (row, value, weight) in rows {
        normal += row * row.transpose() * weight;
        across += row * (weight * value);
    }
    let factor = normal.cholesky().expect("the penalty is positive");
    factor.solve(&across)
}
