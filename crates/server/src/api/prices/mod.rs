//! The record of prices: catalogs, sheets, histories, changes.

pub(crate) mod atom;
pub(crate) mod catalogs;
pub(crate) mod change_query;
pub(crate) mod change_summary;
pub(crate) mod changes;
pub(crate) mod disagreements;
pub(crate) mod history;
pub(crate) mod imports;
pub(crate) mod price_sheets;
pub(crate) mod search;
pub(crate) mod withdrawals;
