//! One test per pitfall of the format, on entries written here.

mod refused;

use serde_json::json;

use super::CATALOG;
use crate::catalog::testing::{self, cells, offer, other_meters, windows};
use crate::sheet::{CacheWriteBilling, PriceSheet, SourceFormat};

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

/// The only sheet of these prices.
fn priced(key: &str, prices: &str) -> PriceSheet {
    sheet(key, &format!(r#"{{"prices": {prices}}}"#))
}

fn sheets(key: &str, entry: &str) -> Vec<PriceSheet> {
    testing::read_all(&CATALOG, key, entry).unwrap()
}

/// `from..to: cells` of each sheet of an entry.
fn history(key: &str, entry: &str) -> Vec<String> {
    let day = |time: Option<jiff::Timestamp>| {
        time.map_or(String::new(), |time| time.to_string()[..10].to_owned())
    };
    let written = |sheet: &PriceSheet| {
        let interval = format!("{}..{}", day(sheet.valid_from), day(sheet.valid_to));
        format!("{interval}: {}", cells(sheet).join("; "))
    };
    sheets(key, entry).iter().map(written).collect()
}

fn refusal(entry: &str) -> String {
    testing::refusal(&CATALOG, "x/y", entry)
}

#[test]
fn an_entry_becomes_a_sheet_and_nothing_of_it_is_lost() {
    let sheet = sheet(
        "anthropic/claude-opus-5-5",
        r#"{"id": "claude-opus-5-5", "name": "Opus", "match": {"starts_with": "claude-opus-5-5"},
            "context_window": 1000000, "price_comments": "US residency costs 1.1x.",
            "prices": {"input_mtok": 4, "cache_write_mtok": 5, "cache_write_1h_mtok": 8, "cache_read_mtok": 0.2,
                "output_mtok": 20, "web_searches_kcount": 10, "input_audio_mtok": 30, "requests_kcount": 2,
                "cache_write_2d_mtok": null, "per_moon": 5,
                "input_video_mtok": {"base": 1, "tiers": []}}}"#,
    );
    assert_eq!(
        cells(&sheet),
        ["standard: input 4, output 20, read 0.2, write 300s 5, write 3600s 8"]
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("anthropic/claude-opus-5-5")
    );
    assert_eq!(sheet.limits.context, Some(1_000_000));
    assert_eq!(
        other_meters(&sheet),
        [
            "input_audio 30 per_1m_tokens",
            "requests 2 per_1000",
            "web_search 10 per_1000_calls"
        ]
    );
    assert_eq!(
        sheet.notes,
        [
            "genai-prices does not state the lifetime of a cache write; 300 seconds are assumed.",
            "US residency costs 1.1x."
        ]
    );
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"name": "Opus", "match": {"starts_with": "claude-opus-5-5"},
            "prices": {"per_moon": 5, "input_video_mtok": {"base": 1, "tiers": []}}})
    );
    assert_eq!(sheet.sources[0].format, SourceFormat::GenaiPrices);
    assert_eq!(
        sheet.sources[0].locator.as_deref(),
        Some("anthropic/claude-opus-5-5")
    );
}

#[test]
fn tiers_are_of_each_price_and_one_without_holds_at_every_length() {
    let sheet = priced(
        "google/gemini-2.5-pro",
        r#"{"input_mtok": {"base": 1.25, "tiers": [{"start": 200000, "price": 2.5}]},
            "output_mtok": {"base": 10, "tiers": [{"start": 400000, "price": 20}, {"start": 200000, "price": 15}]},
            "cache_read_mtok": 0.125}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 1.25, output 10, read 0.125",
            "standard >200000: input 2.5, output 15, read 0.125",
            "standard >400000: input 2.5, output 20, read 0.125",
        ]
    );
}

