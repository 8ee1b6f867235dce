//! A normal distribution over the unknowns that are free, in a form that draws and weighs without allocating.

use nalgebra::{DMatrix, DVector};
use wide::f64x4;

use crate::evidence::likelihood::LOG_NORMAL_PEAK;
use unroof_base::units::elementary::exp_each;

/// Unknowns that are sampled: log `N_a`, log `N_t`, log `k_bw`, log `k_st`, log β, log `L_mean`.
pub(super) const UNKNOWNS: usize = 6;

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
    /// A distribution of this mean and covariance; a numerically singular covariance is widened.
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
            gaussian.log_peak += LOG_NORMAL_PEAK - factor[(row, row)].ln();
        }
        gaussian
    }

    /// The point at standard normal coordinates, spread by a factor.
    #[expect(
        clippy::needless_range_loop,
        reason = "loops over indices of fixed length are unrolled; iterators are not"
    )]
    pub(super) fn draw(&self, normal: &[f64; UNKNOWNS], spread: f64) -> [f64; UNKNOWNS] {
        let mut drawn = self.mean;
        // Rows beyond the free ones are zero.
        for row in 0..UNKNOWNS {
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
            for (factor, before) in self.lower[row].iter().zip(&solved).take(row) {
                rest -= factor * before;
            }
            solved[row] = rest * self.reciprocal[row];
            distance += solved[row] * solved[row];
        }
        distance
    }

    /// Log density at a point.
    pub(super) fn log_density(&self, point: &[f64; UNKNOWNS]) -> f64 {
        self.log_peak - 0.5 * self.distance(point)
    }

    /// Spread by each of these factors, but in no direction beyond the widest prior, unless it is wider itself: beyond the
    /// prior, draws hardly count.
    pub(super) fn widened<const COUNT: usize>(
        &self,
        factors: [f64; COUNT],
        widest: &Self,
    ) -> [Self; COUNT] {
        let free = self.free;
        if free == 0 {
            return [*self; COUNT];
        }
        let factor_of =
            |of: &Self| DMatrix::from_fn(free, free, |row, column| of.lower[row][column]);
        let unit = factor_of(widest);
        let in_units = unit
            .solve_lower_triangular(&factor_of(self))
            .expect("a Cholesky factor has a positive diagonal");
        let own = (&in_units * in_units.transpose()).symmetric_eigen();
        let axes = unit * own.eigenvectors;
        let mean = DVector::from_column_slice(&self.mean[..free]);
        factors.map(|factor| {
            let wide = own
                .eigenvalues
                .map(|variance| (factor * factor * variance).min(variance.max(1.0)));
            let covariance = &axes * DMatrix::from_diagonal(&wide) * axes.transpose();
            Self::new(&mean, &covariance)
        })
    }

    /// Covariance of the distribution.
    pub(super) fn covariance(&self) -> [[f64; UNKNOWNS]; UNKNOWNS] {
        let entry = |row: usize, column: usize| {
            self.lower[row]
                .iter()
                .zip(self.lower[column])
                .map(|(left, right)| left * right)
                .sum()
        };
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
    }

    /// Number of coordinates that are used.
    pub(super) fn free(&self) -> usize {
        self.free
    }
}

/// A mixture of up to four normal distributions of the same free coordinates, weighed in lockstep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixture {
    mean: [f64x4; UNKNOWNS],
    /// Cholesky factors, each row over its diagonal.
    lower: [[f64x4; UNKNOWNS]; UNKNOWNS],
    reciprocal: [f64x4; UNKNOWNS],
    /// logs of share and density at the mean
    log_peak: f64x4,
}

impl Mixture {
    /// Most parts of a mixture.
    pub(super) const MOST_PARTS: usize = 4;

