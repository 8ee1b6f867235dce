//! Weights of draws: their sums, and how many draws they are worth.

use unroof_base::units::count_f64;
use unroof_base::units::elementary::{exp, ln};

/// log of the sum of exponentials.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + ln(logs.iter().map(|log| exp(log - greatest)).sum::<f64>())
}

/// Softmax; uniform if all exponentials are 0.
pub fn softmax(logs: &[f64]) -> Vec<f64> {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return vec![1.0 / count_f64(logs.len()); logs.len()];
    }
    let mut weights: Vec<f64> = logs.iter().map(|log| exp(log - greatest)).collect();
    normalize(&mut weights);
    weights
}

pub(super) fn normalize(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    for weight in weights {
        *weight /= total;
    }
}

/// Kish's effective sample size: (Σw)²/Σw².
pub(crate) fn effective_sample_size(weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    total * total / squares
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count"
)]
pub(super) fn whole(count: f64) -> usize {
    count.round() as usize
}

pub(super) fn share_of(count: usize, share: f64) -> usize {
    whole(count_f64(count) * share)
}