#[test]
fn a_start_of_199999_is_the_inclusive_threshold_of_200000() {
    let prices = |start: u32| {
        format!(r#"{{"input_mtok": {{"base": 2, "tiers": [{{"start": {start}, "price": 4}}]}}}}"#)
    };
    let threshold = |key, start| cells(&priced(key, &prices(start)))[1].clone();
    assert_eq!(
        threshold("x-ai/grok-4.3", 199_999),
        "standard >=200000: input 4"
    );
    assert_eq!(
        threshold("x-ai/grok-4.3", 200_000),
        "standard >=200000: input 4"
    );
    assert_eq!(
        threshold("openai/gpt-5.4", 272_000),
        "standard >272000: input 4"
    );
}

#[test]
fn dated_prices_are_sheets_that_follow_each_other() {
    let entry = r#"{"prices": [{"prices": {"input_mtok": 10, "output_mtok": 40}},
        {"constraint": {"start_date": "2025-06-10"}, "prices": {"input_mtok": 2, "output_mtok": 8}}]}"#;
    assert_eq!(
        history("openai/o3", entry),
        [
            "..2025-06-10: standard: input 10, output 40",
            "2025-06-10..: standard: input 2, output 8"
        ]
    );
    let both = sheets("openai/o3", entry);
    assert_ne!(both[0].id(), both[1].id());
}

#[test]
fn a_price_of_the_future_is_a_sheet_of_its_own_before_it_holds() {
    let entry = r#"{"prices": [{"prices": {"input_mtok": 0.75}},
        {"constraint": {"start_date": "2999-01-01"}, "prices": {"input_mtok": 1.5}}]}"#;
    assert_eq!(
        history("google/gemini-3.8-flash", entry)[1],
        "2999-01-01..: standard: input 1.5"
    );
}

#[test]
fn the_price_listed_last_counts_and_one_that_never_holds_is_kept() {
    let entry = r#"{"prices": [{"prices": {"input_mtok": 1}},
        {"constraint": {"start_date": "2026-03-01"}, "prices": {"input_mtok": 2}, "why": "typo"},
        {"constraint": {"start_date": "2026-01-01"}, "prices": {"input_mtok": 3}},
        {"constraint": {"start_date": "2026-05-01"}, "prices": {"input_mtok": 3}}]}"#;
    // Two equal prices one after the other are one sheet.
    assert_eq!(
        history("x/y", entry),
        [
            "..2026-01-01: standard: input 1",
            "2026-01-01..: standard: input 3"
        ]
    );
    let sheet = &sheets("x/y", entry)[0];
    assert_eq!(sheet.unmapped["prices/1"]["prices"]["input_mtok"], 2);
    assert_eq!(sheet.unmapped["prices/1/why"], "typo");
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn nothing_is_said_of_the_time_before_the_first_date() {
    let entry = r#"{"prices": [{"constraint": {"start_date": "2026-01-01"}, "prices": {"input_mtok": 2}}]}"#;
    assert_eq!(history("x/y", entry), ["2026-01-01..: standard: input 2"]);
}

#[test]
fn the_base_of_deepseek_is_its_off_peak_price_and_the_peak_is_a_schedule() {
    let sheet = priced(
        "deepseek/deepseek-chat",
        r#"[{"prices": {"input_mtok": 0.135, "output_mtok": 0.55}},
            {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"},
             "prices": {"input_mtok": 0.27, "output_mtok": 1.1}}]"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 0.135, output 0.55",
            "standard peak: input 0.27, output 1.1"
        ]
    );
    assert_eq!(sheet.schedules["peak"].timezone, "UTC");
    assert_eq!(windows(&sheet, "peak"), [" 00:30-16:30"]);
    assert_eq!(sheet.base_rate().unwrap().schedule, None);
}

#[test]
fn hours_of_one_price_share_a_schedule_and_hold_on_every_date() {
    let entry = r#"{"prices": [{"prices": {"input_mtok": 0.435}},
        {"constraint": {"start_date": "2026-08-17"}, "prices": {"input_mtok": 0.66}},
        {"constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"}, "prices": {"input_mtok": 1.32}},
        {"constraint": {"start_time": "14:00:00+08:00", "end_time": "18:00:00+08:00"}, "prices": {"input_mtok": 1.32}}]}"#;
    assert_eq!(
        history("deepseek/deepseek-v4-pro", entry),
        [
            "..2026-08-17: standard: input 0.435; standard peak: input 1.32",
            "2026-08-17..: standard: input 0.66; standard peak: input 1.32"
        ]
    );
    assert_eq!(
        windows(&sheets("deepseek/deepseek-v4-pro", entry)[0], "peak"),
        [" 01:00-04:00", " 06:00-10:00"]
    );
}

