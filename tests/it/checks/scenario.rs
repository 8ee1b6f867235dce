//! One vocabulary of a scenario: a model, chips, widths or a load that one calculator takes, all of them take, over HTTP
//! and on the command line; and what is left out means the same to all.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::server::{file_text, output_of, run, run_with, unroof};
use crate::support::{TestDatabase, faults};

const CALCULATORS: [&str; 4] = ["simulate", "plan", "layout", "training"];

fn config() -> Value {
    json!({
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14_336, "vocab_size": 32_000, "torch_dtype": "bfloat16", "num_local_experts": 8,
        "num_experts_per_tok": 2, "rope_theta": 1e6, "architectures": ["MixtralForCausalLM"],
    })
}

/// Every way to write a part of a scenario.
fn spellings() -> Vec<(&'static str, Value)> {
    let attention = json!([{"kind": "grouped_query", "layers": 32, "query_heads": 32, "kv_heads": 8, "key_dimension": 128,
        "value_dimension": 128}]);
    let figures = json!({"accelerator": "h200-sxm", "chips": 8, "rental_usd_per_hour": 3, "flops_per_second": 1e15,
        "attention_flops_per_second": 9e14, "bandwidth_bytes_per_second": 4e12, "capacity_bytes": 2e11, "domain_size": 16,
        "scale_up_bytes_per_second": 5e11, "scale_out_bytes_per_second": 6e10});
    let widths = json!({"weight_bytes_per_parameter": 1, "expert_bytes_per_parameter": 0.5, "other_bytes_per_parameter": 2,
        "embedding_bytes_per_parameter": 2, "arithmetic_bytes_per_element": 1, "kv_bytes_per_element": 1,
        "attention_bytes_per_element": 2});
    vec![
        ("model", json!("DeepSeek-V3")),
        ("model", json!({"name": "deepseek-v3"})),
        ("model", json!("Llama-3.1-70B")),
        (
            "model",
            json!({"total_parameters": 671e9, "active_parameters": 37e9}),
        ),
        ("model", json!({"active_parameters": 7e10})),
        (
            "model",
            json!({"total_parameters": 4e11, "active_parameters": 2e10, "layers": 60, "hidden_dimension": 6144,
                "experts": {"routed": 256, "active": 8, "layers": 58}, "kv_bytes_per_token_stored": 50_000}),
        ),
        (
            "model",
            json!({"total_parameters": 8e9, "layers": 32, "hidden_dimension": 4096, "attention": attention}),
        ),
        ("model", json!({"config": config()})),
        (
            "model",
            json!({"config": {"text_config": config()}, "total_parameters": 46.7e9}),
        ),
        ("machine", json!("h200-sxm")),
        ("machine", json!({"accelerator": "h200-sxm"})),
        ("machine", json!({"bandwidth_bytes_per_second": 4e12})),
        ("machine", figures),
        ("precision", json!({})),
        ("precision", json!({"expert_bytes_per_parameter": 0.5})),
        ("precision", widths),
        (
            "load",
            json!({"input_tokens": 8_000, "cached_input_tokens": 6_000, "output_tokens": 500}),
        ),
        (
            "load",
            json!({"cache_hit_rate": 0.5, "context_tokens": 30_000}),
        ),
        (
            "load",
            json!({"batch_per_chip": 16, "drafted_tokens": 2, "accepted_tokens_per_step": 2}),
        ),
        (
            "load",
            json!({"requests_per_second": 5, "tokens_per_second": 1e6}),
        ),
    ]
}

