//! `POST /training`: the lecture's model, plans that are decided, the worth of sparsity, and what is refused.

use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, Reply, TestDatabase, faults};

async fn api() -> Api {
    TestDatabase::sqlite().api().await
}

async fn ask(api: &Api, body: &Value) -> Reply {
    api.post("/training", body.to_string()).await
}

async fn answer(api: &Api, body: &Value) -> Value {
    let reply = ask(api, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

fn assert_close(computed: &Value, expected: f64, tolerance: f64) {
    let number = computed.as_f64().unwrap();
    assert!(
        (number / expected - 1.0).abs() < tolerance,
        "{number}, not {expected}"
    );
}

#[tokio::test]
async fn an_empty_request_is_the_demand_of_the_lecture_for_the_default_model() {
    let answer = answer(&api().await, &json!({})).await;
    let phases = answer["phases"].as_array().unwrap();
    let names: Vec<&Value> = phases.iter().map(|phase| &phase["phase"]).collect();
    assert_eq!(
        names,
        ["pretraining", "reinforcement_learning", "inference"]
    );
    for phase in phases {
        assert_close(&phase["share_of_compute"], 1.0 / 3.0, 1e-12);
        assert!(phase["days"].is_number());
    }
    assert_eq!(phases[0]["tokens_from"], "equalised");
    assert_close(&phases[0]["tokens"], 2.592e14, 1e-12);
    assert_close(
        &answer["overtraining"]["overtraining"],
        2.592e14 / (20.0 * 37e9),
        1e-12,
    );
    assert_close(
        &answer["reinforcement"]["compute_per_token_over_pretraining"],
        1.5,
        1e-12,
    );
    assert_eq!(answer["machine"]["accelerator"], "gb200-nvl72");
    assert_eq!(answer["not_defined"], json!([]));
}

#[tokio::test]
async fn tokens_that_are_decided_stay_and_show_what_would_be_equal() {
    let body = json!({"model": {"active_parameters": 1e11}, "tokens": {"pretraining": 1e13}});
    let answer = answer(&api().await, &body).await;
    let phase = &answer["phases"][0];
    assert_eq!(
        (&phase["tokens"], &phase["tokens_from"]),
        (&json!(1e13), &json!("stated"))
    );
    assert_close(&phase["tokens_of_equal_compute"], 2.592e14, 1e-12);
    assert_close(&phase["compute_flop"], 6e24, 1e-12);
    assert_eq!(answer["phases"][1]["tokens_from"], "equalised");
}

#[tokio::test]
async fn accelerators_give_days_and_dollars() {
    let api = api().await;
    let machine = json!({"accelerator": "h100-sxm", "chips": 1_000, "rental_usd_per_hour": 2});
    let body = json!({"model": {"active_parameters": 1e11}, "tokens": {"pretraining": 1e13}, "machine": machine, "costs": {"utilisation": 0.5},
        "precision": {"weight_bytes_per_parameter": 2}});
    let answered = answer(&api, &body).await;
    let hours = 6e24 / (9.89e14 * 0.5 * 3_600.0);
    let phase = &answered["phases"][0];
    assert_close(&phase["chip_hours"], hours, 1e-12);
    assert_close(&phase["days"], hours / 24_000.0, 1e-12);
    assert_close(&phase["usd"], 2.0 * hours, 1e-12);
    assert_eq!(answered["machine"]["chips"], 1_000);
    assert_eq!(answered["not_defined"], json!([]));
    // No rental price is published.
    let unpriced = answer(&api, &json!({"machine": {"accelerator": "mi455x"}})).await;
    assert!(unpriced["phases"][0]["days"].is_number());
    assert_eq!(unpriced["total"]["usd"], Value::Null);
    let reason = unpriced["not_defined"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("`machine.rental_usd_per_hour`"), "{reason}");
}

#[tokio::test]
async fn reversible_blocks_trade_a_third_more_compute_for_all_layers_but_one() {
    let body = json!({"model": {"layers": 40}});
    let answer = answer(&api().await, &body).await;
    let schemes = answer["activations"].as_array().unwrap();
    let names: Vec<&Value> = schemes.iter().map(|scheme| &scheme["scheme"]).collect();
    assert_eq!(names, ["all_kept", "inputs_kept", "reversible"]);
    assert_close(&schemes[2]["bytes_over_all_kept"], 1.0 / 40.0, 1e-12);
    assert_close(&schemes[2]["compute_over_all_kept"], 4.0 / 3.0, 1e-12);
    assert_eq!(schemes[2]["flops_per_parameter_and_token"], 8.0);
}

#[tokio::test]
async fn sixty_four_experts_of_370_million_are_worth_about_a_dense_model_of_1_3_billion() {
    let api = api().await;
    let body =
        json!({"model": {"active_parameters": 3.7e8}, "quality": {"experts_over_active": 64}});
    let published = answer(&api, &body).await;
    let at = &published["quality"]["at"];
    assert_close(&at["dense_equivalent_parameters"], 1.3e9, 0.1);
    assert_close(&at["dense_equivalent_over_active"], 3.5, 0.1);
    assert_eq!(at["inside_published_range"], true);
    assert_eq!(published["quality"]["size_beyond_published"], 1.0);
    let large = json!({"model": {"active_parameters": 1.3e10}, "quality": {"experts_over_active": 1024, "routing": "hash"}});
    let large = answer(&api, &large).await;
    assert_close(&large["quality"]["size_beyond_published"], 10.0, 1e-12);
    assert_eq!(large["quality"]["experts_beyond_published"], 2.0);
    assert_eq!(large["quality"]["at"]["inside_published_range"], false);
    assert_eq!(large["quality"]["law"]["routing"], "hash");
}

#[tokio::test]
async fn the_series_over_sparsity_is_csv_for_those_who_ask_for_it() {
    let api = api().await;
    let request = Request::post("/training")
        .header("content-type", "application/json")
        .header("accept", "text/csv");
    let body =
        json!({"quality": {"active_parameters": 3.7e8, "experts_over_active_grid": [1, 64]}});
    let reply = api
        .send(request.body(body.to_string().into()).unwrap())
        .await;
    assert_eq!(
        reply.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let lines: Vec<&str> = reply.text().lines().collect();
    let columns = "experts_over_active,active_parameters,saturated_experts,dense_equivalent_parameters,\
                   dense_equivalent_over_active,inside_published_range";
    assert_eq!(lines[0], columns);
    assert_eq!(lines.len(), 3, "{}", reply.text());
    assert!(
        lines[2].starts_with("64.0,370000000.0,53.7"),
        "{}",
        lines[2]
    );
    assert!(lines[2].ends_with(",true"), "{}", lines[2]);
}

#[tokio::test]
async fn every_fault_is_reported_with_its_place_and_a_hint() {
    let api = api().await;
    let rows = [
        (
            json!("{}"),
            "expected an object with named fields, found a text",
        ),
        (
            json!({"demand": {}}),
            "/demand: `demand` is not a known field (write `load` instead",
        ),
        (
            json!({"model": {"active_params": 1}}),
            "did you mean `active_parameters`",
        ),
        (
            json!({"model": {"active_parameters": 0}}),
            "/model/active_parameters: 0 is not a number from 1,000 to 1e16",
        ),
        (
            json!({"quality": {"experts_over_active": 0.5}}),
            "/quality/experts_over_active: 0.5 is not a number from 1",
        ),
        (
            json!({"service": {"model_share": 2}}),
            "/service/model_share: 2 is not a number from 1e-9 to 1",
        ),
        (
            json!({"service": {"lifetime_days": "60"}}),
            "/service/lifetime_days: expected a number, found a text",
        ),
        (
            json!({"costs": {"reinforcement_flops_per_parameter": 1}}),
            "1 is not a number from 2 to 6",
        ),
        (
            json!({"costs": {"relative_decode_utilisation": -1}}),
            "/costs/relative_decode_utilisation: -1 is not",
        ),
        (
            json!({"tokens": {"pretraining": null}}),
            "/tokens/pretraining: expected a number, found null",
        ),
        (
            json!({"quality": {"routing": "s_base"}}),
            "/quality/routing: `s_base` is not known here (did you mean `s-base`?",
        ),
        (
            json!({"quality": {"experts_over_active_grid": [0]}}),
            "/quality/experts_over_active_grid/0: 0 is not",
        ),
        (
            json!({"cluster": {"accelerators": 8}}),
            "/cluster: `cluster` is not a known field (write `machine` instead",
        ),
        (
            json!({"machine": {"accelerator": "h100"}}),
            "/machine/accelerator: `h100` is not a known accelerator (did you mean `h100-",
        ),
        (
            json!({"machine": {"accelerators": 8}}),
            "/machine/accelerators: `accelerators` is not a known field (write `chips` instead",
        ),
    ];
    for (body, expected) in rows {
        let problem = ask(&api, &body).await.problem(422);
        let reported = faults(&problem);
        assert!(reported.contains(expected), "{body}: {reported}");
    }
    api.post("/training", "").await.problem(400);
    api.post("/training?format=csv", "{}").await.problem(400);
}
