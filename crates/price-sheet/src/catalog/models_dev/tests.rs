//! One test per pitfall of the format, on entries written here.

use jiff::civil::date;
use serde_json::json;

use super::CATALOG;
use crate::catalog::testing::{self, cells, offer, other_meters};
use crate::sheet::{CacheWriteBilling, Limits, PriceSheet, SourceFormat};

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

/// A sheet of this cost.
fn priced(key: &str, cost: &str) -> PriceSheet {
    sheet(key, &format!(r#"{{"cost": {cost}}}"#))
}

fn refusal(key: &str, entry: &str) -> String {
    testing::refusal(&CATALOG, key, entry)
}

#[test]
fn an_entry_becomes_a_sheet_and_nothing_of_it_is_lost() {
    let sheet = sheet(
        "openai/gpt-5.4",
        r#"{"id": "gpt-5.4", "name": "GPT-5.4", "release_date": "2026-03-05", "open_weights": false,
            "limit": {"context": 1050000, "input": 922000, "output": 128000, "images": 5},
            "cost": {"input": 2.5, "output": 15, "cache_read": 0.25, "output_audio": 20, "per_image": 0.1}}"#,
    );
    assert_eq!(offer(&sheet), "openai global gpt-5.4");
    assert_eq!(sheet.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(cells(&sheet), ["standard: input 2.5, output 15, read 0.25"]);
    let limits = Limits {
        context: Some(1_050_000),
        max_input: Some(922_000),
        max_output: Some(128_000),
        cache_min_tokens: None,
    };
    assert_eq!(sheet.limits, limits);
    assert_eq!(other_meters(&sheet), ["output_audio 20 per_1m_tokens"]);
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"name": "GPT-5.4", "open_weights": false,
            "limit/images": 5, "cost/per_image": 0.1})
    );
    assert_eq!(sheet.released, Some(date(2026, 3, 5)));
    assert_eq!(sheet.sources[0].format, SourceFormat::ModelsDev);
    assert_eq!(sheet.sources[0].locator.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(sheet.rates[0].source, Some(0));
}

