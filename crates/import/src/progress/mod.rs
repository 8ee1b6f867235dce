//! Lines and summaries of an import.

pub mod lines;
pub(crate) mod report;
pub(crate) mod reporter;
