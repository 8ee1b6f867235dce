//! The published figures of open-weight models, as quantities of the joint estimate.

use super::quantities::JointQuantity;
use crate::catalog::model_key;
use crate::model::kv_reading::READ_CONTEXT_TOKENS;
use crate::reference::{OpenModel, open_models};
use crate::roofline::KvCache;

/// The open-weight model that a canonical name means; none where its architecture is not public.
#[must_use]
pub fn open_model_of(canonical_model: &str) -> Option<&'static OpenModel> {
    let key = model_key(canonical_model);
    open_models()
        .iter()
        .find(|model| model_key(&model.name) == key)
}

/// The published value of a quantity; none where it depends on how the model is served, or where the attention is assumed
/// from the model's class.
#[must_use]
pub fn published_value(model: &OpenModel, quantity: JointQuantity) -> Option<f64> {
    let architecture = &model.architecture;
    let cache = || {
        let is_known = model.confidence != "class-default";
        is_known.then(|| KvCache::new(architecture))
    };
    let value = match quantity {
        JointQuantity::ActiveParameters => architecture.active_parameters,
        JointQuantity::TotalParameters => architecture.total_parameters,
        JointQuantity::KvBytesRead => cache()?.read_per_token_at(READ_CONTEXT_TOKENS, 1.0).0,
        JointQuantity::KvBytesReadSlope => cache()?.read_per_token(1.0).0,
        JointQuantity::KvBytesStored => cache()?.stored_per_token(1.0).0,
        _ => return None,
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_name_leads_to_the_published_figures() {
        let model = open_model_of("openai/gpt-oss-120b").unwrap();
        let active = published_value(model, JointQuantity::ActiveParameters).unwrap();
        assert!((5.0e9..5.3e9).contains(&active), "{active}");
        assert!(published_value(model, JointQuantity::KvBytesStored).unwrap() > 0.0);
        assert_eq!(published_value(model, JointQuantity::CostOutput), None);
        assert_eq!(open_model_of("openai/gpt-5.4"), None);
    }
}
