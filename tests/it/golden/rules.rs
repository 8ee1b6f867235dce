//! Rules that every answer keeps.

use std::collections::BTreeSet;

use super::sheets::*;
use super::{EXACT, GOLDEN_IDS};
use serde_json::{Value as Json, json};
use unroof_infer::clue::specifications;
use unroof_infer::estimate::{Format, infer, read_request};
use unroof_infer::evidence::clue_table::ReadingId;
use unroof_infer::evidence::reading::{Detail, NotDefined, Reason, Value};

fn assert_exact(what: &str, computed: f64, expected: f64) {
    let agrees = (computed - expected).abs() <= EXACT * expected.abs();
    assert!(agrees, "{what}: computed {computed}, expected {expected}");
}

fn reading_ids() -> impl Iterator<Item = &'static str> {
    ReadingId::ALL.iter().map(|id| id.name())
}

/// The page of the readings, with a row for each.
const READINGS: &str = include_str!("../../../docs/model/readings.md");
/// The page with the golden numbers.
const GOLDEN_NUMBERS: &str = include_str!("../../../docs/MODEL.md");

/// The ids of the tables of readings: rows of an id and an equation.
fn ids_of_the_model() -> Vec<&'static str> {
    let id = |line: &'static str| {
        line.strip_prefix("| `")?
            .split_once("` | `")
            .map(|(id, _)| id)
    };
    READINGS.lines().filter_map(id).collect()
}

#[test]
fn there_are_the_readings_of_the_model_and_no_others() {
    let ids: Vec<&str> = specifications()
        .map(|specification| specification.id.name())
        .collect();
    assert_eq!(ids, ids_of_the_model());
    assert_eq!(ids, reading_ids().collect::<Vec<_>>());
    for id in ReadingId::ALL {
        assert_eq!(serde_json::to_value(id).unwrap(), id.name());
    }
}

#[test]
fn every_answer_lists_every_reading_whatever_the_sheet_says() {
    for sheet in [
        plain("1", "5"),
        rich(),
        sheet(json!({"rates": [{"cache_write": []}]})),
    ] {
        let answer = answer(&sheet, &json!({}));
        let listed: BTreeSet<&str> = answer
            .readings
            .iter()
            .map(|reading| reading.id.name())
            .collect();
        assert_eq!(listed, reading_ids().collect());
        for reading in &answer.readings {
            assert!(
                reading.value.is_some() != reading.not_defined.is_some(),
                "{reading:?}"
            );
        }
    }
}

#[test]
fn the_document_of_the_model_has_every_reading_with_its_equation_and_every_golden_number() {
    for specification in specifications() {
        let equation = specification.equation.replace('|', "\\|");
        let row = format!("| `{}` | `{equation}` |", specification.id);
        assert!(
            READINGS.contains(&row),
            "docs/model/readings.md has no row that begins with\n{row}"
        );
    }
    for id in GOLDEN_IDS {
        assert!(
            GOLDEN_NUMBERS.contains(&format!("| {id} |")),
            "docs/MODEL.md has no row for {id}"
        );
    }
}

/// Ranges for much of what may be stated.
fn ranges() -> Json {
    let range = |low: f64, high: f64| json!({"low": low, "high": high});
    json!({
        "accelerator": {
            "flops_per_second": range(4e15, 6e15),
            "bandwidth_bytes_per_second": 8e12,
            "capacity_bytes": range(1.5e11, 3e11),
        },
        "chips": 72,
        "rental_usd_per_hour": range(3.0, 10.0),
        "active_parameters": range(5e10, 2e11),
        "total_parameters": range(4e11, 1.6e12),
        "batch_over_optimal_batch": range(2.0, 3.0),
        "mean_decode_context_tokens": range(4_000.0, 16_000.0),
        "prefill_efficiency": range(0.4, 0.8),
        "decode_bandwidth_efficiency": range(0.5, 0.9),
        "output_margin": range(-0.1, 0.5),
        "kv_bytes_per_token_stored": range(1e4, 1e5),
        "load_path_bytes_per_second": range(1e10, 1e11),
        "minimum_batch": range(8.0, 64.0),
        "speed_multiplier": {"fast": range(1.5, 3.0)},
    })
}

