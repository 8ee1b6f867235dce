//! Sheets of the tests, and ways to look into an answer.

use serde_json::{Value as Json, json};
use unroof_infer::estimate::{Format, Textbook, read_request, textbook};
use unroof_infer::evidence::reading::{NotDefined, Reading, Value};

/// A sheet in US dollars with these fields.
pub(super) fn sheet(fields: Json) -> Json {
    let mut sheet = json!({
        "schema": "pricesheet/v1", "provider": "someone", "model": "some-model", "currency": "USD",
        "unit": "per_1m_tokens", "sources": [{"url": "https://example.org", "format": "official"}],
    });
    let Json::Object(fields) = fields else {
        panic!("fields are an object")
    };
    sheet.as_object_mut().expect("an object").extend(fields);
    sheet
}

pub(super) fn plain(input: &str, output: &str) -> Json {
    sheet(json!({"rates": [{"input": input, "output": output}]}))
}

/// Input and output prices below and above a threshold, and the longest prompt.
pub(super) fn tiered(
    (threshold, longest): (u32, u32),
    (below, above): ([&str; 2], [&str; 2]),
) -> Json {
    sheet(json!({"limits": {"max_input": longest}, "rates": [
        {"input": below[0], "output": below[1]},
        {"context_tier": {"min_prompt_tokens": threshold}, "input": above[0], "output": above[1]},
    ]}))
}

/// Gemini 2.5 Pro: standard and batch, with their context tiers.
pub(super) fn gemini() -> Json {
    let cell = |service_tier: &str, min_prompt_tokens: u32, prices: [&str; 3]| {
        json!({"service_tier": service_tier, "context_tier": {"min_prompt_tokens": min_prompt_tokens},
            "input": prices[0], "output": prices[1], "cache_read": prices[2]})
    };
    sheet(
        json!({"limits": {"context": 1_048_576, "max_output": 65_536}, "rates": [
            cell("standard", 0, ["1.25", "10.00", "0.125"]),
            cell("standard", 200_000, ["2.50", "15.00", "0.25"]),
            cell("batch", 0, ["0.625", "5.00", "0.125"]),
            cell("batch", 200_000, ["1.25", "7.50", "0.25"]),
        ]}),
    )
}

/// Claude Opus 4.6: a fast mode at six times the price, up to 2.5 times as fast.
pub(super) fn opus_4_6() -> Json {
    sheet(json!({
        "service_tiers": {"fast": {"speed_multiplier":
            {"value": "2.5", "bound": "up_to", "metric": "output_tokens_per_second"}}},
        "rates": [
            {"input": "5.00", "output": "25.00", "cache_read": "0.50", "cache_write":
                [{"ttl_seconds": 300, "price": "6.25"}, {"ttl_seconds": 3600, "price": "10.00"}]},
            {"service_tier": "fast", "input": "30.00", "output": "150.00", "cache_read": "3.00"},
        ],
    }))
}

/// Claude Opus 5.5: a fast mode at twice the price, its speed not published.
pub(super) fn opus_5_5() -> Json {
    sheet(json!({"rates": [
        {"input": "4.00", "output": "20.00", "cache_read": "0.20"},
        {"service_tier": "fast", "input": "8.00", "output": "40.00", "cache_read": "0.40"},
    ]}))
}

/// A sheet that every reading can be drawn from.
pub(super) fn rich() -> Json {
    sheet(json!({
        "limits": {"context": 1_000_000},
        "service_tiers": {"fast": {}, "priority": {"slo": {"output_tokens_per_second_min": 50.0}}},
        "schedules": {"off_peak": {"timezone": "UTC", "windows": [{"start": "16:30", "end": "00:30"}]}},
        "capacity_offers": [
            {"name": "unit", "price_per_hour": "20", "input_tokens_per_second": 2_000, "output_tokens_per_second": 500},
        ],
        "rates": [
            {"input": "2", "output": "10", "reasoning": "25", "cache_read": "0.2", "cache_storage_per_hour": "4.5", "cache_write":
                [{"ttl_seconds": 300, "price": "2.5"}, {"ttl_seconds": 3600, "price": "4"}]},
            {"context_tier": {"min_prompt_tokens": 200_000}, "input": "4", "output": "15"},
            {"context_tier": {"min_prompt_tokens": 500_000}, "input": "6", "output": "25"},
            {"schedule": "off_peak", "input": "1", "output": "5"},
            {"service_tier": "batch", "input": "1", "output": "4"},
            {"service_tier": "fast", "input": "8", "output": "40"},
        ],
    }))
}

pub(super) fn answer(sheet: &Json, assumptions: &Json) -> Textbook {
    let body = json!({"price_sheet": sheet, "assumptions": assumptions}).to_string();
    let request = read_request(body.as_bytes(), &Format::Canonical);
    textbook(&request.unwrap_or_else(|error| panic!("{error:?}\n{body}")))
}

/// The first reading of this id.
pub(super) fn reading<'a>(answer: &'a Textbook, id: &str) -> &'a Reading {
    answer
        .readings
        .iter()
        .find(|reading| reading.id.name() == id)
        .unwrap_or_else(|| panic!("no reading `{id}`"))
}

/// Number of a reading; not a number where it is not defined, so that it equals nothing.
pub(super) fn numeric(reading: &Reading) -> f64 {
    reading.number().unwrap_or(f64::NAN)
}

pub(super) fn value(answer: &Textbook, id: &str) -> f64 {
    numeric(reading(answer, id))
}

pub(super) fn named(reading: &Reading) -> &str {
    match &reading.value {
        Some(Value::Name(name)) => name,
        _ => "",
    }
}

pub(super) fn detail_value<'a>(reading: &'a Reading, name: &str) -> Option<&'a Value> {
    reading
        .details
        .iter()
        .find(|detail| detail.name == name)
        .map(|detail| &detail.value)
}

pub(super) fn detail(reading: &Reading, name: &str) -> f64 {
    detail_value(reading, name)
        .and_then(Value::number)
        .unwrap_or(f64::NAN)
}

pub(super) fn detail_name<'a>(reading: &'a Reading, name: &str) -> &'a str {
    match detail_value(reading, name) {
        Some(Value::Name(name)) => name,
        _ => "",
    }
}

pub(super) fn not_defined<'a>(answer: &'a Textbook, id: &str) -> &'a NotDefined {
    let reading = reading(answer, id);
    reading
        .not_defined
        .as_ref()
        .unwrap_or_else(|| panic!("`{id}` is {:?}", reading.value))
}

pub(super) fn readings_json(answer: &Textbook) -> Json {
    serde_json::to_value(&answer.readings).expect("readings serialise")
}
