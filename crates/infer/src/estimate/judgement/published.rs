//! Public values of a model beside its estimate from prices: its published architecture, else a size in its name.
//!
//! ```
//! use unroof_infer::estimate::judgement::published::{open_model_of, published_value};
//! use unroof_infer::estimate::quantities::JointQuantity;
//!
//! let model = open_model_of("openai/gpt-oss-120b").unwrap();
//! assert_eq!(published_value(model, JointQuantity::ActiveParameters), Some(model.architecture.active_parameters));
//! // The batch is a choice of the host, and not published with the weights.
//! assert_eq!(published_value(model, JointQuantity::BatchOverOptimal), None);
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::size_in_name::size_in_name;
use crate::estimate::margins::LineMargin;
use crate::estimate::quantities::{JointQuantity, Quantities};
use crate::estimate::samples::Spread;
use crate::evidence::assumptions::Assumptions;
pub use crate::evidence::open_name::open_model_of;
use crate::evidence::quantity::Quantity;
use unroof_base::units::significant;
use unroof_roofline::forward::KvCache;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::reference::OpenModel;

/// Quantities that a model's authors publish, and the assumptions that state them.
pub(crate) const SIZES: [(JointQuantity, Quantity); 5] = [
    (JointQuantity::ActiveParameters, Quantity::ActiveParameters),
    (JointQuantity::TotalParameters, Quantity::TotalParameters),
    (JointQuantity::KvBytesRead, Quantity::KvBytesRead),
    (JointQuantity::KvBytesReadSlope, Quantity::KvBytesReadSlope),
    (JointQuantity::KvBytesStored, Quantity::KvBytesStored),
];

/// Quantities that follow from the sizes of the model and the machine.
pub(crate) const OF_MACHINES: [JointQuantity; 4] = [
    JointQuantity::CrossoverContext,
    JointQuantity::LatencyFloor,
    JointQuantity::CostInput,
    JointQuantity::CostOutput,
];

/// Origin of public values, the highest rank first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedBy {
    /// The configuration of published weights.
    Architecture,
    /// A size in the model's name.
    Name,
}

/// Public values of the model, beside what prices alone say. No estimate is made from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Published {
    /// Name of the model that has these values.
    #[schema(example = "DeepSeek-V3.2")]
    pub model: String,
    /// Origin of the values.
    pub by: PublishedBy,
    /// Sources of the values; none of a name.
    pub sources: Vec<String>,
    /// The values by quantity, beside the estimates.
    pub values: BTreeMap<String, PublishedValue>,
    /// Costs and margins of the published architecture; left out of a size in a name, or where a size is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub serving: Option<PublishedServing>,
}

/// Costs and margins of the published architecture, which prices alone do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublishedServing {
    /// Quantities that follow from the sizes and the machine, by name.
    pub quantities: BTreeMap<String, Spread>,
    /// Margin of each price line: 1 − cost ÷ price.
    pub margins: Vec<LineMargin>,
}

/// A public value, and how far the estimate from prices is from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublishedValue {
    /// Public value, in the unit of the quantity.
    pub value: f64,
    /// Whether the 90 % interval of the estimate holds it.
    pub within_90: bool,
    /// Median of the estimate over the public value.
    pub estimate_over_value: f64,
}

impl PublishedBy {
    /// Label of the origin on pages.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Architecture => "open weights",
            Self::Name => "size in the name",
        }
    }
}

impl Published {
    /// The public value of a quantity.
    #[must_use]
    pub fn value(&self, quantity: JointQuantity) -> Option<&PublishedValue> {
        self.values.get(quantity.name())
    }

    /// A quantity of the published architecture as it is served.
    #[must_use]
    pub fn served(&self, quantity: JointQuantity) -> Option<Spread> {
        let serving = self.serving.as_ref()?;
        serving.quantities.get(quantity.name()).copied()
    }

