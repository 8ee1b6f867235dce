//! One test per pitfall of the format, on entries written here.

mod refused;

use serde_json::json;

use super::CATALOG;
use crate::catalog::testing::{
    self, catalog_refusal, cells, is_catalog, kept, offer, other_meters,
};
use crate::sheet::{CacheWriteBilling, PriceSheet};

fn sheets(key: &str, entry: &str) -> Vec<PriceSheet> {
    testing::read_all(&CATALOG, key, entry).unwrap()
}

fn sheet(key: &str, entry: &str) -> PriceSheet {
    testing::read_one(&CATALOG, key, entry)
}

fn refusal(key: &str, entry: &str) -> String {
    testing::refusal(&CATALOG, key, entry)
}

/// `"request_token": {"price": …}, "response_token": {"price": …}`
fn prices(input: &str, output: &str) -> String {
    format!(r#""request_token": {{"price": {input}}}, "response_token": {{"price": {output}}}"#)
}

/// Prices of requests and responses, and a third price by the name of its field.
fn prices_and(input: &str, output: &str, field: &str, price: &str) -> String {
    let prices = prices(input, output);
    format!(r#"{prices}, "{field}": {{"price": {price}}}"#)
}

fn list(prices: &str) -> String {
    format!(r#"{{"pricing_config": {{"pay_as_you_go": {{{prices}}}}}}}"#)
}

/// An entry whose prices are by region.
fn by_region(regions: &str) -> String {
    format!(r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{{regions}}}}}}}"#)
}

/// Prices of one region in the standard mode alone.
fn standard(list: &str) -> String {
    format!(r#"{{"execution_modes": {{"standard": {list}}}}}"#)
}

/// An entry with context tiers in the standard mode of every region.
fn by_length(tiers: &[String]) -> String {
    let tiers = format!(r#"{{"context_tiers": {{{}}}}}"#, tiers.join(", "));
    by_region(&format!(r#""default": {}"#, standard(&tiers)))
}

/// An input price under a name.
fn named(name: &str, price: &str) -> String {
    let list = list(&format!(r#""request_token": {{"price": {price}}}"#));
    format!(r#""{name}": {list}"#)
}

#[test]
fn prices_in_cents_per_token_become_exact_prices_per_million() {
    let sheet = sheet(
        "openai/gpt-5.4",
        r#"{"pricing_config": {"pay_as_you_go": {"request_token": {"price": 0.00025}, "response_token": {"price": 0.0015},
            "cache_read_input_token": {"price": 2.5e-05}, "reasoning_token": {"price": 0.002}}, "currency": "USD",
            "calculate": {"request": {"operation": "sum"}}}}"#,
    );
    assert_eq!(
        cells(&sheet),
        ["standard: input 2.5, output 15, reasoning 20, read 0.25"]
    );
    assert_eq!(offer(&sheet), "openai global gpt-5.4");
    assert_eq!(sheet.canonical_model.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(sheet.currency, "USD");
    assert_eq!(sheet.sources[0].locator.as_deref(), Some("openai/gpt-5.4"));
    assert_eq!(
        sheet.unmapped["pricing_config/calculate"]["request"]["operation"],
        "sum"
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::NotPublished);
    assert!(sheet.notes.is_empty() && sheet.aliases.is_empty());
}

#[test]
fn float_noise_in_cents_is_rounded_and_remembered() {
    let sheet = sheet(
        "openai/gpt-4o-mini",
        &list(&prices("1.5e-05", "5.999999999999999e-05")),
    );
    assert_eq!(cells(&sheet), ["standard: input 0.15, output 0.6"]);
    assert_eq!(
        sheet.unmapped["rounded"]["pricing_config/pay_as_you_go/response_token"],
        "5.999999999999999e-05"
    );
}

#[test]
fn the_default_row_is_a_fallback_and_no_model() {
    for row in [prices("0", "0"), prices("8e-05", "0.0002")] {
        let reason = refusal("openai/default", &list(&row));
        assert!(
            reason.starts_with(": `default` is the fallback for models"),
            "{reason}"
        );
    }
}

#[test]
fn regions_modes_and_context_tiers_become_cells_of_one_sheet_per_region() {
    let tier = |factor: u32| {
        let (input, output) = (25 * factor, 150 * factor);
        list(&prices(&format!("{input}e-5"), &format!("{output}e-5")))
    };
    let entry = format!(
        r#"{{"pricing_config": {{"pay_as_you_go": {{{}}}}},
            "custom_pricing": {{"context_tier_map": {{"0": "lte-272k", "272000": "gt-272k"}}, "regions": {{
                "default": {{"execution_modes": {{
                    "standard": {{"context_tiers": {{"lte-272k": {}, "gt-272k": {}}}}},
                    "priority": {{"context_tiers": {{"lte-272k": {}}}}}}}}},
                "us,eu": {{"execution_modes": {{"standard": {}}}}}}}}}}}"#,
        prices("25e-5", "150e-5"),
        tier(1),
        tier(2),
        tier(2),
        tier(3),
    );
    let sheets = sheets("openai/gpt-5.4", &entry);
    let regions: Vec<_> = sheets.iter().map(|sheet| sheet.region.as_str()).collect();
    assert_eq!(regions, ["global", "eu", "us"]);
    assert_eq!(
        cells(&sheets[0]),
        [
            "standard: input 2.5, output 15",
            "standard >272000: input 5, output 30",
            "priority: input 5, output 30",
        ]
    );
    assert_eq!(cells(&sheets[1]), ["standard: input 7.5, output 45"]);
    assert_eq!(cells(&sheets[2]), cells(&sheets[1]));
    assert_eq!(sheets[0].service_tiers["priority"].aliases, ["fast"]);
    assert!(
        sheets
            .iter()
            .all(|sheet| sheet.unmapped.is_empty() && sheet.notes.is_empty())
    );
}

#[test]
fn priority_without_a_long_context_cell_is_not_sold_there() {
    let modes = format!(
        r#""default": {{"execution_modes": {{"standard": {{"context_tiers": {{{}, {}}}}},
            "priority": {{"context_tiers": {{{}}}}}}}}}"#,
        named("lte-272k", "2e-4"),
        named("gt-272k", "4e-4"),
        named("lte-272k", "4e-4")
    );
    assert_eq!(
        cells(&sheet("openai/gpt-6-sol", &by_region(&modes))),
        [
            "standard: input 2",
            "standard >272000: input 4",
            "priority: input 4"
        ]
    );
}

