//! One file per list that is served.

pub(crate) mod change_filter;
pub(crate) mod change_summary;
pub(crate) mod changes;
pub(crate) mod estimates;
pub(crate) mod history;
pub(crate) mod imports;
pub(crate) mod listed;
pub(crate) mod market;
pub(crate) mod meters;
pub(crate) mod models;
pub(crate) mod price_sheets;
pub(crate) mod public_size;
pub(crate) mod query;
pub(crate) mod row_values;
pub(crate) mod search;
pub(crate) mod series;
