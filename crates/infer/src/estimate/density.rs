//! Prior and posterior of every quantity as densities on a logarithmic grid, with draws of all quantities together.
//!
//! ```
//! # use unroof_infer::evidence::assumptions::Assumptions;
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! # use unroof_roofline::reference::calibration::Calibration;
//! use unroof_infer::estimate::density::Densities;
//! use unroof_infer::joint::samples;
//!
//! # let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! # (cell.input, cell.output) = ("3".parse().ok(), "15".parse().ok());
//! # let (sheet, assumptions) = (PriceSheet::new("acme", "m-1", vec![cell]), Assumptions::default());
//! let samples = samples(&[sheet], &assumptions, Calibration::shipped(), &Default::default())?;
//! let densities = Densities::of(&samples);
//! assert_eq!(densities.quantities[0].quantity, "active_parameters");
//! assert_eq!(densities.draws.values[0].len(), densities.quantities.len());
//! # Ok::<(), unroof_base::input::cancel::Cancelled>(())
//! ```

use serde::Serialize;
use utoipa::ToSchema;

use super::quantities::JointQuantity;
use super::samples::{PriorAndPosterior, Samples};
use unroof_base::units::count_f64;

/// Points of the grid of a quantity.
pub const GRID: usize = 64;
/// Joint draws that are shown.
pub const SHOWN_DRAWS: u32 = 500;
/// Bins on which the draws are counted before they are smoothed.
const BINS: usize = 512;
/// Probability left out at either end of the grid.
const TAIL: f64 = 0.000_5;
/// Half of the least width of a grid, as a logarithm: a stated value is the same in all draws.
const LEAST_REACH: f64 = 0.05;
/// Width of the kernel over the spread of the draws, at one draw (Silverman 1986, equation 3.31).
const KERNEL_SHARE: f64 = 0.9;

/// Densities of all quantities.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Densities {
    /// Densities of every quantity.
    pub quantities: Vec<QuantityDensity>,
    /// The posterior as draws of equal weight.
    pub draws: JointDraws,
}

/// Prior and posterior of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QuantityDensity {
    /// Name of the quantity.
    #[schema(example = "active_parameters")]
    pub quantity: &'static str,
    /// Name of the quantity in reports.
    #[schema(example = "active parameters")]
    pub label: &'static str,
    /// Unit of the quantity; empty for a plain ratio.
    pub unit: &'static str,
    /// Median of the posterior.
    pub median: f64,
    /// The grid: 64 values, each as many times the one before it.
    pub values: Vec<f64>,
    /// Density of the prior at each value, per unit of the natural logarithm: its integral over ln(value) is 1.
    pub prior: Vec<f64>,
    /// Density of the posterior, likewise.
    pub posterior: Vec<f64>,
}

/// Draws of all quantities together, each of equal weight.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct JointDraws {
    /// Names of the quantities, in the order of the values of a draw.
    pub quantities: Vec<&'static str>,
    /// The draws: a value per quantity.
    pub values: Vec<Vec<f64>>,
}

impl Densities {
    /// The densities of draws.
    #[must_use]
    pub fn of(samples: &PriorAndPosterior) -> Self {
        let density = |quantity| QuantityDensity::of(samples, quantity);
        let draw = |logs: &[f64; JointQuantity::COUNT]| -> Vec<f64> {
            logs.iter().map(|log| short(log.exp())).collect()
        };
        Self {
            quantities: JointQuantity::ALL.into_iter().map(density).collect(),
            draws: JointDraws {
                quantities: JointQuantity::ALL.map(JointQuantity::name).to_vec(),
                values: samples.posterior.even(SHOWN_DRAWS).map(draw).collect(),
            },
        }
    }
}

