//! Published values of open-weight models: what their estimates should be.
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

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::estimate::quantities::JointQuantity;
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_roofline::forward::KvCache;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::reference::{OpenModel, open_models};

/// The open-weight models by their canonical names.
static BY_CANONICAL_NAME: LazyLock<HashMap<String, &'static OpenModel>> = LazyLock::new(|| {
    let mut named = HashMap::new();
    for model in open_models() {
        // Some rows hold several models, and some the base and the tuned one.
        let name = model.name.split([' ', '/']).next().unwrap_or(&model.name);
        let spellings = ["", "-instruct", "-chat"].map(|ending| format!("{name}{ending}"));
        for name in spellings.iter().filter_map(|name| canonical_model(name)) {
            named.entry(name).or_insert(model);
        }
    }
    named
});

/// The open-weight model of a canonical name, `author/model`.
#[must_use]
pub fn open_model_of(canonical_name: &str) -> Option<&'static OpenModel> {
    BY_CANONICAL_NAME.get(canonical_name).copied()
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
