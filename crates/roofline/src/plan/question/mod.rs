//! Parts of a planning request: the model, its traffic, the limits and the chips.

pub(crate) mod chip;
#[cfg(test)]
pub(crate) mod day;
pub(crate) mod goal;
pub(crate) mod lengths;
pub(crate) mod model;
pub mod request;
pub(crate) mod traffic;