impl QuantityDensity {
    fn of(samples: &PriorAndPosterior, quantity: JointQuantity) -> Self {
        let prior = Smoothed::of(&samples.prior, quantity);
        let posterior = Smoothed::of(&samples.posterior, quantity);
        let low = prior.low.min(posterior.low);
        let step = (prior.high.max(posterior.high) - low) / (count_f64(GRID) - 1.0);
        let logs: Vec<f64> = (0..GRID)
            .map(|place| low + step * count_f64(place))
            .collect();
        let definition = quantity.definition();
        Self {
            quantity: definition.name,
            label: definition.label,
            unit: definition.unit,
            median: samples.posterior.summary(quantity).median(),
            prior: prior.at(&logs, step),
            posterior: posterior.at(&logs, step),
            values: logs.into_iter().map(|log| short(log.exp())).collect(),
        }
    }
}

/// Weighted draws as a histogram, with the width of the kernel that smooths it.
struct Smoothed {
    /// Middle of the first bin.
    start: f64,
    per_bin: f64,
    bins: Vec<f64>,
    kernel: f64,
    /// Ends that leave out nearly nothing.
    low: f64,
    high: f64,
}

impl Smoothed {
    fn of(samples: &Samples, quantity: JointQuantity) -> Self {
        let logs = samples.logs(quantity).zip(samples.weights());
        let logs = logs.filter(|(_, weight)| **weight > 0.0);
        let (least, greatest) = logs.clone().fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, greatest), (log, _)| (least.min(log), greatest.max(log)),
        );
        let per_bin = ((greatest - least) / (count_f64(BINS) - 1.0)).max(f64::MIN_POSITIVE);
        let mut bins = vec![0.0; BINS];
        for (log, weight) in logs {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between the least and the greatest"
            )]
            let bin = ((log - least) / per_bin).round() as usize;
            bins[bin.min(BINS - 1)] += weight;
        }
        let squares: f64 = samples.weights().iter().map(|weight| weight * weight).sum();
        let spread = samples.summary(quantity).log_sd;
        let mut smoothed = Self {
            start: least,
            per_bin,
            bins,
            kernel: KERNEL_SHARE * spread * squares.powf(0.2),
            low: least,
            high: greatest,
        };
        (smoothed.low, smoothed.high) = smoothed.ends();
        smoothed
    }

    /// The ends between which nearly all of the weight is, with room for the kernel.
    fn ends(&self) -> (f64, f64) {
        let total: f64 = self.bins.iter().sum();
        let mut below = 0.0;
        let (mut low, mut high) = (0, BINS - 1);
        for (place, weight) in self.bins.iter().enumerate() {
            if below <= TAIL * total {
                low = place;
            }
            below += weight;
            if below < (1.0 - TAIL) * total {
                high = place + 1;
            }
        }
        let room = (3.0 * self.kernel).max(LEAST_REACH);
        (
            self.middle(low) - room,
            self.middle(high.min(BINS - 1)) + room,
        )
    }

    fn middle(&self, bin: usize) -> f64 {
        self.start + self.per_bin * count_f64(bin)
    }

    /// The density at points so far apart. The kernel is at least half as wide as the distance, so that no peak is lost
    /// between two points.
    fn at(&self, points: &[f64], step: f64) -> Vec<f64> {
        let kernel = self.kernel.max(0.5 * step);
        let density = |point: &f64| -> f64 {
            let of_bin = |(bin, weight): (usize, &f64)| {
                let away = (point - self.middle(bin)) / kernel;
                weight * (-0.5 * away * away).exp()
            };
            let filled = self.bins.iter().enumerate();
            filled
                .filter(|(_, weight)| **weight > 0.0)
                .map(of_bin)
                .sum()
        };
        let densities: Vec<f64> = points.iter().map(density).collect();
        let integral = step * densities.iter().sum::<f64>();
        let shown = densities
            .into_iter()
            .map(|density| short(density / integral));
        shown.collect()
    }
}

