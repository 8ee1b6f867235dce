//! What a clue says about the unknowns: the density of what the sheet shows, were they true.

use statrs::distribution::{ContinuousCDF, Gamma};

use super::unknowns::Unknowns;

/// A likelihood term: one clue as it was observed on the sheets.
pub trait Likelihood: Send + Sync {
    /// Names of its parts, in the order in which they are taken up.
    fn parts(&self) -> &[&'static str];

    /// Whether its density has a kink where decoding changes from waiting for arithmetic to waiting for memory.
    fn has_regimes(&self) -> bool {
        false
    }

    /// Log density of all parts.
    fn log_likelihood(&self, unknowns: &Unknowns<'_>) -> f64;

    /// Log density of one part, given the parts before it.
    fn log_likelihood_of(&self, part: usize, unknowns: &Unknowns<'_>) -> f64;

    /// Probability that this part, given those before it, would lie at least as far out as it does.
    fn tail_probability(&self, part: usize, unknowns: &Unknowns<'_>) -> f64;
}

/// What a clue says of the sheets, where it says anything.
pub type Observed = Vec<Box<dyn Likelihood>>;

/// −½·log 2π
pub(super) const LOG_NORMAL_PEAK: f64 = -0.918_938_533_204_672_8;

/// Log density of a normal distribution at a residual.
#[must_use]
pub(super) fn log_normal(residual: f64, sd: f64) -> f64 {
    let standardised = residual / sd;
    LOG_NORMAL_PEAK - sd.ln() - 0.5 * standardised * standardised
}

/// Probability of a normal distribution below a number of standard deviations.
#[must_use]
pub(super) fn normal_below(standardised: f64) -> f64 {
    0.5 * statrs::function::erf::erfc(-standardised / std::f64::consts::SQRT_2)
}

/// Probability of a normal residual at least this far out, on either side.
#[must_use]
pub(super) fn normal_tail(residual: f64, sd: f64) -> f64 {
    2.0 * normal_below(-(residual / sd).abs())
}

/// Variances, relative to its scale, of normal distributions that a Student-t is mixed of, each as probable.
#[must_use]
pub fn variance_scales<const COUNT: usize>(degrees_of_freedom: f64) -> [f64; COUNT] {
    let half = 0.5 * degrees_of_freedom;
    let precision = Gamma::new(half, half).expect("degrees of freedom are positive");
    #[expect(clippy::cast_precision_loss, reason = "a handful of them")]
    std::array::from_fn(|point| 1.0 / precision.inverse_cdf((point as f64 + 0.5) / COUNT as f64))
}
