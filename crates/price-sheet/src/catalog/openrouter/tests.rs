//! One test per pitfall of the format, on entries written here.

use super::CATALOG;
use crate::catalog::testing::{self, cells, offer, other_meters, windows};
use crate::sheet::{CacheWriteBilling, PriceSheet};

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

fn refusal(key: &str, entry: &str) -> String {
    testing::refusal(&CATALOG, key, entry)
}

fn keys(document: &str) -> Vec<String> {
    assert!(testing::is_catalog(&CATALOG, document));
    testing::keys(&CATALOG, document).unwrap()
}

fn model(id: &str, pricing: &str) -> String {
    format!(r#"{{"id": "{id}", "context_length": 200000, "pricing": {{{pricing}}}}}"#)
}

fn endpoint(tag: &str, more: &str, pricing: &str) -> String {
    format!(r#"{{"tag": "{tag}", "provider_name": "Host", {more} "pricing": {{{pricing}}}}}"#)
}

const BASE: &str = r#""prompt": "0.000002", "completion": "0.00001""#;

#[test]
fn texts_per_token_become_exact_prices_per_million() {
    let entry = r#"{"id": "openai/gpt-5.4", "canonical_slug": "openai/gpt-5.4-20260305", "context_length": 1050000,
        "pricing": {"prompt": "0.0000025", "completion": "0.000015", "input_cache_read": "0.00000025",
            "input_cache_write": "0.000003125", "input_cache_write_1h": "0.000005", "internal_reasoning": "0.00002",
            "web_search": "0.01", "request": "0", "image": "0.001", "audio": "0.000032"},
        "top_provider": {"context_length": 1050000, "max_completion_tokens": 128000}, "expiration_date": null}"#;
    let sheet = sheet("openai/gpt-5.4", entry);
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2.5, output 15, reasoning 20, read 0.25, write 300s 3.125, write 3600s 5"
        ]
    );
    assert_eq!(offer(&sheet), "openrouter global openai/gpt-5.4");
    assert_eq!(sheet.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(
        (sheet.limits.context, sheet.limits.max_output),
        (Some(1_050_000), Some(128_000))
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(
        other_meters(&sheet),
        [
            "input_audio 32 per_1m_tokens",
            "web_search 10 per_1000_calls"
        ]
    );
    assert_eq!(sheet.unmapped["pricing/image"], "0.001");
    assert_eq!(sheet.unmapped["pricing/request"], "0");
    assert_eq!(sheet.unmapped["canonical_slug"], "openai/gpt-5.4-20260305");
    assert_eq!(sheet.sources[0].url, "https://openrouter.ai/api/v1/models");
}

#[test]
fn the_price_at_model_level_is_not_that_of_the_author_and_a_note_says_so() {
    let sheet = sheet("z-ai/glm-5.2", &model("z-ai/glm-5.2", BASE));
    assert_eq!(sheet.upstream_provider, None);
    assert!(sheet.notes[0].ends_with("it is not the price of the model's author."));
}

#[test]
fn a_price_of_minus_one_varies_and_is_refused() {
    for price in [r#""-1""#, "-1"] {
        let entry = model(
            "openrouter/auto",
            &format!(r#""prompt": {price}, "completion": {price}"#),
        );
        assert_eq!(
            refusal("openrouter/auto", &entry),
            "/pricing/prompt: `prompt` is -1: the price depends on the model to which the request is routed"
        );
    }
}

#[test]
fn a_free_variant_is_free_with_a_note_and_of_the_same_weights() {
    let id = "deepseek/deepseek-v4-flash:free";
    let sheet = sheet(id, &model(id, r#""prompt": "0", "completion": "0""#));
    assert_eq!(cells(&sheet), ["standard: input 0, output 0"]);
    assert_eq!(sheet.model, id);
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("deepseek/deepseek-v4-flash")
    );
    assert_eq!(
        sheet.notes[0],
        "Input and output are stated as 0: free, run locally, billed by a plan, or unknown."
    );
}

#[test]
fn gemini_lists_five_minutes_of_storage_as_a_cache_write() {
    for (write, fee) in [("0.000000375", "4.5"), ("0.00000008333333333333334", "1")] {
        let pricing = format!(
            r#"{BASE}, "input_cache_write": "{write}", "overrides": [{{"min_prompt_tokens": 200000, "prompt": "0.000004"}}]"#
        );
        let id = "google/gemini-3.1-pro-preview";
        let sheet = sheet(id, &model(id, &pricing));
        assert_eq!(
            cells(&sheet),
            [
                format!("standard: input 2, output 10, storage {fee}"),
                format!("standard >200000: input 4, output 10, storage {fee}")
            ]
        );
        assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    }
    let other = model(
        "qwen/qwen3-max",
        &format!(r#"{BASE}, "input_cache_write": "0.000000375""#),
    );
    assert_eq!(
        cells(&sheet("qwen/qwen3-max", &other)),
        ["standard: input 2, output 10, write 300s 0.375"]
    );
}

#[test]
fn an_override_by_length_inherits_what_it_does_not_state() {
    let pricing = format!(
        r#"{BASE}, "input_cache_read": "0.0000002", "overrides": [
            {{"min_prompt_tokens": 272000, "prompt": "0.000004", "completion": "0.000015", "image": "0.1"}},
            {{"min_prompt_tokens": 199999, "prompt": "0.000003"}}]"#
    );
    let sheet = sheet("a/m", &model("a/m", &pricing));
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 10, read 0.2",
            "standard >=200000: input 3, output 10, read 0.2",
            // The later entry wins where both hold.
            "standard >272000: input 3, output 15, read 0.2",
        ]
    );
    assert_eq!(sheet.unmapped["pricing/overrides/0/image"], "0.1");
}

#[test]
fn overrides_by_time_become_schedules() {
    let peak = r#""prompt": "0.000004", "completion": "0.00002""#;
    let days = r#""utc_days": ["monday", "tuesday", "wednesday", "thursday", "friday"]"#;
    let pricing = format!(
        r#"{BASE}, "input_cache_read": "0.0000002", "overrides": [
            {{"utc_days": ["saturday", "sunday"], {BASE}}},
            {{{days}, "utc_start": 100, "utc_end": 400, {peak}}},
            {{{days}, "utc_start": 600, "utc_end": 1000, {peak}}},
            {{"utc_start": 2330, "utc_end": 30, "prompt": "0.000001"}}]"#
    );
    let sheet = sheet(
        "deepseek/deepseek-v4-pro",
        &model("deepseek/deepseek-v4-pro", &pricing),
    );
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 10, read 0.2",
            "standard off_peak: input 1, output 10, read 0.2",
            "standard peak: input 4, output 20, read 0.2",
        ]
    );
    assert_eq!(
        windows(&sheet, "peak"),
        ["1,2,3,4,5 01:00-04:00", "1,2,3,4,5 06:00-10:00"]
    );
    assert_eq!(
        windows(&sheet, "off_peak"),
        [" 00:00-00:30", " 23:30-24:00"]
    );
    assert_eq!(sheet.schedules["peak"].timezone, "UTC");
}

