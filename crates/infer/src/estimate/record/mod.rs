//! Estimates as they are stored, and as rows of lists.

pub(crate) mod row;
pub(crate) mod stored;
pub mod stored_estimate;
