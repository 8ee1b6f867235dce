//! The answer to a price sheet: every reading, the conflicts between them, and what all of it rests on.
//!
//! Pure: the same sheet, assumptions and engine version give the same bytes, and the same id, on every machine.

mod body;
mod conflict;
pub mod joint;
mod misfit;
mod nearest;
pub mod posterior;
pub mod quantities;
mod request;
mod row;
mod storage_tiers;

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

pub use crate::input::wanted::{Unwanted, Waiting, Wanted};
pub use body::{InferBody, InferEntryRequest, InferRequest, PoolRequest};
pub use conflict::Conflict;
pub use joint::Joint;
pub use request::{Format, Request, RequestFile, read_file, read_request};
pub use row::{ListRow, row_columns};

use crate::clue;
use crate::model::assumptions::{Assumptions, Origin};
use crate::model::reading::{Input, Reading};
use crate::reference::calibration::Calibration;
use crate::sheet::{Limits, PriceSheet, RateCell, ServiceTier, SheetId};

/// Version of the engine; another version may read the same sheet differently, so it is part of an answer's identity.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a price sheet reveals.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Answer {
    /// Made of the pricing content, the assumptions, the engine version and the calibration: equal questions have equal
    /// ids.
    pub id: Uuid,
    /// Version of the engine.
    #[schema(example = "0.1.0")]
    pub engine_version: &'static str,
    /// The calibration behind the joint estimate.
    pub calibration_id: String,
    /// The sheets that were read.
    pub price_sheets: Vec<SheetSummary>,
    /// What the caller stated, in one spelling.
    #[schema(value_type = Object)]
    pub assumptions: Map<String, Value>,
    /// What the sheets say together, with intervals.
    #[serde(flatten)]
    pub joint: Box<Joint>,
    /// What a textbook reads.
    #[serde(flatten)]
    pub textbook: Textbook,
}

/// What a textbook reads from the sheets, clue by clue.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Textbook {
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
    infer_with(request, Calibration::shipped())
}

/// Answers a request by a calibration of one's own.
#[must_use]
pub fn infer_with(request: &Request, calibration: &Calibration) -> Answer {
    infer_while(request, calibration, &Wanted::default()).expect("it is wanted to the end")
}

/// The same for someone who may leave before it is done.
///
/// # Errors
/// The answer is not wanted any more.
pub fn infer_while(
    request: &Request,
    calibration: &Calibration,
    wanted: &Wanted,
) -> Result<Answer, Unwanted> {
    let assumptions = &request.assumptions;
    let contents = pricing_contents(request);
    let textbook = read(&contents, assumptions);
    let joint = joint::estimate(
        &contents,
        &textbook.readings,
        assumptions,
        calibration,
        wanted,
    )?;
    let calibration_id = joint.diagnostics.calibration_id.clone();
    let sheet_ids = contents
        .iter()
        .map(|sheet| sheet.id().to_string())
        .collect();
    Ok(Answer {
        id: identity(sheet_ids, assumptions, &calibration_id),
        engine_version: ENGINE_VERSION,
        calibration_id,
        price_sheets: contents.into_iter().map(summary).collect(),
        assumptions: assumptions.to_json(),
        joint: Box::new(joint),
        textbook,
    })
}

/// What a textbook reads from the sheets of a request, without the joint estimate.
#[must_use]
pub fn textbook(request: &Request) -> Textbook {
    read(&pricing_contents(request), &request.assumptions)
}

fn pricing_contents(request: &Request) -> Vec<PriceSheet> {
    request
        .sheets
        .iter()
        .map(PriceSheet::pricing_content)
        .collect()
}

/// The readings of every sheet, and what contradicts each other within one; where there are several sheets, each reading
/// says whose it is.
fn read(contents: &[PriceSheet], assumptions: &Assumptions) -> Textbook {
    let mut readings = Vec::new();
    let mut conflicts = Vec::new();
    for sheet in contents {
        let mut own = clue::readings(sheet, assumptions);
        conflicts.extend(conflict::conflicts(&own, assumptions));
        if contents.len() > 1 {
            for reading in &mut own {
                reading.tell_apart("provider", &sheet.provider);
            }
        }
        readings.extend(own);
    }
    Textbook {
        values: values_used(&readings),
        readings_defined: readings
            .iter()
            .filter(|reading| reading.value.is_some())
            .count(),
        conflicts,
        readings,
    }
}

/// The id that the answer to a sheet has, with nothing stated and by the shipped calibration.
#[must_use]
pub fn estimate_id(sheet: SheetId) -> Uuid {
    static CALIBRATION_ID: LazyLock<String> = LazyLock::new(|| Calibration::shipped().id());
    identity(
        vec![sheet.to_string()],
        &Assumptions::default(),
        &CALIBRATION_ID,
    )
}

/// The id of the answer to a set of sheets under what is stated.
fn identity(mut sheets: Vec<String>, assumptions: &Assumptions, calibration_id: &str) -> Uuid {
    sheets.sort_unstable();
    let question = json!({
        "engine_version": ENGINE_VERSION,
        "calibration_id": calibration_id,
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