/// A question with one part stated; a search looks at few layouts.
fn question(calculator: &str, part: &str, value: &Value) -> Value {
    let mut question = json!({part: value});
    if calculator == "plan" {
        question["layouts"] = json!({"tensor": [1, 8], "data": [1, 32], "pipeline": [1]});
    }
    question
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_calculator_takes_all_of_them_take() {
    let api = TestDatabase::sqlite().api().await;
    for (part, value) in spellings() {
        for calculator in CALCULATORS {
            let body = question(calculator, part, &value).to_string();
            let reply = api.post(&format!("/{calculator}"), body.clone()).await;
            assert!(
                reply.status.is_success(),
                "{calculator}: {body}: {}",
                reply.text()
            );
            let printed = run_with(unroof(&[calculator, "-"]).arg("--json"), &body);
            assert_eq!(
                printed.code,
                Some(0),
                "{calculator}: {body}: {}",
                printed.err
            );
            assert_eq!(
                printed.out,
                format!("{}\n", reply.text()),
                "{calculator}: {body}"
            );
        }
    }
}

#[test]
fn the_parts_of_a_scenario_are_described_once() {
    let document: Value = serde_json::from_str(&output_of(&["openapi"])).unwrap();
    let field = |request: &str, part: &str| {
        let mut field = document["components"]["schemas"][request]["properties"][part].clone();
        assert!(field.is_object(), "{request} has no {part}");
        field.as_object_mut().unwrap().remove("description");
        field
    };
    let requests = [
        "SimulateRequest",
        "PlanRequest",
        "LayoutRequest",
        "TrainingRequest",
    ];
    for part in ["model", "machine", "precision", "load"] {
        for request in requests {
            assert_eq!(
                field(request, part),
                field(requests[0], part),
                "{request}: {part}"
            );
        }
    }
}

#[test]
fn the_same_flags_state_a_scenario_to_all() {
    let folder = tempfile::tempdir().unwrap();
    let config = file_text(folder.path(), "config.json", &config().to_string());
    let sizes = r#"{"total_parameters": 671e9, "active_parameters": 37e9}"#;
    let rows: [(&[&str], Value); 5] = [
        (
            &[
                "--model",
                "Llama-3.1-70B",
                "--accelerator",
                "h100-sxm",
                "--chips",
                "8",
            ],
            json!({"model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8}}),
        ),
        (
            &["--model", sizes, "--weight-bytes", "1", "--kv-bytes", "2"],
            json!({"model": {"total_parameters": 671e9, "active_parameters": 37e9},
                "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 2}}),
        ),
        (
            &[
                "--total-parameters",
                "671e9",
                "--active-parameters",
                "37e9",
                "--rental",
                "3",
            ],
            json!({"model": {"total_parameters": 671e9, "active_parameters": 37e9}, "machine": {"rental_usd_per_hour": 3}}),
        ),
        (
            &["--config", &config],
            json!({"model": {"config": self::config()}}),
        ),
        (
            &[
                "--input",
                "8000",
                "--cached-input",
                "6000",
                "--output",
                "500",
                "--context",
                "9000",
            ],
            json!({"load": {"input_tokens": 8000, "cached_input_tokens": 6000, "output_tokens": 500, "context_tokens": 9000}}),
        ),
    ];
    for (flags, body) in rows {
        for calculator in CALCULATORS {
            let stated = output_of(&[&[calculator, "--json"][..], flags].concat());
            let written = run_with(unroof(&[calculator, "-"]).arg("--json"), &body.to_string());
            assert_eq!(
                stated, written.out,
                "{calculator} {flags:?}: {}",
                written.err
            );
        }
    }
}

#[test]
fn what_is_left_out_means_the_same_to_all() {
    let mut seen: BTreeMap<String, (Value, &str)> = BTreeMap::new();
    let mut shared = 0;
    for calculator in CALCULATORS {
        let answer: Value = serde_json::from_str(&output_of(&[calculator, "--json"])).unwrap();
        for input in answer["inputs"].as_array().unwrap() {
            let name = input["name"].as_str().unwrap();
            let value = input["value"].clone();
            if let Some((first, other)) = seen.get(name) {
                assert_eq!(&value, first, "{name} of {calculator} and {other}");
                shared += 1;
            }
            seen.insert(name.to_owned(), (value, calculator));
        }
    }
    assert!(shared > 20, "{shared}: {seen:?}");
    for (name, value) in [
        ("model.name", json!("DeepSeek-V3")),
        ("machine.accelerator", json!("gb200-nvl72")),
        ("machine.chips", json!(72.0)),
    ] {
        assert_eq!(seen[name].0, value, "{name}");
    }
}

#[tokio::test]
async fn an_old_name_is_refused_with_the_new_one() {
    let api = TestDatabase::sqlite().api().await;
    let rows = [
        ("/simulate", json!({"operating_point": {}}), "`load`"),
        (
            "/simulate",
            json!({"load": {"prompt_tokens": 1}}),
            "`input_tokens`",
        ),
        (
            "/simulate",
            json!({"load": {"cached_prompt_tokens": 1}}),
            "`cached_input_tokens`",
        ),
        (
            "/simulate",
            json!({"load": {"provider_tokens_per_second": 1}}),
            "`tokens_per_second`",
        ),
        (
            "/simulate",
            json!({"machine": {"prefill_chips": 1}}),
            "`prefill_machine.chips`",
        ),
        ("/plan", json!({"traffic": {}}), "`load`"),
        (
            "/plan",
            json!({"machine": {"prefill_accelerator": "h100-sxm"}}),
            "`prefill_machine.accelerator`",
        ),
        ("/layout", json!({"hardware": "hopper-8"}), "`machine`"),
        ("/layout", json!({"machine": {"gpus": 1}}), "`chips`"),
        (
            "/layout",
            json!({"layout": {"sequences_per_gpu": 1}}),
            "`load.batch_per_chip`",
        ),
        (
            "/layout",
            json!({"model": {"moe_layers": 1}}),
            "`experts.layers`",
        ),
        ("/training", json!({"cluster": {}}), "`machine`"),
        ("/training", json!({"demand": {}}), "`load`"),
        (
            "/training",
            json!({"machine": {"accelerators": 1}}),
            "`chips`",
        ),
        (
            "/training",
            json!({"model": {"experts_over_active": 8}}),
            "`quality.experts_over_active`",
        ),
        (
            "/cost",
            json!({"usage": {"cache_read_tokens": 1}}),
            "`cached_input_tokens`",
        ),
        (
            "/cost",
            json!({"usage": {"uncached_input_tokens": 1}}),
            "`input_tokens`",
        ),
        (
            "/infer?store=false",
            json!({"price_sheet": crate::support::sheet(),
            "assumptions": {"cached_prompt_share": 0.5}}),
            "`cache_hit_rate`",
        ),
    ];
    for (path, body, new) in rows {
        let problem = api.post(path, body.to_string()).await.problem(422);
        let said = faults(&problem);
        assert!(
            said.contains(&format!("(write {new} instead")),
            "{body}: {said}"
        );
    }
    for (command, flag, new) in [
        ("simulate", "--prompt", "--input"),
        ("layout", "--hardware", "--accelerator"),
        ("training", "--accelerators", "--chips"),
        ("cost", "--prompt-tokens", "--input"),
        ("cost", "--cache-read-tokens", "--cached-input"),
    ] {
        let refused = run(&[command, flag, "1"]);
        assert_eq!(refused.code, Some(2), "{flag}");
        assert!(
            refused.err.contains(&format!("'{new}'")),
            "{flag}: {}",
            refused.err
        );
    }
}
