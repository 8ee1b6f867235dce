//! A small entry of every catalog format: read, a usage priced, and the cost compared with one computed by hand.

use serde_json::{Value, json};
use unroof_base::input;
use unroof_price_sheet::catalog::Catalog;

use super::{lines, priced, reasons};

/// The sheets of an entry.
fn sheets(format: &str, key: &str, entry: &Value) -> Vec<Value> {
    let catalog: &'static Catalog = format.parse().unwrap();
    let text = entry.to_string();
    let sheets = input::read(text.as_bytes(), |cursor| catalog.read(key, cursor));
    let sheets = sheets.unwrap_or_else(|error| panic!("{format}: {error:?}"));
    sheets.iter().map(|sheet| json!(sheet)).collect()
}

fn sheet(format: &str, key: &str, entry: &Value) -> Value {
    let [sheet] = <[Value; 1]>::try_from(sheets(format, key, entry)).unwrap();
    sheet
}

const NOON: &str = "2026-11-20T12:00:00Z";

#[test]
fn litellm_with_a_context_tier_writes_by_ttl_batches_and_off_peak_hours() {
    let entry = json!({
        "litellm_provider": "anthropic", "mode": "chat",
        "input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5,
        "cache_read_input_token_cost": 3e-7,
        "cache_creation_input_token_cost": 3.75e-6, "cache_creation_input_token_cost_above_1hr": 6e-6,
        "input_cost_per_token_above_200k_tokens": 6e-6, "output_cost_per_token_above_200k_tokens": 2.25e-5,
        "cache_read_input_token_cost_above_200k_tokens": 6e-7,
        "input_cost_per_token_batches": 1.5e-6, "output_cost_per_token_batches": 7.5e-6,
        "output_cost_per_reasoning_token": 2e-5
    });
    let sheet = sheet("litellm", "m-1", &entry);
    let usage = json!({
        "input_tokens": 13_500, "cached_input_tokens": 10_000,
        "cache_writes": [{"tokens": 2_000, "ttl_seconds": 300}, {"tokens": 500, "ttl_seconds": 3_600}],
        "output_tokens": 700, "reasoning_tokens": 200
    });
    let cost = priced(&sheet, &usage, NOON);
    assert_eq!(
        lines(&cost),
        [
            "cache_read 10000 × 0.3 = 0.003",
            "cache_write 2000 300s × 3.75 = 0.0075",
            "cache_write 500 3600s × 6 = 0.003",
            "input 1000 × 3 = 0.003",
            "reasoning 200 × 20 = 0.004",
            "output 500 × 15 = 0.0075",
        ]
    );
    // 0.003 + 0.0075 + 0.003 + 0.003 + 0.004 + 0.0075
    assert_eq!(cost["total"], "0.028");
    // Exactly at the threshold the lower tier applies, one token beyond it the higher one to all tokens.
    let long = |tokens: u32| json!({"input_tokens": tokens, "cached_input_tokens": 100_000, "output_tokens": 1_000});
    assert_eq!(priced(&sheet, &long(200_000), NOON)["total"], "0.345");
    // 100,000 × 0.6 + 100,001 × 6 + 1,000 × 22.5
    assert_eq!(priced(&sheet, &long(200_001), NOON)["total"], "0.682506");
    let batch = json!({"input_tokens": 1_001, "output_tokens": 3, "service_tier": "batch"});
    // 1,001 × 1.5 + 3 × 7.5
    assert_eq!(priced(&sheet, &batch, NOON)["total"], "0.001524");
    // The batch tier states no price for long prompts.
    let batch = json!({"input_tokens": 200_001, "service_tier": "batch"});
    let cost = priced(&sheet, &batch, NOON);
    assert_eq!(cost["total"], Value::Null);
    assert!(reasons(&cost)[0].contains("beyond 200000 tokens"), "{cost}");
}

