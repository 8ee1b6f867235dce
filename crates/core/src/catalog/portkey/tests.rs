//! One test per trap of the format, on entries written here.

use super::*;
use crate::input::cursor::{Fault, Faults};
use crate::input::json;
use crate::sheet::{CacheWriteBilling, RateCell, canonical};

fn read(key: &str, entry: &str) -> Result<Vec<PriceSheet>, Vec<Fault>> {
    let tree = json::parse(entry.as_bytes()).unwrap();
    let faults = Faults::default();
    let sheets = read_entry(key, &Cursor::root(&tree, &faults));
    faults.into_result(sheets)
}

fn sheets(key: &str, entry: &str) -> Vec<PriceSheet> {
    let sheets = read(key, entry).unwrap();
    for sheet in &sheets {
        let text = serde_json::to_string(sheet).unwrap();
        let again = canonical::read(&json::parse(text.as_bytes()).unwrap());
        assert_eq!(again.as_ref(), Ok(sheet));
    }
    sheets
}

fn sheet(key: &str, entry: &str) -> PriceSheet {
    let mut sheets = sheets(key, entry);
    assert_eq!(sheets.len(), 1);
    sheets.remove(0)
}

/// The only fault, as (pointer, detail).
fn refusal(key: &str, entry: &str) -> (String, String) {
    let faults = read(key, entry).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(!faults[0].hint.is_empty());
    (faults[0].pointer.clone(), faults[0].detail.clone())
}

/// `batch >200000: input 1.25, output 10, write 300s 2.5`
fn written(cell: &RateCell) -> String {
    let tier = cell.context_tier;
    let threshold = match (tier.min_prompt_tokens, tier.inclusive) {
        (0, _) => String::new(),
        (tokens, true) => format!(" >={tokens}"),
        (tokens, false) => format!(" >{tokens}"),
    };
    let prices = [
        ("input", &cell.input),
        ("output", &cell.output),
        ("reasoning", &cell.reasoning),
        ("read", &cell.cache_read),
        ("storage", &cell.cache_storage_per_hour),
    ];
    let prices = prices
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} {}", price.as_ref()?)));
    let writes = cell
        .cache_write
        .iter()
        .map(|write| format!("write {}s {}", write.ttl_seconds.unwrap(), write.price));
    let prices = prices.chain(writes).collect::<Vec<_>>().join(", ");
    format!("{}{threshold}: {prices}", cell.service_tier)
}

fn cells(sheet: &PriceSheet) -> Vec<String> {
    sheet.rates.iter().map(written).collect()
}

/// The values under `unmapped`, sorted.
fn kept(sheet: &PriceSheet) -> Vec<&str> {
    let mut paths: Vec<_> = sheet.unmapped.keys().map(String::as_str).collect();
    paths.sort_unstable();
    paths
}

/// `{"request_token": {"price": …}, "response_token": {"price": …}}`
fn prices(input: &str, output: &str) -> String {
    format!(r#""request_token": {{"price": {input}}}, "response_token": {{"price": {output}}}"#)
}

fn list(prices: &str) -> String {
    format!(r#"{{"pricing_config": {{"pay_as_you_go": {{{prices}}}}}}}"#)
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
    assert_eq!(
        (
            sheet.provider.as_str(),
            sheet.model.as_str(),
            sheet.region.as_str()
        ),
        ("openai", "gpt-5.4", "global")
    );
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
        let (pointer, detail) = refusal("openai/default", &list(&row));
        assert_eq!(pointer, "");
        assert!(
            detail.starts_with("`default` stands for the models"),
            "{detail}"
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
    let entry = r#"{"pricing_config": null, "custom_pricing": {"regions": {"default": {"execution_modes": {
        "standard": {"context_tiers": {
            "lte-272k": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 2e-4}}}},
            "gt-272k": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 4e-4}}}}}},
        "priority": {"context_tiers": {
            "lte-272k": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 4e-4}}}}}}}}}}}"#;
    assert_eq!(
        cells(&sheet("openai/gpt-6-sol", entry)),
        [
            "standard: input 2",
            "standard >272000: input 4",
            "priority: input 4"
        ]
    );
}

#[test]
fn a_region_in_two_groups_is_refused() {
    let modes = r#"{"execution_modes": {"standard": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 1e-4}}}}}}"#;
    let entry = format!(
        r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{"us,eu": {modes}, "us": {modes}}}}}}}"#
    );
    assert_eq!(
        refusal("openai/gpt-5.4", &entry),
        (
            "/custom_pricing/regions/us,eu".to_owned(),
            "the region `us` has two lists of prices".to_owned()
        )
    );
    let many: Vec<_> = (0..200).map(|number| format!("r{number}")).collect();
    let entry = format!(
        r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{"{}": {modes}}}}}}}"#,
        many.join(",")
    );
    assert_eq!(
        refusal("openai/gpt-5.4", &entry).1,
        "the entry has more than 128 regions"
    );
    let entry = format!(
        r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{"us,,eu": {modes}}}}}}}"#
    );
    assert_eq!(
        refusal("openai/gpt-5.4", &entry).1,
        "a text of 0 characters"
    );
}

