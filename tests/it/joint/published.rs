//! Public values beside estimates: sizes in names, against published architectures, over whole catalogs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json;
use unroof_infer::estimate::judgement::published::{open_model_of, published_value};
use unroof_infer::estimate::judgement::size_in_name::size_in_name;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::{Format, infer, read_request};
use unroof_price_sheet::catalog::recognize;

use crate::support::{json_files, say};

/// The answer to DeepSeek's prices of December 2025 under a model's name, with assumptions.
fn answer(canonical_model: &str, assumptions: &Value) -> Value {
    let sheet = json!({
        "schema": "pricesheet/v1", "provider": "deepseek", "model": "m-1", "canonical_model": canonical_model,
        // Where no sheet states it, the release of open weights is known by their name.
        "released": "2025-12-01",
        "currency": "USD", "unit": "per_1m_tokens", "rates": [{"input": "0.28", "output": "0.42", "cache_read": "0.028"}],
        "sources": [{"url": "https://example.com", "format": "official"}],
    });
    let body = json!({"price_sheet": sheet, "assumptions": assumptions}).to_string();
    let request = read_request(body.as_bytes(), &Format::Canonical).unwrap();
    serde_json::to_value(infer(&request)).unwrap()
}

#[test]
fn a_published_architecture_tests_the_estimate_and_moves_nothing() {
    let own = answer("deepseek/deepseek-v3.2", &json!({}));
    let unnamed = answer("deepseek/m-1", &json!({}));
    assert_eq!(unnamed.get("published"), None);
    assert_eq!(own["margins"], unnamed["margins"]);
    for (quantity, estimate) in unnamed["quantities"].as_object().unwrap() {
        assert_eq!(
            own["quantities"][quantity]["median"], estimate["median"],
            "{quantity}"
        );
    }
    let values = own["published"]["values"].as_object().unwrap();
    assert_eq!(values["total_parameters"]["value"].as_f64(), Some(685e9));
    // What misses is not identified; a quantity that was not keeps its reason.
    for (quantity, public) in values {
        let estimate = &own["quantities"][quantity];
        assert!(
            public["within_90"] == true || estimate["identified"] == false,
            "{quantity}"
        );
        let was_identified = &unnamed["quantities"][quantity]["identified"];
        let reason = estimate["not_identified_because"]
            .as_str()
            .unwrap_or_default();
        let is_contradicted = reason.starts_with("the public value");
        assert_eq!(
            is_contradicted,
            *was_identified == true && public["within_90"] == false,
            "{quantity}"
        );
    }
}

#[test]
fn costs_and_margins_are_those_of_the_published_architecture() {
    let own = answer("deepseek/deepseek-v3.2", &json!({}));
    let public = |quantity: &str| own["published"]["values"][quantity]["value"].clone();
    let sizes = [
        "active_parameters",
        "total_parameters",
        "kv_bytes_per_token_read",
        "kv_bytes_per_token_stored",
    ];
    let stated: serde_json::Map<String, Value> = (sizes.iter())
        .map(|name| ((*name).to_owned(), public(name)))
        .collect();
    let stated = answer("deepseek/m-1", &Value::Object(stated));
    let serving = &own["published"]["serving"];
    for quantity in ["cost_output_usd_per_mtok", "latency_floor_seconds"] {
        let expected = stated["quantities"][quantity]["median"].as_f64().unwrap();
        let found = serving["quantities"][quantity]["median"].as_f64().unwrap();
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{quantity}: {found} {expected}"
        );
    }
    let lines = serving["margins"].as_array().unwrap();
    assert_eq!(lines.len(), own["margins"].as_array().unwrap().len());
    assert_ne!(serving["margins"], own["margins"]);
    // A name does not give an architecture, and a stated size takes its place.
    let named = answer("deepseek/m-7b", &json!({}));
    let other = answer("deepseek/deepseek-v3.2", &json!({"total_parameters": 7e11}));
    for without in [named, other] {
        assert!(without["published"]["serving"].is_null());
    }
}