#[test]
fn litellm_has_off_peak_hours_on_days_and_writes_at_the_input_price() {
    let entry = json!({
        "litellm_provider": "deepseek", "mode": "chat",
        "input_cost_per_token": 1.32e-6, "output_cost_per_token": 3.96e-6,
        "cache_read_input_token_cost": 4.4e-8, "cache_creation_input_token_cost": 0.0,
        "off_peak_pricing": {
            "input_cost_per_token": 6.6e-7, "output_cost_per_token": 1.98e-6, "cache_read_input_token_cost": 2.2e-8,
            "windows": [
                {"weekdays": [1, 2, 3, 4, 5], "hours_utc": ["00:00-01:00", "04:00-06:00", "10:00-00:00"]},
                {"weekdays": [6, 7], "hours_utc": "00:00-00:00"}
            ]
        }
    });
    let sheet = sheet("litellm", "deepseek/m-1", &entry);
    let usage = json!({"input_tokens": 100_000, "cached_input_tokens": 90_000, "cache_writes": [{"tokens": 4_000}], "output_tokens": 1_234});
    // 90,000 × 0.044 + 4,000 × 1.32 + 6,000 × 1.32 + 1,234 × 3.96
    let peak = priced(&sheet, &usage, "2026-11-20T03:59:59Z");
    assert_eq!(peak["total"], "0.02204664");
    assert_eq!(peak["tariff"]["schedule"], Value::Null);
    let off_peak = priced(&sheet, &usage, "2026-11-20T04:00:00Z");
    assert_eq!(off_peak["total"], "0.01102332");
    assert_eq!(off_peak["tariff"]["schedule"], "off_peak");
    assert_eq!(
        lines(&off_peak)[1],
        "cache_write 4000 as input × 0.66 = 0.00264"
    );
    // Saturday.
    let weekend = priced(&sheet, &usage, "2026-11-21T03:59:59Z");
    assert_eq!(weekend["total"], "0.01102332");
}

#[test]
fn litellm_states_a_tier_as_a_multiplier_and_modifiers() {
    let entry = json!({
        "litellm_provider": "anthropic", "mode": "chat",
        "input_cost_per_token": 5e-6, "output_cost_per_token": 2.5e-5, "cache_read_input_token_cost": 5e-7,
        "provider_specific_entry": {"us": 1.1, "fast": 2.0}
    });
    let sheet = sheet("litellm", "m-1", &entry);
    let usage = json!({
        "input_tokens": 11_000, "cached_input_tokens": 10_000, "output_tokens": 100, "reasoning_tokens": 40,
        "service_tier": "fast", "modifiers": ["inference_geo_us"]
    });
    let cost = priced(&sheet, &usage, NOON);
    assert_eq!(
        lines(&cost),
        [
            "cache_read 10000 × 0.5 × 2 × 1.1 = 0.011",
            "input 1000 × 5 × 2 × 1.1 = 0.011",
            "reasoning 40 as output × 25 × 2 × 1.1 = 0.0022",
            "output 60 × 25 × 2 × 1.1 = 0.0033",
        ]
    );
    assert_eq!(cost["total"], "0.0275");
}

#[test]
fn genai_prices_has_dates_tiers_variants_and_daily_hours() {
    let entry = json!({
        "id": "m-1", "match": {"equals": "m-1"},
        "prices": [
            {"prices": {"input_mtok": {"base": 2, "tiers": [{"start": 200_000, "price": 4}]},
                        "output_mtok": {"base": 12, "tiers": [{"start": 200_000, "price": 18}]},
                        "cache_read_mtok": 0.2, "cache_write_5m_mtok": 2.5, "cache_write_1h_mtok": 4}},
            {"constraint": {"start_date": "2026-06-01"},
             "prices": {"input_mtok": 1, "output_mtok": 6, "cache_read_mtok": 0.125, "output_reasoning_mtok": 7}}
        ],
        "price_variants": [{"when": {"processing": "batch"}, "prices": {"input_mtok": 0.5, "output_mtok": 3}}]
    });
    let all = sheets("genai-prices", "acme/m-1", &entry);
    let at = |time: &str| {
        let is_in_force = |sheet: &&Value| {
            let from = sheet["valid_from"].as_str().unwrap_or("");
            let to = sheet["valid_to"].as_str().unwrap_or("9");
            from <= time && time < to
        };
        all.iter().find(is_in_force).unwrap()
    };
    let early = "2026-05-31T23:59:59Z";
    let usage = json!({"input_tokens": 200_001, "cached_input_tokens": 1, "output_tokens": 3});
    // 1 × 0.2 + 200,000 × 4 + 3 × 18
    assert_eq!(priced(at(early), &usage, early)["total"], "0.8000542");
    let late = "2026-06-01T00:00:00Z";
    let usage = json!({"input_tokens": 200_001, "cached_input_tokens": 1, "output_tokens": 3, "reasoning_tokens": 2});
    // 1 × 0.125 + 200,000 × 1 + 2 × 7 + 1 × 6
    assert_eq!(priced(at(late), &usage, late)["total"], "0.200020125");
    let usage = json!({"input_tokens": 10, "output_tokens": 1, "service_tier": "batch"});
    assert_eq!(priced(at(late), &usage, late)["total"], "0.000008");
    // The sheet of one period does not price another.
    let cost = priced(at(early), &usage, late);
    assert_eq!(cost["total"], Value::Null);
    assert!(
        reasons(&cost)[0].contains("valid until 2026-06-01"),
        "{cost}"
    );
}

