//! The type of an answer: the joint estimate, the readings and all values used.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::estimate::judgement::conflict::Conflict;
use crate::evidence::reading::{Input, Reading};
use crate::joint::Joint;
use unroof_price_sheet::sheet::{EvidenceItem, Limits, RateCell, ServiceTier, SheetId};

/// The answer to a price sheet.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Answer {
    /// Made of the pricing content, the assumptions, the engine version and the calibration: equal questions have equal
    /// ids. Left out where the answer is not stored.
    #[schema(required = false)]
    pub id: Uuid,
    /// Version of the estimation engine.
    #[schema(example = "0.1.0")]
    pub engine_version: &'static str,
    /// The calibration behind the joint estimate.
    pub calibration_id: String,
    /// The sheets that were read.
    pub price_sheets: Vec<SheetSummary>,
    /// The caller's assumptions, in one spelling.
    #[schema(value_type = Object)]
    pub assumptions: Map<String, Value>,
    /// Joint estimate from all sheets, with intervals.
    #[serde(flatten)]
    pub joint: Box<Joint>,
    /// Readings of the textbook's closed forms.
    #[serde(flatten)]
    pub textbook: Textbook,
}

/// The readings of the sheets, clue by clue.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Textbook {
    /// Every value that a reading used beyond the prices, with where it comes from.
    pub values: Vec<Input>,
    /// Number of readings with a value.
    pub readings_defined: usize,
    /// Number of pairs of readings that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Every reading; they are not averaged.
    pub readings: Vec<Reading>,
}

/// The pricing content of a sheet.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SheetSummary {
    /// Id of the pricing content; left out where the answer is not stored.
    #[schema(value_type = Uuid, required = false)]
    pub id: SheetId,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// author/model, where it is certain.
    pub canonical_model: Option<String>,
    /// Region in which the model is served.
    pub region: String,
    /// Currency as an ISO 4217 code.
    pub currency: String,
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<jiff::Timestamp>,
    /// Exclusive end of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_to: Option<jiff::Timestamp>,
    /// Limits of the offer, in tokens.
    pub limits: Limits,
    /// Service tiers of the offer, by name.
    pub service_tiers: BTreeMap<String, ServiceTier>,
    /// Public facts that the estimate reads beside the prices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub evidence: Vec<EvidenceItem>,
    /// The prices, sorted, in their shortest spelling.
    pub rates: Vec<RateCell>,
}