#[test]
fn times_that_overlap_and_lengths_are_resolved_to_cells_of_their_own() {
    let pricing = format!(
        r#"{BASE}, "overrides": [
            {{"utc_start": 100, "utc_end": 400, "prompt": "0.000004"}},
            {{"utc_start": 300, "utc_end": 600, "completion": "0.00002"}},
            {{"min_prompt_tokens": 200000, "prompt": "0.000008"}}]"#
    );
    let sheet = sheet("a/m", &model("a/m", &pricing));
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 10",
            "standard >200000: input 8, output 10",
            "standard peak: input 4, output 10",
            "standard >200000 peak computed: input 8, output 10",
            "standard peak_2: input 4, output 20",
            "standard >200000 peak_2 computed: input 8, output 20",
            "standard scheduled: input 2, output 20",
            "standard >200000 scheduled computed: input 8, output 20",
        ]
    );
    assert_eq!(windows(&sheet, "peak_2"), [" 03:00-04:00"]);
}

#[test]
fn a_length_and_a_time_in_one_override_must_both_hold() {
    let pricing = format!(
        r#"{BASE}, "overrides": [
            {{"min_prompt_tokens": 50000, "utc_days": ["monday"], "utc_start": 0, "utc_end": 1200, "prompt": "0.000009"}}]"#
    );
    let sheet = sheet("a/m", &model("a/m", &pricing));
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 10",
            "standard peak computed: input 2, output 10",
            "standard >50000 peak: input 9, output 10",
        ]
    );
    assert_eq!(windows(&sheet, "peak"), ["1 00:00-12:00"]);
}