#[test]
fn hours_of_several_prices_have_schedules_of_their_own() {
    let daily = |start: &str, end: &str, price: &str| {
        format!(
            r#"{{"constraint": {{"start_time": "{start}", "end_time": "{end}"}}, "prices": {{"input_mtok": {price}}}}}"#
        )
    };
    let prices = [
        daily("20:00", "21:00", "9"),
        r#"{"prices": {"input_mtok": 2}}"#.to_owned(),
        daily("01:00", "02:00", "7"),
        daily("01:00", "02:00", "3"),
        daily("01:30", "04:00", "4"),
        daily("05:00", "06:00", "2"),
        daily("23:00", "01:00", "1"),
    ];
    let sheet = priced("x/y", &format!("[{}]", prices.join(", ")));
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2",
            "standard 01:30-04:00: input 4",
            "standard 05:00-06:00: input 2",
            "standard off_peak: input 1",
            "standard peak: input 3",
        ]
    );
    // One listed before the base never holds, and one whose hours a later one has never either.
    assert!(sheet.unmapped.contains_key("prices/0") && sheet.unmapped.contains_key("prices/2"));
    assert_eq!(sheet.notes.len(), 2);
}

#[test]
fn variants_are_service_tiers_and_what_they_leave_out_is_the_standard_price() {
    let sheet = sheet(
        "google/gemini-2.5-flash",
        r#"{"prices": {"input_mtok": 0.3, "output_mtok": 2.5, "cache_read_mtok": 0.03},
            "price_variants": [
                {"when": {"processing": "batch"}, "prices": {"input_mtok": 0.15, "output_mtok": 1.25, "input_audio_mtok": 0.5}},
                {"when": {"processing": "batch"}, "prices": {"input_mtok": 7}},
                {"when": {"service_tier": "default"}, "prices": {}},
                {"when": {"speed": "fast"}, "prices": {"input_mtok": 0.6}},
                {"when": {"service_tier": "fast"}, "prices": {"input_mtok": 0.9}}]}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 0.3, output 2.5, read 0.03",
            "batch: input 0.15, output 1.25, read 0.03",
            "fast: input 0.6, output 2.5, read 0.03",
            "service_tier=fast: input 0.9, output 2.5, read 0.03",
        ]
    );
    assert_eq!(sheet.service_tiers["batch"].request["processing"], "batch");
    assert_eq!(
        sheet.service_tiers["service_tier=fast"].request["service_tier"],
        "fast"
    );
    assert_eq!(sheet.unmapped["price_variants/0/input_audio"], "0.5");
    assert_eq!(
        sheet.unmapped["price_variants/2"]["when"]["service_tier"],
        "default"
    );
}

