//! Price sheets of language models: the catalogs that publish them, their histories, and the exact cost of a usage.

pub mod catalog;
pub mod cost;
pub mod history;
pub mod sheet;
pub mod vendors;
