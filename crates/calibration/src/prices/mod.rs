//! Calibration from open-weight models and their prices: the population of models, the law by which prices follow from
//! parameters, the markups of hosts, the relation of context tiers to the cache.

#[cfg(test)]
mod bands;
mod context_tiers;
mod data;
pub(crate) mod fit;
mod population;
pub(crate) mod price_law;

pub use context_tiers::models_by_decision;
pub use data::{DataError, PricedModel, Truth, built_in, read, with_history};
pub use fit::calibrate;

/// Settings that are chosen rather than fitted: by scores from nested cross-validation over families.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Degrees of freedom of a model's deviation from the law of prices.
    pub deviation_degrees_of_freedom: f64,
    /// Degrees of freedom of the sizes of models.
    pub size_degrees_of_freedom: f64,
    /// Spread of the exponent that dense models have beyond the common one.
    pub dense_slope_sd: f64,
    /// Spread of the mean markup of vendors on models of their own, and of its change per year of their release.
    pub author_markup_sd: f64,
    /// Further weight of a decision per seller that copies it; none where every copy counts as a decision.
    pub copy_weight: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deviation_degrees_of_freedom: 2.5,
            size_degrees_of_freedom: 3.0,
            dense_slope_sd: 0.05,
            author_markup_sd: 1.0,
            copy_weight: Some(0.3),
        }
    }
}

/// The number as a count; rows and models are far fewer than 2^52.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
#[must_use]
pub fn count(number: usize) -> f64 {
    number as f64
}

/// Mean of values; 0 of none.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, number) = values.fold((0.0, 0), |(sum, number), value| (sum + value, number + 1));
    sum / count(number).max(1.0)
}

/// Mean and standard deviation of values; 0 of none.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let sd = (squares / (count(values.len()) - 1.0).max(1.0)).sqrt();
    (mean, sd)
}