#[test]
fn a_value_lies_within_its_range() {
    let answer = answer(&rich(), &ranges());
    let figure = |name: &str, value: &Value, low: Option<f64>, high: Option<f64>| {
        let (Some(value), Some(low), Some(high)) = (value.number(), low, high) else {
            return false;
        };
        assert!(
            low <= value && value <= high,
            "{name}: {low} <= {value} <= {high}"
        );
        true
    };
    let mut ranged = BTreeSet::new();
    for reading in &answer.readings {
        for Detail {
            name,
            value,
            low,
            high,
            ..
        } in &reading.details
        {
            figure(name, value, *low, *high);
        }
        let value = reading.value.as_ref();
        if value.is_some_and(|value| figure(reading.id.name(), value, reading.low, reading.high)) {
            ranged.insert(reading.id.name());
        }
    }
    let without: Vec<&str> = reading_ids().filter(|id| !ranged.contains(id)).collect();
    let rest_on_prices_or_names_alone_or_have_an_open_end = [
        "context_tier_kv_bytes_finite_batch",
        "output_multiplier_cover",
        "input_multiplier_attention",
        "context_bands_line",
        "reasoning_context_ratio",
        "cache_write_hold_price",
        "cache_ttl_drain_time",
        "cache_ttl_five_minute_rule",
        "batch_discount_utilisation",
        "peak_schedule_utilisation",
        "knowledge_score_total_parameters",
        "capacity_full_load_cost",
        "capacity_break_even_utilisation",
    ];
    assert_eq!(without, rest_on_prices_or_names_alone_or_have_an_open_end);
}

#[test]
fn the_ends_of_a_range_are_the_readings_at_its_ends_and_its_middle_is_the_geometric_one() {
    let (low, middle, high) = (5e10, 1e11, 2e11);
    let state = |active: Json| {
        answer(
            &gemini(),
            &json!({"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": active}),
        )
    };
    let ranged = state(json!({"low": low, "high": high}));
    let ranged = reading(&ranged, "context_tier_kv_bytes");
    let at = |active: f64| value(&state(json!(active)), "context_tier_kv_bytes");
    let pairs = [
        (numeric(ranged), at(middle)),
        (ranged.low.unwrap_or(f64::NAN), at(low)),
        (ranged.high.unwrap_or(f64::NAN), at(high)),
        (
            ranged.input("active_parameters").unwrap_or(f64::NAN),
            middle,
        ),
    ];
    for (computed, expected) in pairs {
        assert_exact("context_tier_kv_bytes", computed, expected);
    }
}

#[test]
fn a_range_that_no_reading_uses_changes_nothing() {
    // No prompt tiers, no cache, no limits and no promise are on this sheet.
    let sheet = plain("1", "5");
    let without = readings_json(&answer(&sheet, &json!({})));
    let unused = [
        "mean_prompt_tokens_below",
        "mean_prompt_tokens_above",
        "load_path_bytes_per_second",
        "accepted_tokens_per_step",
        "minimum_batch",
    ];
    for name in unused {
        let mut stated = json!({});
        stated[name] = json!({"low": 2.0, "high": 4.0});
        let with = answer(&sheet, &stated);
        assert!(
            readings_json(&with) == without && with.conflicts.is_empty(),
            "{name}"
        );
        assert!(with.values.iter().all(|input| input.name != name), "{name}");
    }
}

#[test]
fn gemini_says_two_kilobytes_and_eight_times_and_names_their_conflict() {
    let stated = json!({"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": 1e11,
        "weight_bytes_per_parameter": 1});
    let answer = answer(&gemini(), &stated);
    let kv_bytes = value(&answer, "context_tier_kv_bytes");
    assert_exact("context_tier_kv_bytes", kv_bytes, 5_000.0 / 3.0);
    let ratios: Vec<(Option<f64>, Option<f64>)> = answer
        .readings
        .iter()
        .filter(|reading| reading.id == ReadingId::OutputRatioMemoryBoundness)
        .map(|reading| (reading.input("min_prompt_tokens"), reading.number()))
        .collect();
    let (base, above) = ((Some(0.0), Some(8.0)), (Some(200_000.0), Some(6.0)));
    assert_eq!(ratios, [base, above, base, above]);
    let famous = [
        ReadingId::ContextTierKvBytes,
        ReadingId::OutputRatioMemoryBoundness,
    ];
    let conflict = answer
        .conflicts
        .iter()
        .find(|conflict| conflict.between == famous)
        .expect("a conflict");
    assert_eq!(conflict.quantity, "memory_time_over_compute_time");
    assert_exact("what the threshold says", conflict.values[0], 1.0);
    assert_exact("what the ratio says", conflict.values[1], 8.0);
    for said in ["above 200,000 tokens", "t_mem ≤ t_comp", "8 times"] {
        assert!(conflict.why.contains(said), "{}", conflict.why);
    }
}