#[test]
fn a_region_in_two_groups_is_refused() {
    let modes = standard(&list(&prices("1e-4", "2e-4")));
    let refused = |entry: &str| refusal("openai/gpt-5.4", entry);
    let twice = by_region(&format!(r#""us,eu": {modes}, "us": {modes}"#));
    assert_eq!(
        refused(&twice),
        "/custom_pricing/regions/us,eu: the region `us` has two lists of prices"
    );
    let many: Vec<_> = (0..200).map(|number| format!("r{number}")).collect();
    let many = by_region(&format!(r#""{}": {modes}"#, many.join(",")));
    assert!(refused(&many).ends_with(": the entry has more than 128 regions"));
    let unnamed = by_region(&format!(r#""us,,eu": {modes}"#));
    assert_eq!(
        refused(&unnamed),
        "/custom_pricing/regions/us,,eu: a text of 0 characters"
    );
}

#[test]
fn the_regions_that_are_not_named_do_not_share_a_name_with_one_that_is() {
    let modes = |price: &str| standard(&list(&prices(price, "1e-4")));
    let entry = |others: &str| {
        let unnamed = modes("2.75e-05");
        by_region(&format!(r#""default": {unnamed}, {others}"#))
    };
    let sheets = sheets(
        "vertex-ai/gemini-3.1-flash-lite",
        &entry(&format!(r#""global": {}"#, modes("2.5e-05"))),
    );
    let prices = |sheet: &PriceSheet| format!("{} {}", sheet.region, cells(sheet).join("; "));
    assert_eq!(
        sheets.iter().map(prices).collect::<Vec<_>>(),
        [
            "in-region standard: input 0.275, output 1",
            "global standard: input 0.25, output 1"
        ]
    );
    let both = format!(
        r#""global": {}, "in-region": {}"#,
        modes("1e-5"),
        modes("1e-5")
    );
    assert_eq!(
        refusal("vertex-ai/x", &entry(&both)),
        ": the regions `global` and `in-region` have prices of their own"
    );
}

#[test]
fn flat_prices_that_differ_from_those_by_mode_are_kept_with_a_note() {
    let flat = r#""pricing_config": {"pay_as_you_go": {"request_token": {"price": 3e-4}, "response_token": {"price": 1.5e-4},
        "cache_read_input_token": {"price": 5e-7}}, "batch_config": {"request_token": {"price": 2.5e-5}}}"#;
    let sheet = sheet(
        "openai/gpt-3.5-turbo-16k",
        &format!(
            r#"{{{flat}, "custom_pricing": {{"regions": {{"default": {}}}}}}}"#,
            standard(&list(&prices("5e-5", "1.5e-4")))
        ),
    );
    assert_eq!(
        cells(&sheet),
        ["standard: input 0.5, output 1.5", "batch: input 0.25"]
    );
    assert_eq!(
        kept(&sheet),
        [
            "pricing_config/pay_as_you_go/cache_read_input_token",
            "pricing_config/pay_as_you_go/request_token"
        ]
    );
    assert!(sheet.notes[0].starts_with("The catalog states some prices twice"));
}

#[test]
fn names_for_longer_prompts_are_tiers_of_one_model() {
    let file = format!(
        r#"{{"google": {{"default": {}, "gemini-2.5-pro-lte-128k": {}, "gemini-2.5-pro-gt-128k": {}, "gemini-2.5-pro-preview": {}}}}}"#,
        list(&prices("0", "0")),
        list(&prices("0.000125", "0.001")),
        list(&prices("0.00025", "0.0015")),
        list(&prices("0.000125", "0.001")),
    );
    assert!(is_catalog(&CATALOG, &file));
    assert_eq!(
        testing::keys(&CATALOG, &file).unwrap(),
        [
            "google/default",
            "google/gemini-2.5-pro",
            "google/gemini-2.5-pro-preview"
        ]
    );
    let tiers = &file[r#"{"google": "#.len()..file.len() - 1];
    let sheet = sheet("google/gemini-2.5-pro", tiers);
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 1.25, output 10",
            "standard >128000: input 2.5, output 15"
        ]
    );
    assert_eq!(sheet.model, "gemini-2.5-pro");
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("google/gemini-2.5-pro")
    );
    assert_eq!(
        sheet.aliases,
        ["gemini-2.5-pro-gt-128k", "gemini-2.5-pro-lte-128k"]
    );
    assert!(sheet.unmapped.is_empty());
}

#[test]
fn a_tier_alone_is_a_sheet_without_a_base() {
    let alone = sheet(
        "google/gemini-2.5-pro-gt-128k",
        &list(&prices("0.00025", "0.0015")),
    );
    assert_eq!(cells(&alone), ["standard >128000: input 2.5, output 15"]);
    assert_eq!(
        (alone.model.as_str(), &alone.aliases[..]),
        ("gemini-2.5-pro", &["gemini-2.5-pro-gt-128k".to_owned()][..])
    );
}

#[test]
fn a_tier_at_the_prices_of_shorter_prompts_is_none() {
    let file = format!(
        r#"{{"gemini-2.5-flash-lte-128k": {0}, "gemini-2.5-flash-gt-128k": {0}}}"#,
        list(&prices("3e-05", "0.00025"))
    );
    let sheet = sheet("google/gemini-2.5-flash", &file);
    assert_eq!(cells(&sheet), ["standard: input 0.3, output 2.5"]);
    assert_eq!(
        sheet.notes,
        ["Prompts beyond 128000 tokens are listed at the prices of shorter ones."]
    );
}

#[test]
fn many_tiers_at_one_price_make_one_note() {
    let name = |n: u32| match n {
        0 => "lte-1k".to_owned(),
        n => format!("gt-{n}k"),
    };
    let tier = |n| format!(r#""{}": {}"#, name(n), list(&prices("1e-4", "2e-4")));
    let tiers: Vec<_> = (0..100).map(tier).collect();
    let sheet = sheet("openai/m", &by_length(&tiers));
    assert_eq!(cells(&sheet), ["standard: input 1, output 2"]);
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn of_tiers_at_two_lengths_those_at_the_longest_count() {
    let file = format!(
        r#"{{"m-lte-128k": {0}, "m-gt-128k": {1}, "m-lte-200k": {0}, "m-gt-200k": {1}, "m": {2}}}"#,
        list(&prices("2e-4", "12e-4")),
        list(&prices("4e-4", "18e-4")),
        list(&prices("2e-4", "11e-4")),
    );
    let sheet = sheet("google/m", &file);
    assert_eq!(
        cells(&sheet),
        [
            "standard: input 2, output 12",
            "standard >200000: input 4, output 18"
        ]
    );
    assert_eq!(
        kept(&sheet),
        [
            "m-gt-128k",
            "m-lte-128k",
            "m/pricing_config/pay_as_you_go/response_token"
        ]
    );
    assert_eq!(sheet.notes.len(), 2);
}

#[test]
fn a_file_of_one_provider_is_recognised_and_refused_with_a_hint() {
    let file = format!(r#"{{"gpt-5.4": {}}}"#, list(&prices("1e-4", "2e-4")));
    assert!(is_catalog(&CATALOG, &file));
    assert_eq!(
        catalog_refusal(&CATALOG, &file),
        ": the document is a single provider's file without the provider's name"
    );
    let faults = testing::keys(&CATALOG, &file).unwrap_err();
    assert!(faults[0].hint.contains(r#"{"openai": {"gpt-5.4": …}}"#));
}

#[test]
fn a_file_of_one_provider_is_read_where_the_key_names_the_provider() {
    let file = format!(
        r#"{{"gpt-5.4": {}, "default": {{}}}}"#,
        list(&prices("2.5e-4", "15e-4"))
    );
    assert_eq!(
        cells(&sheet("openai/gpt-5.4", &file)),
        ["standard: input 2.5, output 15"]
    );
    assert_eq!(
        refusal("openai/gpt-6", &file),
        ": the field `pricing_config` is missing"
    );
}

#[test]
fn writes_carry_their_time_to_live_and_the_assumed_one_is_noted() {
    let writes = format!(
        r#"{}, "cache_write_input_token": {{"price": 0.000625}}, "additional_units": {{"cache_write_1h": {{"price": 0.001}}}}"#,
        prices("5e-4", "25e-4")
    );
    let claude = sheet("anthropic/claude-opus-4-6", &list(&writes));
    assert_eq!(
        cells(&claude),
        ["standard: input 5, output 25, write 300s 6.25, write 3600s 10"]
    );
    assert_eq!(claude.cache_write_billing, CacheWriteBilling::Priced);
    assert_eq!(
        claude.notes,
        ["Portkey does not state the lifetime of a cache write; 300 seconds are assumed."]
    );
    let gpt = sheet("bedrock/openai.gpt-5.6-sol", &list(&writes));
    assert_eq!(gpt.rates[0].cache_write[0].ttl_seconds, Some(1_800));
}

#[test]
fn a_cache_write_of_zero_on_a_priced_entry_is_billed_as_input() {
    let zero = prices_and("2e-4", "8e-4", "cache_write_input_token", "0");
    let sheet = sheet("openai/gpt-4.1", &list(&zero));
    assert_eq!(cells(&sheet), ["standard: input 2, output 8"]);
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    assert!(sheet.unmapped.is_empty() && sheet.notes.is_empty());
}

#[test]
fn a_cache_read_of_zero_beside_a_priced_input_is_kept_as_unclear() {
    let zero = prices_and("3e-4", "6e-4", "cache_read_input_token", "0");
    let sheet = sheet("azure-ai/gpt-4-32k", &list(&zero));
    assert_eq!(cells(&sheet), ["standard: input 3, output 6"]);
    assert_eq!(
        sheet.unmapped["pricing_config/pay_as_you_go/cache_read_input_token"]["price"],
        0
    );
    assert_eq!(sheet.unmapped["portkey_provider"], "azure-ai");
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn zero_for_input_and_output_stays_a_price_with_a_note() {
    let sheet = sheet("x-ai/grok-imagine", &list(&prices("0", "0.0")));
    assert_eq!(cells(&sheet), ["standard: input 0, output 0"]);
    assert_eq!(
        sheet.notes,
        ["Input and output are stated as 0: free, run locally, billed by a plan, or unknown."]
    );
}

#[test]
fn the_storage_fee_of_gemini_is_listed_as_a_cache_read_and_the_read_as_a_write() {
    let with_write = |price| prices_and("2e-4", "12e-4", "cache_write_input_token", price);
    let swapped = format!(
        r#"{}, "cache_read_input_token": {{"price": 0.00045}}"#,
        with_write("2e-05")
    );
    let read = sheet("google/gemini-3.1-pro", &list(&swapped));
    assert_eq!(
        cells(&read),
        ["standard: input 2, output 12, read 0.2, storage 4.5"]
    );
    assert_eq!(read.notes.len(), 1);
    let read = sheet("vertex-ai/gemini-3.1-pro", &list(&with_write("2e-04")));
    assert_eq!(cells(&read), ["standard: input 2, output 12"]);
    assert_eq!(read.cache_write_billing, CacheWriteBilling::AsInput);
    let read = sheet("vertex-ai/gemini-3.1-pro", &list(&with_write("2e-05")));
    assert_eq!(cells(&read), ["standard: input 2, output 12"]);
    assert_eq!(
        read.unmapped["pricing_config/pay_as_you_go/cache_write_input_token"]["price"],
        json!(2e-5)
    );
}

#[test]
fn five_minutes_of_storage_that_a_router_lists_as_a_write_become_an_hour() {
    let slip = prices_and(
        "3e-05",
        "0.00025",
        "cache_write_input_token",
        "8.33333333333333e-06",
    );
    let sheet = sheet("openrouter/google/gemini-2.5-flash", &list(&slip));
    assert_eq!(
        cells(&sheet),
        ["standard: input 0.3, output 2.5, storage 1"]
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    assert_eq!(
        sheet.canonical_model.as_deref(),
        Some("google/gemini-2.5-flash")
    );
    assert_eq!(sheet.notes.len(), 1);
}

#[test]
fn the_storage_fee_of_byteplus_is_listed_as_a_write() {
    let fee = prices_and("2.5e-05", "2e-4", "cache_write_input_token", "8.3e-07");
    let sheet = sheet("byteplus/seed-1-6", &list(&fee));
    assert_eq!(
        cells(&sheet),
        ["standard: input 0.25, output 2, storage 0.0083"]
    );
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::NotPublished);
}

#[test]
fn tools_audio_and_requests_are_other_meters() {
    let entry = format!(
        r#"{{"pricing_config": {{"pay_as_you_go": {{{}, "request_audio_token": {{"price": 0.001}}, "response_audio_token": {{"price": 0}},
            "image": {{"default": {{"default": {{"price": 4}}}}}},
            "additional_units": {{"web_search": {{"price": 1}}, "file_search": {{"price": 0.25}}, "megapixels": {{"price": 2}}}}}},
            "fixed_cost": {{"request": {{"price": 0.5}}, "response": {{"price": 0}}}}}}}}"#,
        prices("1e-4", "2e-4")
    );
    let sheet = sheet("perplexity-ai/sonar", &entry);
    assert_eq!(
        other_meters(&sheet),
        [
            "file_search 2.5 per_1000_calls",
            "input_audio 10 per_1m_tokens",
            "requests 5 per_1000",
            "web_search 10 per_1000_calls",
        ]
    );
    assert_eq!(
        kept(&sheet),
        [
            "portkey_provider",
            "pricing_config/fixed_cost/response",
            "pricing_config/pay_as_you_go/additional_units/megapixels",
            "pricing_config/pay_as_you_go/image",
            "pricing_config/pay_as_you_go/response_audio_token",
        ]
    );
}

#[test]
fn text_tokens_of_models_with_images_are_tokens() {
    let entry = list(
        r#""request_text_token": {"price": 5e-4}, "cached_text_input_token": {"price": 1.25e-4},
           "cache_read_text_input_token": {"price": 1.25e-4}, "response_text_token": {"price": 1e-3}"#,
    );
    let read = sheet("openai/gpt-image-1.5", &entry);
    assert_eq!(cells(&read), ["standard: input 5, output 10, read 1.25"]);
    assert!(read.unmapped.is_empty());
    let two_names =
        list(r#""request_text_token": {"price": 5e-4}, "request_token": {"price": 4e-4}"#);
    let read = sheet("openai/gpt-image-1.5", &two_names);
    assert_eq!(cells(&read), ["standard: input 4"]);
    assert_eq!(
        read.unmapped["pricing_config/pay_as_you_go/request_text_token"]["price"],
        json!(5e-4)
    );
}

#[test]
fn thresholds_are_exclusive_but_at_xai() {
    let file = format!(
        r#"{{"m-lte-200k": {}, "m-gt-200k": {}}}"#,
        list(&prices("2e-4", "6e-4")),
        list(&prices("4e-4", "12e-4"))
    );
    assert_eq!(
        cells(&sheet("x-ai/m", &file))[1],
        "standard >=200000: input 4, output 12"
    );
    assert_eq!(
        cells(&sheet("groq/m", &file))[1],
        "standard >200000: input 4, output 12"
    );
    let written_as_data = by_length(&[
        named("short", "2e-4"),
        named("long", "4e-4"),
        named("endless", "8e-4"),
    ]);
    let map = r#""custom_pricing": {"context_tier_map": {"0": "short", "199999": "long"}, "#;
    let written_as_data = written_as_data.replace(r#""custom_pricing": {"#, map);
    let sheet = sheet("groq/m", &written_as_data);
    assert_eq!(
        cells(&sheet),
        ["standard: input 2", "standard >=200000: input 4"]
    );
    assert_eq!(
        sheet.notes,
        ["A context tier without a stated length is kept under `unmapped`."]
    );
}
