//! One test per pitfall of the format, on entries written here.

mod catalog;

use serde_json::json;

use super::{CATALOG, CATALOG_URL};
use crate::catalog::testing::{self, cells, offer};
use crate::sheet::{CacheWriteBilling, Limits, PriceSheet};

fn sheet(name: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, name, entry)
}

fn refusal(name: &str, entry: &str) -> String {
    testing::refusal(&CATALOG, name, entry)
}

#[test]
fn prices_per_token_become_exact_prices_per_million() {
    let sheet = sheet(
        "gpt-5.4",
        r#"{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06,
            "output_cost_per_token": 0.000015, "cache_read_input_token_cost": 2.5e-07,
            "max_input_tokens": 1050000, "max_output_tokens": 128000.0, "supports_vision": true,
            "source": "https://developers.openai.com/api/docs/pricing", "deprecation_date": null}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 2.5, output 15, read 0.25"]);
    assert_eq!(offer(&sheet), "openai global gpt-5.4");
    assert_eq!(sheet.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert!(sheet.aliases.is_empty());
    assert_eq!(
        (sheet.limits.max_input, sheet.limits.max_output),
        (Some(1_050_000), Some(128_000))
    );
    assert_eq!(sheet.limits.context, None);
    assert_eq!(
        sheet.sources[0].url,
        "https://developers.openai.com/api/docs/pricing"
    );
    assert_eq!(sheet.sources[0].locator.as_deref(), Some("gpt-5.4"));
    assert_eq!(
        serde_json::to_value(&sheet.unmapped).unwrap(),
        json!({"mode": "chat", "supports_vision": true})
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::NotPublished);
}

#[test]
fn a_price_may_be_a_text_as_yaml_writes_it() {
    let sheet = sheet(
        "x",
        r#"{"litellm_provider": "groq", "input_cost_per_token": "4e-07", "output_cost_per_token": " 0.0000008 "}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 0.4, output 0.8"]);
}

#[test]
fn float_noise_is_rounded_and_remembered_as_it_was_written() {
    let sheet = sheet(
        "x",
        r#"{"litellm_provider": "databricks", "input_cost_per_token": 4.9999999999999998e-07,
            "output_cost_per_token": 1e-06}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 0.5, output 1"]);
    assert_eq!(
        sheet.unmapped["rounded"],
        json!({"input_cost_per_token": "4.9999999999999998e-07"})
    );
}

#[test]
fn what_is_no_price_is_a_fault_that_names_its_field() {
    let entry = |price: &str| {
        format!(
            r#"{{"litellm_provider": "groq", "input_cost_per_token": {price}, "output_cost_per_token": 1e-06}}"#
        )
    };
    let cases = [
        ("-1e-06", "`input_cost_per_token` is negative: -1e-06"),
        (
            "true",
            "`input_cost_per_token` is true or false, not a number",
        ),
        ("[1]", "`input_cost_per_token` is a list, not a number"),
        ("{}", "`input_cost_per_token` is an object, not a number"),
        (r#""free""#, "`input_cost_per_token` is not a number"),
        (r#""1e999999999""#, "`input_cost_per_token` is not a number"),
        ("1e50", "`input_cost_per_token` is out of range: 1e50"),
    ];
    for (price, detail) in cases {
        let reason = format!("/input_cost_per_token: {detail}");
        assert_eq!(refusal("x", &entry(price)), reason);
    }
    let nested = r#"{"litellm_provider": "groq", "tiered_pricing": [{"range": [0, 1000], "input_cost_per_token": -1}]}"#;
    assert_eq!(
        refusal("x", nested),
        "/tiered_pricing/0/input_cost_per_token: `input_cost_per_token` is negative: -1"
    );
}

#[test]
fn service_tiers_and_context_tiers_become_cells_that_inherit_nothing() {
    let sheet = sheet(
        "gpt-5.4",
        r#"{"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05,
            "cache_read_input_token_cost": 2.5e-07,
            "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2.25e-05,
            "input_cost_per_token_batches": 1.25e-06, "output_cost_per_token_flex": 7.5e-06,
            "input_cost_per_token_priority": 5e-06, "input_cost_per_token_balanced": 2e-06,
            "input_cost_per_token_above_272k_tokens_ultrafast": 3e-05}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2.5, output 15, read 0.25",
            "standard >272000: input 5, output 22.5",
            "balanced: input 2",
            "batch: input 1.25",
            "flex: output 7.5",
            "priority: input 5",
            "ultrafast >272000: input 30",
        ]
    );
    assert_eq!(sheet.service_tiers["priority"].aliases, ["fast"]);
    assert_eq!(sheet.service_tiers.len(), 1);
}

#[test]
fn thresholds_are_exclusive_but_at_xai() {
    let entry = |provider: &str| {
        format!(
            r#"{{"litellm_provider": "{provider}", "input_cost_per_token": 2e-06, "output_cost_per_token": 6e-06,
                "input_cost_per_token_above_200k_tokens": 4e-06}}"#
        )
    };
    assert_eq!(
        cells(&sheet("xai/grok-4.6", &entry("xai")))[1],
        "standard >=200000: input 4"
    );
    assert_eq!(
        cells(&sheet(
            "vercel_ai_gateway/xai/grok-4.6",
            &entry("vercel_ai_gateway")
        ))[1],
        "standard >200000: input 4"
    );
    let bands = r#"{"litellm_provider": "xai", "tiered_pricing": [
        {"range": [0, 200000], "input_cost_per_token": 2e-06}, {"range": [200000, 500000], "input_cost_per_token": 4e-06}]}"#;
    assert_eq!(
        cells(&sheet("xai/grok-4.7", bands)),
        ["standard: input 2", "standard >=200000: input 4"]
    );
}