#[test]
fn an_override_whose_conditions_are_unclear_is_kept_with_a_note() {
    for conditions in [
        r#""utc_days": [0, 6]"#,
        r#""utc_start": 100"#,
        r#""utc_start": 900, "utc_end": 900"#,
        r#""min_prompt_tokens": "many""#,
        r#""min_prompt_tokens": -5"#,
        r#""only_on": "blue days""#,
    ] {
        let pricing = format!(r#"{BASE}, "overrides": [{{{conditions}, "prompt": "0.000001"}}]"#);
        let sheet = sheet("a/m", &model("a/m", &pricing));
        assert_eq!(
            cells(&sheet),
            ["standard: input 2, output 10"],
            "{conditions}"
        );
        assert_eq!(sheet.unmapped["pricing/overrides/0"]["prompt"], "0.000001");
        assert!(
            sheet
                .notes
                .iter()
                .any(|note| note.contains("conditions are unclear"))
        );
    }
}

#[test]
fn a_discount_gives_the_price_paid_and_the_list_price_is_kept() {
    let pricing = format!(
        r#"{BASE}, "discount": 0.125, "web_search": "0.01", "overrides": [{{"min_prompt_tokens": 200000, "prompt": "0.000004"}}]"#
    );
    let discounted = sheet("a/m", &model("a/m", &pricing));
    assert_eq!(
        cells(&discounted),
        [
            "standard: input 1.75, output 8.75",
            "standard >200000: input 3.5, output 8.75"
        ]
    );
    assert_eq!(discounted.unmapped["pricing"]["prompt"], "0.000002");
    assert!(
        discounted
            .notes
            .iter()
            .any(|note| note.contains("a discount of 12.5%"))
    );
    let none = sheet("a/m", &model("a/m", &format!(r#"{BASE}, "discount": 0"#)));
    assert_eq!(cells(&none), ["standard: input 2, output 10"]);
    assert!(!none.unmapped.contains_key("pricing"));
    for wrong in ["1", "1.5", "0.1234567", "-0.5", "true", "\"half\""] {
        let entry = model("a/m", &format!(r#"{BASE}, "discount": {wrong}"#));
        assert!(
            refusal("a/m", &entry).starts_with("/pricing/discount: "),
            "{wrong}"
        );
    }
}

#[test]
fn zeros_beside_a_priced_input_are_no_prices() {
    let entry = model(
        "a/m",
        &format!(r#"{BASE}, "input_cache_read": "0", "input_cache_write": "0""#),
    );
    let sheet = sheet("a/m", &entry);
    assert_eq!(cells(&sheet), ["standard: input 2, output 10"]);
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    assert_eq!(sheet.unmapped["pricing/input_cache_read"], "0");
    assert!(sheet.notes[0].starts_with("A cache read of 0"));
}

#[test]
fn an_endpoint_says_who_serves_it_and_how() {
    let entry = endpoint(
        "deepinfra/fp8",
        r#""quantization": "fp8", "context_length": 163840, "max_prompt_tokens": 160000, "max_completion_tokens": 16384,
           "service_tier": null, "uptime_last_30m": 99.9, "supports_implicit_caching": false,
           "latency_last_30m": {"p50": 420, "p75": 500, "p90": 800, "p99": 2000},
           "throughput_last_30m": {"p50": 61.5, "p75": 70, "p90": 90, "p99": 120},"#,
        BASE,
    );
    let key = "deepseek/deepseek-v4-pro@deepinfra/fp8";
    let sheet = sheet(key, &entry);
    assert_eq!(cells(&sheet), ["standard: input 2, output 10"]);
    assert_eq!(sheet.model, key);
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("deepseek/deepseek-v4-pro")
    );
    assert_eq!(sheet.upstream_provider.as_deref(), Some("deepinfra"));
    assert_eq!(sheet.quantization.as_deref(), Some("fp8"));
    assert_eq!(sheet.aliases, ["deepseek/deepseek-v4-pro"]);
    assert_eq!(
        (
            sheet.limits.context,
            sheet.limits.max_input,
            sheet.limits.max_output
        ),
        (Some(163_840), Some(160_000), Some(16_384))
    );
    let measured = sheet.service_tiers["standard"].measured.as_ref().unwrap();
    assert_eq!(measured.measured_by.as_deref(), Some("openrouter"));
    let wait = measured.time_to_first_token_seconds.as_ref().unwrap();
    assert_eq!((wait.p50, wait.p99), (Some(0.42), Some(2.0)));
    let speed = measured.output_tokens_per_second.as_ref().unwrap();
    assert_eq!(
        (speed.p50, speed.p75, speed.p90),
        (Some(61.5), Some(70.0), Some(90.0))
    );
    assert!(!sheet.unmapped.contains_key("latency_last_30m"));
    assert!(!sheet.unmapped.contains_key("throughput_last_30m"));
    assert_eq!(sheet.unmapped["tag"], "deepinfra/fp8");
    assert!(sheet.notes[0].starts_with("OpenRouter measured the speed of this endpoint"));
    assert_eq!(
        sheet.sources[0].url,
        "https://openrouter.ai/api/v1/models/deepseek/deepseek-v4-pro/endpoints"
    );
}

#[test]
fn a_speed_that_is_no_set_of_known_percentiles_is_kept_as_it_is() {
    let more = r#""latency_last_30m": {"p50": 0}, "throughput_last_30m": {"p50": 60, "mean": 61},"#;
    let sheet = sheet("a/m@together", &endpoint("together", more, BASE));
    assert!(sheet.service_tiers.is_empty());
    assert_eq!(sheet.unmapped["latency_last_30m"]["p50"], 0);
    assert_eq!(sheet.unmapped["throughput_last_30m"]["mean"], 61);
}

#[test]
fn speed_is_null_to_those_who_ask_without_a_key() {
    let more =
        r#""quantization": "unknown", "latency_last_30m": null, "throughput_last_30m": null,"#;
    let sheet = sheet("a/m@together", &endpoint("together", more, BASE));
    assert_eq!(sheet.upstream_provider.as_deref(), Some("togetherai"));
    assert_eq!(sheet.quantization, None);
    assert_eq!(
        sheet.notes,
        ["OpenRouter returns latency and throughput only to requests with an API key."]
    );
}

#[test]
fn the_service_tier_of_an_endpoint_is_that_of_its_cells() {
    let flex = sheet(
        "a/m@openai/flex",
        &endpoint("openai/flex", r#""service_tier": "flex","#, BASE),
    );
    assert_eq!(cells(&flex), ["flex: input 2, output 10"]);
    assert_eq!(flex.upstream_provider.as_deref(), Some("openai"));
    let regional = sheet(
        "a/m@google-vertex/global/flex",
        &endpoint("google-vertex/global/flex", "", BASE),
    );
    assert_eq!(
        (regional.region.as_str(), &cells(&regional)[..]),
        ("global", &["flex: input 2, output 10".to_owned()][..])
    );
    let regional = sheet(
        "a/m@google-vertex/us-east5",
        &endpoint("google-vertex/us-east5", "", BASE),
    );
    assert_eq!(regional.region, "us-east5");
}

#[test]
fn both_answers_are_taken_apart_and_every_key_is_unique() {
    let models = format!(
        r#"{{"data": [{}, {}, {}, 7]}}"#,
        model("a/m", BASE),
        model("a/m", BASE),
        model("a/n", BASE)
    );
    assert_eq!(keys(&models), ["a/m", "a/n", ""]);
    let endpoints = [
        endpoint("novita/fp8", "", BASE),
        endpoint("novita/fp8", "", BASE),
        endpoint("", "", BASE),
        "{}".to_owned(),
    ];
    let document = format!(
        r#"{{"data": {{"id": "a/m", "endpoints": [{}]}}}}"#,
        endpoints.join(", ")
    );
    assert_eq!(
        keys(&document),
        ["a/m@novita/fp8", "a/m@novita/fp8#2", "a/m@Host", "a/m@"]
    );
    let none = r#"{"data": {"id": "a/m", "endpoints": []}}"#;
    assert_eq!(testing::keys(&CATALOG, none).unwrap(), [""; 0]);
    assert_eq!(
        sheet("a/m@novita/fp8#2", &endpoints[1]).model,
        "a/m@novita/fp8#2"
    );
    assert_eq!(
        sheet("a/m@Host", &endpoints[2])
            .upstream_provider
            .as_deref(),
        Some("host")
    );
}

#[test]
fn a_document_that_is_no_such_answer_has_one_fault() {
    for document in [
        "{}",
        "[]",
        r#"{"data": 7}"#,
        r#"{"data": {}}"#,
        r#"{"data": {"endpoints": []}}"#,
        r#"{"data": {"id": 7, "endpoints": []}}"#,
        r#"{"data": {"id": "a/m", "endpoints": {}}}"#,
    ] {
        testing::catalog_refusal(&CATALOG, document);
    }
    for other in [
        "{}",
        "7",
        r#"{"data": []}"#,
        r#"{"data": [{"id": "gpt-5.4", "object": "model"}]}"#,
        r#"{"data": [{"id": "gpt-5.4", "pricing": {"input": "0.000001", "output": "0.000002"}}]}"#,
        r#"{"data": {"id": "a/m", "released": 1, "endpoints": [{"pricing": {"prompt": "0.1"}}]}}"#,
        r#"{"openai": {"gpt-5.4": {"pricing_config": {}}}}"#,
        &model("a/m", BASE),
    ] {
        assert!(!testing::is_catalog(&CATALOG, other), "{other}");
    }
}

#[test]
fn hostile_entries_have_one_fault_each() {
    let deep = format!("{}1{}", "[".repeat(28), "]".repeat(28));
    let entries = [
        "[]".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        r#"{"id": "a/m"}"#.to_owned(),
        r#"{"id": 7, "pricing": {}}"#.to_owned(),
        r#"{"id": "a/other", "pricing": {}}"#.to_owned(),
        r#"{"id": "a/m", "pricing": []}"#.to_owned(),
        r#"{"id": "a/m", "pricing": null}"#.to_owned(),
        model("a/m", ""),
        model("a/m", r#""image": "0.1""#),
        model("a/m", r#""prompt": true"#),
        model("a/m", r#""prompt": "" "#),
        model("a/m", r#""prompt": "-0.5""#),
        model("a/m", r#""prompt": "1e99""#),
        model("a/m", r#""prompt": "0x10""#),
        model("a/m", r#""prompt": {"usd": 1}"#),
        model("a/m", &format!(r#""prompt": {deep}"#)),
        model("a/m", &format!(r#"{BASE}, "request": []"#)),
        model("a/m", &format!(r#"{BASE}, "overrides": {{}}"#)),
        model("a/m", &format!(r#"{BASE}, "overrides": [7]"#)),
        model(
            "a/m",
            &format!(r#"{BASE}, "overrides": [{{"min_prompt_tokens": 5, "prompt": "-1"}}]"#),
        ),
        r#"{"tag": 7, "pricing": {}}"#.to_owned(),
        r#"{"tag": "", "pricing": {}}"#.to_owned(),
        r#"{"provider_name": [], "pricing": {}}"#.to_owned(),
        r#"{"tag": "x", "quantization": 8, "pricing": {}}"#.to_owned(),
        r#"{"tag": "x", "service_tier": {}, "pricing": {}}"#.to_owned(),
        format!(
            r#"{{"tag": "cloudflare/{}", "pricing": {{}}}}"#,
            "x".repeat(244)
        ),
    ];
    for entry in &entries {
        assert!(!refusal("a/m", entry).ends_with(": "));
    }
    for key in ["", "\n", &"x".repeat(256), "a/other"] {
        refusal(key, &model("a/m", BASE));
    }
    refusal("@x", &endpoint("x", "", BASE));
}

#[test]
fn more_combinations_than_a_sheet_holds_are_refused() {
    let overrides = |make: &dyn Fn(u32) -> String, count: u32| {
        let list: Vec<_> = (1..=count).map(make).collect();
        model(
            "a/m",
            &format!(r#"{BASE}, "overrides": [{}]"#, list.join(", ")),
        )
    };
    let tiers = overrides(
        &|n| format!(r#"{{"min_prompt_tokens": {n}000, "prompt": "{n}"}}"#),
        128,
    );
    assert_eq!(refusal("a/m", &tiers), ": the entry has 129 rate cells");
    let times = |n: u32| {
        format!(
            r#""utc_start": {}, "utc_end": {}"#,
            n / 60 * 100 + n % 60,
            (n + 1) / 60 * 100 + (n + 1) % 60
        )
    };
    let many_times = overrides(&|n| format!(r#"{{{}, "prompt": "{n}"}}"#, times(n)), 65);
    assert_eq!(
        refusal("a/m", &many_times),
        "/pricing/overrides: the overrides have more than 64 time conditions"
    );
    let both = overrides(
        &|n| {
            format!(
                r#"{{"min_prompt_tokens": {n}000, {}, "prompt": "{n}"}}"#,
                times(n)
            )
        },
        60,
    );
    assert_eq!(
        refusal("a/m", &both),
        "/pricing: the overrides have 3721 combinations of times and prompt lengths"
    );
    let chained = overrides(
        &|n| {
            format!(
                r#"{{"utc_start": {}, "utc_end": 2359, "prompt": "{n}"}}"#,
                n % 60
            )
        },
        64,
    );
    assert!(sheet("a/m", &chained).schedules.len() <= 64);
}
