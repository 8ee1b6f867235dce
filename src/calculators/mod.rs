//! Commands of the forward calculators.

pub(crate) mod calculator;
pub(crate) mod layout;
pub(crate) mod plan;
pub(crate) mod simulate;
pub(crate) mod training;