#[test]
fn genai_prices_has_hours_that_wrap_midnight() {
    let entry = json!({
        "id": "m-1", "match": {"equals": "m-1"},
        "prices": [
            {"prices": {"input_mtok": 0.27, "output_mtok": 1.1, "cache_read_mtok": 0.07}},
            {"constraint": {"start_time": "16:30:00Z", "end_time": "00:30:00Z"},
             "prices": {"input_mtok": 0.135, "output_mtok": 0.55, "cache_read_mtok": 0.035}}
        ]
    });
    let sheet = sheet("genai-prices", "acme/m-1", &entry);
    let usage =
        json!({"input_tokens": 40_000, "cached_input_tokens": 30_000, "output_tokens": 1_001});
    // 30,000 × 0.07 + 10,000 × 0.27 + 1,001 × 1.1
    assert_eq!(
        priced(&sheet, &usage, "2026-11-20T00:30:00Z")["total"],
        "0.0059011"
    );
    assert_eq!(
        priced(&sheet, &usage, "2026-11-20T00:29:59Z")["total"],
        "0.00295055"
    );
}

#[test]
fn models_dev_has_tiers_modes_and_writes_without_a_time_to_live() {
    let entry = json!({
        "id": "m-1",
        "cost": {"input": 2, "output": 10, "cache_read": 0.2, "cache_write": 2.5, "reasoning": 12,
                 "tiers": [{"input": 4, "output": 15, "cache_read": 0.4, "cache_write": 5,
                            "tier": {"type": "context", "size": 272_000}}]},
        "experimental": {"modes": {"fast": {"cost": {"input": 4, "output": 20, "cache_read": 0.4, "cache_write": 5},
                                            "provider": {"body": {"service_tier": "priority"}}}}}
    });
    let sheet = sheet("models.dev", "acme/m-1", &entry);
    let usage = json!({
        "input_tokens": 50_000, "cached_input_tokens": 40_000, "cache_writes": [{"tokens": 3_000, "ttl_seconds": 1_800}],
        "output_tokens": 900, "reasoning_tokens": 300
    });
    let cost = priced(&sheet, &usage, NOON);
    // 40,000 × 0.2 + 3,000 × 2.5 + 7,000 × 2 + 300 × 12 + 600 × 10
    assert_eq!(cost["total"], "0.0391");
    assert!(
        cost["notes"][0]
            .as_str()
            .unwrap()
            .contains("no time to live"),
        "{cost}"
    );
    let usage =
        json!({"input_tokens": 300_000, "cached_input_tokens": 100_000, "output_tokens": 10});
    // 100,000 × 0.4 + 200,000 × 4 + 10 × 15
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.84015");
    // As the request selects it.
    let usage = json!({"input_tokens": 1_000, "output_tokens": 100, "service_tier": "priority"});
    let fast = priced(&sheet, &usage, NOON);
    assert_eq!(fast["total"], "0.006");
}

