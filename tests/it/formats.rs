//! The canonical sheet: its reader, its JSON Schema and the examples agree.

use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Value, json};
use unroof_base::input::json as tree;
use unroof_price_sheet::sheet::{PriceSheet, canonical, json_schema};

use crate::support::{examples, json_files, read_json, repository, say, sheet, with, without};

fn read(document: &Value) -> Result<PriceSheet, String> {
    let tree = tree::parse(document.to_string().as_bytes()).map_err(|error| error.to_string())?;
    canonical::read(&tree).map_err(|faults| format!("{faults:#?}"))
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

fn assert_valid(validator: &Validator, document: &Value, what: &str) {
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

#[test]
fn every_example_is_read_and_valid() {
    let examples = examples();
    assert!(examples.len() >= 10, "{}", examples.len());
    let schema = validator(&json_schema());
    for (name, example) in &examples {
        assert_valid(&schema, example, name);
        let sheet = read(example).unwrap_or_else(|faults| panic!("{name}: {faults}"));
        // A file is named after its offer.
        let start = format!("{}_", sheet.provider);
        assert!(name.starts_with(&start), "{name} is of {start}");
        // Real facts have a public address.
        for source in &sheet.sources {
            assert!(source.url.starts_with("https://"), "{name}: {}", source.url);
        }
    }
    for asked_for in [
        "google_gemini-2.5-pro",
        "google_gemini-3.1-pro",
        "openai_gpt-5.4",
        "anthropic_claude-sonnet-4-5",
        "anthropic_claude-opus-4-6",
        "anthropic_claude-opus-5-5",
        "anthropic_claude-haiku-5-5",
        "deepseek_deepseek-chat_v3.0.json",
        "deepseek_deepseek-chat_v3.1.json",
        "openai_gpt-6",
    ] {
        assert!(
            examples.iter().any(|(name, _)| name.starts_with(asked_for)),
            "no {asked_for}"
        );
    }
}

#[test]
fn a_sheet_survives_being_written_and_read_again() {
    for (name, example) in examples() {
        let sheet = read(&example).unwrap();
        let written = serde_json::to_value(&sheet).unwrap();
        assert_eq!(read(&written).as_ref(), Ok(&sheet), "{name}");
        let content = sheet.pricing_content();
        let written = serde_json::to_value(&content).unwrap();
        // It has no sources, so it is not a sheet by itself; with them it is the same content.
        let sourced = with(written, "/sources", example["sources"].clone());
        assert_eq!(read(&sourced).unwrap().pricing_content(), content, "{name}");
        assert_eq!(read(&sourced).unwrap().id(), sheet.id(), "{name}");
    }
}

/// Parts that the reference schema is too old to know.
const OURS: [&str; 4] = [
    "/capacity_offers",
    "/evidence",
    "/released",
    "/service_tiers/fast/measured",
];

fn without_ours(sheet: Value) -> Value {
    let has = |sheet: &Value, part: &str| sheet.pointer(part).is_some();
    OURS.into_iter().fold(sheet, |sheet, part| {
        if has(&sheet, part) {
            without(sheet, part)
        } else {
            sheet
        }
    })
}

/// The schema that the project was given, which other tools may hold sheets against; none outside its own checkout.
fn reference() -> Option<(PathBuf, Validator)> {
    let folder = repository().join("../shared/reference");
    let file = folder.join("pricesheet.schema.json");
    if !file.exists() {
        say("skipped: there is no ../shared/reference/pricesheet.schema.json");
        return None;
    }
    Some((folder, validator(&read_json(&file))))
}

#[test]
fn the_reference_schema_and_ours_take_the_same_sheets() {
    let Some((folder, reference)) = reference() else {
        return;
    };
    let ours = validator(&json_schema());
    for (name, example) in examples() {
        let written = serde_json::to_value(read(&example).unwrap()).unwrap();
        for sheet in [&example, &written] {
            assert_valid(&reference, &without_ours(sheet.clone()), &name);
        }
        assert_valid(&ours, &written, &name);
    }
    let theirs = json_files(&folder.join("examples"));
    assert!(!theirs.is_empty());
    for file in theirs {
        let name = file.display().to_string();
        // A file may hold the sheets of one model after another.
        let sheets = match read_json(&file) {
            Value::Array(sheets) => sheets,
            sheet => vec![sheet],
        };
        for sheet in sheets {
            assert_valid(&reference, &sheet, &name);
            assert_valid(&ours, &sheet, &name);
            read(&sheet).unwrap_or_else(|faults| panic!("{name}: {faults}"));
        }
    }
    assert_valid(&reference, &without_ours(full()), "the full sheet");
    for (name, wrong) in mutants() {
        if OURS.iter().any(|part| name.contains(part)) {
            continue;
        }
        let wrong = without_ours(wrong);
        // Bounds that only ours states: lengths of names and lists, the largest counts, indices, and what a speed is.
        let is_laxer = [
            "longer than",
            "no characters",
            "more than",
            "not negative",
            "beyond 2^31",
        ]
        .iter()
        .any(|part| name.contains(part));
        assert!(
            is_laxer || !reference.is_valid(&wrong),
            "the reference schema takes: {name}"
        );
    }
}

/// A sheet in which every part of the format occurs.
fn full() -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": "acme",
        "upstream_provider": "other",
        "model": "m-1",
        "canonical_model": "acme/m-1",
        "aliases": ["m-one"],
        "region": "eu",
        "quantization": "fp8",
        "currency": "CNY",
        "unit": "per_1m_tokens",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2027-01-01T00:00:00+08:00",
        "limits": {"context": 400_000, "max_input": 272_000, "max_output": 128_000, "cache_min_tokens": 1024},
        "context_tier_semantics": "marginal",
        "context_tier_measure": "prompt_plus_output_tokens",
        "cache_write_billing": "priced",
        "schedules": {"night": {"timezone": "Asia/Shanghai", "windows": [{"days": [1, 7], "start": "16:30", "end": "00:30"}], "except_calendar": "CN"}},
        "service_tiers": {
            "standard": {},
            "fast": {"request": {"speed": "fast"}, "aliases": ["quick"], "price_multiplier": "2",
                "speed_multiplier": {"value": "2.5", "bound": "up_to", "metric": "output_tokens_per_second"},
                "slo": {"output_tokens_per_second_min": 80.5, "percentile": 99, "uptime_percent": 99.9},
                "measured": {"measured_by": "openrouter", "output_tokens_per_second": {"p50": 61.5, "p75": 70, "p90": 90, "p99": 120},
                    "time_to_first_token_seconds": {"p50": 0.42}},
                "excludes": ["batch"], "stacks_with": ["caching"]},
            "batch": {"completion_window_seconds": 86_400},
        },
        "rates": [
            {"service_tier": "standard", "context_tier": {"min_prompt_tokens": 0, "inclusive": false}, "input": "1.25", "output": "10.00",
                "reasoning": "10", "cache_read": "0.125", "cache_read_explicit": "0.1",
                "cache_write": [{"ttl_seconds": 300, "price": "1.5"}, {"ttl_seconds": null, "price": "2"}],
                "cache_storage_per_hour": "4.50", "basis": "stated", "source": 0},
            {"schedule": "night", "input": "0.6"},
        ],
        "modifiers": [{"name": "eu", "when": {"region": ["eu"]}, "multiplier": "1.1", "applies_to": ["input"]}],
        "other_meters": [{"meter": "search", "unit": "call", "price": "0.035", "note": "after a free allowance"}],
        "capacity_offers": [{"name": "unit", "price_per_hour": "39.60", "input_tokens_per_second": 2_500, "output_tokens_per_second": 312.5}],
        "sources": [{"url": "https://acme.example", "format": "models.dev", "retrieved_at": "2026-11-21", "published_at": "2026-11-20", "sha256": "00", "locator": "m-1"}],
        "notes": ["a remark"],
        "unmapped": {"tpm": 3},
    })
}

