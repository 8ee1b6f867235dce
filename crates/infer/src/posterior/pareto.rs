//! Pareto k̂: the tail of the importance weights.

use unroof_base::units::count_f64;

/// Shape k̂ of a generalized Pareto distribution fitted to the largest weights, by the estimator of Zhang and Stephens
/// (2009) as Pareto-smoothed importance sampling uses it (Vehtari et al., 2024); above 0.7 the draws are not to be
/// trusted. Zero where the weights are all alike.
pub(super) fn pareto_k(weights: &[f64]) -> f64 {
    let count = count_f64(weights.len());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction of the draws"
    )]
    let tail_length = (0.2 * count).min(3.0 * count.sqrt()) as usize;
    if tail_length < 5 {
        return 0.0;
    }
    let mut sorted = weights.to_vec();
    let cut = sorted.len() - tail_length - 1;
    sorted.select_nth_unstable_by(cut, f64::total_cmp);
    let threshold = sorted[cut];
    let mut tail: Vec<f64> = sorted[cut + 1..]
        .iter()
        .map(|weight| weight - threshold)
        .collect();
    tail.sort_unstable_by(f64::total_cmp);
    if tail[tail.len() - 1] <= threshold.abs() * 1e-12 || tail[tail.len() / 4] <= 0.0 {
        return 0.0;
    }
    generalized_pareto_shape(&tail)
}

/// Posterior mean of the shape given ascending exceedances, drawn a little towards 0.5.
fn generalized_pareto_shape(tail: &[f64]) -> f64 {
    const PRIOR: f64 = 3.0;
    const PRIOR_WEIGHT: f64 = 10.0;
    let length = count_f64(tail.len());
    let grid = 30 + tail.len().isqrt();
    let quartile = tail[tail.len() / 4];
    let largest = tail[tail.len() - 1];
    let shape_at = |theta: f64| {
        tail.iter()
            .map(|excess| (-theta * excess).ln_1p())
            .sum::<f64>()
            / length
    };
    let candidates: Vec<(f64, f64)> = (1..=grid)
        .map(|index| {
            let step = 1.0 - (count_f64(grid) / (count_f64(index) - 0.5)).sqrt();
            let theta = 1.0 / largest + step / PRIOR / quartile;
            let shape = shape_at(theta);
            (theta, length * ((-theta / shape).ln() - shape - 1.0))
        })
        .collect();
    let greatest = candidates
        .iter()
        .map(|candidate| candidate.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let (mut weighted, mut weights) = (0.0, 0.0);
    for (theta, log_weight) in candidates {
        let weight = (log_weight - greatest).exp();
        weighted += weight * theta;
        weights += weight;
    }
    let shape = shape_at(weighted / weights);
    (length * shape + PRIOR_WEIGHT * 0.5) / (length + PRIOR_WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_pareto_tail_is_found() {
        for shape in [0.2_f64, 0.5, 0.9] {
            let weights: Vec<f64> = (0..20_000)
                .map(|index| (1.0 - (f64::from(index) + 0.5) / 20_000.0).powf(-shape))
                .collect();
            let found = pareto_k(&weights);
            assert!((found - shape).abs() < 0.05, "{shape}: {found}");
        }
    }

    #[test]
    fn equal_weights_have_no_tail() {
        assert!(pareto_k(&[1.0; 1000]).abs() < 1e-12);
    }
}
