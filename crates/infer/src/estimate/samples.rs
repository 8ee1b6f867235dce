//! The draws of a joint estimate with every quantity computed, for densities and comparisons.
//!
//! ```
//! # use unroof_infer::evidence::assumptions::Assumptions;
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! # use unroof_roofline::reference::calibration::Calibration;
//! use unroof_infer::estimate::quantities::JointQuantity;
//! use unroof_infer::joint::samples;
//!
//! let of_prices = |input: &str, output: &str| {
//! #     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! #     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//! #     let sheets = [PriceSheet::new("acme", "m-1", vec![cell])];
//!     let drawn = samples(&sheets, &Assumptions::default(), Calibration::shipped(), &Default::default());
//!     drawn.unwrap().posterior.sorted(JointQuantity::ActiveParameters)
//! };
//! // A model of thirty times the price is probably larger.
//! assert!(of_prices("15", "75").probability_of_more_than(&of_prices("0.5", "2.5")) > 0.8);
//! ```

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::quantities::JointQuantity;
use crate::posterior::{Draws, Interval, Summary, summarize};

/// Weighted draws of all quantities together.
#[derive(Debug, Clone)]
pub struct Samples {
    /// Logarithms of the quantities, draw by draw, in the order of [`JointQuantity::ALL`].
    logs: Vec<[f64; JointQuantity::COUNT]>,
    weights: Vec<f64>,
}

/// Median and 90 % interval of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Spread {
    /// Median of the estimate.
    pub median: f64,
    /// Interval that contains the value with a probability of 90 %.
    pub interval_90: Interval,
}

/// The draws before and after the sheets are read.
#[derive(Debug, Clone)]
pub struct PriorAndPosterior {
    /// Draws from the prior.
    pub prior: Samples,
    /// Draws from the posterior.
    pub posterior: Samples,
}

impl Samples {
    /// The quantities of draws.
    #[must_use]
    pub fn of(draws: &Draws<'_>) -> Self {
        let values = |unknowns| JointQuantity::ALL.map(|quantity| quantity.log_value(&unknowns));
        Self {
            logs: draws.iter().map(values).collect(),
            weights: draws.weights().to_vec(),
        }
    }

    /// Logarithms of a quantity, draw by draw.
    pub fn logs(&self, quantity: JointQuantity) -> impl Iterator<Item = f64> + Clone {
        self.logs.iter().map(move |logs| logs[quantity as usize])
    }

    /// Weights, in the order of the draws; they add up to 1.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Moments and quantiles of a quantity.
    #[must_use]
    pub fn summary(&self, quantity: JointQuantity) -> Summary {
        summarize(self.logs(quantity), &self.weights)
    }

    /// Median and 90 % interval of a quantity.
    #[must_use]
    pub fn spread(&self, quantity: JointQuantity) -> Spread {
        let summary = self.summary(quantity);
        Spread {
            median: summary.median(),
            interval_90: summary.interval_90(),
        }
    }

    /// A quantity in its order.
    #[must_use]
    pub fn sorted(&self, quantity: JointQuantity) -> Sorted {
        let values = self.logs(quantity).zip(self.weights.iter().copied());
        let mut values: Vec<(f64, f64)> = values.filter(|(_, weight)| *weight > 0.0).collect();
        values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Sorted(values)
    }

    /// Draws of equal weight: one for each of so many equal parts of the weight, always the same ones.
    pub fn even(&self, count: u32) -> impl Iterator<Item = &[f64; JointQuantity::COUNT]> {
        let total: f64 = self.weights.iter().sum();
        let per_draw = total / f64::from(count);
        let mut draws = self.logs.iter().zip(&self.weights);
        let mut current = draws.next();
        let mut passed = 0.0;
        (0..count).map_while(move |number| {
            let wanted = (f64::from(number) + 0.5) * per_draw;
            while let Some((_, weight)) = current
                && passed + weight < wanted
            {
                let Some(next) = draws.next() else { break };
                passed += weight;
                current = Some(next);
            }
            current.map(|(logs, _)| logs)
        })
    }
}

/// The values of one quantity with their weights, from the least to the greatest.
#[derive(Debug, Clone)]
pub struct Sorted(Vec<(f64, f64)>);

impl Sorted {
    /// Probability that a value of these is larger than an independent one of others: exact for these weights; equal values
    /// count half.
    #[must_use]
    pub fn probability_of_more_than(&self, other: &Self) -> f64 {
        let (mut below, mut place, mut more) = (0.0, 0, 0.0);
        // A stated quantity has one value in all draws: its draws are counted once.
        for same in self
            .0
            .chunk_by(|(one, _), (next, _)| one.total_cmp(next).is_eq())
        {
            let value = same[0].0;
            while let Some((lower, weight)) = other.0.get(place)
                && *lower < value
            {
                below += weight;
                place += 1;
            }
            let equal = other.0[place..]
                .iter()
                .take_while(|(other, _)| other.total_cmp(&value).is_eq());
            let equal: f64 = equal.map(|(_, weight)| weight).sum();
            let weight: f64 = same.iter().map(|(_, weight)| weight).sum();
            more += weight * (below + 0.5 * equal);
        }
        (more / (self.total() * other.total())).clamp(0.0, 1.0)
    }

    fn total(&self) -> f64 {
        self.0.iter().map(|(_, weight)| weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[(f64, f64)]) -> Samples {
        Samples {
            logs: values
                .iter()
                .map(|(value, _)| [*value; JointQuantity::COUNT])
                .collect(),
            weights: values.iter().map(|(_, weight)| *weight).collect(),
        }
    }

    const SIZE: JointQuantity = JointQuantity::ActiveParameters;

    #[test]
    fn the_probability_of_more_is_the_sum_over_all_pairs() {
        let one = samples(&[(1.0, 0.2), (3.0, 0.5), (2.0, 0.3)]);
        let other = samples(&[(2.0, 0.6), (0.5, 0.1), (2.5, 0.3)]);
        // Pairs with more: 1 > 0.5, 3 > all, 2 > 0.5; 2 = 2 counts half.
        let expected = 0.2 * 0.1 + 0.5 + 0.3 * (0.1 + 0.3);
        let (one, other) = (one.sorted(SIZE), other.sorted(SIZE));
        assert!((one.probability_of_more_than(&other) - expected).abs() < 1e-12);
        let back = other.probability_of_more_than(&one);
        assert!((back - (1.0 - expected)).abs() < 1e-12);
        assert!((one.probability_of_more_than(&one) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn draws_of_equal_weight_have_the_shares_of_the_weights() {
        let weighted = samples(&[(1.0, 0.1), (2.0, 0.0), (3.0, 0.6), (4.0, 0.3)]);
        let even: Vec<f64> = weighted.even(10).map(|logs| logs[0]).collect();
        let count = |value: f64| {
            even.iter()
                .filter(|drawn| drawn.total_cmp(&value).is_eq())
                .count()
        };
        assert_eq!(even.len(), 10);
        assert_eq!(
            [count(1.0), count(2.0), count(3.0), count(4.0)],
            [1, 0, 6, 3]
        );
    }
}