    /// A mixture of up to four parts with their shares.
    pub(super) fn new(parts: &[(f64, Gaussian)]) -> Self {
        let lanes = |of_part: &dyn Fn(&Gaussian) -> f64| {
            let lane = |lane: usize| {
                parts
                    .get(lane)
                    .map_or(0.0, |(_, gaussian)| of_part(gaussian))
            };
            f64x4::from(std::array::from_fn(lane))
        };
        let log_peak = |lane: usize| {
            parts
                .get(lane)
                .map_or(f64::NEG_INFINITY, |(share, gaussian)| {
                    share.ln() + gaussian.log_peak
                })
        };
        Self {
            mean: std::array::from_fn(|row| lanes(&|part| part.mean[row])),
            lower: std::array::from_fn(|row| {
                std::array::from_fn(|column| {
                    lanes(&|part| part.lower[row][column] * part.reciprocal[row])
                })
            }),
            reciprocal: std::array::from_fn(|row| lanes(&|part| part.reciprocal[row])),
            log_peak: std::array::from_fn(log_peak).into(),
        }
    }

    /// Density of the mixture at a point.
    #[cfg(test)]
    pub(super) fn density(&self, point: &[f64; UNKNOWNS]) -> f64 {
        exp_each(&self.log_densities(point)).iter().sum()
    }

    /// Densities of two mixtures.
    pub(super) fn densities(both: [&Self; 2], point: &[f64; UNKNOWNS]) -> [f64; 2] {
        let logs = both.map(|mixture| mixture.log_densities(point));
        let [first, second] = logs;
        let densities = exp_each(&[
            first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3],
        ]);
        let (first, second) = densities.split_at(Self::MOST_PARTS);
        [first.iter().sum(), second.iter().sum()]
    }

    /// log density of each part, times its share.
    #[expect(
        clippy::needless_range_loop,
        reason = "loops over indices of fixed length are unrolled; iterators are not"
    )]
    fn log_densities(&self, point: &[f64; UNKNOWNS]) -> [f64; Self::MOST_PARTS] {
        let mut solved = [f64x4::ZERO; UNKNOWNS];
        let mut distance = f64x4::ZERO;
        // Rows beyond the free ones are zero.
        for row in 0..UNKNOWNS {
            let mut rest = (f64x4::splat(point[row]) - self.mean[row]) * self.reciprocal[row];
            for column in 0..row {
                rest -= self.lower[row][column] * solved[column];
            }
            solved[row] = rest;
            distance += rest * rest;
        }
        (self.log_peak - distance * 0.5).to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(covariance: &[f64]) -> Gaussian {
        let free = covariance.len().isqrt();
        Gaussian::new(
            &DVector::from_element(free, 0.5),
            &DMatrix::from_row_slice(free, free, covariance),
        )
    }

    #[test]
    fn what_is_widened_is_no_wider_than_the_prior_unless_it_was() {
        let prior = gaussian(&[2.0, 1.0, 1.0, 2.0]);
        // Along (1, 1) and (1, −1) the prior has variances of 3 and 1, and this one 0.3 and 0.9.
        let [twice, thrice] = gaussian(&[0.6, -0.3, -0.3, 0.6]).widened([2.0, 3.0], &prior);
        let along = |gaussian: &Gaussian, sign: f64| {
            let covariance = gaussian.covariance();
            covariance[0][0] + sign * covariance[0][1]
        };
        for (gaussian, sign, expected) in [
            (&twice, 1.0, 1.2),
            (&twice, -1.0, 1.0),
            (&thrice, 1.0, 2.7),
            (&thrice, -1.0, 1.0),
        ] {
            assert!(
                (along(gaussian, sign) - expected).abs() < 1e-9,
                "{gaussian:?}"
            );
            assert!((gaussian.mean[1] - 0.5).abs() < 1e-12);
        }
        let [wider] = gaussian(&[5.0, 0.0, 0.0, 5.0]).widened([2.0], &prior);
        assert!(
            (along(&wider, 1.0) - 5.0).abs() < 1e-9 && (along(&wider, -1.0) - 5.0).abs() < 1e-9
        );
        let [nothing] = gaussian(&[]).widened([2.0], &gaussian(&[]));
        assert_eq!(nothing.free(), 0);
    }
}
