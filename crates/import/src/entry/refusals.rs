//! The refused entries of an import, as they are stored with it.

use serde::{Deserialize, Serialize};

/// Most refused entries that are stored with an import.
const MOST_KEPT: usize = 500;

/// An entry that is refused, with its faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Name of the entry.
    pub entry: String,
    /// The reason that it states no sheet.
    pub reason: String,
    /// Whether it could be read: it states no price of text, or another entry counts for its offer. Then the price that it
    /// stated before has ended.
    #[serde(skip)]
    pub(crate) is_read: bool,
}

impl Refusal {
    /// The JSON of the first of some refused entries; none if there are none.
    pub(crate) fn stored(refused: &[Self]) -> Option<String> {
        let kept = &refused[..refused.len().min(MOST_KEPT)];
        (!kept.is_empty()).then(|| serde_json::to_string(kept).unwrap_or_default())
    }

    /// Reads what is stored; nothing if it cannot be read.
    #[must_use]
    pub fn read(stored: &str) -> Vec<Self> {
        serde_json::from_str(stored).unwrap_or_default()
    }
}
