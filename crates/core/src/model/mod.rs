//! Parts of clues: quantities, a caller's assumptions, unknowns, likelihoods, and the readings drawn from evidence.

pub mod assumptions;
pub mod builder;
pub mod cache_placement;
pub mod canonical;
pub mod clue_table;
pub mod evidence;
pub mod hold_cost;
pub mod likelihood;
pub mod machine;
pub mod quantity;
pub mod reading;
pub mod serving_cost;
pub mod unknowns;
