//! The answer to a price sheet: the joint estimate, every reading, the conflicts between readings, and all values used.
//!
//! Pure: the same sheet, assumptions and engine version give the same bytes, and the same id, on every machine.
//!
//! ```
//! use unroof_infer::estimate::{Format, infer, read_request};
//! use unroof_infer::posterior::Interval;
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let answer = infer(&request);
//! let active = &answer.joint.quantities.active_parameters;
//! // The sheet narrows the prior of the size.
//! let width = |interval: Interval| interval.high / interval.low;
//! assert!(width(active.interval_90) < width(active.prior.interval_90));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod answer;
mod body;
pub mod density;
mod estimator;
pub mod judgement;
pub mod margins;
pub mod model;
mod modes;
pub mod nearest;
pub mod quantities;
pub mod quantity_estimate;
pub mod record;
mod request;
pub mod samples;
pub mod serving;
pub mod storage_tiers;
#[cfg(test)]
mod tests;
pub mod vendor;

use serde_json::json;
use uuid::Uuid;

pub use crate::estimate::judgement::conflict::Conflict;
pub use crate::estimate::judgement::warnings::warnings;
pub use crate::estimate::record::model_costs::ModelCosts;
pub use crate::estimate::record::row::{
    Column, ListRow, StoredQuantity, StoredRow, columns, row_columns,
};
pub use crate::estimate::record::stored::{NotRepeatable, Question, StoredQuestion};
pub use crate::estimate::record::stored_estimate::StoredEstimate;
pub use crate::joint::{ENGINE_VERSION, Joint};
pub use answer::{Answer, SheetSummary, Textbook};
pub use body::{InferBody, InferEntryRequest, InferRequest, PoolRequest};
pub use estimator::{Estimator, ModelFacts};
pub use quantity_estimate::LEAST_BITS;
pub use request::{Format, Request, RequestFile, read_file, read_request};
pub use unroof_base::input::cancel::{CancelGuard, CancelToken, Cancelled};

use crate::clue;
use crate::estimate::judgement::conflict;
use crate::evidence::assumptions::{Assumptions, Origin};
use crate::evidence::reading::{Input, Reading};
use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_price_sheet::sheet::{PriceSheet, SheetId};
use unroof_roofline::reference::calibration::Calibration;

/// Answers a request by the built-in calibration.
#[must_use]
pub fn infer(request: &Request) -> Answer {
    infer_with(request, Calibration::shipped())
}

/// Answers a request by a calibration of one's own.
#[must_use]
pub fn infer_with(request: &Request, calibration: &Calibration) -> Answer {
    infer_while(request, calibration, &CancelToken::default())
        .expect("the token is never cancelled")
}

/// Answers a request by a calibration of one's own, until the work is cancelled.
///
/// # Errors
/// The work is cancelled.
pub fn infer_while(
    request: &Request,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Answer, Cancelled> {
    let assumptions = &request.assumptions;
    let contents = pricing_contents(request);
    let mut textbook = read(&contents, assumptions);
    let joint = crate::joint::estimate(
        &contents,
        &textbook.readings,
        assumptions,
        calibration,
        wanted,
    )?;
    let name = name_of(&request.sheets);
    let joint = joint.beside_public_values(&name, &contents, assumptions, calibration, wanted)?;
    let sold_speed = crate::estimate::judgement::impossible_speed::SoldSpeed::fastest(&contents);
    if let Some(sold) = sold_speed.filter(|sold| sold.is_doubtful(&joint)) {
        let active = crate::joint::active_by_prices(&contents, assumptions, calibration, wanted)?;
        textbook.conflicts.extend(sold.conflict(active));
    }
    for conflict in &mut textbook.conflicts {
        conflict.judge(&joint);
    }
    let calibration_id = joint.diagnostics.calibration_id.clone();
    let sheet_ids = contents.iter().map(PriceSheet::evidence_id).collect();
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

/// The canonical name of the sheets' model, else its name at the first seller.
fn name_of(sheets: &[PriceSheet]) -> String {
    let Some(sheet) = sheets.first() else {
        return String::new();
    };
    let read = || canonical_model(&sheet.model);
    let name = sheet.canonical_model.clone().or_else(read);
    name.unwrap_or_else(|| sheet.model.clone())
}

/// Textbook readings from the sheets of a request, without the joint estimate.
#[must_use]
pub fn textbook(request: &Request) -> Textbook {
    read(&pricing_contents(request), &request.assumptions)
}

fn pricing_contents(request: &Request) -> Vec<PriceSheet> {
    request
        .sheets
        .iter()
        .map(PriceSheet::evidence_content)
        .collect()
}

/// The readings of every sheet, and what contradicts each other within one; where there are several sheets, each reading
/// says whose it is.
fn read(contents: &[PriceSheet], assumptions: &Assumptions) -> Textbook {
    let mut readings = Vec::new();
    let mut conflicts = Vec::new();
    for sheet in contents {
        let mut own = clue::readings(sheet, assumptions);
        if contents.len() > 1 {
            for reading in &mut own {
                reading.add_qualifier("provider", &sheet.provider);
            }
        }
        let mut of_sheet = conflict::conflicts(&own, assumptions);
        of_sheet.extend(modes::off_one_curve(&own));
        conflict::add_once(&mut conflicts, of_sheet);
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

/// The id of the answer to a set of sheets under the stated assumptions.
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
        evidence: content.evidence,
        rates: content.rates,
    }
}

/// Values that are not on the sheet, each once. A speed is stated per service tier, so it may occur twice.
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