#[test]
fn cache_writes_carry_their_time_to_live_and_the_assumed_one_is_noted() {
    let writes = r#""input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05,
        "cache_creation_input_token_cost": 2.5e-06, "cache_creation_input_token_cost_above_1hr": 4e-06,
        "cache_creation_input_token_cost_above_12hr": 5e-06,
        "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 8e-06"#;
    let claude = sheet(
        "claude-opus-5",
        &format!(r#"{{"litellm_provider": "anthropic", {writes}}}"#),
    );
    assert_eq!(
        cells(&claude),
        [
            "standard: input 2, output 10, write 300s 2.5, write 3600s 4, write 43200s 5",
            "standard >200000: write 3600s 8"
        ]
    );
    assert_eq!(claude.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(
        claude.notes,
        ["LiteLLM does not state the lifetime of a cache write; 300 seconds are assumed."]
    );
    let gpt = sheet(
        "us.openai.gpt-6-sol",
        &format!(r#"{{"litellm_provider": "bedrock_converse", {writes}}}"#),
    );
    assert!(cells(&gpt)[0].ends_with("write 3600s 4, write 43200s 5"));
    assert_eq!(gpt.rates[0].cache_write[0].ttl_seconds, Some(1_800));
}

#[test]
fn a_cache_write_of_zero_on_a_priced_entry_is_billed_as_input() {
    let sheet = sheet(
        "deepseek-v4-pro",
        r#"{"litellm_provider": "deepseek", "input_cost_per_token": 1.32e-06, "output_cost_per_token": 3.96e-06,
            "cache_creation_input_token_cost": 0.0}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 1.32, output 3.96"]);
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    assert!(sheet.unmapped.is_empty() && sheet.notes.is_empty());
}

#[test]
fn a_zero_base_write_beside_a_priced_longer_one_is_set_aside() {
    let sheet = sheet(
        "x",
        r#"{"litellm_provider": "aihubmix", "input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06,
            "cache_creation_input_token_cost": 0, "cache_creation_input_token_cost_above_1hr": 2e-06}"#,
    );
    assert_eq!(
        cells(&sheet),
        ["standard: input 1, output 4, write 3600s 2"]
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(sheet.unmapped["cache_creation_input_token_cost"], 0);
}

#[test]
fn zero_for_input_and_output_stays_a_price_with_a_note() {
    let sheet = sheet(
        "ollama/llama3",
        r#"{"litellm_provider": "ollama", "input_cost_per_token": 0.0, "output_cost_per_token": 0}"#,
    );
    assert_eq!(cells(&sheet), ["standard: input 0, output 0"]);
    assert_eq!(
        sheet.notes,
        ["Input and output are stated as 0: free, run locally, billed by a plan, or unknown."]
    );
}

#[test]
fn a_tier_of_zeros_beside_a_priced_base_is_kept_aside() {
    let tier = r#""input_cost_per_token_above_128k_tokens": 0, "output_cost_per_token_above_128k_tokens": 0.0"#;
    let priced = format!(
        r#"{{"litellm_provider": "gemini", "input_cost_per_token": 1e-07, "output_cost_per_token": 4e-07, {tier}}}"#
    );
    let sheet = sheet("gemini/gemini-2.0-flash", &priced);
    assert_eq!(cells(&sheet), ["standard: input 0.1, output 0.4"]);
    assert_eq!(sheet.unmapped["input_cost_per_token_above_128k_tokens"], 0);
    assert_eq!(sheet.notes.len(), 1);
    let free = format!(
        r#"{{"litellm_provider": "gemini", "input_cost_per_token": 0, "output_cost_per_token": 0, {tier}}}"#
    );
    let cells_of_free = cells(&self::sheet("gemini/gemini-2.0-flash", &free));
    assert_eq!(
        cells_of_free,
        [
            "standard: input 0, output 0",
            "standard >128000: input 0, output 0"
        ]
    );
}

#[test]
fn the_older_name_of_a_cache_read_counts_only_where_the_newer_is_missing() {
    let entry = |prices: &str| {
        format!(
            r#"{{"litellm_provider": "zai", "input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06, {prices}}}"#
        )
    };
    let hit = r#""input_cost_per_token_cache_hit": 2e-07"#;
    let alone = sheet("zai/glm-5", &entry(hit));
    assert_eq!(cells(&alone), ["standard: input 1, output 4, read 0.2"]);
    let same = sheet(
        "zai/glm-5",
        &entry(&format!(
            r#"{hit}, "cache_read_input_token_cost": 0.0000002"#
        )),
    );
    assert_eq!((cells(&same), same.unmapped.len()), (cells(&alone), 0));
    let differs = sheet(
        "zai/glm-5",
        &entry(&format!(r#"{hit}, "cache_read_input_token_cost": 1e-07"#)),
    );
    assert_eq!(cells(&differs), ["standard: input 1, output 4, read 0.1"]);
    assert_eq!(
        differs.unmapped["input_cost_per_token_cache_hit"],
        json!(2e-7)
    );
}

#[test]
fn the_bands_of_tiered_pricing_win_over_flat_prices() {
    let sheet = sheet(
        "dashscope/qwen-plus",
        r#"{"litellm_provider": "dashscope", "input_cost_per_token": 9e-07, "output_cost_per_token": 1.2e-06,
            "cache_read_input_token_cost": 8e-08, "explicit_cache_read_input_token_cost": 4e-08,
            "tiered_pricing": [
                {"range": [0, 256000.0], "input_cost_per_token": 4e-07, "output_cost_per_token": 1.2e-06,
                 "output_cost_per_reasoning_token": 4e-06},
                {"range": [256000.0, 1000000.0], "input_cost_per_token": 1.2e-06, "input_cost_per_image": 1},
                {"max_results_range": [0, 25], "input_cost_per_query": 0.005}]}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 0.4, output 1.2, reasoning 4, read 0.08, explicit read 0.04",
            "standard >256000: input 1.2"
        ]
    );
    assert_eq!(sheet.unmapped["input_cost_per_token"], json!(9e-7));
    assert!(!sheet.unmapped.contains_key("output_cost_per_token"));
    let left = json!([
        {"range": [256_000.0, 1_000_000.0], "input_cost_per_image": 1},
        {"max_results_range": [0, 25], "input_cost_per_query": 0.005}
    ]);
    assert_eq!(sheet.unmapped["tiered_pricing"], left);
}

#[test]
fn off_peak_prices_become_cells_of_a_schedule() {
    let sheet = sheet(
        "deepseek/deepseek-v4-pro",
        r#"{"litellm_provider": "deepseek", "input_cost_per_token": 1.32e-06, "output_cost_per_token": 3.96e-06,
            "cache_read_input_token_cost": 4.4e-08,
            "off_peak_pricing": {"input_cost_per_token": 6.6e-07, "cache_read_input_token_cost": 2.2e-08, "holidays": "cn",
                "windows": [{"weekdays": [1, 2, 3, 4, 5], "hours_utc": ["00:00-01:00", "10:00-00:00"]},
                            {"weekdays": [6, 7], "hours_utc": "00:00-00:00"}]}}"#,
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 1.32, output 3.96, read 0.044",
            "standard off_peak: input 0.66, read 0.022"
        ]
    );
    let schedule = &sheet.schedules["off_peak"];
    assert_eq!(
        (schedule.timezone.as_str(), schedule.windows.len()),
        ("UTC", 3)
    );
    assert_eq!(
        sheet.unmapped["off_peak_pricing"],
        json!({"holidays": "cn"})
    );
}

#[test]
fn off_peak_hours_that_move_with_daylight_saving_are_kept_unparsed() {
    let sheet = sheet(
        "x",
        r#"{"litellm_provider": "groq", "input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06,
            "off_peak_pricing": {"input_cost_per_token": 5e-07, "weekday_timezone": "Europe/Paris",
                "windows": [{"weekdays": [6], "hours_utc": "01:00-02:00"}]}}"#,
    );
    assert_eq!(sheet.rates.len(), 1);
    assert_eq!(
        sheet.unmapped["off_peak_pricing"]["weekday_timezone"],
        "Europe/Paris"
    );
    assert_eq!(
        sheet.notes,
        ["The off-peak prices could not be read and are kept under `unmapped`."]
    );
}

