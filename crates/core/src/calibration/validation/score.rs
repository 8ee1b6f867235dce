//! Scores of an estimate: errors, log scores, coverage, against the prior.

use serde::Serialize;

use crate::calibration::prices::count;

/// A distribution of logarithms as sorted, weighted points.
#[derive(Debug, Clone)]
pub(super) struct Distribution {
    /// Points in ascending order, with weights that add up to 1.
    points: Vec<(f64, f64)>,
}

impl Distribution {
    pub(super) fn new(logs: impl Iterator<Item = f64>, weights: &[f64]) -> Self {
        let mut points: Vec<(f64, f64)> = logs
            .zip(weights.iter().copied())
            .filter(|(_, weight)| *weight > 0.0)
            .collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        Self { points }
    }

    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let mut below = 0.0;
        for (log, weight) in &self.points {
            below += weight;
            if below >= probability {
                return *log;
            }
        }
        self.points.last().map_or(f64::NAN, |last| last.0)
    }

    /// Probability below a value.
    pub(super) fn below(&self, value: f64) -> f64 {
        self.points
            .iter()
            .take_while(|(log, _)| *log < value)
            .map(|(_, weight)| weight)
            .sum()
    }

    /// log density at a value, by a normal kernel of Silverman's width.
    pub(super) fn log_density(&self, value: f64) -> f64 {
        let mean: f64 = self.points.iter().map(|(log, weight)| log * weight).sum();
        let variance: f64 = self
            .points
            .iter()
            .map(|(log, weight)| weight * (log - mean).powi(2))
            .sum();
        let squares: f64 = self.points.iter().map(|(_, weight)| weight * weight).sum();
        let width = 0.9 * variance.sqrt() * squares.powf(0.2);
        let kernel = |log: f64| (-0.5 * ((value - log) / width).powi(2)).exp();
        let density: f64 = self
            .points
            .iter()
            .map(|(log, weight)| weight * kernel(*log))
            .sum();
        (density / (width * (2.0 * std::f64::consts::PI).sqrt())).ln()
    }

    /// Continuous ranked probability score: mean distance to the truth less half the mean distance between draws.
    pub(super) fn crps(&self, truth: f64) -> f64 {
        let distance: f64 = self
            .points
            .iter()
            .map(|(log, weight)| weight * (log - truth).abs())
            .sum();
        let (mut below, mut between) = (0.0, 0.0);
        for (log, weight) in &self.points {
            between += weight * log * (2.0 * below + weight - 1.0);
            below += weight;
        }
        distance - between
    }
}

/// One model's estimate of one quantity against the truth.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The published value, as a plain number.
    pub truth: f64,
    /// Median of the estimate.
    pub median: f64,
    /// Ends of the 90 % interval.
    pub low_90: f64,
    /// Ends of the 90 % interval.
    pub high_90: f64,
    /// log density of the truth under the estimate.
    pub log_score: f64,
    /// Log score of the estimate less that of the prior.
    pub log_score_gain: f64,
    /// Reading a textbook would take, where it is defined.
    pub textbook: Option<f64>,
    #[serde(skip)]
    pub(super) scores: Scores,
}

impl Outcome {
    pub(super) fn new(
        truth: f64,
        estimate: &Distribution,
        textbook: Option<f64>,
        scores: Scores,
    ) -> Self {
        Self {
            truth: truth.exp(),
            median: estimate.quantile(0.5).exp(),
            low_90: estimate.quantile(0.05).exp(),
            high_90: estimate.quantile(0.95).exp(),
            log_score: scores.log_score,
            log_score_gain: scores.gain,
            textbook: textbook.map(f64::exp),
            scores,
        }
    }
}

/// Scores that are averaged over models; natural logarithms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scores {
    pub(super) error: f64,
    pub(super) prior_error: f64,
    pub(super) textbook_error: Option<f64>,
    pub(super) ridge_error: Option<f64>,
    pub(super) log_score: f64,
    pub(super) gain: f64,
    pub(super) crps: f64,
    pub(super) prior_crps: f64,
    /// Probability below the truth.
    pub(super) rank: f64,
    pub(super) width_90: f64,
}

