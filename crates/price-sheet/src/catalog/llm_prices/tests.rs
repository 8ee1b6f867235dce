//! One test per pitfall of the format, on entries written here.

use serde_json::json;

use super::CATALOG;
use crate::catalog::testing::{self, cells};
use crate::sheet::{PriceSheet, SourceFormat};

/// `current-v1.json`
const CURRENT: &str = r#"{"updated_at": "2026-08-21", "prices": [
    {"id": "gpt-5.4", "vendor": "openai", "name": "GPT-5.4 ≤272k", "input": 2.5, "output": 15, "input_cached": 0.25},
    {"id": "gpt-5.4-272k", "vendor": "openai", "name": "GPT-5.4 >272k", "input": 5, "output": 22.5, "input_cached": 0.5}]}"#;

/// `historical-v1.json`, the newest first
const HISTORICAL: &str = r#"{"prices": [
    {"id": "o3", "vendor": "openai", "name": "o3", "input": 2, "output": 8, "from_date": "2025-06-10", "to_date": null},
    {"id": "o3", "vendor": "openai", "name": "o3", "input": 10, "output": 40, "from_date": null, "to_date": "2025-06-10"}]}"#;

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

fn refusal(entry: &str) -> String {
    testing::refusal(&CATALOG, "x/y", entry)
}

fn days(sheet: &PriceSheet) -> String {
    let day = |time: Option<jiff::Timestamp>| {
        time.map_or(String::new(), |time| time.to_string()[..10].to_owned())
    };
    format!("{}..{}", day(sheet.valid_from), day(sheet.valid_to))
}

#[test]
fn a_row_becomes_a_sheet_and_nothing_of_it_is_lost() {
    let sheet = sheet(
        "openai/gpt-5.4",
        r#"{"id": "gpt-5.4", "vendor": "openai", "name": "GPT-5.4 ≤272k", "input": 2.5, "output": 15.0,
            "input_cached": 0.25, "seen": true}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 2.5, output 15, read 0.25"]);
    assert_eq!(
        (sheet.provider.as_str(), sheet.model.as_str()),
        ("openai", "gpt-5.4")
    );
    assert_eq!(sheet.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"name": "GPT-5.4 ≤272k", "seen": true})
    );
    assert_eq!(days(&sheet_of_vendor()[0]), "..2026-03-01");
    assert_eq!(sheet.sources[0].format, SourceFormat::LlmPrices);
    assert_eq!(sheet.sources[0].locator.as_deref(), Some("openai/gpt-5.4"));
}

fn sheet_of_vendor() -> Vec<PriceSheet> {
    let entry = r#"{"id": "glm-5", "name": "GLM-5", "price_history": [
        {"input": 0.8, "output": 3, "from_date": "2026-03-01", "to_date": null, "why": "cut"},
        {"input": 1, "output": 3.2, "input_cached": null, "from_date": null, "to_date": "2026-03-01"}]}"#;
    testing::read_all(&CATALOG, "z.ai/glm-5", entry).unwrap()
}

#[test]
fn each_price_of_a_history_is_a_sheet_whose_end_is_exclusive() {
    let sheets = sheet_of_vendor();
    let written: Vec<_> = sheets
        .iter()
        .map(|sheet| format!("{} {}", days(sheet), cells(sheet).join("; ")))
        .collect();
    assert_eq!(
        written,
        [
            "..2026-03-01 standard: input 1, output 3.2",
            "2026-03-01.. standard: input 0.8, output 3"
        ]
    );
    assert_eq!(sheets[0].provider, "zai");
    assert_eq!(
        serde_json::Value::from(sheets[1].unmapped.clone()),
        json!({"vendor": "z.ai", "name": "GLM-5", "price_history/0": {"why": "cut"}})
    );
}