#[test]
fn sheets_of_one_model_state_their_conflict_once_with_the_side_of_the_estimate() {
    let host = |provider: &str| {
        let mut sheet = gemini();
        sheet["provider"] = json!(provider);
        sheet["canonical_model"] = json!("google/gemini-2.5-pro");
        sheet
    };
    let body = json!({"price_sheets": [host("google"), host("reseller")]}).to_string();
    let request = read_request(body.as_bytes(), &Format::Canonical).unwrap();
    let answer = infer(&request);
    let why: Vec<&str> = (answer.textbook.conflicts.iter())
        .filter(|conflict| conflict.quantity == "memory_time_over_compute_time")
        .map(|conflict| &*conflict.why)
        .collect();
    let [why] = why[..] else { panic!("{why:?}") };
    let boundness = &answer.joint.quantities.memory_time_over_compute_time;
    let percent = format!("{:.0} %", 100.0 * boundness.regime_probability);
    assert!(
        why.contains("the joint estimate ") && why.ends_with(&percent),
        "{why}"
    );
}

#[test]
fn the_famous_readings_agree_where_what_is_stated_explains_the_ratio() {
    let conflicts = |stated: Json| {
        let answer = answer(&gemini(), &stated);
        answer
            .conflicts
            .iter()
            .filter(|conflict| conflict.quantity == "memory_time_over_compute_time")
            .count()
    };
    assert_eq!(conflicts(json!({})), 1);
    assert_eq!(conflicts(json!({"batch_over_optimal_batch": 0.15})), 0);
    assert_eq!(conflicts(json!({"mean_decode_context_tokens": 20_000})), 1);
    assert_eq!(
        conflicts(json!({"mean_decode_context_tokens": 1_200_000})),
        0
    );
    // Memory and compute at their efficiencies are in balance at r = η_m/η_c = 6.
    assert_eq!(conflicts(json!({"decode_compute_efficiency": 0.16})), 0);
}

#[test]
fn opus_5_5_needs_its_speed_stated() {
    let ids = [
        "fast_mode_batch_ratio",
        "fast_mode_kv_over_weights",
        "fast_mode_max_speedup",
    ];
    let stated = answer(&opus_5_5(), &json!({"speed_multiplier": {"fast": 2.5}}));
    let silent = answer(&opus_5_5(), &json!({}));
    for (id, expected) in ids.into_iter().zip([5.0, 3.0, 4.0]) {
        assert_exact(id, value(&stated, id), expected);
        let NotDefined { reason, detail, .. } = not_defined(&silent, id);
        assert_eq!(*reason, Reason::SheetLacks);
        let said = "not defined: the sheet states no speed";
        assert!(detail.starts_with(said), "{detail}");
    }
}

#[test]
fn opus_4_6_states_a_speed_that_is_a_bound_and_two_times_to_live() {
    let answer = answer(&opus_4_6(), &json!({}));
    let expected = [
        ("fast_mode_batch_ratio", 15.0),
        ("fast_mode_kv_over_weights", 1.8),
        ("fast_mode_max_speedup", 2.8),
        ("cache_write_hold_price", 45.0 / 11.0),
    ];
    for (id, expected) in expected {
        assert_exact(id, value(&answer, id), expected);
    }
    let caveats = &reading(&answer, "fast_mode_batch_ratio").caveats;
    assert_eq!(caveats, &["\"up to 2.5×\" is a bound, not a measurement"]);
    let hold = reading(&answer, "cache_write_hold_price");
    assert_eq!(hold.unit, "USD/Mtok-hour");
}

