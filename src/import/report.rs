//! What is said about an import: a line per sheet or refused entry, progress, and the sum.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::ImportError;

/// What became of an entry, or of one of its sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A price that was not known is estimated.
    Estimated,
    /// Nothing to do: this price is in force already.
    Unchanged,
    /// A copy of a pricing decision that is estimated once.
    Duplicate,
    /// Estimated, but the sheet adds too little information about every quantity.
    NotIdentifiable,
    /// No sheet that can be used.
    Refused,
    /// This price was withdrawn, and is in force again since the catalog still lists it.
    Reinstated,
}

impl Outcome {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 6] = [
        Self::Estimated,
        Self::Unchanged,
        Self::Duplicate,
        Self::NotIdentifiable,
        Self::Refused,
        Self::Reinstated,
    ];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Estimated => "estimated",
            Self::Unchanged => "unchanged",
            Self::Duplicate => "duplicate",
            Self::NotIdentifiable => "not identifiable",
            Self::Refused => "refused",
            Self::Reinstated => "reinstated",
        }
    }
}

/// What became of one sheet, or of an entry that gives none.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Imported {
    /// The entry's key in the catalog.
    pub entry: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Of a duplicate, of what; else why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Who bills.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider: Option<String>,
    /// The model as the provider spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Where it is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub region: Option<String>,
    /// author/model under which it is found; left out where the name matched none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub canonical_model: Option<String>,
    /// Id of the sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sheet_id: Option<Uuid>,
    /// The estimate that is listed for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub estimate_id: Option<Uuid>,
    /// The sheet that it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duplicate_of: Option<Uuid>,
    /// Fields of the source without a place in the sheet, kept under `unmapped`.
    pub unmapped: usize,
}

/// A line of an import.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The catalog has been read.
    Started {
        /// Its format.
        format: &'static str,
        /// Entries in it.
        entries: usize,
        /// Sheets that they give.
        sheets: usize,
    },
    /// One sheet, or one entry that gives none.
    Entry(Imported),
    /// How far it is.
    Progress {
        /// Sheets that are done.
        done: usize,
        /// All of them.
        sheets: usize,
    },
    /// Names of models that match no canonical model.
    UnmatchedNames {
        /// As their sellers spell them.
        names: Vec<String>,
    },
    /// Everything is stored.
    Done(Summary),
    /// It ended early. What the lines before say is stored; sending the catalog again goes on from there.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Takes the lines of an import to their reader.
pub trait Lines: Send {
    /// Takes one more.
    ///
    /// # Errors
    /// The reader has gone, or reads too slowly.
    fn say(&mut self, line: Line) -> impl Future<Output = Result<(), ImportError>> + Send;
}

/// An import in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Summary {
    /// Entries in the catalog.
    pub entries: usize,
    /// Sheets that they give: one per region and interval of validity.
    pub sheets: usize,
    /// Sheets that are estimated.
    pub estimated: usize,
    /// Sheets that are known.
    pub unchanged: usize,
    /// Sheets that copy a decision.
    pub duplicates: usize,
    /// Sheets that tell too little.
    pub not_identifiable: usize,
    /// Entries without a sheet that can be used.
    pub refused: usize,
    /// Sheets that are in force again after they were withdrawn.
    pub reinstated: usize,
    /// Quantities that are identified, over all new estimates.
    pub identified_quantities: usize,
    /// Fields without a place in a sheet, over all sheets.
    pub unmapped: usize,
    /// Sheets whose model is known by a canonical name.
    pub joined_names: usize,
    /// Names of models that match none.
    pub unmatched_names: usize,
}

impl Summary {
    pub(super) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Estimated => &mut self.estimated,
            Outcome::Unchanged => &mut self.unchanged,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::NotIdentifiable => &mut self.not_identifiable,
            Outcome::Refused => &mut self.refused,
            Outcome::Reinstated => &mut self.reinstated,
        } += 1;
    }

    /// How many have this outcome.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> usize {
        match outcome {
            Outcome::Estimated => self.estimated,
            Outcome::Unchanged => self.unchanged,
            Outcome::Duplicate => self.duplicates,
            Outcome::NotIdentifiable => self.not_identifiable,
            Outcome::Refused => self.refused,
            Outcome::Reinstated => self.reinstated,
        }
    }
}
