//! Costs of a stored model: those of its published architecture, else by prices alone.
//!
//! ```
//! use unroof_infer::estimate::ModelCosts;
//! use unroof_infer::estimate::quantities::JointQuantity;
//!
//! // A row without costs has no margins.
//! let costs = ModelCosts::read("{}", "{}");
//! assert!(costs.margin(10.0, JointQuantity::CostInput).is_none());
//! ```

use serde::Deserialize;

use super::row::StoredRow;
use crate::estimate::judgement::published::Published;
use crate::estimate::margins::ImpliedMargin;
use crate::estimate::quantities::JointQuantity;
use crate::posterior::Interval;

/// Costs of a model for the margins of its offers.
#[derive(Debug, Clone)]
pub struct ModelCosts {
    published: Option<Published>,
    by_prices: StoredRow,
}

impl ModelCosts {
    /// Reads them from the stored estimate of a model and its row.
    #[must_use]
    pub fn read(document: &str, row_values: &str) -> Self {
        #[derive(Deserialize)]
        struct Head {
            published: Option<Published>,
        }
        let head = serde_json::from_str::<Head>(document);
        Self {
            published: head.ok().and_then(|head| head.published),
            by_prices: StoredRow::read(row_values),
        }
    }

    /// Margin of a price in USD per million tokens over a cost.
    #[must_use]
    pub fn margin(&self, price: f64, cost: JointQuantity) -> Option<ImpliedMargin> {
        let (cost, cost_90) = self.of(cost)?;
        ImpliedMargin::new(price, cost, cost_90)
    }

    fn of(&self, quantity: JointQuantity) -> Option<(f64, Interval)> {
        let published = self.published.as_ref();
        let served = published.and_then(|published| published.served(quantity));
        let served = served.map(|cost| (cost.median, cost.interval_90));
        served.or_else(|| self.by_prices.quantity(quantity).span())
    }
}
