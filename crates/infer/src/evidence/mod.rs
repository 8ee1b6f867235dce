//! Parts of clues: quantities, a caller's assumptions, unknowns, likelihoods, and the readings drawn from evidence.

pub mod assumptions;
pub mod builder;
pub mod cache_offers;
pub mod cache_placement;
pub mod cache_tiers;
pub mod canonical;
pub mod canonical_error;
pub mod clue_table;
pub mod fastest_step;
pub mod hold_cost;
pub mod kv_reading;
pub mod likelihood;
pub mod machine;
pub mod quantity;
pub mod reading;
pub mod release;
pub mod serving_cost;
pub mod sheet;
pub mod unknowns;