#[test]
fn a_release_is_a_day_or_a_month_and_no_part_of_the_tariff() {
    let released = |written: &str| {
        let entry =
            format!(r#"{{"release_date": {written}, "cost": {{"input": 1, "output": 2}}}}"#);
        sheet("acme/m-1", &entry)
    };
    let (day, month) = (released(r#""2025-09-10""#), released(r#""2025-09""#));
    assert_eq!(day.released, Some(date(2025, 9, 10)));
    assert_eq!(month.released, Some(date(2025, 9, 1)));
    assert_eq!([day.notes.len(), month.notes.len()], [0, 1]);
    assert!(day.unmapped.is_empty() && month.unmapped.is_empty());
    assert_eq!(day.price_id(), month.price_id());
    assert_ne!(day.id(), month.id());
    for unclear in [
        r#""2025-02-30""#,
        r#""soon""#,
        r#""2025""#,
        "2025",
        r#""2025-09-10T00:00:00""#,
    ] {
        let kept = released(unclear);
        assert_eq!(kept.released, None, "{unclear}");
        assert!(kept.unmapped.get("release_date").is_some(), "{unclear}");
        assert_eq!(kept.price_id(), day.price_id());
    }
}

#[test]
fn a_tier_of_272k_is_not_one_of_200k_whatever_context_over_200k_is_called() {
    let tier = r#""input": 4, "output": 15, "cache_read": 0.4"#;
    let cost = |over: &str| {
        format!(
            r#"{{"input": 2, "output": 10, "cache_read": 0.2, "context_over_200k": {{{over}}},
                "tiers": [{{{tier}, "tier": {{"type": "context", "size": 272000}}}}]}}"#
        )
    };
    let same = priced("openai/gpt-6-sol", &cost(tier));
    let expected = [
        "standard: input 2, output 10, read 0.2",
        "standard >272000: input 4, output 15, read 0.4",
    ];
    assert_eq!(cells(&same), expected);
    assert!(same.unmapped.is_empty() && same.notes.is_empty());
    let other = priced("openai/gpt-6-sol", &cost(r#""input": 3"#));
    assert_eq!(cells(&other), expected);
    assert_eq!(
        other.unmapped["cost/context_over_200k"],
        json!({"input": 3})
    );
}

#[test]
fn an_older_context_over_200k_alone_begins_where_its_name_says() {
    let sheet = priced(
        "google/gemini-2.5-pro",
        r#"{"input": 1.25, "output": 10, "context_over_200k": {"input": 2.5, "output": 15}, "tiers": null}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 1.25, output 10",
            "standard >200000: input 2.5, output 15"
        ]
    );
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn a_size_that_ends_in_001_is_above_the_threshold_and_those_of_xai_include_it() {
    let cost = |size: u32| {
        format!(
            r#"{{"input": 2, "tiers": [{{"input": 4, "tier": {{"type": "context", "size": {size}}}}}]}}"#
        )
    };
    let threshold = |key, size| cells(&priced(key, &cost(size)))[1].clone();
    assert_eq!(threshold("venice/x", 200_001), "standard >200000: input 4");
    assert_eq!(threshold("venice/x", 272_001), "standard >272000: input 4");
    assert_eq!(
        threshold("xai/grok-4.6", 200_000),
        "standard >=200000: input 4"
    );
    assert_eq!(
        threshold("vercel/xai/grok-4.6", 200_000),
        "standard >200000: input 4"
    );
    assert_eq!(threshold("x/y", 262_144), "standard >262144: input 4");
}

#[test]
fn a_tier_carries_only_what_it_states() {
    let sheet = priced(
        "alibaba/qwen-plus",
        r#"{"input": 0.4, "output": 1.2, "reasoning": 4, "cache_read": 0.08,
            "tiers": [{"input": 1.2, "input_audio": 3, "tier": {"type": "context", "size": 256000}},
                      {"output": 9, "tier": {"type": "images", "size": 5}}]}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 0.4, output 1.2, reasoning 4, read 0.08",
            "standard >256000: input 1.2"
        ]
    );
    assert_eq!(sheet.unmapped["cost/tiers/0/input_audio"], 3);
    assert_eq!(sheet.unmapped["cost/tiers/1"]["output"], 9);
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn modes_are_service_tiers_called_as_requests_call_them() {
    let sheet = sheet(
        "openai/gpt-6-sol",
        r#"{"cost": {"input": 2, "output": 10}, "experimental": {"since": 5, "modes": {
            "fast": {"cost": {"input": 4, "output": 20}, "provider": {"body": {"service_tier": "priority"}}},
            "ultrafast": {"cost": {"input": 12}, "provider": {"body": {"service_tier": "ultrafast"}, "headers": {"x": "1"}}},
            "pro": {"provider": {"body": {"reasoning": {"mode": "pro"}}}}}}}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 10",
            "priority: input 4, output 20",
            "ultrafast: input 12"
        ]
    );
    assert_eq!(sheet.service_tiers["priority"].aliases, ["fast"]);
    assert_eq!(
        sheet.service_tiers["priority"].request["service_tier"],
        "priority"
    );
    assert!(sheet.service_tiers["ultrafast"].aliases.is_empty());
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"experimental/since": 5, "experimental/modes/ultrafast/provider/headers": {"x": "1"},
            "experimental/modes/pro": {"provider": {"body": {"reasoning": {"mode": "pro"}}}}})
    );
    let claude = self::sheet(
        "anthropic/claude-opus-5",
        r#"{"cost": {"input": 4}, "experimental": {"modes": {
            "fast": {"cost": {"input": 8}, "provider": {"body": {"speed": "fast"}}}}}}"#,
    );
    assert_eq!(cells(&claude)[1], "fast: input 8");
    assert_eq!(claude.service_tiers["fast"].request["speed"], "fast");
}

#[test]
fn a_storage_fee_that_copies_list_as_a_write_of_gemini_becomes_a_fee_again() {
    let cost = r#"{"input": 1.25, "output": 10, "cache_read": 0.125, "cache_write": 0.375}"#;
    let copy = priced("zenmux/google/gemini-2.5-pro", cost);
    assert_eq!(
        cells(&copy),
        ["standard: input 1.25, output 10, read 0.125, storage 4.5"]
    );
    assert_eq!(copy.cache_write_billing, CacheWriteBilling::AsInput);
    assert_eq!(copy.notes.len(), 1);
    let other = priced("minimax/MiniMax-M2.7-highspeed", cost);
    assert!(cells(&other)[0].ends_with("write 0.375"));
}

