//! Bodies in which every described field occurs, and the way to each of their values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::openapi::{committed, operations};
use crate::support::{TestDatabase, with};

/// A sheet that leaves nothing out.
pub(super) fn full_sheet() -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": "acme",
        "upstream_provider": "maker",
        "model": "m-1",
        "canonical_model": "maker/m-1",
        "aliases": ["m-one"],
        "region": "eu",
        "quantization": "fp8",
        "released": "2025-12-01",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2027-01-01T00:00:00Z",
        "retires_at": "2027-03-30T00:00:00Z",
        "status": "deprecated",
        "limits": {"context": 400_000, "max_input": 272_000, "max_output": 128_000, "cache_min_tokens": 1_024},
        "context_tier_semantics": "whole_request",
        "context_tier_measure": "prompt_tokens",
        "cache_write_billing": "priced",
        "schedules": {"night": {
            "timezone": "Asia/Shanghai",
            "windows": [{"days": [1, 2], "start": "16:30", "end": "00:30"}],
            "except_calendar": "holidays",
        }},
        "service_tiers": {"fast": {
            "request": {"speed": {"mode": "fast"}},
            "aliases": ["turbo"],
            "price_multiplier": "6",
            "speed_multiplier": {"value": "2.5", "bound": "up_to", "metric": "output_tokens_per_second"},
            "slo": {"output_tokens_per_second_min": 80.0, "percentile": 99.0, "uptime_percent": 99.9},
            "measured": {
                "measured_by": "openrouter",
                "output_tokens_per_second": {"p50": 61.5, "p75": 70.5, "p90": 90.5, "p99": 120.5},
                "time_to_first_token_seconds": {"p50": 0.42, "p75": 0.5, "p90": 0.8, "p99": 2.5},
            },
            "completion_window_seconds": 86_400,
            "excludes": ["batch"],
            "stacks_with": ["night"],
        }},
        "rates": [
            {"input": "1.25", "output": "10.00", "reasoning": "10.0", "cache_read": "0.125",
             "cache_read_explicit": "0.13",
             "cache_write": [{"ttl_seconds": 300, "price": "1.5625"}, {"ttl_seconds": 3600, "price": "2.500"}],
             "cache_storage_per_hour": "4.50", "basis": "stated", "source": 0},
            {"context_tier": {"min_prompt_tokens": 200_000, "inclusive": true}, "input": "2.50", "output": "15.00"},
            {"service_tier": "fast", "input": "7.5", "output": "60"},
            {"schedule": "night", "input": "0.30000000000000004", "output": "0.300000000000000001"},
        ],
        "evidence": [
            {"kind": "knowledge_score", "benchmark": "aa-omniscience", "accuracy": 0.31, "effort": "none",
                "source": "https://scores.example", "date": "2026-07-10"},
            {"kind": "architecture", "architecture": "mixture_of_experts", "source": "https://acme.example", "date": "2026-07-10"},
        ],
        "modifiers": [
            {"name": "residency", "when": {"region": {"is": "eu"}}, "multiplier": "1.10", "applies_to": ["input"]},
        ],
        "other_meters": [{"meter": "search", "unit": "call", "price": "0.010", "note": "per call"}],
        "capacity_offers": [{
            "name": "unit", "price_per_hour": "39.60", "input_tokens_per_second": 2_500.0, "output_tokens_per_second": 312.5,
        }],
        "sources": [{
            "url": "https://acme.example/prices", "format": "official", "retrieved_at": "2026-11-20",
            "published_at": "2026-11-01", "sha256": "00ff", "locator": "table 2",
        }],
        "notes": ["read by hand"],
        "unmapped": {"tpm": {"limit": 3}},
    })
}

/// The places of the names of a sheet, of up to 255 characters.
pub(super) const NAMES: [&str; 19] = [
    "/provider",
    "/upstream_provider",
    "/model",
    "/canonical_model",
    "/aliases/0",
    "/region",
    "/quantization",
    "/schedules/night/except_calendar",
    "/service_tiers/fast/aliases/0",
    "/service_tiers/fast/excludes/0",
    "/service_tiers/fast/stacks_with/0",
    "/modifiers/0/name",
    "/modifiers/0/applies_to/0",
    "/other_meters/0/meter",
    "/other_meters/0/unit",
    "/capacity_offers/0/name",
    "/service_tiers/fast/request/speed/mode",
    "/modifiers/0/when/region/is",
    "/unmapped/tpm/limit",
];

