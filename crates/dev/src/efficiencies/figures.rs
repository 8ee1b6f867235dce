//! Medians and quantiles, and numbers as pages show them.

/// The value that this share of sorted values lies below.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    let rank = share * sorted.len().saturating_sub(1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies within the list"
    )]
    let index = rank.round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// The value that this share of the weights of sorted values lies below.
pub(super) fn weighted_quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    let reached = sorted.iter().find(|(_, weight)| {
        below += weight;
        below >= share * all
    });
    reached
        .or(sorted.last())
        .map_or(f64::NAN, |(value, _)| *value)
}

/// A number with two decimals, or with none where it is large.
pub(super) fn short(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 { 0 } else { 2 };
    format!("{value:.decimals$}")
}

/// The value in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => f64::midpoint(values[even / 2 - 1], values[even / 2]),
    }
}

/// The mean; NaN of no values.
pub(super) fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    let number = values.len() as f64;
    values.iter().sum::<f64>() / number
}
