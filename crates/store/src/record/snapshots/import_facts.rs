//! Facts that an import records, as they are kept to undo it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::offers::POSTED;

/// An import that facts are recorded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFacts {
    /// Id of the import.
    pub id: Uuid,
    /// The source of its observations.
    pub source: String,
}

impl ImportFacts {
    /// An import of a catalog, or of sheets that stand for themselves.
    #[must_use]
    pub fn new(id: Uuid, catalog: Option<&str>) -> Self {
        Self {
            id,
            source: catalog.unwrap_or(POSTED).to_owned(),
        }
    }
}

/// A snapshot that an import has completed, with what was new of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompletedSnapshot {
    pub(crate) at: Timestamp,
    pub(crate) scopes: Vec<String>,
    /// Entries that could not be read.
    pub(crate) unparsed: Vec<String>,
    /// Entries that an earlier reading at the same time could not read.
    pub(crate) read: Vec<String>,
}

/// An observation, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Fact {
    pub(crate) first_at: Timestamp,
    pub(crate) sheet_id: Uuid,
    pub(crate) last_at: Option<Timestamp>,
    pub(crate) catalog: String,
    pub(crate) entry: Option<String>,
    pub(crate) rank: i64,
}
