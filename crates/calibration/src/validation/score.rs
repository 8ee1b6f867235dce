//! Scores of an estimate: errors, log scores, coverage, against the prior.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::prices::{count, mean};

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

    /// Weighted mean of a function of the logarithms.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let terms = self.points.iter().map(|(log, weight)| weight * of(*log));
        terms.sum()
    }

    /// log density at a value, by a normal kernel of Silverman's width.
    pub(super) fn log_density(&self, value: f64) -> f64 {
        let mean = self.mean(|log| log);
        let variance = self.mean(|log| (log - mean).powi(2));
        let squares: f64 = self.points.iter().map(|(_, weight)| weight * weight).sum();
        let width = 0.9 * variance.sqrt() * squares.powf(0.2);
        let density = self.mean(|log| (-0.5 * ((value - log) / width).powi(2)).exp());
        (density / (width * (2.0 * std::f64::consts::PI).sqrt())).ln()
    }

    /// Continuous ranked probability score: mean distance to the truth less half the mean distance between draws.
    pub(super) fn crps(&self, truth: f64) -> f64 {
        let distance = self.mean(|log| (log - truth).abs());
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

/// Log score of the prior and gain of the estimate, in nats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exact {
    pub(super) prior_log_score: f64,
    pub(super) gain: f64,
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
    /// Scores of an estimate; kernels give the log score and the gain where they are not known exactly.
    pub(super) fn new(
        truth: f64,
        estimate: &Distribution,
        prior: &Distribution,
        exact: Option<&Exact>,
    ) -> Self {
        let by_kernels = || {
            let prior_log_score = prior.log_density(truth);
            Exact {
                prior_log_score,
                gain: estimate.log_density(truth) - prior_log_score,
            }
        };
        let Exact {
            prior_log_score,
            gain,
        } = exact.copied().unwrap_or_else(by_kernels);
        Self {
            error: estimate.quantile(0.5) - truth,
            prior_error: prior.quantile(0.5) - truth,
            textbook_error: None,
            ridge_error: None,
            log_score: prior_log_score + gain,
            gain,
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
    /// Continuous ranked probability score of the prior.
    pub prior_crps: f64,
    /// Share of truths in the 50 % interval.
    pub coverage_50: f64,
    /// Share of truths in the 90 % interval.
    pub coverage_90: f64,
    /// Mean width of the 90 % interval.
    pub mean_width_90: f64,
    /// Intervals over resampled families or vendors.
    pub bootstrap: Bootstrap,
}

/// Range of a score over other models: 90 % intervals over resampled families, or over resampled vendors.
#[derive(Debug, Clone, Serialize)]
pub struct Bootstrap {
    /// Interval of the root mean square error.
    pub rmse_log: [f64; 2],
    /// Interval of the gain in log score.
    pub log_score_gain: [f64; 2],
    /// 80 % interval of the gain in log score.
    pub log_score_gain_80: [f64; 2],
    /// Interval of the coverage of 50 % intervals.
    pub coverage_50: [f64; 2],
    /// Interval of the coverage of 90 % intervals.
    pub coverage_90: [f64; 2],
}

/// An estimate that counts in a score: with the family or vendor by which it is resampled, and its share of its model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) group: &'a str,
    pub(super) weight: f64,
    pub(super) scores: &'a Scores,
}

impl Score {
    /// Averages over models; none without an estimate.
    pub(super) fn new(counted: &[Counted<'_>]) -> Option<Self> {
        if counted.is_empty() {
            return None;
        }
        let folds = ascending(counted, |scores| scores.error.abs().exp());
        let optional = |part: fn(&Scores) -> Option<f64>| {
            let errors = counted
                .iter()
                .filter_map(|counted| Some((part(counted.scores)?, counted.weight)));
            let errors: Vec<(f64, f64)> = errors.collect();
            (!errors.is_empty()).then(|| weighted_root_mean_square(&errors))
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "weights of a model add up to 1"
        )]
        let models = counted.iter().map(|of| of.weight).sum::<f64>().round() as usize;
        Some(Self {
            models,
            rmse_log: rmse(counted),
            median_fold_error: weighted_quantile(&folds, 0.5),
            fold_error_90: weighted_quantile(&folds, 0.9),
            prior_rmse_log: mean_of(counted, |scores| scores.prior_error.powi(2)).sqrt(),
            textbook_rmse_log: optional(|scores| scores.textbook_error),
            ridge_rmse_log: optional(|scores| scores.ridge_error),
            log_score: mean_of(counted, |scores| scores.log_score),
            log_score_gain: gain(counted),
            crps: mean_of(counted, |scores| scores.crps),
            prior_crps: mean_of(counted, |scores| scores.prior_crps),
            coverage_50: coverage(counted, 0.5),
            coverage_90: coverage(counted, 0.9),
            mean_width_90: mean_of(counted, |scores| scores.width_90),
            bootstrap: Bootstrap::new(counted),
        })
    }
}

fn mean_of(counted: &[Counted<'_>], part: impl Fn(&Scores) -> f64) -> f64 {
    let (sum, weight) = counted.iter().fold((0.0, 0.0), |(sum, weight), counted| {
        (
            sum + counted.weight * part(counted.scores),
            weight + counted.weight,
        )
    });
    sum / weight
}

fn ascending(counted: &[Counted<'_>], part: impl Fn(&Scores) -> f64) -> Vec<(f64, f64)> {
    let values = counted
        .iter()
        .map(|counted| (part(counted.scores), counted.weight));
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_by(|left, right| left.0.total_cmp(&right.0));
    values
}

fn rmse(counted: &[Counted<'_>]) -> f64 {
    mean_of(counted, |scores| scores.error.powi(2)).sqrt()
}

fn gain(counted: &[Counted<'_>]) -> f64 {
    mean_of(counted, |scores| scores.gain)
}

fn coverage(counted: &[Counted<'_>], share: f64) -> f64 {
    mean_of(counted, |scores| {
        f64::from(u8::from(scores.is_covered(share)))
    })
}

fn weighted_root_mean_square(errors: &[(f64, f64)]) -> f64 {
    let squares: f64 = errors
        .iter()
        .map(|(error, weight)| weight * error * error)
        .sum();
    let weight: f64 = errors.iter().map(|(_, weight)| weight).sum();
    (squares / weight).sqrt()
}

impl Bootstrap {
    const ROUNDS: u32 = 1_000;

    fn new(counted: &[Counted<'_>]) -> Self {
        let mut by_group: BTreeMap<&str, Vec<Counted<'_>>> = BTreeMap::new();
        for counted in counted {
            by_group.entry(counted.group).or_default().push(*counted);
        }
        let by_group: Vec<Vec<Counted<'_>>> = by_group.into_values().collect();
        let mut samples: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::new());
        for round in 0..Self::ROUNDS {
            let drawn: Vec<Counted<'_>> = (0..by_group.len())
                .flat_map(|place| &by_group[chosen(round, place, by_group.len())])
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
        let [rmse_log, gains, coverage_50, coverage_90] =
            samples.map(|sample| sorted(sample.into_iter()));
        let between = |ascending: &[f64], share: f64| {
            let outside = 0.5 * (1.0 - share);
            [outside, 1.0 - outside].map(|probability| quantile(ascending, probability))
        };
        Self {
            rmse_log: between(&rmse_log, 0.9),
            log_score_gain: between(&gains, 0.9),
            log_score_gain_80: between(&gains, 0.8),
            coverage_50: between(&coverage_50, 0.9),
            coverage_90: between(&coverage_90, 0.9),
        }
    }
}

/// A family or vendor for a place of a resample, by a scrambled low-discrepancy sequence.
fn chosen(round: u32, place: usize, groups: usize) -> usize {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    let uniform = f64::from(sobol_burley::sample(round, place % 4, place / 4));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among groups"
    )]
    let group = (uniform * count(groups)) as usize;
    group.min(groups - 1)
}

/// A quantile of ascending, weighted values, each in the middle of its weight, between two of them by proportion.
fn weighted_quantile(ascending: &[(f64, f64)], probability: f64) -> f64 {
    let mut below = 0.0;
    let places: Vec<(f64, f64)> = ascending
        .iter()
        .map(|(value, weight)| {
            below += weight;
            (below - 0.5 * weight, *value)
        })
        .collect();
    let Some((first, last)) = places.first().zip(places.last()) else {
        return f64::NAN;
    };
    let wanted = first.0 + probability * (last.0 - first.0);
    let above = places.partition_point(|(place, _)| *place < wanted);
    let (high, low) = (
        places[above.min(places.len() - 1)],
        places[above.saturating_sub(1)],
    );
    if high.0 <= low.0 {
        return high.1;
    }
    low.1 + (wanted - low.0) / (high.0 - low.0) * (high.1 - low.1)
}

pub(super) fn root_mean_square(errors: impl Iterator<Item = f64>) -> f64 {
    mean(errors.map(|error| error * error)).sqrt()
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

    fn scores(error: f64, gain: f64) -> Scores {
        Scores {
            error,
            prior_error: 1.0,
            textbook_error: None,
            ridge_error: None,
            log_score: gain - 1.0,
            gain,
            crps: 0.5,
            prior_crps: 0.6,
            rank: 0.5,
            width_90: 2.0,
        }
    }

    #[test]
    fn a_model_with_several_hosts_counts_once() {
        let (one, other) = (scores(0.0, 1.0), scores(2.0, 0.0));
        let counted = |group, weight, scores| Counted {
            group,
            weight,
            scores,
        };
        let score = Score::new(&[
            counted("a", 1.0, &one),
            counted("b", 0.5, &other),
            counted("b", 0.5, &other),
        ])
        .expect("there are estimates");
        assert_eq!(score.models, 2);
        assert!((score.log_score_gain - 0.5).abs() < 1e-12);
        assert!((score.rmse_log - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!(Score::new(&[]).is_none());
    }

    #[test]
    fn the_bootstrap_draws_whole_vendors() {
        let (good, bad) = (scores(0.0, 1.0), scores(1.0, -1.0));
        // Ten models of one vendor, one of another: single models hardly matter, the vendors do.
        let mut counted = vec![
            Counted {
                group: "many",
                weight: 1.0,
                scores: &good,
            };
            10
        ];
        counted.push(Counted {
            group: "one",
            weight: 1.0,
            scores: &bad,
        });
        let score = Score::new(&counted).expect("there are estimates");
        assert!((score.bootstrap.log_score_gain[0] + 1.0).abs() < 1e-12);
        assert!((score.bootstrap.log_score_gain_80[1] - 1.0).abs() < 1e-12);
        let [low, high] = score.bootstrap.log_score_gain_80;
        assert!(low <= score.log_score_gain && score.log_score_gain <= high);
    }

    #[test]
    fn a_quantile_of_equal_weights_lies_between_two_values_by_proportion() {
        let values: Vec<(f64, f64)> = [1.0, 2.0, 4.0].map(|value| (value, 1.0)).into();
        for (probability, expected) in
            [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0)]
        {
            assert!((weighted_quantile(&values, probability) - expected).abs() < 1e-12);
        }
    }

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
