//! Units, exact decimals, and request bodies that report every fault at once.

pub mod input;
pub mod units;