impl Scores {
    pub(super) fn new(truth: f64, estimate: &Distribution, prior: &Distribution) -> Self {
        Self {
            error: estimate.quantile(0.5) - truth,
            prior_error: prior.quantile(0.5) - truth,
            textbook_error: None,
            ridge_error: None,
            log_score: estimate.log_density(truth),
            gain: estimate.log_density(truth) - prior.log_density(truth),
            crps: estimate.crps(truth),
            prior_crps: prior.crps(truth),
            rank: estimate.below(truth),
            width_90: estimate.quantile(0.95) - estimate.quantile(0.05),
        }
    }

    /// Whether the truth lies in the middle of the estimate that holds this share of it.
    fn is_covered(&self, share: f64) -> bool {
        (self.rank - 0.5).abs() <= 0.5 * share
    }
}

/// Score of the estimates of one quantity; errors in natural logarithms, gains in nats per model.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    /// Models with a price and a published truth.
    pub models: usize,
    /// Root mean square error of the median.
    pub rmse_log: f64,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Error of the prior's median.
    pub prior_rmse_log: f64,
    /// Error of the textbook reading, where it has a value.
    pub textbook_rmse_log: Option<f64>,
    /// Error of ridge regression on median prices.
    pub ridge_rmse_log: Option<f64>,
    /// log density of the truth.
    pub log_score: f64,
    /// Log score less that of the prior.
    pub log_score_gain: f64,
    /// Continuous ranked probability score.
    pub crps: f64,
    /// That of the prior.
    pub prior_crps: f64,
    /// Share of truths in the 50 % interval.
    pub coverage_50: f64,
    /// Share of truths in the 90 % interval.
    pub coverage_90: f64,
    /// Mean width of the 90 % interval.
    pub mean_width_90: f64,
    /// 90 % intervals over resampled families.
    pub bootstrap: Bootstrap,
}

/// Range of a score over other families of models: 90 % intervals over resampled families.
#[derive(Debug, Clone, Serialize)]
pub struct Bootstrap {
    /// Of the root mean square error.
    pub rmse_log: [f64; 2],
    /// Of the gain.
    pub log_score_gain: [f64; 2],
    /// Of the coverage.
    pub coverage_50: [f64; 2],
    /// Of the coverage.
    pub coverage_90: [f64; 2],
}

impl Score {
    /// Averages over models, given with their families.
    pub(super) fn new(scores: &[(&str, Scores)]) -> Self {
        let all: Vec<&Scores> = scores.iter().map(|(_, scores)| scores).collect();
        let folds = sorted(all.iter().map(|scores| scores.error.abs().exp()));
        let optional = |part: fn(&Scores) -> Option<f64>| {
            let errors: Vec<f64> = all.iter().filter_map(|scores| part(scores)).collect();
            (!errors.is_empty()).then(|| root_mean_square(errors.into_iter()))
        };
        Self {
            models: all.len(),
            rmse_log: rmse(&all),
            median_fold_error: quantile(&folds, 0.5),
            fold_error_90: quantile(&folds, 0.9),
            prior_rmse_log: root_mean_square(all.iter().map(|scores| scores.prior_error)),
            textbook_rmse_log: optional(|scores| scores.textbook_error),
            ridge_rmse_log: optional(|scores| scores.ridge_error),
            log_score: mean(all.iter().map(|scores| scores.log_score)),
            log_score_gain: gain(&all),
            crps: mean(all.iter().map(|scores| scores.crps)),
            prior_crps: mean(all.iter().map(|scores| scores.prior_crps)),
            coverage_50: coverage(&all, 0.5),
            coverage_90: coverage(&all, 0.9),
            mean_width_90: mean(all.iter().map(|scores| scores.width_90)),
            bootstrap: Bootstrap::new(scores),
        }
    }
}