#[test]
fn multipliers_of_speed_and_place_stay_multipliers() {
    let sheet = sheet(
        "claude-opus-5-5",
        r#"{"litellm_provider": "anthropic", "input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05,
            "provider_specific_entry": {"us": 1.1, "fast": 2.0, "titan": "v2"},
            "regional_endpoint_uplift_multiplier": 1.1, "regional_processing_uplift_multiplier_eu": 1.1}"#,
    );
    let fast = &sheet.service_tiers["fast"];
    assert_eq!(
        fast.price_multiplier
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("2")
    );
    assert_eq!(
        serde_json::to_value(&fast.request).unwrap(),
        json!({"speed": "fast"})
    );
    let modifiers: Vec<_> = sheet
        .modifiers
        .iter()
        .map(|modifier| {
            (
                modifier.name.as_str(),
                json!(modifier.when),
                modifier.multiplier.to_string(),
            )
        })
        .collect();
    assert_eq!(
        modifiers,
        [
            (
                "inference_geo_us",
                json!({"inference_geo": "us"}),
                "1.1".to_owned()
            ),
            (
                "regional_endpoint",
                json!({"endpoint": "regional"}),
                "1.1".to_owned()
            ),
            (
                "data_residency_eu",
                json!({"region": ["eu"]}),
                "1.1".to_owned()
            ),
        ]
    );
    assert_eq!(
        sheet.unmapped["provider_specific_entry"],
        json!({"titan": "v2"})
    );
}