#[test]
fn a_sheet_in_another_currency_has_ratios_and_needs_its_rate_for_dollars() {
    let sheet = sheet(json!({"currency": "CNY", "rates": [{
        "input": "4", "output": "16", "cache_read": "0.4", "cache_storage_per_hour": "2",
        "cache_write": [{"ttl_seconds": 300, "price": "5"}, {"ttl_seconds": 3600, "price": "8"}],
    }]}));
    let state = |rate: Option<f64>| {
        let mut stated = json!({"accelerator": "gb200-nvl72", "load_path_bytes_per_second": 5e10});
        if let Some(rate) = rate {
            stated["usd_per_currency_unit"] = json!(rate);
        }
        answer(&sheet, &stated)
    };
    let (unstated, one, eighth) = (state(None), state(Some(1.0)), state(Some(0.125)));
    for id in [
        "output_ratio_memory_boundness",
        "cache_read_load_path",
        "cache_ttl_drain_time",
    ] {
        let value = &reading(&unstated, id).value;
        assert!(value.is_some(), "{id}");
        assert_eq!(value, &reading(&eighth, id).value, "{id}");
    }
    let in_dollars = [
        "cache_write_hold_price",
        "cache_storage_kv_bytes",
        "price_level_active_parameters",
    ];
    for id in in_dollars {
        let NotDefined { reason, detail, .. } = not_defined(&unstated, id);
        assert_eq!(*reason, Reason::AssumptionMissing, "{id}");
        assert_eq!(detail, "not defined: state `usd_per_currency_unit`", "{id}");
        assert_exact(id, value(&eighth, id), 0.125 * value(&one, id));
    }
}

#[test]
fn a_price_of_zero_forms_no_ratio() {
    let zero = sheet(json!({
        "limits": {"max_input": 1_000_000},
        "service_tiers": {"fast": {"speed_multiplier": {"value": "2.5"}}},
        "rates": [
            free_cell("standard", 0), free_cell("standard", 200_000), free_cell("batch", 0), free_cell("fast", 0),
        ],
    }));
    let stated = json!({"accelerator": "gb200-nvl72", "load_path_bytes_per_second": 5e10,
        "mean_decode_context_tokens": 8_000});
    let answer = answer(&zero, &stated);
    let defined: BTreeSet<&str> = answer
        .readings
        .iter()
        .filter(|reading| reading.value.is_some())
        .map(|reading| reading.id.name())
        .collect();
    assert_eq!(
        defined,
        BTreeSet::from(["cache_ttl_drain_time", "cache_ttl_five_minute_rule"])
    );
    let reason = not_defined(&answer, "output_ratio_memory_boundness");
    assert_eq!(reason.reason, Reason::NoSolution);
    assert!(reason.detail.contains("price is 0"), "{}", reason.detail);
}

fn free_cell(service_tier: &str, min_prompt_tokens: u32) -> Json {
    json!({
        "service_tier": service_tier, "context_tier": {"min_prompt_tokens": min_prompt_tokens},
        "input": "0", "output": "0.00", "cache_read": "0", "cache_storage_per_hour": "0",
        "cache_write": [{"ttl_seconds": 300, "price": "0"}, {"ttl_seconds": 3600, "price": "8"}],
    })
}

#[test]
fn what_is_held_for_a_fee_is_read_at_the_price_of_explicit_caches() {
    let sheet = sheet(
        json!({"rates": [{"input": "1.25", "cache_read": "0.25", "cache_read_explicit": "0.125",
        "cache_storage_per_hour": "4.5"}]}),
    );
    let answer = answer(&sheet, &json!({}));
    let storage = reading(&answer, "cache_storage_kv_bytes");
    assert_exact("break-even", detail(storage, "break_even_hold"), 0.25);
}

#[test]
fn computed_prices_are_no_evidence() {
    let mut with = rich();
    let rates = with["rates"].as_array_mut().expect("rates");
    for rate in rates.iter_mut().skip(1) {
        rate["basis"] = json!("computed");
    }
    let mut without = with.clone();
    without["rates"].as_array_mut().expect("rates").truncate(1);
    let (with, without) = (answer(&with, &ranges()), answer(&without, &ranges()));
    assert_eq!(readings_json(&with), readings_json(&without));
    for id in ["context_tier_kv_bytes", "batch_discount_utilisation"] {
        assert_eq!(not_defined(&with, id).reason, Reason::SheetLacks, "{id}");
    }
}

#[test]
fn context_tiers_that_reprice_only_the_tokens_above_them_are_no_evidence() {
    for semantics in ["marginal", "unknown"] {
        let mut sheet = gemini();
        sheet["context_tier_semantics"] = json!(semantics);
        let answer = answer(&sheet, &json!({}));
        for id in reading_ids().take(6) {
            let reason = not_defined(&answer, id);
            assert_eq!(reason.reason, Reason::SheetLacks, "{id}");
            assert!(reason.detail.contains("reprices"), "{}", reason.detail);
        }
        let famous = answer
            .conflicts
            .iter()
            .filter(|conflict| conflict.between[0] == ReadingId::ContextTierKvBytes);
        assert_eq!(famous.count(), 0);
    }
}
