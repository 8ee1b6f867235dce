//! The probability that one model has more of a quantity than another, from their draws: `GET /compare`.

use serde::Deserialize;
use unroof_infer::estimate::quantities::JointQuantity;

/// The probabilities of a comparison.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Probabilities {
    pairs: Vec<Pair>,
}

/// An ordered pair of models.
#[derive(Debug, Deserialize)]
struct Pair {
    model: String,
    than: String,
    quantities: Vec<Probability>,
}

/// The probability that the one has more than the other.
#[derive(Debug, Deserialize)]
struct Probability {
    quantity: String,
    probability: f64,
}

impl Probabilities {
    /// Whether there are any.
    pub(super) fn are_known(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The probability that a model has more of a quantity than another; none where it was not computed.
    pub(super) fn of_more(&self, model: &str, than: &str, quantity: JointQuantity) -> Option<f64> {
        let pair = self
            .pairs
            .iter()
            .find(|pair| pair.model == model && pair.than == than)?;
        let name = quantity.definition().name;
        let found = pair
            .quantities
            .iter()
            .find(|found| found.quantity == name)?;
        Some(found.probability)
    }
}
