//! Prices that tokens are sold at.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_roofline::calculator::inputs::Inputs;
//! use unroof_roofline::calculator::scenario::StatedPrices;
//!
//! let prices = unroof_base::input::read(br#"{"output_usd_per_mtok": 2.19}"#, |root| {
//!     StatedPrices::read(root)?.fill(&Inputs::new(root, &[]))
//! })?;
//! assert_eq!((prices.input, prices.output), (0.0, 2.19));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use crate::calculator::inputs::Inputs;
use unroof_base::input::body::{Stated, body, number};

body! {
    /// Prices of tokens, in USD per million.
    pub struct StatedPrices {
        /// Price of prompt tokens that are computed, USD per million.
        input_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("input-price"),
        /// Price of prompt tokens that are found in the cache, USD per million.
        cached_input_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("cached-input-price"),
        /// Price of generated tokens, USD per million.
        output_usd_per_mtok: Stated<f64> = number(0.0..=1e6).unit("USD/Mtok").or(0.0).flag("output-price"),
    }
}

/// Prices in USD per million tokens.
#[derive(Debug, Clone, Copy)]
pub struct Prices {
    /// Price of prompt tokens that are computed, USD per million.
    pub input: f64,
    /// Price of prompt tokens that are found in the cache, USD per million.
    pub cached_input: f64,
    /// Price of generated tokens, USD per million.
    pub output: f64,
}

impl StatedPrices {
    /// Every price; 0 where it is left out.
    pub fn fill(&self, inputs: &Inputs<'_>) -> Option<Prices> {
        Some(Prices {
            input: inputs.or_default(&self.input_usd_per_mtok)?,
            cached_input: inputs.or_default(&self.cached_input_usd_per_mtok)?,
            output: inputs.or_default(&self.output_usd_per_mtok)?,
        })
    }
}
