//! `POST /plan`: layouts within limits, what binds, a day of tokens, offloaded caches, the grid, and what is refused.

use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, TestDatabase, faults, with};

async fn api() -> Api {
    TestDatabase::sqlite().api().await
}

async fn answer(api: &Api, body: &Value) -> Value {
    let reply = api.post("/plan", body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

/// A dense model on few layouts, so that the answer is quick.
fn small() -> Value {
    json!({
        "model": "Llama-3.1-70B",
        "machine": {"accelerator": "h100-sxm"},
        "precision": {"weight_bytes_per_parameter": 1},
        "load": {"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 20},
        "limits": {"time_to_first_token_seconds": 1, "time_per_output_token_seconds": 0.025},
        "layouts": {"tensor": [4, 8], "pipeline": [1]},
    })
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

#[tokio::test]
async fn every_plan_keeps_the_limits_serves_the_rate_and_costs_no_less_than_the_one_before() {
    let answer = answer(&api().await, &small()).await;
    let plans = answer["plans"].as_array().unwrap();
    assert!(plans.len() >= 2, "{plans:?}");
    let mut last = 0.0;
    for plan in plans {
        let usd = number(&plan["cost"]["usd_per_request"]);
        assert!(usd >= last);
        last = usd;
        assert!(number(&plan["time_to_first_token"]["p95_seconds"]) <= 1.001);
        assert!(number(&plan["time_per_output_token"]["at_percentile_seconds"]) <= 0.025_01);
        assert!((number(&plan["requests_per_second"]) - 20.0).abs() < 1e-9);
        let day = number(&plan["cost"]["usd_per_day"]);
        assert!((day - number(&plan["chips"]) * 2.4 * 24.0).abs() < 1e-6);
        assert!((number(&plan["power"]["watts"]) - number(&plan["chips"]) * 700.0).abs() < 1e-6);
        assert!(!plan["binds"].as_array().unwrap().is_empty());
        let pool = &plan["decode"];
        let held = number(&pool["weights_bytes_per_chip"]) + number(&pool["kv_bytes_per_chip"]);
        assert!(held <= number(&pool["capacity_bytes_per_chip"]));
    }
}

#[tokio::test]
async fn the_front_is_cheaper_the_slower_it_is() {
    let answer = answer(&api().await, &small()).await;
    let front = answer["front"].as_array().unwrap();
    assert!(front.len() > 2, "{front:?}");
    for pair in front.windows(2) {
        let [speed, usd] = ["tokens_per_second_per_user", "usd_per_mtok"];
        assert!(number(&pair[1][speed]) <= number(&pair[0][speed]));
        assert!(number(&pair[1][usd]) < number(&pair[0][usd]));
    }
}

#[tokio::test]
async fn looser_limits_and_cheaper_chips_never_cost_more() {
    let api = api().await;
    let cost = async |body: Value| {
        number(&answer(&api, &body).await["plans"][0]["cost"]["usd_per_request"])
    };
    let base = cost(small()).await;
    let loose = with(
        small(),
        "/limits/time_per_output_token_seconds",
        json!(0.05),
    );
    assert!(cost(loose).await <= base);
    let hits = with(
        small(),
        "/load",
        json!({"input_tokens": 4096, "output_tokens": 1024,
        "requests_per_second": 20, "cache_hit_rate": 0.5}),
    );
    assert!(cost(hits).await < base);
    let halved = with(
        small(),
        "/machine",
        json!({"accelerator": "h100-sxm", "rental_usd_per_hour": 1.2}),
    );
    assert!((cost(halved).await / base - 0.5).abs() < 1e-9);
}

#[tokio::test]
async fn chips_of_two_kinds_prefill_and_decode() {
    let mut body = small();
    body["machine"] = json!({"accelerator": "h200-sxm"});
    body["prefill_machine"] = json!("h100-sxm");
    let answer = answer(&api().await, &body).await;
    let plan = &answer["plans"][0];
    assert_eq!(plan["serving"], "disaggregated");
    assert_eq!(plan["prefill"]["accelerator"], "h100-sxm");
    assert_eq!(plan["decode"]["accelerator"], "h200-sxm");
    let ratio = number(&plan["prefill_units_per_decode_unit"]);
    let units = number(&plan["prefill"]["units"]) / number(&plan["decode"]["units"]);
    assert!((ratio - units).abs() < 1e-9);
    assert!(number(&plan["time_to_first_token"]["transfer_seconds"]) > 0.0);
}

#[tokio::test]
async fn the_tokens_of_a_day_determine_lengths_and_rate() {
    let mut body = small();
    body["load"] = json!({"tokens_per_day":
        {"input_tokens": 608e8, "cached_input_tokens": 342e8, "output_tokens": 168e8, "mean_context_tokens": 4989}});
    body["prices"] = json!({"input_usd_per_mtok": 0.55, "cached_input_usd_per_mtok": 0.14, "output_usd_per_mtok": 2.19});
    let answer = answer(&api().await, &body).await;
    let traffic = &answer["load"];
    assert!((number(&traffic["mean_context_tokens"]) - 4989.0).abs() < 1e-6);
    assert!((number(&traffic["cache_hit_rate"]) - 342.0 / 608.0).abs() < 1e-9);
    let day = &answer["plans"][0]["day"];
    assert!((number(&day["output_tokens"]) / 168e8 - 1.0).abs() < 1e-9);
    let revenue = 266e8 * 0.55e-6 + 342e8 * 0.14e-6 + 168e8 * 2.19e-6;
    assert!((number(&day["revenue_usd"]) / revenue - 1.0).abs() < 1e-9);
    let margin = (revenue - number(&day["cost_usd"])) / number(&day["cost_usd"]);
    assert!((number(&day["profit_over_cost"]) - margin).abs() < 1e-9);
}

#[tokio::test]
async fn a_cache_is_loaded_from_every_tier_or_computed_again() {
    let answer = answer(&api().await, &small()).await;
    let offload = &answer["offload"];
    assert!((number(&offload["cache_bytes"]) - 4096.0 * 163_840.0).abs() < 1.0);
    let tiers = offload["tiers"].as_array().unwrap();
    assert_eq!(tiers[0]["id"], "recompute");
    let dram = tiers.iter().find(|tier| tier["id"] == "host-dram").unwrap();
    assert!((number(&dram["retrieve_usd"]) - 4096.0 * 163_840.0 * 2.5e-16).abs() < 1e-12);
    assert!((number(&dram["hold_usd_per_hour"]) - 4096.0 * 163_840.0 * 2.5e-13).abs() < 1e-9);
    // Neighbours cost the same at the boundary between them.
    let cheapest = offload["cheapest"].as_array().unwrap();
    assert!(cheapest.len() > 1);
    for pair in cheapest.windows(2) {
        let hours = number(&pair[0]["to_seconds"]) / 3600.0;
        let cost = |id: &Value| {
            let tier = tiers.iter().find(|tier| tier["id"] == *id).unwrap();
            number(&tier["retrieve_usd"]) + hours * number(&tier["hold_usd_per_hour"])
        };
        assert!((cost(&pair[0]["id"]) / cost(&pair[1]["id"]) - 1.0).abs() < 1e-9);
    }
}

#[tokio::test]
async fn the_grid_has_a_row_per_pass_hit_rate_and_number_of_chips() {
    let mut body = small();
    body["grid"] =
        json!({"pass_tokens": [1, 16, 1024], "cache_hit_rate": [0, 0.9], "chips": [8, 16]});
    body["load"] = json!({"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 2});
    let api = api().await;
    let rows = answer(&api, &body).await["series"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 7);
    let usd: Vec<f64> = rows
        .iter()
        .map(|row| number(&row["usd_per_mtok"]))
        .collect();
    assert!(
        usd[0] > usd[1] && usd[1] > usd[2],
        "a pass of more tokens shares its reads: {usd:?}"
    );
    assert!(usd[4] <= usd[3]);
    let request = Request::post("/plan")
        .header("content-type", "application/json")
        .header("accept", "text/csv");
    let reply = api
        .send(request.body(body.to_string().into()).unwrap())
        .await;
    assert_eq!(reply.text().lines().count(), 8, "{}", reply.text());
}

#[tokio::test]
async fn chips_without_a_rent_are_ranked_by_chips_and_no_plan_is_an_answer() {
    let api = api().await;
    let body = with(small(), "/machine", json!({"accelerator": "mi455x"}));
    let unknown = answer(&api, &body).await;
    assert_eq!(unknown["plans"][0]["cost"]["usd_per_hour"], Value::Null);
    let reason = unknown["not_defined"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("state `machine.rental_usd_per_hour`"),
        "{reason}"
    );
    for strict in [
        with(small(), "/limits/time_to_first_token_seconds", json!(1e-3)),
        with(
            small(),
            "/machine",
            json!({"accelerator": "groq-lpu-1", "chips": 8}),
        ),
    ] {
        let none = answer(&api, &strict).await;
        assert_eq!(none["plans"], json!([]));
        assert!(!none["caveats"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn without_a_plan_each_change_that_would_do_does() {
    let api = api().await;
    let strict = with(
        small(),
        "/limits/time_per_output_token_seconds",
        json!(0.005),
    );
    let few = json!({
        "model": "DeepSeek-V3", "machine": {"accelerator": "h100-sxm", "chips": 8},
        "layouts": {"serving": "aggregated"},
    });
    let mut inputs = Vec::new();
    for body in [strict, few] {
        let none = answer(&api, &body).await;
        assert_eq!(none["plans"], json!([]));
        let nearest = none["nearest"].as_array().unwrap();
        assert!(!nearest.is_empty(), "{none}");
        for item in nearest {
            let (input, would_do) = (item["input"].as_str().unwrap(), number(&item["would_do"]));
            let caveats = none["caveats"].to_string();
            assert!(caveats.contains(&format!("`{input}` of ")), "{caveats}");
            let pointer = format!("/{}", input.replace('.', "/"));
            let changed = |value: f64| {
                let is_whole = input == "machine.chips";
                #[expect(clippy::cast_possible_truncation, reason = "a few chips")]
                let value = if is_whole {
                    json!(value as i64)
                } else {
                    json!(value)
                };
                let mut changed = body.clone();
                let (object, field) = pointer.rsplit_once('/').unwrap();
                let missing = changed.pointer(object).is_none();
                if missing {
                    changed[&object[1..]] = json!({});
                }
                changed.pointer_mut(object).unwrap()[field] = value;
                changed
            };
            let with_it = answer(&api, &changed(would_do)).await;
            assert_ne!(with_it["plans"], json!([]), "{input} of {would_do}");
            if input.starts_with("limits") {
                let not_yet = answer(&api, &changed(would_do * 0.85)).await;
                assert_eq!(
                    not_yet["plans"],
                    json!([]),
                    "{input} of less than {would_do}"
                );
            }
            inputs.push(input.to_owned());
        }
    }
    for input in [
        "limits.time_per_output_token_seconds",
        "machine.chips",
        "precision.weight_bytes_per_parameter",
    ] {
        assert!(inputs.iter().any(|found| found == input), "{inputs:?}");
    }
}

#[tokio::test]
async fn whole_units_pay_for_whole_trays_unless_a_node_is_shared() {
    let api = api().await;
    let body = with(
        small(),
        "/layouts",
        json!({"tensor": [2], "pipeline": [1], "serving": "aggregated"}),
    );
    let whole = answer(&api, &body).await["plans"][0].clone();
    let shared = with(body, "/layouts/share_node", json!(true));
    let shared = answer(&api, &shared).await["plans"][0].clone();
    let used = |plan: &Value| number(&plan["decode"]["units"]) * 2.0;
    assert!(number(&whole["chips"]) % 8.0 < 1e-9, "{whole}");
    assert!(number(&whole["chips"]) >= used(&whole));
    assert!((number(&shared["chips"]) - used(&shared)).abs() < 1e-9);
    let rent = number(&whole["cost"]["usd_per_hour"]);
    assert!((rent - 2.4 * number(&whole["chips"])).abs() < 1e-6);
}

#[tokio::test]
async fn figures_have_intervals_that_are_wider_on_a_generation_without_measurements() {
    let api = api().await;
    let width = async |accelerator: &str| {
        let body = with(
            small(),
            "/machine",
            json!({"accelerator": accelerator, "rental_usd_per_hour": 2}),
        );
        let body = with(body, "/limits", json!({"time_per_output_token_seconds": 1}));
        let body = with(body, "/layouts", json!({"tensor": [8], "pipeline": [1, 2]}));
        let answer = answer(&api, &body).await;
        let plan = &answer["plans"][0];
        let cost = number(&plan["cost"]["usd_per_mtok"]);
        let intervals = plan["intervals"].as_array().unwrap();
        let of_cost = intervals
            .iter()
            .find(|interval| interval["figure"] == "cost.usd_per_mtok");
        let ends = ["low_90", "low_80", "high_80", "high_90"];
        let ends = ends.map(|end| number(&of_cost.unwrap()[end]) / cost);
        assert!(
            ends.is_sorted() && ends[1] < 1.0 && ends[2] > 1.0,
            "{ends:?}"
        );
        let is_unmeasured = answer["caveats"].to_string().contains("no measurement on");
        (ends[2] / ends[1], is_unmeasured)
    };
    let (measured, is_unmeasured) = width("h100-sxm").await;
    assert!(!is_unmeasured);
    let (unmeasured, is_said) = width("trainium2").await;
    assert!(
        is_said && unmeasured > measured,
        "{unmeasured} over {measured}"
    );
    let peak = with(small(), "/efficiencies", json!("peak"));
    assert_eq!(
        answer(&api, &peak).await["plans"][0]["intervals"],
        json!([])
    );
}

#[tokio::test]
async fn a_plan_is_written_as_flags_of_an_engine_each_with_its_reason() {
    let api = api().await;
    let body = |engine: &str, serving: &str| {
        json!({
            "model": "DeepSeek-V3", "machine": {"accelerator": "h200-sxm", "chips": 16}, "engine": engine,
            "layouts": {"tensor": [1], "data": [16], "pipeline": [1], "serving": serving},
            "load": {"input_tokens": 512},
        })
    };
    for (engine, serving, expected) in [
        (
            "vllm",
            "aggregated",
            &[
                "--tensor-parallel-size 1",
                "--data-parallel-size 16",
                "--enable-expert-parallel",
            ][..],
        ),
        (
            "sglang",
            "chunked",
            &[
                "--tp-size 16",
                "--dp-size 16",
                "--enable-dp-attention",
                "--ep-size 16",
                "--enable-mixed-chunk",
                // Of all 16 groups.
                "--chunked-prefill-size 8192",
            ],
        ),
        ("none", "any", &[]),
    ] {
        let answer = answer(&api, &body(engine, serving)).await;
        let flags = answer["plans"][0]["engine_flags"].as_array().unwrap();
        assert_eq!(flags.is_empty(), expected.is_empty(), "{flags:?}");
        for flag in expected {
            assert!(
                flags.iter().any(|found| found["flag"] == *flag),
                "{flag}: {flags:?}"
            );
        }
        assert!(
            flags
                .iter()
                .all(|flag| !flag["reason"].as_str().unwrap().is_empty())
        );
    }
}

#[tokio::test]
async fn prompts_in_chunks_share_the_weights_that_steps_read() {
    let api = api().await;
    let best = async |serving: &str| {
        let layouts = json!({"tensor": [8], "pipeline": [1], "serving": serving});
        let body = with(small(), "/layouts", layouts);
        let body = with(
            body,
            "/machine",
            json!({"accelerator": "h100-sxm", "chips": 8}),
        );
        let load = json!({"input_tokens": 4096, "output_tokens": 1024});
        let body = with(body, "/load", load);
        let plan = answer(&api, &body).await["plans"][0].clone();
        assert_eq!(plan["serving"], serving);
        plan
    };
    let (chunked, passes) = (best("chunked").await, best("aggregated").await);
    let [step, with_chunk] =
        ["step", "pass"].map(|name| number(&chunked["decode"][name]["total_seconds"]));
    let chunk = number(&chunked["decode"]["chunk_tokens"]);
    assert!(step < with_chunk, "{chunked}");
    assert_eq!(chunked["decode"]["prompts_per_pass"], Value::Null);
    assert_eq!(passes["decode"]["chunk_tokens"], Value::Null);
    // A token in a chunk costs less than in a pass that reads the weights again.
    let of_pass = number(&passes["decode"]["pass"]["total_seconds"])
        / number(&passes["decode"]["prompts_per_pass"])
        / 4096.0;
    assert!((with_chunk - step) / chunk < of_pass, "{chunked} {passes}");
    let rate = |plan: &Value| number(&plan["requests_per_second"]);
    assert!(rate(&chunked) > rate(&passes));
}

#[tokio::test]
async fn tokens_take_no_longer_than_published_services_unless_stated() {
    let mut body = small();
    body["limits"] = json!({});
    let answer = answer(&api().await, &body).await;
    let next = &answer["plans"][0]["time_per_output_token"];
    assert!(number(&next["at_percentile_seconds"]) <= 0.050_01, "{next}");
    let inputs = answer["inputs"].as_array().unwrap();
    let limit = inputs
        .iter()
        .find(|input| input["name"] == "limits.time_per_output_token_seconds");
    assert_eq!(limit.unwrap()["from"], "default");
}

#[tokio::test]
async fn what_contradicts_itself_is_refused_with_a_hint() {
    let api = api().await;
    for (body, pointer) in [
        (
            json!({"load": {"input_tokens": 10, "tokens_per_day": {}}}),
            "/load/tokens_per_day",
        ),
        (
            json!({"load": {"tokens_per_day": {"input_tokens": 10, "cached_input_tokens": 10}}}),
            "/load/tokens_per_day/cached_input_tokens",
        ),
        (
            json!({"load": {"accepted_tokens_per_step": 2}}),
            "/load/accepted_tokens_per_step",
        ),
        (
            json!({"load": {"input_tokens": [{"tokens": 5, "share": 1}, {"tokens": 9, "share": 1}], "input_spread": 1}}),
            "/load/input_spread",
        ),
        (
            json!({"limits": {"percentile": "p99"}}),
            "/limits/percentile",
        ),
        (json!({"grid": {}}), "/grid"),
    ] {
        let reply = api.post("/plan", body.to_string()).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        let found = faults(&reply.json());
        assert!(found.contains(pointer), "{found}");
    }
}

#[tokio::test]
async fn a_simulation_has_the_layouts_of_plans() {
    let api = api().await;
    let machine = json!({"accelerator": "h200-sxm", "chips": 32});
    let body = json!({
        "model": "DeepSeek-V3", "machine": machine, "load": {"input_tokens": 4096, "output_tokens": 1024},
        "layouts": {"tensor": [4], "data": [8], "pipeline": [1], "serving": "aggregated"},
    });
    let plan = answer(&api, &body).await;
    let (context, pool) = (
        &plan["load"]["mean_context_tokens"],
        &plan["plans"][0]["decode"],
    );
    let body = json!({
        "model": "DeepSeek-V3", "machine": machine, "tensor": 4,
        "load": {"batch": pool["batch"], "context_tokens": context},
    });
    let simulated = super::simulate::answer(&body).await;
    for part in [
        "total_seconds",
        "communication_seconds",
        "kv_memory_seconds",
    ] {
        let [planned, simulated] =
            [&pool["step"][part], &simulated["decode"]["time"][part]].map(number);
        assert!(
            (planned / simulated - 1.0).abs() < 1e-9,
            "{part}: {planned} {simulated}"
        );
    }
}

#[tokio::test]
async fn some_requests_wait_longer_where_hits_differ_between_them() {
    let api = api().await;
    let late = async |hits: Value| {
        let body = with(small(), "/load/cache_hit_rate", hits);
        let layouts = json!({"tensor": [8], "pipeline": [1], "serving": "aggregated"});
        let answer = answer(&api, &with(body, "/layouts", layouts)).await;
        let mean = number(&answer["load"]["cache_hit_rate"]);
        assert!((mean - 0.45).abs() < 1e-9, "{mean}");
        number(&answer["plans"][0]["time_to_first_token"]["p95_seconds"])
    };
    let equal = late(json!(0.45)).await;
    let differing = late(json!([{"rate": 0, "share": 1}, {"rate": 0.9, "share": 1}])).await;
    assert!(differing > 1.2 * equal, "{differing} {equal}");
}

#[tokio::test]
async fn both_limits_are_relaxed_where_neither_alone_would_do() {
    let api = api().await;
    let strict =
        json!({"time_to_first_token_seconds": 0.02, "time_per_output_token_seconds": 0.002});
    let body = with(small(), "/limits", strict.clone());
    let none = answer(&api, &body).await;
    assert_eq!(none["plans"], json!([]));
    let nearest = none["nearest"].as_array().unwrap();
    let both = nearest.iter().find(|item| item["input"] == "limits");
    let factor = number(&both.unwrap_or_else(|| panic!("{nearest:?}"))["would_do"]);
    let caveats = none["caveats"].to_string();
    assert!(caveats.contains("both limits"), "{caveats}");
    let times = |factor: f64| {
        let limits: serde_json::Map<String, Value> = (strict.as_object().unwrap().iter())
            .map(|(name, value)| (name.clone(), json!(number(value) * factor)))
            .collect();
        with(small(), "/limits", json!(limits))
    };
    assert_ne!(answer(&api, &times(factor)).await["plans"], json!([]));
    assert_eq!(
        answer(&api, &times(factor * 0.85)).await["plans"],
        json!([])
    );
}