/// Five significant digits, more than a picture shows.
fn short(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::assumptions::Assumptions;
    use crate::joint;
    use unroof_base::input::cancel::CancelToken;
    use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
    use unroof_roofline::reference::calibration::Calibration;

    fn sheet(input: &str, output: &str) -> PriceSheet {
        let mut cell = RateCell::new("standard", ContextTier::default(), None);
        cell.input = Some(input.parse().unwrap());
        cell.output = Some(output.parse().unwrap());
        PriceSheet::new("acme", "m-1", vec![cell])
    }

    fn samples(sheets: &[PriceSheet], assumptions: &Assumptions) -> PriorAndPosterior {
        let wanted = CancelToken::default();
        joint::samples(sheets, assumptions, Calibration::shipped(), &wanted).unwrap()
    }

    /// Integral over the logarithm, by trapezoids; and the value below which half of it is.
    fn integral_and_median(values: &[f64], density: &[f64]) -> (f64, f64) {
        let pieces: Vec<f64> = values
            .windows(2)
            .zip(density.windows(2))
            .map(|(value, density)| (value[1] / value[0]).ln() * (density[0] + density[1]) / 2.0)
            .collect();
        let integral: f64 = pieces.iter().sum();
        let mut below = 0.0;
        for (piece, value) in pieces.iter().zip(values.windows(2)) {
            if below + piece >= integral / 2.0 {
                let within = (integral / 2.0 - below) / piece;
                return (integral, value[0] * (value[1] / value[0]).powf(within));
            }
            below += piece;
        }
        (integral, f64::NAN)
    }

    fn check(densities: &Densities) {
        assert_eq!(densities.quantities.len(), JointQuantity::COUNT);
        for quantity in &densities.quantities {
            let name = quantity.quantity;
            assert_eq!(quantity.values.len(), GRID);
            let (integral, _) = integral_and_median(&quantity.values, &quantity.prior);
            assert!((integral - 1.0).abs() < 0.01, "{name}: {integral}");
            let (integral, median) = integral_and_median(&quantity.values, &quantity.posterior);
            assert!((integral - 1.0).abs() < 0.01, "{name}: {integral}");
            let apart = (median / quantity.median).ln().abs();
            let step = (quantity.values[1] / quantity.values[0]).ln();
            assert!(apart < 0.35 * step, "{name}: {apart} of a step of {step}");
        }
    }

    #[test]
    fn densities_integrate_to_one_and_have_the_medians_of_the_answer() {
        let sheets = [sheet("1", "4")];
        let assumptions = Assumptions::default();
        let densities = Densities::of(&samples(&sheets, &assumptions));
        check(&densities);
        let wanted = CancelToken::default();
        let answer = joint::estimate(&sheets, &[], &assumptions, Calibration::shipped(), &wanted);
        let answer = answer.unwrap();
        for (density, quantity) in densities.quantities.iter().zip(JointQuantity::ALL) {
            let of_answer = answer.quantities.get(quantity).median;
            assert_eq!(density.median.to_bits(), of_answer.to_bits());
        }
    }

    #[test]
    fn without_a_price_the_posterior_is_the_prior() {
        let empty = PriceSheet::new("acme", "m-1", Vec::new());
        let densities = Densities::of(&samples(&[empty], &Assumptions::default()));
        check(&densities);
        for quantity in &densities.quantities {
            assert_eq!(quantity.prior, quantity.posterior);
        }
    }

    #[test]
    fn joint_draws_keep_what_holds_between_quantities() {
        let densities = Densities::of(&samples(&[sheet("1", "4")], &Assumptions::default()));
        let draws = &densities.draws;
        assert_eq!(draws.values.len(), 500);
        let place = |name| {
            let found = draws.quantities.iter().position(|known| *known == name);
            found.unwrap()
        };
        let (active, total) = (place("active_parameters"), place("total_parameters"));
        let fits = |draw: &&Vec<f64>| draw[active] <= draw[total] * 1.001;
        assert_eq!(draws.values.iter().filter(fits).count(), 500);
        let mut sizes: Vec<f64> = draws.values.iter().map(|draw| draw[active]).collect();
        sizes.sort_by(f64::total_cmp);
        let apart = (sizes[250] / densities.quantities[0].median).ln();
        assert!(apart.abs() < 0.15, "{apart}");
    }
}
