//! Commands about the record: imports, changes, keys, checks.

pub(crate) mod backup;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod imports;
pub(crate) mod keys;
pub(crate) mod migrate;
pub(crate) mod names;
pub(crate) mod search;
pub(crate) mod source;
