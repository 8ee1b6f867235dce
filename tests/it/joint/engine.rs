//! The joint estimate and `/simulate` cost a token by the same engine.

use serde_json::{Value, json};
use unroof_core::calculator::simulate::simulate;

use super::{ask, quantity, sheet, width};

/// USD per million tokens of input and output as the joint estimate has them.
fn inferred(assumptions: &Value) -> [f64; 2] {
    let answer = ask(&sheet("acme", "1", "4"), assumptions);
    ["cost_input_usd_per_mtok", "cost_output_usd_per_mtok"]
        .map(|name| quantity(&answer, name).median)
}

/// The same as simulated.
fn simulated(request: &Value) -> [f64; 2] {
    let answer = simulate(request.to_string().as_bytes()).unwrap();
    [
        answer.prefill.cost_usd_per_mtok.unwrap(),
        answer.decode.cost_usd_per_mtok.unwrap(),
    ]
}

/// A model, its sizes with bytes of cache per token at one byte per element, and how it is run.
struct Run {
    model: &'static str,
    sizes: [f64; 4],
    accelerator: &'static str,
    chips: u32,
    weight_bytes: f64,
    kv_bytes: f64,
    batch: f64,
    context: f64,
    prompt: f64,
}

const RUNS: [Run; 4] = [
    Run {
        model: "DeepSeek-V3",
        sizes: [37e9, 671e9, 35_136.0, 35_136.0],
        accelerator: "h800",
        chips: 144,
        weight_bytes: 1.0,
        kv_bytes: 2.0,
        batch: 2.37,
        context: 4_989.0,
        prompt: 4_384.0,
    },
    Run {
        model: "Llama-3.1-70B",
        sizes: [70.6e9, 70.6e9, 163_840.0, 163_840.0],
        accelerator: "h100-sxm",
        chips: 8,
        weight_bytes: 1.0,
        kv_bytes: 1.0,
        batch: 0.5,
        context: 4_000.0,
        prompt: 3_000.0,
    },
    Run {
        model: "Qwen3-235B-A22B",
        sizes: [22e9, 235e9, 96_256.0, 96_256.0],
        accelerator: "h200-sxm",
        chips: 32,
        weight_bytes: 1.0,
        kv_bytes: 1.0,
        batch: 0.8,
        context: 8_000.0,
        prompt: 6_000.0,
    },
    Run {
        model: "Qwen3-235B-A22B",
        sizes: [22e9, 235e9, 96_256.0, 96_256.0],
        accelerator: "b200-sxm",
        chips: 8,
        weight_bytes: 1.0,
        kv_bytes: 2.0,
        batch: 0.2,
        context: 2_000.0,
        prompt: 1_500.0,
    },
];

#[test]
fn with_everything_stated_both_agree() {
    for run in RUNS {
        let [active, total, read, stored] = run.sizes;
        let inferred = inferred(&json!({
            "active_parameters": active, "total_parameters": total,
            "kv_bytes_per_token_read": read * run.kv_bytes, "kv_bytes_per_token_stored": stored * run.kv_bytes,
            "kv_bytes_per_element": run.kv_bytes, "weight_bytes_per_parameter": run.weight_bytes,
            "accelerator": run.accelerator, "chips": run.chips, "rental_usd_per_hour": 2,
            "batch_over_optimal_batch": run.batch, "mean_decode_context_tokens": run.context,
            "prompt_tokens": run.prompt, "cached_prompt_share": 0, "utilisation": 1,
        }));
        let simulated = simulated(&json!({
            "model": run.model,
            "machine": {"accelerator": run.accelerator, "chips": run.chips, "rental_usd_per_hour": 2},
            "precision": {
                "weight_bytes_per_parameter": run.weight_bytes, "kv_bytes_per_element": run.kv_bytes,
            },
            "operating_point": {
                "batch_over_optimal_batch": run.batch, "context_tokens": run.context, "prompt_tokens": run.prompt,
            },
        }));
        for (inferred, simulated) in inferred.into_iter().zip(simulated) {
            let apart = (inferred / simulated - 1.0).abs();
            assert!(
                apart < 0.05,
                "{} on {}: {inferred} and {simulated}",
                run.model,
                run.accelerator
            );
        }
    }
}

/// `DeepSeek` disclosed 0.138 USD per million tokens of input that no cache had, and 0.300 of output: 16 USD per hour and
/// node over 73,700 tokens per second, of which 43.75 % were computed, and over 14,800.
#[test]
fn the_published_day_is_met_and_its_costs_stay_uncertain() {
    let answer = ask(
        &sheet("deepseek", "0.27", "1.10"),
        &json!({
            "active_parameters": 37e9, "total_parameters": 671e9,
            "kv_bytes_per_token_read": 70_272, "kv_bytes_per_token_stored": 70_272, "kv_bytes_per_element": 2,
            "weight_bytes_per_parameter": 1, "accelerator": "h800", "chips": 144, "rental_usd_per_hour": 2,
            "batch_over_optimal_batch": 2.37, "mean_decode_context_tokens": 4_989, "utilisation": 1,
        }),
    );
    for (name, disclosed) in [
        ("cost_input_usd_per_mtok", 0.138),
        ("cost_output_usd_per_mtok", 0.300),
    ] {
        let estimate = quantity(&answer, name);
        let apart = (estimate.median / disclosed).ln().abs();
        assert!(apart < 0.15, "{name}: {}", estimate.median);
        assert!(estimate.interval_90.low < disclosed && disclosed < estimate.interval_90.high);
        assert!(width(estimate) > 0.3, "{name}: {estimate:?}");
    }
    let margins = &answer.joint.margins;
    let lines: Vec<&str> = margins.iter().map(|margin| margin.line).collect();
    assert_eq!(lines, ["input", "output"]);
    assert!(margins.iter().all(|margin| margin.warning.is_none()));
}

#[test]
fn a_price_below_cost_has_a_warning_and_a_batch_has_lines_of_its_own() {
    let mut cheap = sheet("acme", "0.001", "0.002");
    cheap["rates"][0]["cache_read"] = json!("0.0005");
    let batch = json!({"service_tier": "batch", "input": "0.0005", "output": "0.001"});
    cheap["rates"].as_array_mut().unwrap().push(batch);
    let answer = ask(
        &cheap,
        &json!({"active_parameters": 7e10, "total_parameters": 7e10}),
    );
    let margins = &answer.joint.margins;
    let lines: Vec<&str> = margins.iter().map(|margin| margin.line).collect();
    assert_eq!(
        lines,
        [
            "input",
            "output",
            "cached_input",
            "batch_input",
            "batch_output"
        ]
    );
    for margin in margins
        .iter()
        .filter(|margin| margin.line != "cached_input")
    {
        assert!(margin.median < 0.0, "{margin:?}");
        assert!(margin.cost_exceeds_price_probability > 0.9, "{margin:?}");
        assert!(margin.warning.is_some(), "{margin:?}");
    }
}

#[test]
fn a_unit_that_cannot_hold_the_model_is_of_no_use() {
    // One chip of 80 GB does not hold 671 billion parameters: no draw counts, and no number is wrong.
    let answer = ask(
        &sheet("acme", "1", "4"),
        &json!({"accelerator": "h100-sxm", "chips": 1, "total_parameters": 6.71e11, "active_parameters": 3.7e10}),
    );
    let output = quantity(&answer, "cost_output_usd_per_mtok");
    assert!(output.median.is_finite());
    assert!(answer.joint.diagnostics.effective_sample_size < 1.0);
}