#[test]
fn a_write_of_gemini_dearer_than_input_is_set_aside() {
    let cost = r#"{"input": 0.3, "output": 2.5, "cache_write": 1}"#;
    let sheet = priced("zenmux/google/Gemini-2.5-flash", cost);
    assert_eq!(cells(&sheet), ["standard: input 0.3, output 2.5"]);
    assert_eq!(sheet.unmapped["cache_write/standard/0"], "1");
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::NotPublished);
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn a_cache_write_of_0_on_a_priced_entry_is_billed_as_input() {
    let cost = r#"{"input": 0.6, "output": 2.2, "cache_read": 0, "cache_write": 0}"#;
    let zai = priced("zai/glm-5", cost);
    assert_eq!(cells(&zai), ["standard: input 0.6, output 2.2, read 0"]);
    assert_eq!(zai.cache_write_billing, CacheWriteBilling::AsInput);
    let claude = priced("x/claude", r#"{"input": 3, "cache_write": 3.75}"#);
    assert_eq!(cells(&claude), ["standard: input 3, write 3.75"]);
    assert_eq!(claude.cache_write_billing, CacheWriteBilling::Priced);
}

#[test]
fn zeros_that_are_no_prices_are_kept_aside_or_noted() {
    let free = priced("nvidia/x", r#"{"input": 0, "output": 0}"#);
    assert_eq!(cells(&free), ["standard: input 0, output 0"]);
    assert_eq!(free.notes, [crate::catalog::rules::FREE]);
    let gap = priced(
        "x/y",
        r#"{"input": 1, "output": 4, "reasoning": 0,
            "tiers": [{"input": 0, "output": 0, "tier": {"type": "context", "size": 200000}}]}"#,
    );
    assert_eq!(cells(&gap), ["standard: input 1, output 4"]);
    assert_eq!(gap.unmapped["cost/reasoning"], 0);
    assert_eq!(gap.unmapped["cost/tiers/0"]["output"], 0);
    assert_eq!(gap.notes.len(), 2);
}

#[test]
fn the_catalog_names_the_model_that_hosts_share() {
    let named = |key, name: &str| {
        sheet(
            key,
            &format!(r#"{{"canonical_model_id": {name}, "cost": {{"input": 1}}}}"#),
        )
    };
    let alias = named("openai/gpt-5.6", r#""openai/gpt-5.6-sol""#);
    assert_eq!(alias.canonical_model.as_deref(), Some("openai/gpt-5.6-sol"));
    assert!(alias.unmapped.is_empty());
    let wrong = named("openai/gpt-5.4", "7");
    assert_eq!(wrong.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(wrong.unmapped["canonical_model_id"], 7);
    let seller = named("venice/gpt-5.4", "null");
    assert_eq!(seller.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    let unknown = named("vivgrid/viv-x", r#""vivgrid/Viv-Fast""#);
    assert_eq!(unknown.canonical_model.as_deref(), Some("vivgrid/viv-fast"));
}

#[test]
fn copies_of_bedrock_in_several_regions_are_one_model() {
    let cost = r#"{"cost": {"input": 5.5}, "id": "us.anthropic.claude-opus-5"}"#;
    let sheet = sheet("amazon-bedrock/us.anthropic.claude-opus-5", cost);
    assert_eq!(
        (sheet.region.as_str(), sheet.model.as_str()),
        ("us", "anthropic.claude-opus-5")
    );
    assert_eq!(sheet.aliases, ["us.anthropic.claude-opus-5"]);
    assert!(sheet.unmapped.is_empty());
}

#[test]
fn float_noise_is_rounded_and_remembered() {
    let sheet = priced("x/y", r#"{"input": 0.09999999999999999, "output": "0.5"}"#);
    assert_eq!(cells(&sheet), ["standard: input 0.1, output 0.5"]);
    assert_eq!(
        sheet.unmapped["rounded"]["cost/input"],
        "0.09999999999999999"
    );
}

#[test]
fn a_whole_catalog_is_recognised_and_every_entry_has_its_key() {
    let catalog = r#"{"openrouter": {"npm": "x", "models": {"z-ai/glm-5": {"cost": {"input": 1}},
            "a": {"cost": {"output": 7}}, "free": {}}},
        "openai": {"npm": "y", "models": {}}}"#;
    assert!(testing::is_catalog(&CATALOG, catalog));
    assert_eq!(
        testing::keys(&CATALOG, catalog).unwrap(),
        ["openrouter/a", "openrouter/free", "openrouter/z-ai/glm-5"]
    );
    assert!(testing::is_catalog(
        &CATALOG,
        r#"{"deepseek": {"id": "deepseek", "models": {"t": {"cost": {"input": 0.66, "tiers": []}}}}}"#
    ));
    for other in [
        "[]",
        "{}",
        "7",
        r#"{"gpt-5.4": {"litellm_provider": "openai"}}"#,
        r#"{"cost": {"input": 1}, "modalities": {}}"#,
        r#"{"a": {"models": {}}}"#,
        r#"{"a": {"npm": "x", "models": {"m": {"cost": {"input": 1}}, "n": {}}}}"#,
        r#"{"a": {"npm": "x", "models": []}}"#,
        r#"{"a": null}"#,
    ] {
        assert!(!testing::is_catalog(&CATALOG, other), "{other}");
    }
}

#[test]
fn a_catalog_in_which_an_entry_has_no_key_is_refused_and_a_shared_one_is_contradicted() {
    let detail = |document| {
        let faults = testing::keys(&CATALOG, document).unwrap_err();
        assert_eq!(faults.len(), 1);
        format!("{}: {}", faults[0].pointer, faults[0].detail)
    };
    let shared = |cost: u32| {
        let document = format!(
            r#"{{"a": {{"models": {{"b/c": {{"cost": 1}}}}}}, "a/b": {{"models": {{"c": {{"cost": {cost}}}}}}}}}"#
        );
        testing::keys(&CATALOG, &document).unwrap()
    };
    assert_eq!(shared(1), ["a/b/c"]);
    assert_eq!(shared(2), ["a/b/c (contradicted)"]);
    assert_eq!(detail(r#"{"a": {}}"#), "/a: the field `models` is missing");
    assert_eq!(
        detail(r#"{"a": {"models": []}}"#),
        "/a/models: expected an object, found a list"
    );
    assert_eq!(
        detail(r#"{"a": 7}"#),
        "/a: expected an object with named fields, found a number"
    );
    assert_eq!(detail("[]"), ": expected an object, found a list");
}

#[test]
fn what_cannot_be_read_is_refused_with_one_reason() {
    let tier = |tier: &str| format!(r#"{{"cost": {{"input": 1, "tiers": [{tier}]}}}}"#);
    let mode = |name: &str, cost: &str| {
        format!(
            r#"{{"cost": {{"input": 1}}, "experimental": {{"modes": {{"{name}": {{"cost": {cost}}}}}}}}}"#
        )
    };
    let cases = [
        (
            "{}".to_owned(),
            ": the entry has no token price, nor any other price",
        ),
        ("[]".to_owned(), ": expected an object, found a list"),
        (
            r#"{"cost": null}"#.to_owned(),
            ": the entry has no token price, nor any other price",
        ),
        (
            r#"{"cost": []}"#.to_owned(),
            "/cost: expected an object, found a list",
        ),
        (
            r#"{"cost": {"input_audio": 3}}"#.to_owned(),
            ": the entry has no token price; it is priced by input_audio",
        ),
        (
            r#"{"cost": {"input": -1}}"#.to_owned(),
            "/cost/input: `input` is negative: -1",
        ),
        (
            r#"{"cost": {"input": ""}}"#.to_owned(),
            "/cost/input: `input` is not a number",
        ),
        (
            r#"{"cost": {"cache_write": [1]}}"#.to_owned(),
            "/cost/cache_write: `cache_write` is a list, not a number",
        ),
        (
            r#"{"cost": {"output": 1e13}}"#.to_owned(),
            "/cost/output: `output` is out of range: 1e13",
        ),
        (
            r#"{"cost": {"input_audio": true, "input": 1}}"#.to_owned(),
            "/cost/input_audio: `input_audio` is true or false, not a number",
        ),
        (
            r#"{"cost": {"input": 1, "tiers": {}}}"#.to_owned(),
            "/cost/tiers: expected a list, found an object",
        ),
        (
            r#"{"cost": {"input": 1, "context_over_200k": 5}}"#.to_owned(),
            "/cost/context_over_200k: expected an object, found a number",
        ),
        (
            tier("7"),
            "/cost/tiers/0: expected an object with named fields, found a number",
        ),
        (tier("{}"), "/cost/tiers/0: the field `tier` is missing"),
        (
            tier(r#"{"tier": {"type": "context"}}"#),
            "/cost/tiers/0/tier: the field `size` is missing",
        ),
        (
            tier(r#"{"tier": {"type": "context", "size": 0}}"#),
            "/cost/tiers/0/tier/size: `0` is not a whole number from 1 to 2147483647",
        ),
        (
            tier(r#"{"tier": {"type": "context", "size": 1e30}}"#),
            "/cost/tiers/0/tier/size: `1e30` is not a whole number from 1 to 2147483647",
        ),
        (
            tier(
                r#"{"input": 2, "tier": {"type": "context", "size": 200000}},
                   {"input": 3, "tier": {"type": "context", "size": 200001}}"#,
            ),
            ": two prices for the service tier `standard` from 200000 prompt tokens on",
        ),
        (
            tier(r#"{"input": 2, "tier": {"type": "context", "size": 1}}"#),
            ": two prices for the service tier `standard` from 0 prompt tokens on",
        ),
        (
            mode("standard", r#"{"input": 2}"#),
            ": two prices for the service tier `standard` from 0 prompt tokens on",
        ),
        (
            mode("", "{}"),
            "/experimental/modes/: a text of 0 characters",
        ),
        (
            mode("fast", "7"),
            "/experimental/modes/fast/cost: expected an object, found a number",
        ),
        (
            r#"{"cost": {"input": 1}, "experimental": {"modes": {"fast": 7}}}"#.to_owned(),
            "/experimental/modes/fast: expected an object with named fields, found a number",
        ),
    ];
    for (entry, reason) in cases {
        assert_eq!(refusal("x/y", &entry), reason, "{entry}");
    }
    for key in ["", "gpt-5.4", "/x", "x/", "x/\u{7}"] {
        let reason = refusal(key, "{}");
        assert!(reason.ends_with("names no provider and model"), "{reason}");
    }
}

#[test]
fn odd_values_beside_the_prices_are_kept_unchanged() {
    let sheet = sheet(
        "x/y",
        r#"{"id": "z", "limit": [1], "experimental": "soon", "cost": {"input": 1, "tiers": []}}"#,
    );
    assert_eq!(
        serde_json::Value::from(sheet.unmapped),
        json!({"id": "z", "limit": [1], "experimental": "soon"})
    );
    let limits = self::sheet(
        "x/y",
        r#"{"limit": {"context": 0, "input": "many"}, "cost": {"input": 1}}"#,
    );
    assert_eq!(
        serde_json::Value::from(limits.unmapped),
        json!({"limit/context": 0, "limit/input": "many"})
    );
}

#[test]
fn more_than_a_sheet_holds_is_refused() {
    let tiers: Vec<_> = (1..=128)
        .map(|n| format!(r#"{{"input": 2, "tier": {{"type": "context", "size": {n}000}}}}"#))
        .collect();
    let entry = format!(
        r#"{{"cost": {{"input": 1, "tiers": [{}]}}}}"#,
        tiers.join(", ")
    );
    assert_eq!(refusal("x/y", &entry), ": the entry has 129 rate cells");
    let modes: Vec<_> = (0..65)
        .map(|n| format!(r#""m{n}": {{"cost": {{"input": 2}}}}"#))
        .collect();
    let entry = format!(
        r#"{{"cost": {{"input": 1}}, "experimental": {{"modes": {{{}}}}}}}"#,
        modes.join(", ")
    );
    assert_eq!(refusal("x/y", &entry), ": the entry has 65 service tiers");
}

#[test]
fn a_seller_whose_prices_are_copied_in_euros_or_yuan_is_read_in_that_currency() {
    let cost = r#"{"cost": {"input": 0.9, "output": 0.9}}"#;
    let read = |key| testing::read_one(&CATALOG, key, cost);
    let cases = [
        ("scaleway/llama-3.3-70b-instruct", "EUR"),
        ("scaleway/qwen3.8-27b", "USD"),
        ("moark/MiniMax-M2.1", "CNY"),
        ("stackit/google/gemma-3-27b-it", "USD"),
    ];
    for (key, currency) in cases {
        assert_eq!(read(key).currency, currency, "{key}");
    }
    let notes = read("scaleway/llama-3.3-70b-instruct").notes;
    assert!(
        notes[0].contains("in EUR without saying so (https://"),
        "{notes:?}"
    );
    assert!(read("scaleway/qwen3.8-27b").notes.is_empty());
}
