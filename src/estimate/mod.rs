//! The answer to a price sheet: every reading, the conflicts between them, and what all of it rests on.
//!
//! Pure: the same sheet, assumptions and engine version give the same bytes, and the same id, on every machine.

mod conflict;
mod request;
mod row;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

pub use conflict::Conflict;
pub use request::{Format, Request, RequestFile, read_file, read_request};
pub use row::{ListRow, scalar_readings};

use crate::clue::assumptions::{Assumptions, Origin};
use crate::clue::reading::{Input, Reading};
use crate::clue::{self};
use crate::sheet::{Limits, PriceSheet, RateCell, ServiceTier, SheetId};

/// Version of the engine; another version may read the same sheet differently, so it is part of an answer's identity.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a price sheet reveals.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Answer {
    /// Made of the pricing content, the assumptions and the engine version: equal questions have equal ids.
    pub id: Uuid,
    /// Version of the engine.
    #[schema(example = "0.1.0")]
    pub engine_version: &'static str,
    /// The sheets that were read.
    pub price_sheets: Vec<SheetSummary>,
    /// What the caller stated, in one spelling.
    #[schema(value_type = Object)]
    pub assumptions: Map<String, Value>,
    /// Every value that a reading used beyond the prices, with where it comes from.
    pub values: Vec<Input>,
    /// Readings that have a value.
    pub readings_defined: usize,
    /// Pairs of readings that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Every reading, each by itself; they are not averaged.
    pub readings: Vec<Reading>,
}

/// The part of a sheet that answers depend on.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SheetSummary {
    /// Id of the pricing content.
    #[schema(value_type = Uuid)]
    pub id: SheetId,
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// author/model, where it is certain.
    pub canonical_model: Option<String>,
    /// Where it is served.
    pub region: String,
    /// ISO 4217 code.
    pub currency: String,
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<jiff::Timestamp>,
    /// Exclusive end of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_to: Option<jiff::Timestamp>,
    /// Token limits.
    pub limits: Limits,
    /// Service tiers.
    pub service_tiers: std::collections::BTreeMap<String, ServiceTier>,
    /// The prices, sorted, in their shortest spelling.
    pub rates: Vec<RateCell>,
}

/// Answers a request.
#[must_use]
pub fn infer(request: &Request) -> Answer {
    let content = request.sheet.pricing_content();
    let assumptions = &request.assumptions;
    let readings = clue::readings(&content, assumptions);
    let conflicts = conflict::conflicts(&readings, assumptions);
    Answer {
        id: identity(&[request.sheet.id()], assumptions),
        engine_version: ENGINE_VERSION,
        price_sheets: vec![summary(content)],
        assumptions: assumptions.to_json(),
        values: values_used(&readings),
        readings_defined: readings
            .iter()
            .filter(|reading| reading.value.is_some())
            .count(),
        conflicts,
        readings,
    }
}

/// The id of the answer to a set of sheets under what is stated.
fn identity(sheets: &[SheetId], assumptions: &Assumptions) -> Uuid {
    let mut sheets: Vec<String> = sheets.iter().map(ToString::to_string).collect();
    sheets.sort_unstable();
    let question = json!({
        "engine_version": ENGINE_VERSION,
        "price_sheets": sheets,
        "assumptions": assumptions.to_json(),
    });
    SheetId::digest(question.to_string().as_bytes())
}

fn summary(content: PriceSheet) -> SheetSummary {
    SheetSummary {
        id: content.id(),
        provider: content.provider,
        model: content.model,
        canonical_model: content.canonical_model,
        region: content.region,
        currency: content.currency,
        valid_from: content.valid_from,
        valid_to: content.valid_to,
        limits: content.limits,
        service_tiers: content.service_tiers,
        rates: content.rates,
    }
}

/// Values that do not stand on the sheet, each once. A speed is stated per service tier, so it may stand twice.
fn values_used(readings: &[Reading]) -> Vec<Input> {
    let mut used: Vec<Input> = Vec::new();
    let inputs = readings
        .iter()
        .filter(|reading| reading.value.is_some())
        .flat_map(|reading| &reading.inputs);
    for input in inputs.filter(|input| input.from != Origin::Sheet) {
        if !used.contains(input) {
            used.push(input.clone());
        }
    }
    used.sort_by_key(|input| input.name);
    used
}
