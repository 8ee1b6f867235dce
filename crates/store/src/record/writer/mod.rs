//! The one writer: recordings wait in a queue, are grouped, and each group is one transaction.

pub(crate) mod group;
pub(crate) mod queue;
pub(crate) mod save;
pub(crate) mod writing;