#[test]
fn the_regions_that_are_not_named_do_not_share_a_name_with_one_that_is() {
    let modes = |price: &str| {
        format!(
            r#"{{"execution_modes": {{"standard": {{"pricing_config": {{"pay_as_you_go": {{"request_token": {{"price": {price}}}}}}}}}}}}}"#
        )
    };
    let entry = |regions: &str| {
        format!(
            r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{"default": {}, {regions}}}}}}}"#,
            modes("2.75e-05")
        )
    };
    let sheets = sheets(
        "vertex-ai/gemini-3.1-flash-lite",
        &entry(&format!(r#""global": {}"#, modes("2.5e-05"))),
    );
    let prices: Vec<_> = sheets
        .iter()
        .map(|sheet| {
            (
                sheet.region.as_str(),
                sheet.rates[0].input.as_ref().unwrap().to_string(),
            )
        })
        .collect();
    assert_eq!(
        prices,
        [
            ("in-region", "0.275".to_owned()),
            ("global", "0.25".to_owned())
        ]
    );
    let both = entry(&format!(
        r#""global": {}, "in-region": {}"#,
        modes("1e-5"),
        modes("1e-5")
    ));
    assert_eq!(
        refusal("vertex-ai/x", &both).1,
        "the regions `global` and `in-region` have prices of their own"
    );
}

#[test]
fn flat_prices_that_differ_from_those_by_mode_are_kept_with_a_note() {
    let modes = |prices: &str| {
        format!(
            r#""custom_pricing": {{"regions": {{"default": {{"execution_modes": {{"standard": {{"pricing_config": {{"pay_as_you_go": {{{prices}}}}}}}}}}}}}}}"#
        )
    };
    let flat = r#""pricing_config": {"pay_as_you_go": {"request_token": {"price": 3e-4}, "response_token": {"price": 1.5e-4},
        "cache_read_input_token": {"price": 5e-7}}, "batch_config": {"request_token": {"price": 2.5e-5}}}"#;
    let sheet = sheet(
        "openai/gpt-3.5-turbo-16k",
        &format!("{{{flat}, {}}}", modes(&prices("5e-5", "1.5e-4"))),
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
    let tree = json::parse(file.as_bytes()).unwrap();
    let faults = Faults::default();
    assert!(is_catalog(&tree));
    let entries = entries(&Cursor::root(&tree, &faults)).unwrap();
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "google/default",
            "google/gemini-2.5-pro",
            "google/gemini-2.5-pro-preview"
        ]
    );
    let sheets = read_entry(&entries[1].key, &entries[1].cursor).unwrap();
    assert_eq!(
        cells(&sheets[0]),
        [
            "standard: input 1.25, output 10",
            "standard >128000: input 2.5, output 15"
        ]
    );
    assert_eq!(sheets[0].model, "gemini-2.5-pro");
    assert_eq!(
        sheets[0].canonical_model.as_deref(),
        Some("google/gemini-2.5-pro")
    );
    assert_eq!(
        sheets[0].aliases,
        ["gemini-2.5-pro-gt-128k", "gemini-2.5-pro-lte-128k"]
    );
    assert!(sheets[0].unmapped.is_empty());
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
    let tiers: Vec<_> = (0..100)
        .map(|n| {
            let name = if n == 0 {
                "lte-1k".to_owned()
            } else {
                format!("gt-{n}k")
            };
            format!(r#""{name}": {}"#, list(&prices("1e-4", "2e-4")))
        })
        .collect();
    let entry = format!(
        r#"{{"pricing_config": null, "custom_pricing": {{"regions": {{"default": {{"execution_modes": {{"standard": {{"context_tiers": {{{}}}}}}}}}}}}}}}"#,
        tiers.join(", ")
    );
    let sheet = sheet("openai/m", &entry);
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
    let file =
        json::parse(format!(r#"{{"gpt-5.4": {}}}"#, list(&prices("1e-4", "2e-4"))).as_bytes())
            .unwrap();
    assert!(is_catalog(&file));
    let faults = Faults::default();
    assert!(entries(&Cursor::root(&file, &faults)).is_none());
    let found = faults.into_result(Some(())).unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].detail,
        "the document is a single provider's file without the provider's name"
    );
    assert!(found[0].hint.contains(r#"{"openai": {"gpt-5.4": …}}"#));
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
        refusal("openai/gpt-6", &file).1,
        "the field `pricing_config` is missing"
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
    let zero = format!(
        r#"{}, "cache_write_input_token": {{"price": 0}}"#,
        prices("2e-4", "8e-4")
    );
    let sheet = sheet("openai/gpt-4.1", &list(&zero));
    assert_eq!(cells(&sheet), ["standard: input 2, output 8"]);
    assert_eq!(sheet.cache_write_billing, CacheWriteBilling::AsInput);
    assert!(sheet.unmapped.is_empty() && sheet.notes.is_empty());
}

#[test]
fn a_cache_read_of_zero_beside_a_priced_input_is_kept_as_unclear() {
    let zero = format!(
        r#"{}, "cache_read_input_token": {{"price": 0}}"#,
        prices("3e-4", "6e-4")
    );
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
    let swapped = format!(
        r#"{}, "cache_read_input_token": {{"price": 0.00045}}, "cache_write_input_token": {{"price": 2e-05}}"#,
        prices("2e-4", "12e-4")
    );
    let read = sheet("google/gemini-3.1-pro", &list(&swapped));
    assert_eq!(
        cells(&read),
        ["standard: input 2, output 12, read 0.2, storage 4.5"]
    );
    assert_eq!(read.notes.len(), 1);
    let as_input = format!(
        r#"{}, "cache_write_input_token": {{"price": 2e-04}}"#,
        prices("2e-4", "12e-4")
    );
    let read = sheet("vertex-ai/gemini-3.1-pro", &list(&as_input));
    assert_eq!(cells(&read), ["standard: input 2, output 12"]);
    assert_eq!(read.cache_write_billing, CacheWriteBilling::AsInput);
    let cheaper = format!(
        r#"{}, "cache_write_input_token": {{"price": 2e-05}}"#,
        prices("2e-4", "12e-4")
    );
    let read = sheet("vertex-ai/gemini-3.1-pro", &list(&cheaper));
    assert_eq!(cells(&read), ["standard: input 2, output 12"]);
    assert_eq!(
        read.unmapped["pricing_config/pay_as_you_go/cache_write_input_token"]["price"],
        serde_json::json!(2e-5)
    );
}

#[test]
fn five_minutes_of_storage_that_a_router_lists_as_a_write_become_an_hour() {
    let slip = format!(
        r#"{}, "cache_write_input_token": {{"price": 8.33333333333333e-06}}"#,
        prices("3e-05", "0.00025")
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
    let fee = format!(
        r#"{}, "cache_write_input_token": {{"price": 8.3e-07}}"#,
        prices("2.5e-05", "2e-4")
    );
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
    let meters: Vec<_> = sheet
        .other_meters
        .iter()
        .map(|meter| format!("{} {} {}", meter.meter, meter.price, meter.unit))
        .collect();
    assert_eq!(
        meters,
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
        serde_json::json!(5e-4)
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
    let written_as_data = r#"{"pricing_config": null, "custom_pricing": {"context_tier_map": {"0": "short", "199999": "long"},
        "regions": {"default": {"execution_modes": {"standard": {"context_tiers": {
            "short": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 2e-4}}}},
            "long": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 4e-4}}}},
            "endless": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 8e-4}}}}}}}}}}}"#;
    let sheet = sheet("groq/m", written_as_data);
    assert_eq!(
        cells(&sheet),
        ["standard: input 2", "standard >=200000: input 4"]
    );
    assert_eq!(
        sheet.notes,
        ["A context tier without a stated length is kept under `unmapped`."]
    );
}

