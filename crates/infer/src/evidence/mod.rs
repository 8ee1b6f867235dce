//! Parts of clues: quantities, a caller's assumptions, unknowns, likelihoods, and the readings drawn from evidence.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::quantity::{Origin, Quantity};
//!
//! // A value is stated, of the reference data, or of the textbook, in this order; derived ones follow from these.
//! let assumptions = unroof_base::input::read(br#"{"accelerator": "h100-sxm", "chips": 16}"#, Assumptions::read)?;
//! assert_eq!(assumptions.known(Quantity::Chips), Some((16.0, Origin::Stated)));
//! assert_eq!(assumptions.known(Quantity::UnitCapacity).unwrap().0, 16.0 * 80e9);
//! assert_eq!(assumptions.known(Quantity::KvBytesRead), None);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

pub mod assumptions;
pub(crate) mod builder;
pub mod cache_offers;
pub mod cache_placement;
pub mod cache_tiers;
pub mod canonical;
pub mod canonical_error;
pub mod clue_table;
pub mod fastest_step;
pub(crate) mod hold_cost;
pub mod kv_reading;
pub mod likelihood;
pub mod machine;
pub mod open_name;
pub mod quantity;
pub mod reading;
pub mod release;
pub mod served_speed;
pub mod serving_cost;
pub(crate) mod sheet;
pub mod unknowns;