    /// Public values of a model beside its estimates; none where nothing is public. A quantity whose value lies outside of its
    /// 90 % interval is not identified. One that is stated has no test.
    pub(crate) fn beside(
        name: &str,
        assumptions: &Assumptions,
        quantities: &mut Quantities,
    ) -> Option<Self> {
        let open = open_model_of(name);
        let mut values = BTreeMap::new();
        for (quantity, size) in SIZES {
            let Some(value) = public_value(name, quantity) else {
                continue;
            };
            if assumptions.states(size) {
                continue;
            }
            let estimate = quantities.get(quantity);
            let interval = estimate.interval_90;
            let public = PublishedValue {
                value: significant(value),
                within_90: (interval.low..=interval.high).contains(&value),
                estimate_over_value: significant(estimate.median / value),
            };
            if !public.within_90 {
                quantities.contradict(quantity, value);
            }
            values.insert(quantity.name().to_owned(), public);
        }
        let active = JointQuantity::ActiveParameters;
        if let Some(total) = public_value(name, JointQuantity::TotalParameters) {
            // No part of a model is larger than the whole.
            if quantities.get(active).interval_90.low > total {
                quantities.contradict(active, total);
            }
        }
        (!values.is_empty()).then(|| Self {
            model: open.map_or(name, |open| &open.name).to_owned(),
            by: if open.is_some() {
                PublishedBy::Architecture
            } else {
                PublishedBy::Name
            },
            sources: open.map_or_else(Vec::new, |open| open.sources.clone()),
            values,
            serving: None,
        })
    }
}

/// Whether a published architecture says more about a quantity than prices do: a size, or what follows from sizes and machine.
#[must_use]
pub fn follows_from_architecture(quantity: JointQuantity) -> bool {
    let is_size = SIZES.iter().any(|(size, _)| *size == quantity);
    is_size || OF_MACHINES.contains(&quantity)
}

/// The public value of a quantity of a model by its name: that of its published architecture, else the size in the name.
#[must_use]
pub fn public_value(name: &str, quantity: JointQuantity) -> Option<f64> {
    match (open_model_of(name), quantity) {
        (Some(open), _) => published_value(open, quantity),
        (None, JointQuantity::TotalParameters) => size_in_name(name).total,
        (None, JointQuantity::ActiveParameters) => size_in_name(name).active,
        (None, _) => None,
    }
}

/// The published value of a quantity; none of those that the machine and the load make, and none of a cache whose
/// attention is assumed from the model's class.
#[must_use]
pub fn published_value(model: &OpenModel, quantity: JointQuantity) -> Option<f64> {
    let architecture = &model.architecture;
    let cache = KvCache::new(architecture);
    let is_of_cache = !matches!(
        quantity,
        JointQuantity::ActiveParameters | JointQuantity::TotalParameters
    );
    if is_of_cache && model.is_estimate() {
        return None;
    }
    let value = match quantity {
        JointQuantity::ActiveParameters => architecture.active_parameters,
        JointQuantity::TotalParameters => architecture.total_parameters,
        JointQuantity::KvBytesRead => cache.read_per_token_at(READ_CONTEXT_TOKENS, 1.0).0,
        JointQuantity::KvBytesReadSlope => cache.read_per_token(1.0).0,
        JointQuantity::KvBytesStored => cache.stored_per_token(1.0).0,
        _ => return None,
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_model_is_found_by_its_canonical_name_and_has_its_published_size() {
        let model = open_model_of("openai/gpt-oss-120b").unwrap();
        let value = |quantity| published_value(model, quantity);
        assert_eq!(
            value(JointQuantity::TotalParameters),
            Some(model.architecture.total_parameters)
        );
        assert!(value(JointQuantity::KvBytesStored).is_some_and(|bytes| bytes > 1e3));
        assert_eq!(value(JointQuantity::CostInput), None);
        assert!(open_model_of("openai/gpt-5.4").is_none());
    }
}