#[test]
fn limits_that_are_not_token_counts_are_kept_unchanged() {
    let sheet = sheet(
        "x",
        r#"{"litellm_provider": "groq", "input_cost_per_token": 1e-06, "prompt_cache_min_tokens": 6144.0,
            "max_input_tokens": 0, "max_output_tokens": "8192"}"#,
    );
    assert_eq!(
        sheet.limits,
        Limits {
            cache_min_tokens: Some(6_144),
            ..Limits::default()
        }
    );
    assert_eq!(sheet.unmapped["max_input_tokens"], 0);
    assert_eq!(sheet.unmapped["max_output_tokens"], "8192");
}

#[test]
fn names_of_provider_and_region_leave_the_key_as_an_alias() {
    let sheet = sheet(
        "us.anthropic.claude-opus-5",
        r#"{"litellm_provider": "bedrock_converse", "input_cost_per_token": 5.5e-06, "source": "a price list"}"#,
    );
    assert_eq!(offer(&sheet), "amazon-bedrock us anthropic.claude-opus-5");
    assert_eq!(sheet.aliases, ["us.anthropic.claude-opus-5"]);
    assert_eq!(sheet.unmapped["litellm_provider"], "bedrock_converse");
    assert_eq!(sheet.unmapped["source"], "a price list");
    assert_eq!(sheet.sources[0].url, CATALOG_URL);
}

