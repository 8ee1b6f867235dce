//! A normal distribution over the unknowns that are free, in a form that draws and weighs without allocating.

use nalgebra::{DMatrix, DVector};

use super::UNKNOWNS;

/// −½·log 2π
const LOG_PEAK: f64 = -0.918_938_533_204_672_8;

/// A normal distribution; only the first `free` coordinates are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaussian {
    free: usize,
    mean: [f64; UNKNOWNS],
    /// Cholesky factor of the covariance, its diagonal and its reciprocal.
    lower: [[f64; UNKNOWNS]; UNKNOWNS],
    reciprocal: [f64; UNKNOWNS],
    /// log density at the mean
    log_peak: f64,
}

impl Gaussian {
    /// Of this mean and covariance; a covariance that is singular to rounding is widened until it is not.
    pub(super) fn new(mean: &DVector<f64>, covariance: &DMatrix<f64>) -> Self {
        let free = mean.len();
        let mut widened = covariance.clone();
        let factor = loop {
            if let Some(factor) = widened.clone().cholesky() {
                break factor.unpack();
            }
            for index in 0..free {
                widened[(index, index)] += 1e-9 + 1e-6 * covariance[(index, index)].abs();
            }
        };
        let mut gaussian = Self {
            free,
            mean: [0.0; UNKNOWNS],
            lower: [[0.0; UNKNOWNS]; UNKNOWNS],
            reciprocal: [0.0; UNKNOWNS],
            log_peak: 0.0,
        };
        for row in 0..free {
            gaussian.mean[row] = mean[row];
            for column in 0..=row {
                gaussian.lower[row][column] = factor[(row, column)];
            }
            gaussian.reciprocal[row] = 1.0 / factor[(row, row)];
            gaussian.log_peak += LOG_PEAK - factor[(row, row)].ln();
        }
        gaussian
    }

    /// The point that standard normal coordinates stand for, spread by a factor.
    pub(super) fn draw(&self, normal: &[f64; UNKNOWNS], spread: f64) -> [f64; UNKNOWNS] {
        let mut drawn = self.mean;
        for row in 0..self.free {
            let mut sum = 0.0;
            for column in 0..=row {
                sum += self.lower[row][column] * normal[column];
            }
            drawn[row] += spread * sum;
        }
        drawn
    }

    /// Squared Mahalanobis distance from the mean.
    pub(super) fn distance(&self, point: &[f64; UNKNOWNS]) -> f64 {
        let mut solved = [0.0; UNKNOWNS];
        let mut distance = 0.0;
        for row in 0..self.free {
            let mut rest = point[row] - self.mean[row];
            for column in 0..row {
                rest -= self.lower[row][column] * solved[column];
            }
            solved[row] = rest * self.reciprocal[row];
            distance += solved[row] * solved[row];
        }
        distance
    }

    /// log density.
    pub(super) fn log_density(&self, point: &[f64; UNKNOWNS]) -> f64 {
        self.log_peak - 0.5 * self.distance(point)
    }

    /// log density at the mean.
    pub(super) fn log_peak(&self) -> f64 {
        self.log_peak
    }

    /// The covariance.
    pub(super) fn covariance(&self) -> [[f64; UNKNOWNS]; UNKNOWNS] {
        let entry = |row: usize, column: usize| {
            self.lower[row].iter().zip(self.lower[column]).map(|(left, right)| left * right).sum()
        };
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
    }

    /// How many coordinates are used.
    pub(super) fn free(&self) -> usize {
        self.free
    }
}
