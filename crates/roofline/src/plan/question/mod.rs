//! Parts of a planning request: the model, its traffic, the limits and the chips.

#[cfg(test)]
pub(crate) mod day;
pub(crate) mod goal;
pub mod request;
pub(crate) mod traffic;