/// The places of its free texts, of up to 4,000 characters.
pub(super) const TEXTS: [&str; 7] = [
    "/notes/0",
    "/other_meters/0/note",
    "/sources/0/url",
    "/sources/0/retrieved_at",
    "/sources/0/published_at",
    "/sources/0/sha256",
    "/sources/0/locator",
];

/// The full sheet with one name and one text in all their places.
pub(super) fn with_texts(name: &str, text: &str) -> Value {
    let places = NAMES.map(|place| (place, name)).into_iter();
    let places = places.chain(TEXTS.map(|place| (place, text)));
    places.fold(full_sheet(), |sheet, (place, text)| {
        with(sheet, place, json!(text))
    })
}

/// A sheet of one host of a pool.
fn host(name: &str) -> Value {
    let mut sheet = full_sheet();
    sheet["provider"] = json!(name);
    sheet
}

/// Everything that may be stated, as a number or as a range.
fn assumptions() -> Value {
    let range = |low: f64, high: f64| json!({"low": low, "high": high});
    json!({
        "accelerator": {
            "flops_per_second": 2e15, "bandwidth_bytes_per_second": range(3e12, 4e12), "capacity_bytes": 8e10,
            "domain_size": 8, "compute_to_bandwidth": 300,
        },
        "speed_multiplier": {"fast": range(2.0, 3.0)},
        "active_parameters": range(5e10, 2e11),
        "total_parameters": 8e11,
    })
}

