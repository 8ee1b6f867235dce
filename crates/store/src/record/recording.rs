//! A sheet to be recorded, with the estimate that is listed for it.

use jiff::Timestamp;
use uuid::Uuid;

use super::checksum::Document;
use super::effect::Effect;
use super::offers::{ObservedBy, SheetFacts, stored};
use unroof_infer::estimate::{Answer, ListRow};
use unroof_price_sheet::catalog::{model_of, offer_id};
use unroof_price_sheet::sheet::PriceSheet;

/// An estimate to be stored.
#[derive(Debug, Clone)]
pub struct NewEstimate<'a> {
    /// Answer that is stored.
    pub answer: &'a Answer,
    /// Answer, serialised as JSON.
    pub document: &'a str,
    /// The sheets it was drawn from, with sources and remarks.
    pub sheets: &'a [PriceSheet],
    /// Time at which the estimate was requested, or the price was seen.
    pub observed_at: Timestamp,
    /// Time at which it is recorded; a tenth of a second before that at most, where it waits for others.
    pub recorded_at: Timestamp,
    /// Source of the observation; none for a question.
    pub observed_by: Option<ObservedBy>,
    /// Whether it waits for others, to be stored with them.
    pub waits_for_others: bool,
}

/// Result of storing an estimate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Whether the estimate is new.
    pub is_new: bool,
    /// The version of the store that this write made, if it wrote.
    pub version: Option<i64>,
    /// Effects of the sheets, in their order, on the prices of their offers; none for a question.
    pub effects: Vec<Effect>,
}

/// An estimate to be stored with its row.
#[derive(Debug, Clone)]
pub struct EstimateRecord {
    /// Id of the estimate.
    pub id: Uuid,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Readings with a value.
    pub readings_defined: i64,
    /// Number of conflicts between readings.
    pub conflicts: i64,
    /// Whether it fits no machine.
    pub is_misfit: bool,
    /// JSON: a nullable number per column of a list.
    pub numbers: String,
    /// Answer, serialised as JSON.
    pub document: Document,
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
            is_misfit: answer.joint.misfit.flagged,
            numbers: serde_json::to_string(&ListRow::new(answer))
                .expect("a row of numbers serialises"),
            document: Document::new(document),
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
    /// Listed under the offer of its sheet, with stated assumptions.
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
    pub(crate) fn duplicate_of(self) -> Option<Uuid> {
        match self {
            Self::Offer { duplicate_of } => duplicate_of,
            _ => None,
        }
    }

    pub(crate) fn is_stated(self) -> bool {
        matches!(self, Self::Stated | Self::Pooled { is_stated: true })
    }
}

/// A sheet with the estimate that is listed for it, and how it was seen, if it was.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The sheet, with sources and remarks.
    pub sheet: PriceSheet,
    /// Id of its content.
    pub sheet_id: Uuid,
    /// Id of its offer.
    pub offer_id: Uuid,
    /// Facts of the sheet for the history of its offer, apart from whether it fits a machine.
    pub facts: SheetFacts,
    /// author/model under which it is found.
    pub canonical_model: Option<String>,
    /// Time at which the sheet was seen.
    pub observed_at: Timestamp,
    /// Time at which it is recorded.
    pub recorded_at: Timestamp,
    /// Source of the observation. None for a question, and for the sheets of a catalog, whose snapshot follows.
    pub observed_by: Option<ObservedBy>,
    /// Whether some source states it; false for a question.
    pub is_observed: bool,
    /// Id of the listed estimate.
    pub estimate_id: Uuid,
    /// Listing of the estimate.
    pub listing: Listing,
    /// The estimate, unless it is known to be stored.
    pub estimate: Option<EstimateRecord>,
    /// Whether a sheet without an estimate of its own fits no machine, where that was checked.
    pub is_misfit: Option<bool>,
}

/// The provider that estimates from several hosts' sheets are listed under, where a request pooled them.
const POOLED: &str = "pooled";
/// The provider that the estimates of models are listed under.
pub(crate) const MODEL: &str = "model";

super::names::stored_names! {
    /// Kind of the source of an estimate.
    EstimateOf {
        /// The estimate is of one sheet.
        Sheet = "sheet",
        /// The sheets of one request.
        Pool = "pool",
        /// All sheets of a model: every host and every period.
        Model = "model",
    }
}

/// The names under which an estimate is listed.
pub(crate) struct Place<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) region: &'a str,
    /// The recording of the sheet, unless there are several.
    pub(crate) of: Option<&'a Recording>,
}

impl Recording {
    /// A sheet with the estimate that is listed for it.
    #[must_use]
    pub fn new(sheet: PriceSheet, observed_at: Timestamp, estimate_id: Uuid) -> Self {
        let sheet_id = sheet.id().0;
        Self {
            sheet_id,
            offer_id: offer_id(&sheet.provider, &sheet.model, &sheet.region),
            facts: SheetFacts::new(&sheet, sheet_id, false),
            canonical_model: model_of(&sheet, observed_at),
            sheet,
            observed_at: stored(observed_at),
            recorded_at: stored(observed_at),
            observed_by: None,
            is_observed: true,
            estimate_id,
            listing: Listing::Offer { duplicate_of: None },
            estimate: None,
            is_misfit: None,
        }
    }

    /// The source whose clients may send the sheet twice; empty where the sheet was seen at a stated time.
    pub(crate) fn repeatable_source(&self) -> &str {
        let seen_now = self.observed_by.as_ref().filter(|by| by.is_now);
        seen_now.map_or("", |by| &by.source)
    }

    /// Facts of the sheet for the history of its offer.
    pub(crate) fn facts(&self) -> SheetFacts {
        SheetFacts {
            is_misfit: self.is_misfit().unwrap_or_default(),
            ..self.facts.clone()
        }
    }

    /// Whether it fits no machine, by a check of its own or its estimate without stated assumptions; none where it was
    /// checked before, or never.
    pub(crate) fn is_misfit(&self) -> Option<bool> {
        let estimate = match self.listing {
            Listing::Offer { .. } => self.estimate.as_ref(),
            _ => None,
        };
        let of_estimate = estimate.map(|estimate| estimate.is_misfit);
        self.is_misfit.or(of_estimate)
    }

    /// The names under which its estimate is listed.
    pub(crate) fn place(&self) -> Place<'_> {
        let sheet = &self.sheet;
        if let Listing::Pooled { .. } = self.listing {
            return Place {
                provider: POOLED,
                model: self.canonical_model.as_ref().unwrap_or(&sheet.model),
                region: PriceSheet::DEFAULT_REGION,
                of: None,
            };
        }
        Place {
            provider: &sheet.provider,
            model: &sheet.model,
            region: &sheet.region,
            of: Some(self),
        }
    }
}
