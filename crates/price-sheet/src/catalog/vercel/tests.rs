//! Models of the list, and what is refused.

use super::CATALOG;
use crate::catalog::testing::{
    self, catalog_refusal, cells, is_catalog, kept, other_meters, refusal,
};
use crate::sheet::{CacheWriteBilling, PriceSheet};

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

/// An entry of a model of text.
fn model(id: &str, pricing: &str) -> String {
    format!(r#"{{"id": "{id}", "object": "model", "type": "language", "pricing": {{{pricing}}}}}"#)
}

#[test]
fn texts_per_token_become_exact_prices_per_million() {
    let entry = r#"{"id": "anthropic/claude-opus-5", "object": "model", "created": 1755815280, "released": 1763424000,
        "owned_by": "anthropic", "name": "Claude Opus 5", "context_window": 1000000, "max_tokens": 64000, "type": "language",
        "pricing": {"input": "0.000005", "output": "0.000025", "input_cache_read": "0.0000005", "input_cache_write": "0.00000625",
            "input_tiers": [{"cost": "0.000005", "min": 0, "max": 200001}, {"cost": "0.00001", "min": 200001}],
            "web_search": "10", "maps_search": "14"}}"#;
    let sheet = sheet("anthropic/claude-opus-5", entry);
    assert_eq!(
        testing::offer(&sheet),
        "vercel global anthropic/claude-opus-5"
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 5, output 25, read 0.5, write 300s 6.25",
            "standard >200000: input 10"
        ]
    );
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("anthropic/claude-opus-5")
    );
    assert_eq!(sheet.released.unwrap().to_string(), "2025-11-18");
    assert_eq!(
        (sheet.limits.context, sheet.limits.max_output),
        (Some(1_000_000), Some(64_000))
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(other_meters(&sheet), ["web_search 10 per_1000_calls"]);
    assert_eq!(
        kept(&sheet),
        [
            "created",
            "name",
            "object",
            "owned_by",
            "pricing/maps_search",
            "type"
        ]
    );
    assert!(sheet.notes[0].contains("Vercel does not state the lifetime"));
}

#[test]
fn each_meter_has_its_own_tiers_and_a_model_of_xai_is_dearer_from_the_threshold_on() {
    let entry = model(
        "xai/grok-4.6",
        r#""input": "0.000003", "output": "0.000015",
            "input_tiers": [{"cost": "0.000003", "max": 200000}, {"cost": "0.000006", "min": 200000}],
            "output_tiers": [{"cost": "0.00002", "min": 0, "max": 100000}, {"cost": "0.00003", "min": 100000}],
            "input_cache_read_tiers": [{"cost": "0.0000006", "min": 200000}]"#,
    );
    let sheet = sheet("xai/grok-4.6", &entry);
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 3, output 20",
            "standard >=100000: output 30",
            "standard >=200000: input 6, read 0.6"
        ]
    );
    // The plain price differs from the first tier.
    assert_eq!(sheet.unmapped["pricing/output"], "0.000015");
}

#[test]
fn service_tiers_and_speeds_are_cells_and_each_region_is_a_sheet() {
    let entry = model(
        "openai/gpt-6-sol",
        r#""input": "0.000002", "output": "0.00001", "input_cache_write": "0.0000025",
            "fast": {"input": "0.000004", "output": "0.00002"},
            "service_tiers": {"flex": {"input": "0.000001", "output": "0.000005",
                "long_context": {"threshold": 272000, "input": "0.000002", "output": "0.0000075"}}},
            "regional": {"eu": {"input": "0.0000022", "fast": {"input": "0.0000044"}}, "us": {"notes": "none"}}"#,
    );
    let sheets = testing::read_all(&CATALOG, "openai/gpt-6-sol", &entry).unwrap();
    let [global, eu] = &sheets[..] else {
        panic!("{}", sheets.len());
    };
    assert_eq!(
        cells(global),
        [
            "standard: input 2, output 10, write 1800s 2.5",
            "fast: input 4, output 20",
            "flex: input 1, output 5",
            "flex >272000: input 2, output 7.5"
        ]
    );
    assert_eq!(eu.region, "eu");
    assert_eq!(cells(eu), ["standard: input 2.2", "fast: input 4.4"]);
    assert_eq!(eu.cache_write_billing, CacheWriteBilling::NotPublished);
    assert_eq!(global.unmapped["pricing/regional/us/notes"], "none");
}

#[test]
fn what_is_no_model_of_text_or_has_no_price_has_one_reason() {
    let cases = [
        (
            r#"{"id": "a/m", "type": "image", "pricing": {"image": "0.04"}}"#,
            ": the model does not generate text: its type is `image`",
        ),
        (
            r#"{"id": "a/m", "pricing": {"image": "0.04"}}"#,
            ": the entry has no token price; it is priced by image",
        ),
        (r#"{"id": "a/m"}"#, ": the field `pricing` is missing"),
        (
            r#"{"id": "a/m", "pricing": {"input": "-1"}}"#,
            "/pricing/input: `input` is negative: -1",
        ),
        (
            r#"{"id": "a/m", "pricing": {"input_tiers": [{"cost": "1", "min": "x"}]}}"#,
            "/pricing/input_tiers/0/min: `min` is not a number of tokens",
        ),
        (
            r#"{"id": "a/m", "pricing": {"input_tiers": [{"min": 1}]}}"#,
            "/pricing/input_tiers/0: the field `cost` is missing",
        ),
    ];
    for (entry, reason) in cases {
        assert_eq!(refusal(&CATALOG, "a/m", entry), reason);
    }
}

#[test]
fn the_list_is_recognised_by_its_prices_and_is_none_of_openrouter() {
    let list = format!(
        r#"{{"object": "list", "data": [{}, {{"id": "b/picture", "type": "image", "pricing": {{"image": "0.04"}}}}]}}"#,
        model("a/m", r#""input": "0.000001", "output": "0.000002""#)
    );
    assert!(is_catalog(&CATALOG, &list));
    assert!(!is_catalog("openrouter".parse().unwrap(), &list));
    assert_eq!(
        testing::keys(&CATALOG, &list).unwrap(),
        ["a/m", "b/picture"]
    );
    let routers = r#"{"data": [{"id": "a/m", "pricing": {"prompt": "0.1", "completion": "0.2"}}]}"#;
    for other in ["{}", "[]", r#"{"data": []}"#, r#"{"data": {}}"#, routers] {
        assert!(!is_catalog(&CATALOG, other), "{other}");
    }
    assert_eq!(
        catalog_refusal(&CATALOG, "{}"),
        ": the field `data` is missing"
    );
}
