//! Public sizes of models in rows of lists, by the canonical names of the rows.

use serde::Serialize;

use unroof_infer::estimate::judgement::published::public_value;
use unroof_infer::estimate::quantities::JointQuantity;

/// Parameters that are public of a model, total or active; none where none are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PublicSize<const TOTAL: bool>(Option<f64>);

impl<const TOTAL: bool> From<Option<String>> for PublicSize<TOTAL> {
    fn from(canonical_model: Option<String>) -> Self {
        let quantity = if TOTAL {
            JointQuantity::TotalParameters
        } else {
            JointQuantity::ActiveParameters
        };
        Self(canonical_model.and_then(|name| public_value(&name, quantity)))
    }
}