#[test]
fn another_currency_is_kept_and_an_unknown_one_refused() {
    let entry = |currency: &str| {
        format!(
            r#"{{"pricing_config": {{"pay_as_you_go": {{{}}}, "currency": {currency}}}}}"#,
            prices("1e-4", "2e-4")
        )
    };
    assert_eq!(sheet("minimax/m3", &entry(r#""CNY""#)).currency, "CNY");
    assert_eq!(sheet("minimax/m3", &entry("null")).currency, "USD");
    for wrong in [r#""cents""#, r#""""#, "7", "{}"] {
        assert_eq!(
            refusal("minimax/m3", &entry(wrong)).0,
            "/pricing_config/currency"
        );
    }
}

#[test]
fn an_entry_without_a_token_price_says_by_what_it_is_priced() {
    let image = list(
        r#""image": {"default": {"default": {"price": 4}}}, "additional_units": {"web_search": {"price": 1}}"#,
    );
    assert_eq!(
        refusal("fal-ai/flux", &image).1,
        "the entry has no token price; it is priced by image, web_search"
    );
    assert_eq!(
        refusal("azure-ai/code-davinci-002", r#"{"pricing_config": null}"#).1,
        "the entry has no token price, nor any other price"
    );
}

#[test]
fn hostile_entries_have_one_fault_each() {
    let deep = format!("{}1{}", "[".repeat(26), "]".repeat(26));
    let flat = |field: &str| format!(r#"{{"pricing_config": {{"pay_as_you_go": {{{field}}}}}}}"#);
    let custom = |field: &str| format!(r#"{{"pricing_config": null, "custom_pricing": {field}}}"#);
    let entries = [
        "[]".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        r#"{"pricing_config": []}"#.to_owned(),
        r#"{"pricing_config": {"pay_as_you_go": 7}}"#.to_owned(),
        r#"{"pricing_config": {"pay_as_you_go": {}, "fixed_cost": 1}}"#.to_owned(),
        flat(r#""request_token": 0.1"#),
        flat(r#""request_token": {}"#),
        flat(r#""request_token": []"#),
        flat(r#""request_token": {"price": null}"#),
        flat(r#""request_token": {"price": -1}"#),
        flat(r#""request_token": {"price": "-1"}"#),
        flat(r#""request_token": {"price": ""}"#),
        flat(r#""request_token": {"price": "1e-99999999"}"#),
        flat(r#""request_token": {"price": 1e300}"#),
        flat(r#""request_token": {"price": true}, "response_token": {"price": false}"#),
        flat(&format!(r#""request_token": {{"price": {deep}}}"#)),
        flat(r#""additional_units": 5"#),
        flat(r#""additional_units": {"web_search": 5}"#),
        flat(r#""additional_units": {"cache_write_1h": {"price": []}}"#),
        custom("[]"),
        custom(r#"{"regions": []}"#),
        custom(r#"{"regions": {"default": 4}}"#),
        custom(r#"{"regions": {"default": {"execution_modes": 4}}}"#),
        custom(r#"{"regions": {"default": {"execution_modes": {"": {}}}}}"#),
        custom(
            r#"{"regions": {"default": {"execution_modes": {"standard": {"context_tiers": []}}}}}"#,
        ),
        custom(r#"{"regions": {"": {}}}"#),
        custom(r#"{"context_tier_map": []}"#),
        custom(r#"{"context_tier_map": {"many": "gt-1k"}}"#),
        custom(r#"{"context_tier_map": {"-1": "gt-1k"}}"#),
        custom(r#"{"context_tier_map": {"1": 5}}"#),
    ];
    for entry in &entries {
        let (_, detail) = refusal("openai/gpt-5.4", entry);
        assert!(!detail.is_empty());
    }
    for key in [
        "",
        "gpt-5.4",
        "openai/",
        "/gpt-5.4",
        "openai/\n",
        &"x/".repeat(200),
        "openai/default",
    ] {
        refusal(key, &flat(r#""request_token": {"price": 1e-4}"#));
    }
    let tiers: Vec<_> = (1..=129)
        .map(|n| format!(r#""gt-{n}k": {{"pricing_config": {{"pay_as_you_go": {{"request_token": {{"price": {n}e-4}}}}}}}}"#))
        .collect();
    let tiers = custom(&format!(
        r#"{{"regions": {{"default": {{"execution_modes": {{"standard": {{"context_tiers": {{{}}}}}}}}}}}}}"#,
        tiers.join(", ")
    ));
    assert_eq!(
        refusal("openai/gpt-5.4", &tiers).1,
        "the entry has 129 rate cells"
    );
}

#[test]
fn documents_of_other_kinds_are_not_recognised() {
    let entry = list(&prices("1e-4", "2e-4"));
    for other in [
        "[]",
        "{}",
        "7",
        r#"{"gpt-5.4": {"litellm_provider": "openai"}}"#,
        r#"{"data": [{"pricing": {"prompt": "1"}}]}"#,
        r#"{"openai": {"models": {"gpt-5.4": {"cost": {"input": 1}}}}}"#,
        &entry,
        r#"{"pricing_config": {}, "x": {"pricing_config": {}}}"#,
    ] {
        assert!(
            !is_catalog(&json::parse(other.as_bytes()).unwrap()),
            "{other}"
        );
    }
    let faults = Faults::default();
    let catalog = json::parse(format!(r#"{{"a/b": {{"c": {entry}}}}}"#).as_bytes()).unwrap();
    assert!(is_catalog(&catalog));
    assert!(entries(&Cursor::root(&catalog, &faults)).is_none());
    assert_eq!(faults.into_result(Some(())).unwrap_err().len(), 1);
}
