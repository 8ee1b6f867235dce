//! The forward calculators and the cost of a usage.

pub(crate) mod calculated;
pub(crate) mod calculator;
pub(crate) mod cost;