#[test]
fn openrouter_resolves_overrides_by_length_and_hour() {
    let entry = json!({
        "id": "acme/m-1", "provider_name": "Acme", "tag": "acme", "context_length": 1_000_000,
        "pricing": {
            "prompt": "0.000001", "completion": "0.000004", "input_cache_read": "0.0000001",
            "input_cache_write": "0.00000125", "input_cache_write_1h": "0.000002", "request": "0.001",
            "overrides": [
                {"min_prompt_tokens": 128_000, "prompt": "0.000002", "completion": "0.000006"},
                {"utc_start": 1_800, "utc_end": 600, "prompt": "0.0000005", "completion": "0.000002"}
            ]
        }
    });
    let sheet = sheet("openrouter", "acme/m-1", &entry);
    let usage = json!({"input_tokens": 20_000, "cached_input_tokens": 5_000, "cache_writes": [{"tokens": 1_000, "ttl_seconds": 3_600}], "output_tokens": 500});
    // 5,000 × 0.1 + 1,000 × 2 + 14,000 × 1 + 500 × 4
    let day = priced(&sheet, &usage, NOON);
    assert_eq!(day["total"], "0.0185");
    assert_eq!(day["other_meters_left_out"], json!(["requests"]));
    // 5,000 × 0.1 + 1,000 × 2 + 14,000 × 0.5 + 500 × 2
    assert_eq!(
        priced(&sheet, &usage, "2026-11-20T05:59:00Z")["total"],
        "0.0105"
    );
    let long = json!({"input_tokens": 128_001, "output_tokens": 1});
    // 128,001 × 2 + 1 × 6
    assert_eq!(priced(&sheet, &long, NOON)["total"], "0.256008");
    // Later overrides win: at night the hour's price holds for long prompts too.
    assert_eq!(
        priced(&sheet, &long, "2026-11-20T18:00:00Z")["total"],
        "0.0640025"
    );
}

#[test]
fn portkey_has_cents_execution_modes_and_context_tiers() {
    let price = |input: f64, output: f64, read: f64| {
        json!({"pricing_config": {"pay_as_you_go": {
            "request_token": {"price": input}, "response_token": {"price": output},
            "cache_read_input_token": {"price": read}}}})
    };
    let mut standard = price(25e-5, 150e-5, 2.5e-5);
    let list = &mut standard["pricing_config"]["pay_as_you_go"];
    list["cache_write_input_token"] = json!({"price": 31.25e-5});
    list["additional_units"] = json!({"cache_write_1h": {"price": 50e-5}});
    let entry = json!({
        "pricing_config": standard["pricing_config"],
        "custom_pricing": {
            "context_tier_map": {"0": "lte-272k", "272000": "gt-272k"},
            "regions": {"default": {"execution_modes": {
                "standard": {"context_tiers": {"lte-272k": standard, "gt-272k": price(50e-5, 225e-5, 5e-5)}},
                "batch": {"context_tiers": {"lte-272k": price(12.5e-5, 75e-5, 1.25e-5)}}
            }}}
        }
    });
    let sheet = sheet("portkey", "openai/m-1", &entry);
    let usage = json!({
        "input_tokens": 10_000, "cached_input_tokens": 4_000, "cache_writes": [{"tokens": 1_000, "ttl_seconds": 3_600}],
        "output_tokens": 123
    });
    // 4,000 × 0.25 + 1,000 × 5 + 5,000 × 2.5 + 123 × 15
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.020345");
    let usage = json!({"input_tokens": 10_000, "cached_input_tokens": 4_000, "output_tokens": 123, "service_tier": "batch"});
    // 4,000 × 0.125 + 6,000 × 1.25 + 123 × 7.5
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.0089225");
    let usage =
        json!({"input_tokens": 272_001, "cached_input_tokens": 272_000, "output_tokens": 2});
    // 272,000 × 0.5 + 1 × 5 + 2 × 22.5
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.13605");
}

#[test]
fn llm_prices_has_three_prices_and_no_others() {
    let entry = json!({
        "id": "m-1", "vendor": "acme", "name": "M 1",
        "price_history": [{"input": 1.75, "output": 14, "input_cached": 0.175, "from_date": null, "to_date": null}]
    });
    let sheet = sheet("llm-prices", "acme/m-1", &entry);
    let usage = json!({"input_tokens": 1_001, "cached_input_tokens": 999, "output_tokens": 7, "reasoning_tokens": 5});
    // 999 × 0.175 + 2 × 1.75 + 7 × 14
    assert_eq!(priced(&sheet, &usage, NOON)["total"], "0.000276325");
    let usage = json!({"input_tokens": 1_001, "cache_writes": [{"tokens": 1}], "output_tokens": 7});
    let cost = priced(&sheet, &usage, NOON);
    assert_eq!(cost["total"], Value::Null);
    // 1,000 × 1.75 + 7 × 14
    assert_eq!(cost["priced"], "0.001848");
    assert_eq!(
        reasons(&cost),
        ["the cell of the tier `standard` states no price of `cache_write`"]
    );
}
