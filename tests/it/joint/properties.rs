//! Properties that hold for any sheet.

use serde_json::{Value, json};
use unroof_infer::estimate::{Format, infer, infer_with, read_request};
use unroof_roofline::reference::calibration::Calibration;

use super::{ask, quantity, sheet, width};
use crate::support::example;

const UNSCALED: [&str; 9] = [
    "kv_bytes_per_token_read",
    "kv_bytes_per_token_read_slope",
    "kv_bytes_per_token_stored",
    "memory_time_over_compute_time",
    "batch_over_optimal_batch",
    "crossover_context_tokens",
    "latency_floor_seconds",
    "cost_input_usd_per_mtok",
    "cost_output_usd_per_mtok",
];

/// A sheet with every kind of clue, all its prices times a factor.
fn rich(factor: f64) -> Value {
    let price = |base: f64| json!(format!("{}", base * factor));
    let mut sheet = sheet("acme", "1", "1");
    sheet["limits"] = json!({"context": 400_000});
    sheet["service_tiers"] = json!({"fast": {"speed_multiplier": {"value": "2.5", "metric": "output_tokens_per_second"}}});
    sheet["rates"] = json!([
        {"input": price(2.0), "output": price(8.0), "cache_read": price(0.25), "cache_storage_per_hour": price(1.0), "cache_write":
            [{"ttl_seconds": 300, "price": price(2.5)}, {"ttl_seconds": 3600, "price": price(4.0)}]},
        {"context_tier": {"min_prompt_tokens": 200_000}, "input": price(4.0), "output": price(12.0)},
        {"service_tier": "fast", "input": price(8.0), "output": price(32.0)},
    ]);
    sheet
}

#[test]
fn the_level_of_all_prices_adds_nothing_once_the_parameters_are_stated() {
    let stated = json!({"active_parameters": 3e10, "total_parameters": 4e11});
    let once = ask(&rich(1.0), &stated);
    let eightfold = ask(&rich(8.0), &stated);
    for name in UNSCALED {
        let (left, right) = (quantity(&once, name), quantity(&eightfold, name));
        assert!(
            (left.median / right.median - 1.0).abs() < 1e-8,
            "{name}: {} and {}",
            left.median,
            right.median
        );
        assert!((width(left) - width(right)).abs() < 1e-7, "{name}");
    }
    assert!((quantity(&once, "active_parameters").median / 3e10 - 1.0).abs() < 1e-8);
    assert!((quantity(&once, "total_parameters").median / 4e11 - 1.0).abs() < 1e-8);
}

#[test]
fn clues_of_infinite_noise_change_nothing() {
    let mut deaf = Calibration::shipped().clone();
    for line in 0..2 {
        deaf.price_law.noise[line][line] = 1e18;
    }
    deaf.population.context.scale = 1e9;
    for class in &mut deaf.population.classes {
        class.log_odds = [class.share.ln(), 0.0, 0.0];
    }
    deaf.context_tier.scale = 1e9;
    deaf.context_tier.convention_share = 0.0;
    let mut bare = rich(1.0);
    bare["service_tiers"] = json!({});
    bare["rates"] = json!([
        {"input": "2", "output": "8"},
        {"context_tier": {"min_prompt_tokens": 200_000}, "input": "4", "output": "12"},
    ]);
    let request = read_request(bare.to_string().as_bytes(), &Format::Canonical).unwrap();
    let answer = infer_with(&request, &deaf);
    // Another calibration gives another answer under another id, in addition to the one that is stored.
    assert_ne!(answer.id, infer(&request).id);
    assert_ne!(answer.calibration_id, Calibration::shipped().id());
    for (known, estimate) in answer.joint.quantities.in_order() {
        let moved = (estimate.median / estimate.prior.median).ln().abs();
        assert!(
            moved < 0.02 * width(estimate),
            "{}: {} and {}",
            known.name(),
            estimate.median,
            estimate.prior.median
        );
        assert!(estimate.information_gained_bits < 0.01, "{}", known.name());
        assert!(!estimate.identified, "{}", known.name());
    }
}

#[test]
fn a_sheet_without_a_clue_gives_the_prior_to_the_last_bit() {
    let mut silent = sheet("acme", "0", "0");
    silent["rates"] = json!([{"cache_read": "0.1"}]);
    let answer = ask(&silent, &json!({}));
    for (known, estimate) in answer.joint.quantities.in_order() {
        assert!(
            estimate.median.to_bits() == estimate.prior.median.to_bits(),
            "{}",
            known.name()
        );
        assert_eq!(
            estimate.interval_90,
            estimate.prior.interval_90,
            "{}",
            known.name()
        );
        assert!(
            estimate.information_gained_bits.to_bits() == 0,
            "{}",
            known.name()
        );
        assert!(
            estimate.moved_by.is_empty() && !estimate.identified,
            "{}",
            known.name()
        );
    }
}

#[test]
fn the_same_question_has_the_same_bytes() {
    let sheet = example("anthropic_claude-opus-4-6.json");
    let bytes = || serde_json::to_string(&ask(&sheet, &json!({}))).unwrap();
    assert!(bytes() == bytes());
}

#[test]
fn moves_multiply_to_the_whole_and_hidden_uncertainty_has_no_place() {
    for (name, least_draws) in [
        ("google_gemini-2.5-pro.json", 3_500.0),
        ("anthropic_claude-opus-4-6.json", 3_500.0),
        // Its reported margin asks for a large model, and its fastest mode for a small one.
        ("openai_gpt-6-astra.json", 1_000.0),
    ] {
        let answer = ask(&example(name), &json!({}));
        let diagnostics = &answer.joint.diagnostics;
        let is_report = |warning: &String| warning.starts_with("a compute margin of");
        let has_doubts = !diagnostics.warnings.iter().all(is_report);
        assert!(
            // Many draws of large models fit no machine.
            diagnostics.effective_sample_size >= least_draws,
            "{name}: {}",
            diagnostics.effective_sample_size
        );
        assert!(diagnostics.pareto_k < 0.7 && !has_doubts, "{name}");
        for (known, estimate) in answer.joint.quantities.in_order() {
            let (half, nine) = (estimate.interval_50, estimate.interval_90);
            let ends = [nine.low, half.low, estimate.median, half.high, nine.high];
            assert!(
                ends.is_sorted() && ends[0] < ends[4],
                "{name} {}: {ends:?}",
                known.name()
            );
            let product: f64 = estimate.moved_by.iter().map(|step| step.factor.ln()).sum();
            let whole = (estimate.median / estimate.prior.median).ln();
            assert!(
                (product - whole).abs() < 0.3 * width(estimate),
                "{name} {}: {product} and {whole}",
                known.name()
            );
        }
        for offer in &answer.joint.storage_tiers {
            let all: f64 = offer.probabilities.values().sum();
            assert!((all - 1.0).abs() < 1e-6, "{name}");
        }
    }
}
