//! Entries of a catalog on their way to a decision: found, compared, grouped.

pub(crate) mod copies;
pub(crate) mod difference;
pub(crate) mod duplicates;
pub(crate) mod entries;
pub(crate) mod estimated;
pub(crate) mod found;
pub(crate) mod hosts;
pub(crate) mod leaders;
pub(crate) mod listed;
pub(crate) mod names;
pub(crate) mod parts;
pub(crate) mod refusals;
pub(crate) mod united;
pub(crate) mod weight;
