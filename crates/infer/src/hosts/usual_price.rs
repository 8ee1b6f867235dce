//! The price that sellers of open models usually ask for tokens of some cost.
//!
//! ```
//! use unroof_infer::hosts::usual_price::{SellerKind, usual_prices};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let law = &Calibration::shipped().cost_law;
//! let [input, output] = usual_prices(law, [0.1, 0.4], 0.0, SellerKind::Host);
//! assert!(input.interval_90.low < input.median && input.median < input.interval_90.high);
//! // A token that costs more is sold for more.
//! let [_, dear] = usual_prices(law, [1.0, 4.0], 0.0, SellerKind::Host);
//! assert!(dear.median > output.median);
//! ```

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use utoipa::ToSchema;

use crate::posterior::Interval;
use unroof_base::units::significant;
use unroof_roofline::reference::calibration::CostLaw;

/// Kind of a seller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SellerKind {
    /// The vendor that made the model.
    Author,
    /// A host of a model of others.
    Host,
}

impl SellerKind {
    /// Name of its sellers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Author => "authors of open models",
            Self::Host => "hosts of open models",
        }
    }
}

/// The price that is usual for a cost, by the law of prices over costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsualPrice {
    /// Median price, USD per million tokens.
    pub median: f64,
    /// Nine of ten prices are within it.
    pub interval_90: Interval,
    /// Probability that a price is below the cost.
    pub below_cost_probability: f64,
}

/// Prices of input and output tokens that are usual for the median costs of both, in USD per million tokens, of a model released some
/// years from the mean of the calibration.
///
/// log price = intercept + a·log `c_in` + b·log `c_out` + d·years \[+ author\], Student-t.
#[must_use]
pub fn usual_prices(
    law: &CostLaw,
    costs: [f64; 2],
    years: f64,
    kind: SellerKind,
) -> [UsualPrice; 2] {
    let [input, output] = costs.map(f64::ln);
    std::array::from_fn(|line| {
        let base = law.intercept[line]
            + law.input_cost[line] * input
            + law.output_cost[line] * output
            + law.per_year[line] * years;
        let (log_median, scale) = match kind {
            SellerKind::Host => (base, law.host_scale[line]),
            SellerKind::Author => (
                base + law.author[line] + law.author_per_year[line] * years,
                law.author_scale[line],
            ),
        };
        let prices = StudentsT::new(log_median, scale, law.degrees_of_freedom)
            .expect("scales and degrees of freedom of a calibration are positive");
        let at = |probability: f64| significant(prices.inverse_cdf(probability).exp());
        UsualPrice {
            median: significant(log_median.exp()),
            interval_90: Interval {
                low: at(0.05),
                high: at(0.95),
            },
            below_cost_probability: significant(prices.cdf(costs[line].ln())),
        }
    })
}
