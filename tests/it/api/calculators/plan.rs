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
    assert!(front.len() > 4);
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
    let body = with(small(), "/machine", json!({"accelerator": "mi325x"}));
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