/// Bodies that are right, each with where it is sent. Together they have every field that the API document describes.
pub(super) fn bodies() -> Vec<(&'static str, Value)> {
    let litellm = "/infer?store=false&format=litellm&model=gemini%2Fgemini-2.5-pro";
    let entry = json!({"litellm_provider": "gemini", "input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5});
    let mut bodies = vec![
        ("/infer?store=false", full_sheet()),
        (
            "/infer?store=false",
            json!({"price_sheet": full_sheet(), "assumptions": assumptions()}),
        ),
        (
            "/infer?store=false",
            json!({"price_sheets": [host("acme"), host("bolt")], "assumptions": {"chips": 8}}),
        ),
        (litellm, entry.clone()),
        (
            litellm,
            json!({"entry": entry, "assumptions": {"chips": 8}}),
        ),
    ];
    bodies.push((
        "/webhooks",
        json!({"url": "https://93.184.216.34/hook", "secret": "whsec_YS1zZWNyZXQtb2Ytb25lcy1vd24tMTIz"}),
    ));
    let stated = every_other_assumption();
    bodies.push((
        "/infer?store=false",
        json!({"price_sheet": full_sheet(), "assumptions": stated}),
    ));
    bodies.extend(simulations().into_iter().map(|body| ("/simulate", body)));
    bodies.push(("/layout", layout()));
    bodies.push(("/training", training()));
    bodies.extend(plans().into_iter().map(|body| ("/plan", body)));
    bodies
}

/// Assumptions missing in [`assumptions`], with numbers that the document allows.
fn every_other_assumption() -> Value {
    let document = committed();
    let properties = &document["components"]["schemas"]["Assumptions"]["properties"];
    let others = properties.as_object().unwrap().iter();
    let others = others.filter(|(name, _)| assumptions().get(name).is_none());
    let largest = |schema: &Value| schema["oneOf"][0]["maximum"].as_f64().unwrap();
    let value = |schema: &Value| match (&schema["enum"][0], &schema["format"]) {
        (Value::String(first), _) => json!(first),
        (_, Value::String(_)) => json!("2025-12-01"),
        _ => json!(largest(schema).min(1.0)),
    };
    others
        .map(|(name, schema)| (name.clone(), value(schema)))
        .collect()
}

fn simulations() -> Vec<Value> {
    let sparse = json!({"index_dimension": 128, "index_heads": 64, "top_k": 2_048});
    let model = json!({
        "total_parameters": 671e9, "active_parameters": 37e9, "always_read_parameters": 16e9, "layers": 8,
        "hidden_dimension": 7_168, "input_embedding_parameters": 9e8,
        "experts": {"routed": 256, "active": 8, "layers": 8, "parameters": 6.4e11},
        "attention": [
            {"kind": "grouped_query", "layers": 2, "query_heads": 64, "kv_heads": 8, "key_dimension": 128,
             "value_dimension": 128, "window": 4_096, "chunked": true},
            {"kind": "grouped_query", "layers": 1, "query_heads": 64, "kv_heads": 8, "key_dimension": 128,
             "value_dimension": 128, "sparse": sparse},
            {"kind": "latent", "layers": 2, "query_heads": 128, "kv_lora_rank": 512, "rope_dimension": 64,
             "nope_dimension": 128, "value_dimension": 128, "sparse": sparse},
            {"kind": "compressed", "layers": 1, "query_heads": 64, "head_dimension": 128, "compression": 4,
             "window": 128, "sparse": sparse},
            {"kind": "linear", "layers": 2, "state_elements": 1e6, "state_bytes_per_element": 4},
        ],
    });
    let machine = json!({
        "accelerator": "h100-sxm", "attention_flops_per_second": 1e15, "bandwidth_bytes_per_second": 3e12,
        "capacity_bytes": 8e10, "chips": 64, "domain_size": 8, "flops_per_second": 2e15,
        "rental_usd_per_hour": 2, "scale_out_bytes_per_second": 5e10, "scale_up_bytes_per_second": 4.5e11,
    });
    let efficiencies = json!({
        "name": "fitted", "communication": true, "decode_bandwidth": 0.7, "decode_compute": 0.6, "network": 0.5,
        "overlap": "full", "prefill": 0.5, "seconds_per_stage": 1e-6, "vectors_per_token_and_layer": 2,
        "exposed_exchange": 0.5, "exposed_weights": 0.5, "stages_per_dense_layer": 3, "seconds_per_dispatch": 1e-6, "vectors_per_expert_copy": 2, "expert_compute_ratio": 0.5,
        "attention_compute_ratio": 0.5, "seconds_per_exchange": 1e-6, "seconds_per_hop": 1e-6,
        "expert_imbalance": 1.5, "cache_copies": true, "kernel_arithmetic": true, "memory_headroom": 0.1, "activation_vectors": 4,
    });
    let offer = json!({
        "cache_storage_tier": "flash-tlc", "cache_ttls_seconds": [300, 3_600], "fast_mode_batch_ratio": 4,
        "input_margin": 0.5, "output_margin": 0.5, "load_path_bytes_per_second": 5e10,
        "longest_context_tokens": 128_000, "thresholds_tokens": [32_000],
    });
    let load = |batch: &str| {
        json!({
            batch: 8, "context_tokens": 4_000, "input_tokens": 3_000, "cached_input_tokens": 1_000,
            "prompts_per_pass": 1, "user_activity": 0.1, "tokens_per_second": 5e8, "drafted_tokens": 3, "accepted_tokens_per_step": 2.5,
            "domain": "chat", "draft_layers": 1,
        })
    };
    vec![
        json!({
            "model": model, "machine": machine, "prefill_machine": machine, "spread": "experts", "tensor": 2, "efficiencies": efficiencies, "load": load("batch"),
            "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 1, "attention_bytes_per_element": 1,
                "expert_bytes_per_parameter": 1, "other_bytes_per_parameter": 1,
                "embedding_bytes_per_parameter": 2, "arithmetic_bytes_per_element": 1, "index_bytes_per_element": 1},
            "grid": {
                "batch": {"from": 1, "to": 64, "points": 3}, "context_tokens": {"from": 0, "to": 9_000, "points": 3},
            },
            "price_sheet": offer,
        }),
        json!({"model": {"name": "DeepSeek-V3"}, "load": load("batch_per_chip")}),
        json!({
            "load": load("batch_over_optimal_batch"),
            "measured": [{
                "concurrency": 8, "input_tokens": 1_000, "output_tokens": 100, "output_tokens_per_second": 500,
                "time_per_output_token_seconds": 0.02,
            }],
        }),
    ]
}

fn plans() -> Vec<Value> {
    let plan = json!({
        "model": "Llama-3.1-70B", "efficiencies": "fitted",
        "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 1, "attention_bytes_per_element": 1},
        "machine": {
            "accelerator": "h200-sxm", "chips": 64, "rental_usd_per_hour": 3,
        },
        "prefill_machine": {"accelerator": "h100-sxm", "rental_usd_per_hour": 2},
        "load": {
            "input_tokens": 4_096, "input_spread": 1, "output_tokens": 512, "output_spread": 1, "cache_hit_rate": 0.5,
            "requests_per_second": 2, "arrivals": "poisson", "drafted_tokens": 3, "accepted_tokens_per_step": 2,
        },
        "limits": {
            "time_to_first_token_seconds": 2, "time_per_output_token_seconds": 0.05, "percentile": "p95",
        },
        "layouts": {"serving": "any", "tensor": [2, 8], "data": [1], "pipeline": [1], "units": "whole", "share_node": true},
        "engine": "vllm",
        "prices": {"input_usd_per_mtok": 1, "cached_input_usd_per_mtok": 0.1, "output_usd_per_mtok": 3},
        "grid": {"pass_tokens": [1, 64], "cache_hit_rate": [0, 0.5], "drafted_tokens": [0, 1], "chips": [8, 64]},
    });
    let day = json!({
        "model": "Llama-3.1-70B", "layouts": {"tensor": [8], "pipeline": [1]},
        "machine": {"accelerator": "h100-sxm", "contract": "one-year", "as_of": "2026-06-01"},
        "load": {"tokens_per_day": {"input_tokens": 1e9, "cached_input_tokens": 1e8, "output_tokens": 1e8, "mean_context_tokens": 5_000}},
    });
    let lengths = json!([{"tokens": 1_000, "share": 3}, {"tokens": 8_000, "share": 1}]);
    let listed = json!({
        "model": "Llama-3.1-70B", "layouts": {"tensor": [8], "pipeline": [1]},
        "machine": {
            "accelerator": "h100-sxm",
            "owned": {"capital_usd": 35_000, "years": 4, "usd_per_kwh": 0.08, "pue": 1.2, "watts": 900},
        },
        "load": {
            "input_tokens": lengths, "output_tokens": lengths,
            "cache_hit_rate": [{"rate": 0, "share": 1}, {"rate": 0.9, "share": 3}],
        },
    });
    vec![plan, day, listed]
}

fn layout() -> Value {
    json!({
        "machine": {
            "accelerator": "h100-sxm", "capacity_bytes": 8e10, "bandwidth_bytes_per_second": 3e12,
            "scale_out_bytes_per_second": 5e10, "scale_up_bytes_per_second": 4.5e11, "domain_size": 8,
        },
        "load": {"batch_per_chip": 4, "context_tokens": 4_000},
        "precision": {"weight_bytes_per_parameter": 1},
        "layout": {
            "combine_bytes_per_element": 2, "dispatch_bytes_per_element": 1, "expert_parallel_chips": 8,
            "chips_per_stage": 8, "hop_seconds": 1e-5, "micro_batches": 4, "pipeline_stages": 2, "pipeline_stages_grid": [1, 2],
            "sequences_per_micro_batch": 8,
        },
        "model": {
            "experts": {"routed": 256, "active": 8, "layers": 58}, "active_parameters": 37e9, "hidden_dimension": 7_168,
            "kv_bytes_per_token_stored": 7e4, "layers": 61, "total_parameters": 671e9,
        },
    })
}

fn training() -> Value {
    json!({
        "activations": {"bytes_per_element": 2, "kept_per_layer": 34, "tokens_per_micro_batch": 4_096},
        "machine": {"accelerator": "h100-sxm", "chips": 2_048, "rental_usd_per_hour": 2},
        "precision": {"weight_bytes_per_parameter": 1},
        "costs": {"reinforcement_flops_per_parameter": 6, "relative_decode_utilisation": 0.2, "utilisation": 0.4},
        "service": {"lifetime_days": 60, "model_share": 0.5, "served_probability": 0.5},
        "load": {"tokens_per_second": 1e6},
        "model": {
            "config": {
                "hidden_size": 4_096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                "intermediate_size": 14_336, "vocab_size": 32_000,
            },
            "total_parameters": 7.2e9, "active_parameters": 7.2e9,
        },
        "quality": {"experts_over_active": 64, "active_parameters": 3.7e8, "experts_over_active_grid": [1, 64], "routing": "hash"},
        "tokens": {"pretraining": 1.5e13, "reinforcement": 1e13},
    })
}

/// Usages to price, by a sheet and by the stored offer of [`full_sheet`].
pub(super) fn cost_bodies() -> Vec<(&'static str, Value)> {
    let usage = json!({
        "input_tokens": 3_100,
        "cached_input_tokens": 1_000,
        "explicit_cached_input_tokens": 1_000,
        "cache_writes": [{"tokens": 100, "ttl_seconds": 300}],
        "cache_storage": [{"tokens": 100, "seconds": 300}],
        "output_tokens": 20,
        "reasoning_tokens": 10,
        "session_tokens": 3_100,
        "service_tier": "standard",
        "modifiers": ["residency"],
    });
    let at = "2026-11-21T00:00:00Z";
    let offer = json!({"provider": "acme", "model": "m-1", "region": "eu"});
    vec![
        (
            "/cost",
            json!({"id": "one", "price_sheet": full_sheet(), "at": at, "usage": usage}),
        ),
        (
            "/cost",
            json!({"id": "two", "offer": offer, "at": at, "usage": usage}),
        ),
    ]
}

/// The JSON pointer of every value of a document, and the value.
pub(super) fn values(document: &Value) -> Vec<(String, &Value)> {
    let mut found = vec![(String::new(), document)];
    let mut next = 0;
    while let Some((pointer, value)) = found.get(next).cloned() {
        match value {
            Value::Object(entries) => {
                let escaped = |name: &String| name.replace('~', "~0").replace('/', "~1");
                let below = entries.iter();
                found.extend(
                    below.map(|(name, value)| (format!("{pointer}/{}", escaped(name)), value)),
                );
            }
            Value::Array(items) => {
                let below = items.iter().enumerate();
                found.extend(below.map(|(index, value)| (format!("{pointer}/{index}"), value)));
            }
            _ => {}
        }
        next += 1;
    }
    found
}

/// The document with another value in the place of one that it has.
pub(super) fn replaced(document: &Value, pointer: &str, value: Value) -> Value {
    let mut document = document.clone();
    *document.pointer_mut(pointer).unwrap() = value;
    document
}

/// The names of the fields of every kind of object that a schema describes.
fn kinds_of_objects<'a>(
    document: &'a Value,
    schema: &'a Value,
    kinds: &mut BTreeSet<BTreeSet<&'a str>>,
) {
    match schema {
        Value::Object(entries) => {
            if let Some(target) = schema["$ref"].as_str() {
                let target = document.pointer(target.trim_start_matches('#')).unwrap();
                // A schema does not refer to itself, and few refer to the same.
                kinds_of_objects(document, target, kinds);
            }
            if let Some(fields) = schema["properties"].as_object() {
                kinds.insert(fields.keys().map(String::as_str).collect());
            }
            let below = entries.iter().filter(|(name, _)| *name != "example");
            below.for_each(|(_, schema)| kinds_of_objects(document, schema, kinds));
        }
        Value::Array(schemas) => schemas
            .iter()
            .for_each(|schema| kinds_of_objects(document, schema, kinds)),
        _ => {}
    }
}