fn rmse(scores: &[&Scores]) -> f64 {
    root_mean_square(scores.iter().map(|scores| scores.error))
}

fn gain(scores: &[&Scores]) -> f64 {
    mean(scores.iter().map(|scores| scores.gain))
}

fn coverage(scores: &[&Scores], share: f64) -> f64 {
    mean(
        scores
            .iter()
            .map(|scores| f64::from(u8::from(scores.is_covered(share)))),
    )
}

impl Bootstrap {
    const ROUNDS: u32 = 1_000;

    fn new(scores: &[(&str, Scores)]) -> Self {
        let mut families: Vec<&str> = scores.iter().map(|(family, _)| *family).collect();
        families.sort_unstable();
        families.dedup();
        let of_family = |family: &str| -> Vec<&Scores> {
            scores
                .iter()
                .filter(|(own, _)| *own == family)
                .map(|(_, scores)| scores)
                .collect()
        };
        let by_family: Vec<Vec<&Scores>> =
            families.iter().map(|family| of_family(family)).collect();
        let mut samples: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::new());
        for round in 0..Self::ROUNDS {
            let drawn: Vec<&Scores> = (0..by_family.len())
                .flat_map(|place| &by_family[chosen(round, place, by_family.len())])
                .copied()
                .collect();
            let of_round = [
                rmse(&drawn),
                gain(&drawn),
                coverage(&drawn, 0.5),
                coverage(&drawn, 0.9),
            ];
            for (sample, value) in samples.iter_mut().zip(of_round) {
                sample.push(value);
            }
        }
        let [rmse_log, log_score_gain, coverage_50, coverage_90] = samples.map(|sample| {
            let ascending = sorted(sample.into_iter());
            [quantile(&ascending, 0.05), quantile(&ascending, 0.95)]
        });
        Self {
            rmse_log,
            log_score_gain,
            coverage_50,
            coverage_90,
        }
    }
}

/// A family for a place of a resample, by a scrambled low-discrepancy sequence.
fn chosen(round: u32, place: usize, families: usize) -> usize {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    let uniform = f64::from(sobol_burley::sample(round, place % 4, place / 4));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among families"
    )]
    let family = (uniform * count(families)) as usize;
    family.min(families - 1)
}

pub(super) fn root_mean_square(errors: impl Iterator<Item = f64>) -> f64 {
    mean(errors.map(|error| error * error)).sqrt()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, number) = values.fold((0.0, 0), |(sum, number), value| (sum + value, number + 1));
    sum / count(number)
}

pub(super) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut ascending: Vec<f64> = values.collect();
    ascending.sort_by(f64::total_cmp);
    ascending
}

/// A quantile of ascending values, between two of them by proportion.
pub(super) fn quantile(ascending: &[f64], probability: f64) -> f64 {
    let place = probability * count(ascending.len().saturating_sub(1));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(ascending.len().saturating_sub(1));
    let Some((low, high)) = ascending.get(below).zip(ascending.get(above)) else {
        return f64::NAN;
    };
    low + (place - place.floor()) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_distribution_scores_as_its_formulas_say() {
        let points: Vec<f64> = (0..4_000)
            .map(|index| (f64::from(index) + 0.5) / 4_000.0)
            .collect();
        let normal = statrs::distribution::Normal::standard();
        let logs = points
            .iter()
            .map(|point| statrs::distribution::ContinuousCDF::inverse_cdf(&normal, *point));
        let distribution = Distribution::new(logs, &vec![1.0 / 4_000.0; 4_000]);
        // −½·log 2π, a little less for the width of the kernel.
        assert!((distribution.log_density(0.0) + 0.919).abs() < 0.02);
        assert!((distribution.below(1.0) - 0.841).abs() < 0.001);
        assert!((distribution.quantile(0.95) - 1.645).abs() < 0.01);
        // 2φ(0) − 1/√π
        assert!((distribution.crps(0.0) - 0.2337).abs() < 0.001);
    }
}
