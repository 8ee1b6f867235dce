//! The words of a scenario, the same for every calculator: a model, its precision, the chips, the load, prices of tokens.
//!
//! Each is declared once, with what may be written, its default and its flag. A calculator takes what it needs; what a
//! request states beyond that is named in the answer as `unused`.
//!
//! ```
//! use unroof_base::input::body::Kind;
//! use unroof_base::input::read;
//! use unroof_roofline::calculator::scenario::{ModelKind, StatedModel};
//!
//! for spelling in [r#""DeepSeek-V3""#, r#"{"name": "deepseek-v3"}"#] {
//!     let model = read(spelling.as_bytes(), |value| ModelKind.read(value)).unwrap();
//!     assert!(matches!(model, StatedModel::Named("DeepSeek-V3")));
//! }
//! ```

mod config;
pub mod efficiency;
pub mod hits;
pub mod lengths;
pub mod load;
pub mod machine;
pub mod model;
pub mod precision;
pub mod prices;
pub mod rent;
mod sizes;

pub use load::{StatedDay, StatedLoad};
pub use machine::{Chip, PREFILL_FLAGS, StatedMachine};
pub use model::{Model, ModelKind, StatedModel};
pub use precision::{Precision, StatedPrecision};
pub use prices::StatedPrices;

#[cfg(test)]
mod tests;
