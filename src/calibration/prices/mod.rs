//! What open-weight models and the prices asked for them teach: the population of models, how prices follow from
//! parameters, what hosts add, how context tiers relate to the cache.

mod context_tiers;
mod data;
mod fit;
mod population;
mod price_law;

pub use data::{DataError, PricedModel, Truth, built_in, read};
pub use fit::calibrate;

/// The number as a count; rows and models are far fewer than 2^52.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}