#[test]
fn a_size_that_is_stated_is_no_test() {
    for stated in [json!(7e9), json!({"low": 6e9, "high": 8e9})] {
        let own = answer(
            "deepseek/deepseek-v3.2",
            &json!({"total_parameters": stated}),
        );
        let values = own["published"]["values"].as_object().unwrap();
        assert!(
            !values.contains_key("total_parameters") && values.contains_key("active_parameters")
        );
    }
    // A class that the model is not of leaves an estimate.
    let dense = answer("deepseek/deepseek-v3.2", &json!({"architecture": "dense"}));
    assert!(dense["quantities"]["total_parameters"]["median"].is_number());
}

#[test]
fn a_size_in_the_name_moves_nothing() {
    let (named, unnamed) = (
        answer("deepseek/m-7b", &json!({})),
        answer("deepseek/m-1", &json!({})),
    );
    assert_eq!(named["published"]["by"], "name");
    assert_eq!(
        named["published"]["values"]["total_parameters"]["value"].as_f64(),
        Some(7e9)
    );
    assert_eq!(named["margins"], unnamed["margins"]);
    let median = |of: &Value| of["quantities"]["total_parameters"]["median"].clone();
    assert_eq!(median(&named), median(&unnamed));
}

#[test]
fn more_active_parameters_than_the_name_has_in_all_are_not_identified() {
    let own = answer("deepseek/m-0.6b", &json!({}));
    let unnamed = answer("deepseek/m-1", &json!({}));
    let active = |of: &Value| of["quantities"]["active_parameters"].clone();
    assert_eq!(active(&unnamed)["identified"], true);
    assert_eq!(active(&own)["identified"], false);
    let because = active(&own)["not_identified_because"].clone();
    assert!(
        because
            .as_str()
            .unwrap()
            .starts_with("the public value, 600M"),
        "{because}"
    );
}

/// Names of the catalogs with the canonical name of each; none where there are no catalogs.
fn names() -> Option<BTreeMap<String, String>> {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with catalogs");
        return None;
    };
    let mut names = BTreeMap::new();
    for file in json_files(Path::new(&folder)) {
        let document = json::parse(&std::fs::read(file).unwrap()).unwrap();
        let Some(catalog) = recognize(&document) else {
            continue;
        };
        let faults = Faults::default();
        let entries = (catalog.entries)(&Cursor::root(&document, &faults)).unwrap();
        let sheets = entries
            .iter()
            .filter_map(|entry| catalog.read(&entry.key, &entry.cursor));
        names.extend(
            sheets
                .flatten()
                .filter_map(|sheet| Some((sheet.model, sheet.canonical_model?))),
        );
    }
    Some(names)
}

#[test]
fn sizes_in_names_are_those_of_the_published_architectures() {
    let Some(names) = names() else { return };
    let mut compared = 0;
    let mut wrong: BTreeSet<&str> = BTreeSet::new();
    for (name, canonical) in &names {
        let Some(open) = open_model_of(canonical) else {
            continue;
        };
        let in_name = size_in_name(name);
        for (quantity, size) in [
            (JointQuantity::TotalParameters, in_name.total),
            (JointQuantity::ActiveParameters, in_name.active),
        ] {
            let Some((size, public)) = size.zip(published_value(open, quantity)) else {
                continue;
            };
            compared += 1;
            if (size / public).ln().abs() > 1.25_f64.ln() {
                wrong.insert(canonical.as_str());
            }
        }
    }
    assert!(compared > 500, "{compared}");
    // "1-5b" is 1.5 billion there, and some sellers leave the number of experts out of Llama-4's names. All have a published
    // architecture, which ranks above their names.
    let known = [
        "deepseek/deepseek-r1-distill-qwen-1.5b",
        "meta/llama-4-maverick-17b-128e-instruct",
        "meta/llama-4-scout-17b-16e-instruct",
    ];
    assert_eq!(wrong, BTreeSet::from(known), "of {compared}");
}