#[test]
fn a_row_for_longer_prompts_has_only_the_tier_and_overlaps_with_no_other() {
    let tier = sheet(
        "openai/gpt-5.4-272k",
        r#"{"id": "gpt-5.4-272k", "name": "GPT-5.4 >272k", "input": 5, "output": 22.5}"#,
    );
    assert_eq!(cells(&tier), ["standard >272000: input 5, output 22.5"]);
    assert_eq!(tier.model, "gpt-5.4-272k");
    assert_eq!(tier.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(
        tier.notes,
        ["These are the prices of gpt-5.4 for longer prompts; its own entry has the others."]
    );
    let grok = sheet(
        "xai/grok-4.3-200k",
        r#"{"name": "Grok 4.3 > 200k", "input": 5}"#,
    );
    assert_eq!(cells(&grok), ["standard >=200000: input 5"]);
}

#[test]
fn a_model_that_is_only_called_after_its_context_is_no_tier() {
    for (id, name) in [
        ("moonshot-v1-128k", r#""Moonshot v1 128k""#),
        ("x-128k", r#""X >200k""#),
        ("x-0k", r#""X >0k""#),
        ("x-9999999k", r#""X >9999999k""#),
        ("-128k", r#""X >128k""#),
        ("x128k", r#""X >x128k""#),
        ("x-128k", "7"),
        ("x-128k", "null"),
    ] {
        let sheet = sheet(
            &format!("x/{id}"),
            &format!(r#"{{"name": {name}, "input": 1}}"#),
        );
        assert_eq!(cells(&sheet), ["standard: input 1"], "{id} {name}");
        assert!(sheet.notes.is_empty());
    }
}

#[test]
fn sellers_are_called_as_in_the_other_catalogs() {
    for (vendor, provider) in [
        ("amazon", "amazon-bedrock"),
        ("google", "google"),
        ("meta-ai", "meta"),
        ("moonshot-ai", "moonshotai"),
        ("qwen", "alibaba"),
        ("z.ai", "zai"),
    ] {
        let sheet = sheet(&format!("{vendor}/x"), r#"{"input": 1}"#);
        assert_eq!(sheet.provider, provider);
        assert_eq!(sheet.unmapped.contains_key("vendor"), vendor != provider);
    }
}

#[test]
fn all_three_shapes_are_recognised_and_every_entry_has_its_key() {
    let vendor =
        r#"{"vendor": "openai", "models": [{"id": "o3", "name": "o3", "price_history": []}]}"#;
    let keys = |document| testing::keys(&CATALOG, document).unwrap();
    assert_eq!(keys(CURRENT), ["openai/gpt-5.4", "openai/gpt-5.4-272k"]);
    assert_eq!(keys(HISTORICAL), ["openai/o3@2025-06-10", "openai/o3"]);
    assert_eq!(keys(vendor), ["openai/o3"]);
    for document in [CURRENT, HISTORICAL, vendor] {
        assert!(testing::is_catalog(&CATALOG, document));
    }
    for other in [
        "[]",
        "{}",
        r#"{"prices": {"input_mtok": 1}}"#,
        r#"{"prices": [{"prices": {"input_mtok": 1}}]}"#,
        r#"{"vendor": "openai", "models": [{"id": "o3"}]}"#,
        r#"{"prices": 7, "vendor": 7, "models": 7}"#,
    ] {
        assert!(!testing::is_catalog(&CATALOG, other), "{other}");
    }
}

#[test]
fn rows_of_the_past_are_sheets_of_one_model_that_follow_each_other() {
    let row = r#"{"id": "o3", "vendor": "openai", "name": "o3", "input": 2, "output": 8,
        "from_date": "2025-06-10", "to_date": null}"#;
    let now = sheet("openai/o3@2025-06-10", row);
    assert_eq!(
        (now.model.as_str(), days(&now).as_str()),
        ("o3", "2025-06-10..")
    );
    assert_eq!(
        now.sources[0].locator.as_deref(),
        Some("openai/o3@2025-06-10")
    );
    // By hand the date may be left out.
    assert_eq!(sheet("openai/o3", row).model, "o3");
    let past =
        r#"{"id": "o3", "name": "o3", "input": 10, "from_date": null, "to_date": "2025-06-10"}"#;
    assert_eq!(days(&sheet("openai/o3", past)), "..2025-06-10");
}

#[test]
fn an_absent_price_is_absent_and_zeros_are_noted() {
    let absent = sheet("x/y", r#"{"input": 1, "output": 2, "input_cached": null}"#);
    assert_eq!(cells(&absent), ["standard: input 1, output 2"]);
    let free = sheet("x/y", r#"{"input": 0, "output": 0}"#);
    assert_eq!(free.notes, [crate::catalog::rules::FREE]);
}

#[test]
fn what_cannot_be_read_is_refused_with_one_reason() {
    let history = |rows: &str| format!(r#"{{"price_history": [{rows}]}}"#);
    let many = vec![r#"{"input": 1}"#; 65].join(", ");
    let cases = [
        (
            "{}".to_owned(),
            ": the entry has no token price, nor any other price",
        ),
        ("[]".to_owned(), ": expected an object, found a list"),
        (
            r#"{"input": -1}"#.to_owned(),
            "/input: `input` is negative: -1",
        ),
        (
            r#"{"output": ""}"#.to_owned(),
            "/output: `output` is not a number",
        ),
        (
            r#"{"input_cached": 1e13}"#.to_owned(),
            "/input_cached: `input_cached` is out of range: 1e13",
        ),
        (
            r#"{"input": [[[]]]}"#.to_owned(),
            "/input: `input` is a list, not a number",
        ),
        (
            r#"{"input": 1, "from_date": "May"}"#.to_owned(),
            "/from_date: expected a date, found `May`",
        ),
        (
            r#"{"input": 1, "to_date": 5}"#.to_owned(),
            "/to_date: expected a date, found a number",
        ),
        (
            r#"{"input": 1, "from_date": "2026-01-02", "to_date": "2026-01-02"}"#.to_owned(),
            ": the price ends before it begins",
        ),
        (
            r#"{"price_history": {}}"#.to_owned(),
            "/price_history: expected a list, found an object",
        ),
        (history(""), "/price_history: a list of 0 prices"),
        (history(&many), "/price_history: a list of 65 prices"),
        (
            history("7"),
            "/price_history/0: expected an object, found a number",
        ),
        (
            history("{}"),
            "/price_history/0: the entry has no token price, nor any other price",
        ),
        (
            history(r#"{"input": 1}, {"input": 2, "from_date": "2026-01-01"}"#),
            "/price_history: two prices overlap in time",
        ),
        (
            history(
                r#"{"input": 1, "to_date": "2026-01-02"}, {"input": 2, "from_date": "2026-01-01"}"#,
            ),
            "/price_history: two prices overlap in time",
        ),
    ];
    for (entry, reason) in cases {
        assert_eq!(refusal(&entry), reason, "{entry}");
    }
}

#[test]
fn a_catalog_with_indistinguishable_entries_is_refused() {
    let cases = [
        ("[]", ": expected an object with named fields, found a list"),
        ("{}", ": the field `prices` is missing"),
        (
            r#"{"vendor": 7}"#,
            "/vendor: expected a text, found a number",
        ),
        (r#"{"vendor": "a"}"#, ": the field `models` is missing"),
        (
            r#"{"prices": [{"id": "x"}]}"#,
            "/prices/0: the field `vendor` is missing",
        ),
        (
            r#"{"prices": [{"vendor": "x"}]}"#,
            "/prices/0: the field `id` is missing",
        ),
        (
            r#"{"vendor": "a", "models": [{"id": "b", "from_date": 7}]}"#,
            "/models/0/from_date: expected a text, found a number",
        ),
    ];
    for (document, reason) in cases {
        let faults = testing::keys(&CATALOG, document).unwrap_err();
        assert_eq!(faults.len(), 1);
        let found = format!("{}: {}", faults[0].pointer, faults[0].detail);
        assert_eq!(found, reason, "{document}");
    }
}

#[test]
fn an_entry_that_is_listed_twice_is_kept_once_and_other_dates_are_a_history() {
    let keys = |rows: &str| testing::keys(&CATALOG, &format!(r#"{{"prices": [{rows}]}}"#)).unwrap();
    let row = |rest: &str| format!(r#"{{"vendor": "a", "id": "b", "input": 1{rest}}}"#);
    assert_eq!(keys(&format!("{0}, {0}", row(""))), ["a/b"]);
    assert_eq!(
        keys(&format!("{}, {}", row(""), row(r#", "output": 2"#))),
        ["a/b (contradicted)"]
    );
    // As the catalog lists `grok-4-fast`; another threshold is another price.
    let named = |name: &str| row(&format!(r#", "name": "{name}""#));
    assert_eq!(
        keys(&format!("{}, {}", named("B"), named("B ≤128k"))),
        ["a/b"]
    );
    assert_eq!(
        keys(&format!("{}, {}", named("B"), named("B >128k"))),
        ["a/b (contradicted)"]
    );
    let history = format!(
        "{}, {}",
        row(r#", "to_date": "2026-02-01""#),
        row(r#", "from_date": "2026-02-01""#)
    );
    assert_eq!(keys(&history), ["a/b", "a/b@2026-02-01"]);
}