/// Sheets that break one rule each.
fn mutants() -> Vec<(String, Value)> {
    let mut mutants = Vec::new();
    let full = full();
    for field in [
        "schema", "provider", "model", "currency", "unit", "rates", "sources",
    ] {
        mutants.push((
            format!("no {field}"),
            without(full.clone(), &format!("/{field}")),
        ));
    }
    for pointer in [
        "/schedules/night/timezone",
        "/schedules/night/windows",
        "/schedules/night/windows/0/start",
        "/schedules/night/windows/0/end",
        "/rates/0/context_tier/min_prompt_tokens",
        "/rates/0/cache_write/0/price",
        "/modifiers/0/name",
        "/modifiers/0/multiplier",
        "/other_meters/0/meter",
        "/other_meters/0/unit",
        "/other_meters/0/price",
        "/capacity_offers/0/name",
        "/capacity_offers/0/price_per_hour",
        "/sources/0/url",
        "/sources/0/format",
    ] {
        mutants.push((format!("no {pointer}"), without(full.clone(), pointer)));
    }
    for object in [
        "",
        "/limits",
        "/schedules/night",
        "/schedules/night/windows/0",
        "/service_tiers/fast",
        "/service_tiers/fast/speed_multiplier",
        "/service_tiers/fast/slo",
        "/service_tiers/fast/measured",
        "/service_tiers/fast/measured/output_tokens_per_second",
        "/service_tiers/fast/measured/time_to_first_token_seconds",
        "/rates/0",
        "/rates/0/context_tier",
        "/rates/0/cache_write/0",
        "/modifiers/0",
        "/other_meters/0",
        "/capacity_offers/0",
        "/sources/0",
    ] {
        mutants.push((
            format!("an unknown field in {object}"),
            with(full.clone(), &format!("{object}/colour"), json!("blue")),
        ));
    }
    let mut change = |name: &str, pointer: &str, value: Value| {
        mutants.push((
            format!("{pointer}: {name}"),
            with(full.clone(), pointer, value),
        ));
    };
    change("another version", "/schema", json!("pricesheet/v2"));
    change("another unit", "/unit", json!("per_token"));
    change("small letters", "/currency", json!("usd"));
    change("two letters", "/currency", json!("US"));
    for name in [
        "/provider",
        "/model",
        "/canonical_model",
        "/region",
        "/upstream_provider",
        "/quantization",
    ] {
        change("no characters", name, json!(""));
        change("longer than 255 characters", name, json!("x".repeat(256)));
        change("a number", name, json!(5));
        change("null", name, json!(null));
    }
    for decimal in [
        "/rates/0/input",
        "/rates/0/cache_write/0/price",
        "/service_tiers/fast/price_multiplier",
        "/service_tiers/fast/speed_multiplier/value",
        "/modifiers/0/multiplier",
        "/other_meters/0/price",
        "/capacity_offers/0/price_per_hour",
    ] {
        for value in [
            json!(1.25),
            json!(true),
            json!(null),
            json!("1e-6"),
            json!("-1"),
            json!(""),
            json!("1."),
            json!("1234567890123"),
            json!("0.1234567890123456789"),
            json!("1.25\n"),
        ] {
            change(&value.to_string(), decimal, value.clone());
        }
    }
    for count in [
        "/limits/context",
        "/limits/cache_min_tokens",
        "/service_tiers/batch/completion_window_seconds",
        "/rates/0/cache_write/0/ttl_seconds",
    ] {
        change("nothing that is not negative", count, json!(0));
        change("beyond 2^31", count, json!(2_147_483_648_u64));
        change("a fraction", count, json!(1.5));
        change("a text", count, json!("1"));
    }
    change(
        "below zero",
        "/rates/0/context_tier/min_prompt_tokens",
        json!(-1),
    );
    change(
        "an index that is not negative",
        "/rates/0/source",
        json!(-1),
    );
    change("an index beyond 2^31", "/rates/0/source", json!(64));
    change(
        "a text for a truth",
        "/rates/0/context_tier/inclusive",
        json!("no"),
    );
    change("day 0", "/schedules/night/windows/0/days/0", json!(0));
    change("day 8", "/schedules/night/windows/0/days/0", json!(8));
    change("no window", "/schedules/night/windows", json!([]));
    change(
        "no time of day",
        "/schedules/night/windows/0/start",
        json!("4:30 pm"),
    );
    for (choice, pointer) in [
        ("some", "/context_tier_semantics"),
        ("words", "/context_tier_measure"),
        ("free", "/cache_write_billing"),
        ("guessed", "/rates/0/basis"),
        ("blog", "/sources/0/format"),
        ("exactly", "/service_tiers/fast/speed_multiplier/bound"),
        ("feeling", "/service_tiers/fast/speed_multiplier/metric"),
    ] {
        change("no such choice", pointer, json!(choice));
    }
    for list in [
        "/aliases",
        "/rates",
        "/sources",
        "/notes",
        "/modifiers",
        "/other_meters",
        "/capacity_offers",
        "/rates/0/cache_write",
        "/service_tiers/fast/excludes",
        "/modifiers/0/applies_to",
    ] {
        change("an object for a list", list, json!({}));
        change("null for a list", list, json!(null));
    }
    for object in [
        "/limits",
        "/schedules",
        "/schedules/night",
        "/service_tiers",
        "/service_tiers/fast",
        "/service_tiers/fast/slo",
        "/service_tiers/fast/measured",
        "/service_tiers/fast/measured/output_tokens_per_second",
        "/service_tiers/fast/measured/time_to_first_token_seconds",
        "/service_tiers/fast/request",
        "/rates/0",
        "/rates/0/context_tier",
        "/modifiers/0/when",
        "/unmapped",
    ] {
        change("a list for an object", object, json!([]));
        change("null for an object", object, json!(null));
    }
    change("no cell", "/rates", json!([]));
    change(
        "more than 128 cells",
        "/rates",
        json!(
            (0..129)
                .map(|tokens| json!({"context_tier": {"min_prompt_tokens": tokens}}))
                .collect::<Vec<_>>()
        ),
    );
    change("no source", "/sources", json!([]));
    change(
        "more than 64 sources",
        "/sources",
        Value::Array(vec![full["sources"][0].clone(); 65]),
    );
    change("no date", "/valid_from", json!("soon"));
    change("a date without a time", "/valid_from", json!("2026-01-01"));
    change(
        "a time without an offset",
        "/valid_to",
        json!("2027-01-01T00:00:00"),
    );
    change("a number for a time", "/valid_from", json!(0));
    mutants
}

#[test]
fn sheets_that_break_a_rule_are_refused_by_the_reader_and_by_the_schema() {
    let schema = validator(&json_schema());
    assert_valid(&schema, &full(), "the full sheet");
    assert_eq!(read(&full()).map(drop), Ok(()));
    assert_valid(&schema, &sheet(), "the least sheet");
    assert_eq!(read(&sheet()).map(drop), Ok(()));
    let mutants = mutants();
    assert!(mutants.len() > 150, "{}", mutants.len());
    let mut taken = Vec::new();
    for (name, wrong) in mutants {
        if read(&wrong).is_ok() {
            taken.push(format!("by the reader: {name}"));
        }
        if schema.is_valid(&wrong) {
            taken.push(format!("by the schema: {name}"));
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}
