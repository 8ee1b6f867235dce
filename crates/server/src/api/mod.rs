//! One file per resource of the API.

pub(crate) mod answers;
pub(crate) mod calculators;
pub mod operations;
pub(crate) mod prices;