#[test]
fn fast_and_priority_at_one_price_are_one_tier_but_batch_and_flex_are_two() {
    let variants: Vec<_> = [
        (r#""service_tier": "priority""#, 4),
        (r#""service_tier": "fast""#, 4),
        (r#""processing": "batch""#, 1),
        (r#""service_tier": "flex""#, 1),
    ]
    .iter()
    .map(|(when, price)| format!(r#"{{"when": {{{when}}}, "prices": {{"input_mtok": {price}}}}}"#))
    .collect();
    let entry = format!(
        r#"{{"prices": {{"input_mtok": 2}}, "price_variants": [{}]}}"#,
        variants.join(", ")
    );
    let sheet = sheet("openai/gpt-4.1", &entry);
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2",
            "batch: input 1",
            "flex: input 1",
            "priority: input 4"
        ]
    );
    assert_eq!(sheet.service_tiers["priority"].aliases, ["fast"]);
    assert_eq!(
        sheet.service_tiers["priority"].request["service_tier"],
        "priority"
    );
}

#[test]
fn a_variant_without_a_long_context_price_is_not_sold_there() {
    let tiered = |base: f64, above: f64| {
        format!(r#"{{"base": {base}, "tiers": [{{"start": 272000, "price": {above}}}]}}"#)
    };
    let entry = format!(
        r#"{{"prices": {{"input_mtok": {}, "output_mtok": {}}},
            "price_variants": [{{"when": {{"service_tier": "priority"}}, "prices": {{"input_mtok": 5, "output_mtok": 30}}}},
                {{"when": {{"processing": "batch"}}, "prices": {{"input_mtok": {}}}}}]}}"#,
        tiered(2.5, 5.0),
        tiered(15.0, 22.5),
        tiered(1.25, 2.5)
    );
    assert_eq!(
        cells(&sheet("openai/gpt-5.4", &entry)),
        [
            "standard: input 2.5, output 15",
            "standard >272000: input 5, output 22.5",
            "batch: input 1.25, output 15",
            "batch >272000: input 2.5, output 22.5",
            "priority: input 5, output 30",
        ]
    );
}

#[test]
fn the_date_of_a_variant_begins_a_sheet_and_is_noted_as_the_day_of_a_check() {
    let entry = r#"{"prices": {"input_mtok": 4}, "price_variants": [
        {"when": {"processing": "batch"}, "prices": {"input_mtok": 2}, "constraint": {"start_date": "2026-10-14"}}]}"#;
    assert_eq!(
        history("anthropic/claude-opus-5-5", entry),
        [
            "..2026-10-14: standard: input 4",
            "2026-10-14..: standard: input 4; batch: input 2"
        ]
    );
    let sheets = sheets("anthropic/claude-opus-5-5", entry);
    assert_eq!(
        sheets[1].notes,
        ["genai-prices dates a price variant by the day on which it was verified."]
    );
    assert!(sheets[0].service_tiers.is_empty());
}

#[test]
fn beside_prices_of_hours_a_variant_inherits_nothing() {
    let sheet = sheet(
        "x/y",
        r#"{"prices": [{"prices": {"input_mtok": 2, "output_mtok": 4}},
                {"constraint": {"start_time": "01:00", "end_time": "02:00"}, "prices": {"input_mtok": 4}}],
            "price_variants": [{"when": {"processing": "batch"}, "prices": {"input_mtok": 1}},
                {"when": {"processing": "batch"}, "prices": {"input_mtok": 3},
                 "constraint": {"start_time": "01:00", "end_time": "02:00"}}]}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 4",
            "standard peak: input 4",
            "batch: input 1",
            "batch peak: input 3"
        ]
    );
}

#[test]
fn a_write_of_a_router_that_is_a_storage_fee_of_gemini_becomes_a_fee_again() {
    let prices = r#"{"input_mtok": 0.3, "output_mtok": 2.5, "cache_write_mtok": 0.375}"#;
    let dear = r#"{"input_mtok": 1.25, "output_mtok": 10, "cache_write_mtok": 0.375}"#;
    let gemini = priced("openrouter/google/gemini-2.5-pro", dear);
    assert_eq!(
        cells(&gemini),
        ["standard: input 1.25, output 10, storage 4.5"]
    );
    assert_eq!(gemini.cache_write_billing, CacheWriteBilling::AsInput);
    // 5 minutes of storage and the input itself.
    let sum = sheets(
        "openrouter/google/gemini-2.5-pro",
        r#"{"prices": [{"constraint": {"start_date": "2026-01-01"},
            "prices": {"input_mtok": 1.25, "cache_write_mtok": 1.625}}]}"#,
    );
    assert_eq!(cells(&sum[0]), ["standard: input 1.25"]);
    assert_eq!(
        sum[0].unmapped["2026-01-01T00:00:00Z/cache_write/standard/0"],
        "1.625"
    );
    let other = priced("openrouter/minimax/m3", prices);
    assert_eq!(
        cells(&other),
        ["standard: input 0.3, output 2.5, write 300s 0.375"]
    );
}