#[test]
fn an_entry_without_a_token_price_says_by_what_it_is_priced() {
    for (key, entry, reason) in [
        (
            "x",
            r#"{"litellm_provider": "fal_ai", "output_cost_per_image": 0.04, "input_cost_per_token": null}"#,
            ": the entry has no token price; it is priced by output_cost_per_image",
        ),
        (
            "x",
            r#"{"litellm_provider": "chatgpt"}"#,
            ": the entry has no token price, nor any other price",
        ),
        (
            "x",
            r#"{"input_cost_per_token": 1e-06}"#,
            ": the field `litellm_provider` is missing",
        ),
        ("x", "[]", ": expected an object, found a list"),
        (
            "x",
            r#"{"litellm_provider": 7, "input_cost_per_token": 1e-06}"#,
            "/litellm_provider: expected a text, found a number",
        ),
        (
            "",
            r#"{"litellm_provider": "groq", "input_cost_per_token": 1e-06}"#,
            ": the name of the model has 0 characters, or control characters",
        ),
    ] {
        assert_eq!(refusal(key, entry), reason);
    }
}

#[test]
fn what_is_nested_too_deep_for_a_sheet_is_kept_as_a_text() {
    let entry = |levels: usize| {
        let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"litellm_provider": "groq", "input_cost_per_token": 1e-06, "x": {nested}}}"#)
    };
    assert!(sheet("x", &entry(30)).unmapped["x"].is_array());
    assert_eq!(
        sheet("x", &entry(31)).unmapped["x"],
        format!("{}{}", "[".repeat(31), "]".repeat(31))
    );
}

#[test]
fn a_name_that_its_author_would_make_too_long_joins_no_hosts() {
    let entry = r#"{"litellm_provider": "openai", "input_cost_per_token": 1e-06}"#;
    let name = |length: usize| format!("gpt-5-{}", "5".repeat(length - 6));
    assert!(sheet(&name(248), entry).canonical_model.is_some());
    assert_eq!(sheet(&name(249), entry).canonical_model, None);
}

#[test]
fn more_cells_than_a_sheet_holds_are_refused() {
    let tiers: Vec<_> = (1..=129)
        .map(|n| format!(r#""input_cost_per_token_above_{n}k_tokens": 1e-06"#))
        .collect();
    let entry = format!(r#"{{"litellm_provider": "groq", {}}}"#, tiers.join(", "));
    assert_eq!(refusal("x", &entry), ": the entry has 129 rate cells");
}

#[test]
fn a_storage_fee_that_a_router_lists_as_a_write_becomes_a_fee_again() {
    let entry = r#"{"litellm_provider": "openrouter", "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05, "cache_creation_input_token_cost": 3.75e-07}"#;
    let sheet = sheet("openrouter/google/gemini-2.5-pro", entry);
    assert_eq!(
        cells(&sheet),
        ["standard: input 1.25, output 10, storage 4.5"]
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
}
