//! The joint estimate: is it the posterior of the model that it says it is, and does it keep its promises?

mod accepted;
mod calibrated;
mod engine;
mod pooled;
mod properties;
mod published;
mod validated;

use serde_json::{Value, json};
use unroof_infer::estimate::{Answer, Format, infer, read_request};
use unroof_infer::joint::QuantityEstimate;

/// A sheet with nothing but base prices.
fn sheet(provider: &str, input: &str, output: &str) -> Value {
    json!({
        "schema": "pricesheet/v1", "provider": provider, "model": "m-1", "canonical_model": "acme/m-1",
        "currency": "USD", "unit": "per_1m_tokens",
        "rates": [{"input": input, "output": output}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    })
}

fn answer(question: &Value) -> Answer {
    let request = read_request(question.to_string().as_bytes(), &Format::Canonical);
    infer(&request.unwrap_or_else(|error| panic!("{error:?}\n{question}")))
}

fn ask(sheet: &Value, assumptions: &Value) -> Answer {
    answer(&json!({"price_sheet": sheet, "assumptions": assumptions}))
}

/// An estimate by its name.
fn quantity<'a>(answer: &'a Answer, name: &str) -> &'a QuantityEstimate {
    let all = answer.joint.quantities.in_order();
    let found = all
        .into_iter()
        .find(|(quantity, _)| quantity.name() == name);
    found.unwrap_or_else(|| panic!("no quantity `{name}`")).1
}

/// Width of the 90 % interval on a logarithmic scale.
fn width(estimate: &QuantityEstimate) -> f64 {
    (estimate.interval_90.high / estimate.interval_90.low).ln()
}