#[tokio::test]
async fn the_full_bodies_are_right_and_have_every_field_that_the_document_describes() {
    let api = TestDatabase::sqlite().api().await;
    // The offer that a usage names.
    api.store(&full_sheet()).await;
    let bodies = [bodies(), cost_bodies()].concat();
    for (path, body) in &bodies {
        let reply = api.post(path, body.to_string()).await;
        assert!(
            reply.status.is_success(),
            "{path}: {body}: {}",
            reply.text()
        );
    }
    let document = committed();
    let mut kinds = BTreeSet::new();
    // What is withdrawn, webhooks, keys and catalogs have tests of their own: they need something to be there.
    let elsewhere = [
        "/price-sheets/{id}/withdraw",
        "/webhooks",
        "/keys",
        "/catalogs",
    ];
    for (path, _, operation) in operations(&document) {
        if elsewhere.contains(&path) {
            continue;
        }
        kinds_of_objects(&document, &operation["requestBody"], &mut kinds);
    }
    // An entry has more than is described.
    assert!(kinds.remove(&BTreeSet::from(["litellm_provider"])));
    assert!(kinds.len() > 40, "{}", kinds.len());
    let mut used: BTreeMap<&BTreeSet<&str>, BTreeSet<&str>> = BTreeMap::new();
    for (_, value) in bodies.iter().flat_map(|(_, body)| values(body)) {
        let Value::Object(entries) = value else {
            continue;
        };
        let names: BTreeSet<&str> = entries.keys().map(String::as_str).collect();
        for kind in kinds.iter().filter(|kind| kind.is_superset(&names)) {
            used.entry(kind).or_default().extend(&names);
        }
    }
    for kind in &kinds {
        let used = used.get(kind).cloned().unwrap_or_default();
        let missing: Vec<_> = kind.difference(&used).collect();
        assert!(missing.is_empty(), "no body has {missing:?} of {kind:?}");
    }
}
