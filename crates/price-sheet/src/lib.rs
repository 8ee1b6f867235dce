//! Price sheets of language models: the catalogs that publish them, their histories, and the exact cost of a usage.
#![doc = include_str!("../README.md")]

pub mod catalog;
pub mod closed_weights;
pub mod cost;
pub mod history;
pub mod sheet;
pub mod vendors;
