//! Weighted draws to medians, intervals and moments.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use unroof_base::units::{count_f64, significant};

/// Ends of an interval that holds a stated share of the probability, as much on either side.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// A distribution of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Mean of the logarithm.
    pub log_mean: f64,
    /// Standard deviation of the logarithm.
    pub log_sd: f64,
    /// The quantiles of [`PROBABILITIES`].
    log_quantiles: [f64; 5],
}

/// Probabilities of the quantiles that are computed.
const PROBABILITIES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Bins over eight standard deviations on either side: one is 1/128 of a standard deviation, and within one the
/// distribution is taken as even.
const BINS: usize = 2048;
const REACH: f64 = 8.0;

/// Moments and quantiles of weighted draws.
#[must_use]
pub fn summarize(logs: impl Iterator<Item = f64> + Clone, weights: &[f64]) -> Summary {
    let total: f64 = weights.iter().sum();
    // Moments around some draw: around zero their difference would be lost in rounding.
    let origin = logs.clone().next().unwrap_or(0.0);
    let (mut first, mut second) = (0.0, 0.0);
    for (log, weight) in logs.clone().zip(weights) {
        let away = log - origin;
        first += weight * away;
        second += weight * away * away;
    }
    let mean_away = first / total;
    let log_mean = origin + mean_away;
    let log_sd = (second / total - mean_away * mean_away).max(0.0).sqrt();
    // A value that is stated is the same in all draws, up to rounding.
    if log_sd < 1e-9 {
        return Summary {
            log_mean,
            log_sd: 0.0,
            log_quantiles: [log_mean; 5],
        };
    }
    let bins = count_f64(BINS);
    let start = log_mean - REACH * log_sd;
    let per_bin = 2.0 * REACH * log_sd / bins;
    let bins_per_unit = 1.0 / per_bin;
    let mut histogram = [0.0; BINS];
    for (log, weight) in logs.zip(weights) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the bins"
        )]
        let bin = ((log - start) * bins_per_unit).clamp(0.0, bins - 1.0) as usize;
        histogram[bin] += weight;
    }
    let mut log_quantiles = [0.0; 5];
    let mut below = 0.0;
    let mut wanted = PROBABILITIES.iter().zip(&mut log_quantiles).peekable();
    for (bin, weight) in histogram.iter().enumerate() {
        while let Some((probability, quantile)) =
            wanted.next_if(|(probability, _)| below + weight >= **probability * total)
        {
            let within = (probability * total - below) / weight;
            *quantile = start + per_bin * (count_f64(bin) + within);
        }
        below += weight;
    }
    Summary {
        log_mean,
        log_sd,
        log_quantiles,
    }
}

impl Summary {
    /// The median, as a plain number.
    #[must_use]
    pub fn median(&self) -> f64 {
        significant(self.log_quantiles[2].exp())
    }

    /// The interval that contains half of the probability.
    #[must_use]
    pub fn interval_50(&self) -> Interval {
        self.interval(1, 3)
    }

    /// The interval that contains 90 % of the probability.
    #[must_use]
    pub fn interval_90(&self) -> Interval {
        self.interval(0, 4)
    }

    fn interval(&self, low: usize, high: usize) -> Interval {
        Interval {
            low: significant(self.log_quantiles[low].exp()),
            high: significant(self.log_quantiles[high].exp()),
        }
    }

    /// Information over a prior in bits: the divergence of two normal distributions with these moments.
    #[must_use]
    pub fn bits_over(&self, prior: &Self) -> f64 {
        if prior.log_sd <= 0.0 || self.log_sd <= 0.0 {
            return 0.0;
        }
        let ratio = self.log_sd / prior.log_sd;
        let moved = (self.log_mean - prior.log_mean) / prior.log_sd;
        let nats = 0.5 * (ratio * ratio + moved * moved - 1.0) - ratio.ln();
        significant(nats.max(0.0) / std::f64::consts::LN_2)
    }
}
