//! Report of an import: a line per sheet or refused entry, progress, and a summary.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Outcome of an entry, or of one of its sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A new price was estimated.
    Estimated,
    /// The price is already in force.
    Unchanged,
    /// A duplicate of a pricing decision, which is estimated once.
    Duplicate,
    /// Estimated, but the sheet adds too little information about every quantity.
    NotIdentifiable,
    /// The entry has no usable sheet.
    Refused,
    /// A withdrawn price that is in force again, since the catalog still lists it.
    Reinstated,
}

impl Outcome {
    /// Name of the outcome for people.
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

/// Outcome of one sheet, or of an entry without a sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// Key of the entry in the catalog.
    pub entry: String,
    /// Outcome of the entry or sheet.
    pub outcome: Outcome,
    /// Reason of the outcome; for a duplicate, the name of the original.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Provider that bills for the offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider: Option<String>,
    /// Model name as the provider spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Region in which the model is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub region: Option<String>,
    /// Matched canonical name, `author/model`; left out if none matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub canonical_model: Option<String>,
    /// Id of the sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sheet_id: Option<Uuid>,
    /// Id of the estimate listed for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub estimate_id: Option<Uuid>,
    /// Id of the original sheet, for a duplicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duplicate_of: Option<Uuid>,
    /// Number of source fields without a place in the sheet, kept under `unmapped`.
    pub unmapped: usize,
}

/// A line of an import's report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The catalog has been read.
    Started {
        /// Format of the catalog.
        format: Cow<'static, str>,
        /// Number of entries of the catalog.
        entries: usize,
        /// Number of sheets of the catalog.
        sheets: usize,
    },
    /// One sheet, or one entry without a sheet.
    Entry(Imported),
    /// Progress of the import.
    Progress {
        /// Number of finished sheets.
        done: usize,
        /// Number of all sheets.
        sheets: usize,
    },
    /// Model names that match no canonical model.
    UnmatchedNames {
        /// Names as their sellers spell them.
        names: Vec<String>,
    },
    /// Summary once everything is stored.
    Done(Summary),
    /// The import would end more than a fifth of the catalog's offers, or change more than a fifth of its prices by more than a
    /// factor of three. Nothing of it is recorded until `POST /imports/{id}/accept`.
    Held {
        /// Id of the import.
        id: Uuid,
        /// Offers that the import adds, ends and changes, with the first of each by name.
        difference: String,
    },
    /// The import ended early. Everything reported so far is stored; sending the catalog again continues from there.
    Failed {
        /// Cause of the failure.
        reason: String,
    },
}

/// Summary of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Summary {
    /// Number of entries in the catalog.
    pub entries: usize,
    /// Number of sheets: one per region and interval of validity.
    pub sheets: usize,
    /// Number of newly estimated sheets.
    pub estimated: usize,
    /// Number of sheets already in force.
    pub unchanged: usize,
    /// Number of sheets that are duplicates.
    pub duplicates: usize,
    /// Number of sheets with too little information.
    pub not_identifiable: usize,
    /// Number of entries without a usable sheet.
    pub refused: usize,
    /// Number of sheets in force again after they were withdrawn.
    pub reinstated: usize,
    /// Number of identified quantities in all new estimates.
    pub identified_quantities: usize,
    /// Number of fields without a place in a sheet, in all sheets.
    pub unmapped: usize,
    /// Number of sheets whose model has a canonical name.
    pub joined_names: usize,
    /// Number of model names that match no canonical name.
    pub unmatched_names: usize,
    /// Offers that the import adds, ends and changes, with the first of each by name; left out for a list of sheets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub difference: Option<String>,
}

impl Summary {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Estimated => &mut self.estimated,
            Outcome::Unchanged => &mut self.unchanged,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::NotIdentifiable => &mut self.not_identifiable,
            Outcome::Refused => &mut self.refused,
            Outcome::Reinstated => &mut self.reinstated,
        } += 1;
    }

    /// Numbers of sheets or entries by outcome, in display order.
    #[must_use]
    pub fn by_outcome(&self) -> [(Outcome, usize); 6] {
        [
            (Outcome::Estimated, self.estimated),
            (Outcome::Unchanged, self.unchanged),
            (Outcome::Duplicate, self.duplicates),
            (Outcome::NotIdentifiable, self.not_identifiable),
            (Outcome::Refused, self.refused),
            (Outcome::Reinstated, self.reinstated),
        ]
    }
}
