//! A sheet to be recorded, with the estimate that is listed for it.

use jiff::Timestamp;
use uuid::Uuid;

use unroof_core::catalog::offer_id;
use unroof_core::estimate::{Answer, ListRow};
use unroof_core::sheet::PriceSheet;
use unroof_core::sheet::compare::timeline::{Statement, UNKNOWN_START};

/// An estimate to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewEstimate<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The serialised answer.
    pub document: &'a str,
    /// The sheets it was drawn from, with sources and remarks.
    pub sheets: &'a [PriceSheet],
    /// Time at which the estimate was requested, or the price was seen.
    pub observed_at: Timestamp,
    /// Whether a replaced price is in force again; false for a repeated request.
    pub counts_again: bool,
}

/// Result of storing an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Whether the estimate is new.
    pub is_new: bool,
    /// The version of the store that this write made, if it wrote.
    pub version: Option<i64>,
}

impl Saved {
    /// Result for an estimate that is stored already.
    pub(super) const KNOWN: Self = Self {
        is_new: false,
        version: None,
    };
}

/// A stored estimate.
#[derive(Debug, Clone)]
pub struct EstimateRecord {
    /// Its id.
    pub id: Uuid,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Readings with a value.
    pub readings_defined: i64,
    /// Conflicts between readings.
    pub conflicts: i64,
    /// JSON: a nullable number per column of a list.
    pub numbers: String,
    /// The serialised answer.
    pub document: String,
}

impl EstimateRecord {
    /// An answer with the text that is sent for it.
    #[must_use]
    pub fn new(answer: &Answer, document: String) -> Self {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            id: answer.id,
            engine_version: answer.engine_version,
            readings_defined: count(answer.textbook.readings_defined),
            conflicts: count(answer.textbook.conflicts.len()),
            numbers: serde_json::to_string(&ListRow::new(answer))
                .expect("a row of numbers serialises"),
            document,
        }
    }
}

/// Listing of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Listed under the offer of its sheet.
    Offer {
        /// The estimated sheet, if the listed sheet is a duplicate of it.
        duplicate_of: Option<Uuid>,
    },
    /// The same, with stated assumptions.
    Stated,
    /// Listed under the model of several hosts' sheets.
    Pooled {
        /// Whether assumptions were stated.
        is_stated: bool,
    },
    /// Not listed: the sheet is one of several.
    Unlisted,
}

impl Listing {
    pub(super) fn duplicate_of(self) -> Option<Uuid> {
        match self {
            Self::Offer { duplicate_of } => duplicate_of,
            _ => None,
        }
    }

    pub(super) fn is_stated(self) -> bool {
        matches!(self, Self::Stated | Self::Pooled { is_stated: true })
    }
}

/// A sheet that was seen, and the estimate that is listed for it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The sheet, with sources and remarks.
    pub sheet: PriceSheet,
    /// Id of its content.
    pub sheet_id: Uuid,
    /// author/model under which it is found.
    pub canonical_model: Option<String>,
    /// Time at which the sheet was seen.
    pub observed_at: Timestamp,
    /// Whether a replaced price is in force again when it is seen again; false for a repeated request.
    pub counts_again: bool,
    /// Whether it was seen just now: its time is then not earlier than any recorded time of the offer, even if the
    /// clock is behind.
    pub seen_now: bool,
    /// The listed estimate.
    pub estimate_id: Uuid,
    /// Listing of the estimate.
    pub listing: Listing,
    /// The estimate, unless it is known to be stored.
    pub estimate: Option<EstimateRecord>,
}

impl Recording {
    /// A sheet with the estimate that is listed for it.
    #[must_use]
    pub fn new(sheet: PriceSheet, observed_at: Timestamp, estimate_id: Uuid) -> Self {
        Self {
            sheet_id: sheet.id().0,
            canonical_model: sheet.canonical_model.clone(),
            sheet,
            observed_at,
            counts_again: false,
            seen_now: false,
            estimate_id,
            listing: Listing::Offer { duplicate_of: None },
            estimate: None,
        }
    }

    /// The offer.
    #[must_use]
    pub fn offer_id(&self) -> Uuid {
        offer_id(&self.sheet.provider, &self.sheet.model, &self.sheet.region)
    }

    /// Whether the sheet has an estimate of its own; false for a duplicate.
    pub(super) fn is_drawn_from(&self, estimate_id: Uuid) -> bool {
        self.estimate_id == estimate_id && self.listing.duplicate_of().is_none()
    }

    /// Catalog that states it: that of its first source.
    #[must_use]
    pub fn catalog(&self) -> &'static str {
        let source = self.sheet.sources.first();
        source.map_or("manual", |source| source.format.name())
    }

    /// Statement of the sheet.
    pub(super) fn statement(&self) -> Statement<'static> {
        Statement {
            sheet_id: self.sheet_id,
            catalog: self.catalog(),
            valid_from: self.sheet.valid_from,
            valid_to: self.sheet.valid_to,
            observed_at: self.observed_at,
        }
    }

    /// The start of the statement.
    pub(super) fn statement_start(&self) -> Timestamp {
        self.sheet.valid_from.unwrap_or(UNKNOWN_START)
    }
}