#[test]
fn writes_carry_their_time_to_live_and_the_assumed_one_is_noted() {
    let prices = r#"{"input_mtok": 2, "cache_write_mtok": 2.5, "cache_write_5m_mtok": 2.4}"#;
    let stated = priced("anthropic/claude-x", prices);
    assert_eq!(
        cells(&stated),
        ["standard: input 2, write 2.5, write 300s 2.4"]
    );
    assert!(stated.notes.is_empty());
    let openai = priced(
        "aws/openai.gpt-6-sol",
        r#"{"input_mtok": 2, "cache_write_mtok": 2.5}"#,
    );
    assert_eq!(cells(&openai), ["standard: input 2, write 1800s 2.5"]);
    assert_eq!(openai.notes.len(), 1);
    let free = priced("x/y", r#"{"input_mtok": 2, "cache_write_mtok": 0}"#);
    assert_eq!(free.cache_write_billing, CacheWriteBilling::AsInput);
}

#[test]
fn sellers_are_called_as_in_the_other_catalogs() {
    let names = |key: &str| {
        let sheet = priced(key, r#"{"input_mtok": 1}"#);
        let provider_id = sheet.unmapped.get("provider_id").cloned();
        (
            offer(&sheet),
            provider_id.map(|id| id.as_str().unwrap().to_owned()),
            sheet.aliases,
        )
    };
    let renamed = |text: &str, id: &str, aliases: &[&str]| {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        (text.to_owned(), Some(id.to_owned()), aliases)
    };
    assert_eq!(
        names("x-ai/grok-4.3"),
        renamed("xai global grok-4.3", "x-ai", &[])
    );
    assert_eq!(
        names("together/Qwen/Qwen3"),
        renamed("togetherai global Qwen/Qwen3", "together", &[])
    );
    assert_eq!(
        names("aws/regional.anthropic.claude-opus-5"),
        renamed(
            "amazon-bedrock in-region anthropic.claude-opus-5",
            "aws",
            &["regional.anthropic.claude-opus-5"]
        )
    );
    assert_eq!(
        names("google/claude-opus-5"),
        renamed("google-vertex global claude-opus-5", "google", &[])
    );
    assert_eq!(names("google/gemini-pro").1, None);
    assert_eq!(
        names("huggingface_novita/Qwen/QwQ-32B"),
        renamed(
            "huggingface global Qwen/QwQ-32B:novita",
            "huggingface_novita",
            &["Qwen/QwQ-32B"]
        )
    );
    let routed = priced("huggingface_novita/x", r#"{"input_mtok": 1}"#);
    assert_eq!(routed.upstream_provider.as_deref(), Some("novita-ai"));
}

#[test]
fn a_whole_catalog_is_recognised_and_every_entry_has_its_key() {
    let catalog = r#"[{"id": "openai", "api_pattern": "x", "models": [{"id": "gpt-5.4", "prices": {}}, {"id": "o3", "prices": []}]},
        {"id": "x-ai", "api_pattern": "x", "models": []}]"#;
    assert!(testing::is_catalog(&CATALOG, catalog));
    assert_eq!(
        testing::keys(&CATALOG, catalog).unwrap(),
        ["openai/gpt-5.4", "openai/o3"]
    );
    for other in [
        "[]",
        "{}",
        "[7]",
        r#"[{"models": []}]"#,
        r#"[{"api_pattern": "x", "models": {}}]"#,
        r#"{"prices": {"input_mtok": 1}}"#,
    ] {
        assert!(!testing::is_catalog(&CATALOG, other), "{other}");
    }
    for (document, reason) in [
        ("[{}]", "the field `id` is missing"),
        (r#"[{"id": "a"}]"#, "the field `models` is missing"),
        (
            r#"[{"id": "a", "models": [{}]}]"#,
            "the field `id` is missing",
        ),
        (
            r#"[{"id": 7, "models": []}]"#,
            "expected a text, found a number",
        ),
        ("{}", "expected a list, found an object"),
    ] {
        let faults = testing::keys(&CATALOG, document).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].detail, reason, "{document}");
    }
}

#[test]
fn what_selects_a_variant_is_its_name_however_odd() {
    let variants = |whens: &[&str]| {
        let items: Vec<_> = whens
            .iter()
            .map(|when| format!(r#"{{"when": {{{when}}}, "prices": {{"input_mtok": 2}}}}"#))
            .collect();
        format!(
            r#"{{"prices": {{"input_mtok": 1}}, "price_variants": [{}]}}"#,
            items.join(", ")
        )
    };
    let two = sheet(
        "x/y",
        &variants(&[r#""a": "standard""#, r#""route": "mistral/eu", "b": "c""#]),
    );
    assert_eq!(
        cells(&two)[1..],
        ["a=standard: input 2", "c,mistral/eu: input 2"]
    );
    let long = "x".repeat(200);
    let reason = refusal(&variants(&[&format!(r#""a": "{long}", "b": "{long}""#)]));
    assert_eq!(
        reason,
        "/price_variants/0: the variant's condition is too long, or repeated"
    );
}

#[test]
fn odd_values_beside_the_prices_are_kept_unchanged() {
    let sheet = sheet(
        "x/y",
        r#"{"id": "z", "context_window": -1, "price_comments": ["a"], "prices": {"input_mtok": "1e0"}}"#,
    );
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"id": "z", "context_window": -1, "price_comments": ["a"]})
    );
}
