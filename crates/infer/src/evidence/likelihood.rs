//! Likelihood terms: the density of what the sheet shows, given the unknowns.
//!
//! ```
//! use unroof_infer::clue::observed;
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::posterior::{Prior, sample_prior};
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! # let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! # (cell.input, cell.output) = ("3".parse().ok(), "15".parse().ok());
//! let (assumptions, calibration) = (Assumptions::default(), Calibration::shipped());
//! let terms = observed(&[PriceSheet::new("acme", "m-1", vec![cell])], &assumptions, calibration);
//! let prior = Prior::new(calibration, &assumptions);
//! // Every draw stays possible: any sheet may be misprinted.
//! let draws = sample_prior(&prior, 16);
//! assert!(draws.iter().all(|unknowns| terms.iter().all(|term| term.likelihood(&unknowns) > 0.0)));
//! ```

use std::sync::LazyLock;

use statrs::distribution::{ContinuousCDF, Gamma, StudentsT};

use super::clue_table::ClueKind;
use super::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_base::units::elementary::{ROUNDER, ln};
use unroof_base::units::number::Number;

/// A likelihood term: one clue as it was observed on the sheets.
pub trait Likelihood: Send + Sync {
    /// Names of its parts, in the order in which they are taken up.
    fn parts(&self) -> &[ClueKind];

    /// Whether its density has a kink where decoding changes from waiting for arithmetic to waiting for memory.
    fn has_regimes(&self) -> bool {
        false
    }

    /// Whether it depends on what a prompt costs.
    fn needs_prompts(&self) -> bool {
        false
    }

    /// Density of all parts; never 0, since any sheet may be misprinted.
    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64;

    /// Log density of one part, given the parts before it.
    fn log_likelihood_of(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        ln(self.likelihood(unknowns))
    }

    /// Probability that this part, given those before it, would lie at least as far out as it does.
    fn tail_probability(&self, part: usize, unknowns: &Unknowns<'_>) -> f64;
}

/// The likelihood terms of a clue; empty if the sheets lack it.
pub type Observed = Vec<Box<dyn Likelihood>>;

/// The terms of a clue.
pub(crate) fn terms<T: Likelihood + 'static>(observed: impl IntoIterator<Item = T>) -> Observed {
    let boxed = observed
        .into_iter()
        .map(|term| Box::new(term) as Box<dyn Likelihood>);
    boxed.collect()
}

/// Share of stated values that do not depend on the machine: misprints, samples, promises.
pub(crate) const MISPRINTS: f64 = 0.01;
/// Log density of a standard normal distribution at its peak, −½·log 2π.
pub(crate) const LOG_NORMAL_PEAK: f64 = -0.918_938_533_204_672_8;

/// Log density of a normal distribution at a residual.
#[must_use]
pub(crate) fn log_normal(residual: f64, sd: f64) -> f64 {
    let standardised = residual / sd;
    LOG_NORMAL_PEAK - sd.ln() - 0.5 * standardised * standardised
}

/// Standard deviations from the middle up to which [`NORMAL`] reaches.
const NORMAL_REACH: u16 = 6;
/// Entries of [`NORMAL`] per standard deviation.
const NORMAL_ENTRIES: u16 = 64;
/// Entries of [`NORMAL`] in all, both ends included.
const ALL_NORMAL_ENTRIES: usize = 2 * NORMAL_REACH as usize * NORMAL_ENTRIES as usize + 1;

/// Probability below, and density, at evenly spaced points of a standard normal distribution: evaluating it for each
/// draw took most of the time of an answer.
static NORMAL: LazyLock<[[f64; 2]; ALL_NORMAL_ENTRIES]> = LazyLock::new(|| {
    std::array::from_fn(|entry| {
        let at = count_f64(entry) / f64::from(NORMAL_ENTRIES) - f64::from(NORMAL_REACH);
        [exact_normal_below(at), log_normal(at, 1.0).exp()]
    })
});

/// Probability of a normal distribution below a number of standard deviations, to a few parts in 10⁷: the first terms of
/// a Taylor series from the nearest point of [`NORMAL`].
#[must_use]
pub(crate) fn normal_below(standardised: f64) -> f64 {
    /// Added to a number of entries, it leaves the index of the nearest one in the last bits of the sum.
    const TO_ENTRY: f64 = ROUNDER + (NORMAL_REACH * NORMAL_ENTRIES) as f64;
    let reach = f64::from(NORMAL_REACH);
    let per_sd = f64::from(NORMAL_ENTRIES);
    if standardised >= reach {
        return 1.0;
    }
    if standardised <= -reach || standardised.is_nan() {
        return exact_normal_below(standardised);
    }
    let shifted = standardised * per_sd + TO_ENTRY;
    let nearest = (shifted - TO_ENTRY) / per_sd;
    let [below, density] = NORMAL[usize::try_from(shifted.to_bits() & 0xffff).unwrap_or_default()];
    let away = standardised - nearest;
    below + density * away * (1.0 - away * (nearest / 2.0 - away * (nearest * nearest - 1.0) / 6.0))
}

fn exact_normal_below(standardised: f64) -> f64 {
    0.5 * statrs::function::erf::erfc(-standardised / std::f64::consts::SQRT_2)
}

/// Density of a Student-t over that at its peak, this many scales away from it.
#[must_use]
pub(crate) fn student_t_over_peak(standardised: f64, freedom: f64) -> f64 {
    let grown = 1.0 + standardised * standardised / freedom;
    if is_two(freedom) {
        1.0 / (grown * grown.sqrt())
    } else {
        grown.power(-0.5 * (freedom + 1.0))
    }
}

/// Probability of a Student-t below a number of scales.
#[must_use]
pub(crate) fn student_t_below(standardised: f64, law: &StudentsT) -> f64 {
    if is_two(law.freedom()) {
        0.5 + 0.5 * standardised / (2.0 + standardised * standardised).sqrt()
    } else {
        law.cdf(law.location() + law.scale() * standardised)
    }
}

/// Whether the degrees of freedom are the two for which a Student-t has closed forms.
fn is_two(freedom: f64) -> bool {
    (freedom - 2.0).abs() < f64::EPSILON
}

/// Probability of a normal residual at least this far out, on either side.
#[must_use]
pub(crate) fn normal_tail(residual: f64, sd: f64) -> f64 {
    2.0 * normal_below(-(residual / sd).abs())
}

/// Variances, relative to its scale, of normal distributions that a Student-t is mixed of, each as probable.
#[must_use]
pub fn student_t_scale_mixture<const COUNT: usize>(degrees_of_freedom: f64) -> [f64; COUNT] {
    let half = 0.5 * degrees_of_freedom;
    let precision = Gamma::new(half, half).expect("degrees of freedom are positive");
    let share = |point| (count_f64(point) + 0.5) / count_f64(COUNT);
    std::array::from_fn(|point| 1.0 / precision.inverse_cdf(share(point)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_the_normal_distribution_to_a_few_parts_in_ten_million() {
        for step in -70_000..=70_000 {
            let standardised = f64::from(step) * 1e-4;
            let exact = exact_normal_below(standardised);
            let away = (normal_below(standardised) / exact - 1.0).abs();
            assert!(away < 5e-7, "{standardised}: {away}");
        }
        assert!(normal_below(f64::NAN).is_nan());
    }
}
