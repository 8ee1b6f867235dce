//! Chips of a scenario: all accelerators ranked, rents by contract and day, owned chips; efficiencies and drafts of plans.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, TestDatabase, faults, with};

async fn api() -> Api {
    TestDatabase::sqlite().api().await
}

async fn answer(api: &Api, route: &str, body: &Value) -> Value {
    let reply = api.post(route, body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

/// Few layouts, so that the answer is quick.
fn small(machine: &Value) -> Value {
    json!({
        "model": "gpt-oss-120b",
        "machine": machine,
        "load": {"input_tokens": 2000, "output_tokens": 500, "requests_per_second": 20},
        "layouts": {"tensor": [1, 4], "data": [1], "pipeline": [1]},
    })
}

/// Refused for one fault, at this place.
async fn assert_refused(api: &Api, route: &str, body: &Value, pointer: &str) {
    let problem = api.post(route, body.to_string()).await.problem(422);
    let found = faults(&problem);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.starts_with(&format!("{pointer}: ")), "{found}");
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

fn assert_near(computed: f64, expected: f64) {
    assert!(
        (computed / expected - 1.0).abs() < 1e-9,
        "{computed} {expected}"
    );
}

fn used<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let inputs = answer["inputs"].as_array().unwrap();
    let input = inputs.iter().find(|input| input["name"] == name);
    input.unwrap_or_else(|| panic!("no {name} in {inputs:?}"))
}

#[tokio::test]
async fn all_accelerators_are_ranked_and_each_says_how_well_it_is_known() {
    let api = api().await;
    let answer = answer(&api, "/plan", &small(&json!("all"))).await;
    let items = answer["accelerators"].as_array().unwrap();
    assert_eq!(
        items.len(),
        unroof_roofline::reference::accelerators().len()
    );
    assert_eq!(items[0]["accelerator"], answer["accelerator"]);
    assert_eq!(
        items[0]["usd_per_mtok"],
        answer["plans"][0]["cost"]["usd_per_mtok"]
    );
    let rentable = items.iter().filter(|item| item["status"] == "shipping");
    let highs: Vec<f64> = rentable
        .map_while(|item| item["usd_per_mtok_high_80"].as_f64())
        .collect();
    assert!(highs.len() > 15 && highs.is_sorted(), "{highs:?}");
    let find = |id: &str| items.iter().find(|item| item["accelerator"] == id).unwrap();
    assert!(number(&find("h200-sxm")["measured_rows"]) > 100.0);
    let unsold = find("mi455x");
    assert_eq!(unsold["measured_rows"], 0);
    let caveats = unsold["caveats"].to_string();
    for doubt in ["announced", "no rent is known", "no measurement"] {
        assert!(caveats.contains(doubt), "{caveats}");
    }
    // One without a rent is there, after those with one.
    assert!(unsold["chips"].is_number() && unsold["usd_per_mtok"].is_null());
    assert!(
        items[..highs.len()]
            .iter()
            .all(|item| item["usd_per_hour"].is_number())
    );
}

#[tokio::test]
async fn all_is_for_plans_alone_and_leaves_the_figures_to_the_rows() {
    let api = api().await;
    for (route, body, pointer) in [
        (
            "/simulate",
            json!({"machine": {"accelerator": "all"}}),
            "/machine/accelerator",
        ),
        ("/simulate", json!({"machine": "all"}), "/machine"),
        (
            "/plan",
            small(&json!({"accelerator": "all", "rental_usd_per_hour": 2})),
            "/machine/accelerator",
        ),
        (
            "/plan",
            small(&json!({"accelerator": "all", "capacity_bytes": 1e11})),
            "/machine/accelerator",
        ),
        (
            "/plan",
            with(
                small(&json!("all")),
                "/load",
                json!({"drafted_tokens": 1, "accepted_tokens_per_step": 5}),
            ),
            "/load/accepted_tokens_per_step",
        ),
        (
            "/plan",
            with(
                small(&json!("h100-sxm")),
                "/prefill_machine",
                json!({"accelerator": "all"}),
            ),
            "/prefill_machine/accelerator",
        ),
    ] {
        assert_refused(&api, route, &body, pointer).await;
    }
}

#[tokio::test]
async fn a_rent_is_that_of_a_contract_and_a_day_or_of_an_own_chip() {
    let api = api().await;
    let rent = async |machine: Value| {
        let answer = answer(&api, "/plan", &small(&machine)).await;
        let used = used(&answer, "machine.rental_usd_per_hour").clone();
        (
            number(&used["value"]),
            used["from"].as_str().unwrap().to_owned(),
        )
    };
    let (typical, _) = rent(json!("h100-sxm")).await;
    assert_near(typical, 2.4);
    let of = |contract: &str| json!({"accelerator": "h100-sxm", "contract": contract});
    let (on_demand, from) = rent(of("on-demand")).await;
    let (spot, _) = rent(of("spot")).await;
    assert!(spot < on_demand && from == "reference");
    let by = |day: &str| json!({"accelerator": "h100-sxm", "contract": "one-year", "as_of": day});
    assert_near(rent(by("2025-12-31")).await.0, 1.70);
    assert_near(rent(by("2026-03-31")).await.0, 2.35);
    // 400 W of an own chip at 0.1 USD per kWh and a PUE of 1.5.
    let owned =
        json!({"capital_usd": 35_064, "years": 4, "usd_per_kwh": 0.1, "pue": 1.5, "watts": 400});
    let (own, from) = rent(json!({"accelerator": "h100-sxm", "owned": owned})).await;
    assert!(
        (own - (1.0 + 0.06)).abs() < 1e-9 && from == "derived",
        "{own}"
    );
    // An accelerator without a typical rent has the published one.
    assert!(rent(json!("l40s")).await.0 > 0.5);
}

#[tokio::test]
async fn a_rent_is_stated_in_one_way() {
    let api = api().await;
    for (machine, pointer) in [
        (
            json!({"accelerator": "h100-sxm", "contract": "spot", "rental_usd_per_hour": 2}),
            "/machine/rental_usd_per_hour",
        ),
        (
            json!({"accelerator": "h100-sxm", "owned": {"years": 3}}),
            "/machine/owned",
        ),
        (
            json!({"accelerator": "h100-sxm", "contract": "weekly"}),
            "/machine/contract",
        ),
        (
            json!({"accelerator": "h100-sxm", "as_of": "June"}),
            "/machine/as_of",
        ),
        (
            json!({"accelerator": "trainium3", "owned": {"capital_usd": 9000}}),
            "/machine/owned",
        ),
    ] {
        assert_refused(&api, "/plan", &small(&machine), pointer).await;
    }
}

#[tokio::test]
async fn a_plan_takes_efficiencies_as_a_simulation_does() {
    let api = api().await;
    let per_token = async |efficiencies: Value| {
        let body = with(small(&json!("h200-sxm")), "/efficiencies", efficiencies);
        let answer = answer(&api, "/plan", &body).await;
        number(&answer["plans"][0]["decode"]["step"]["weight_memory_seconds"])
            / number(&answer["plans"][0]["decode"]["batch"]).sqrt()
    };
    let fitted = per_token(json!("fitted")).await;
    assert_near(per_token(json!({"name": "fitted"})).await, fitted);
    assert!(per_token(json!({"decode_bandwidth": 0.3})).await > fitted);
    assert!(per_token(json!("peak")).await < fitted);
}

#[tokio::test]
async fn drafts_cost_their_time_and_are_accepted_by_domain() {
    let api = api().await;
    let decode = async |load: Value| {
        let body = json!({"model": "DeepSeek-V3", "machine": "h200-sxm", "load": load});
        answer(&api, "/simulate", &body).await["decode"].clone()
    };
    let chat = decode(json!({"batch": 64, "drafted_tokens": 3, "domain": "chat"})).await;
    let code = decode(json!({"batch": 64, "drafted_tokens": 3, "domain": "code"})).await;
    let accepted = |decode: &Value| number(&decode["accepted_tokens_per_step"]);
    assert!(1.5 < accepted(&chat) && accepted(&chat) < accepted(&code) && accepted(&code) < 3.6);
    // One of 61 layers, three times, of a step that computes one token per sequence.
    let plain = decode(json!({"batch": 64})).await;
    let total = |decode: &Value| number(&decode["time"]["total_seconds"]);
    let draft = number(&code["time"]["draft_seconds"]);
    assert!((draft / (total(&plain) * 3.0 / 61.0) - 1.0).abs() < 1e-9);
    let free = decode(json!({"batch": 64, "drafted_tokens": 3, "draft_layers": 0})).await;
    assert!((total(&code) - total(&free) - draft).abs() < 1e-12);

    let mut body = small(&json!("h200-sxm"));
    body["load"]["domain"] = json!("code");
    body["grid"] = json!({"drafted_tokens": [0, 3]});
    let rows = answer(&api, "/plan", &body).await["series"].clone();
    assert_eq!(rows[0]["accepted_tokens_per_step"], 1.0);
    assert!((number(&rows[1]["accepted_tokens_per_step"]) - accepted(&code)).abs() < 1e-9);
}

#[tokio::test]
async fn an_answer_names_the_sources_of_its_numbers_and_what_is_an_estimate() {
    let api = api().await;
    let machine = json!({"accelerator": "h100-sxm", "contract": "on-demand"});
    let answer = answer(&api, "/plan", &small(&machine)).await;
    let source = |subject: &str| {
        let items = answer["sources"].as_array().unwrap();
        let item = items.iter().find(|item| item["subject"] == subject);
        item.unwrap_or_else(|| panic!("no {subject} in {items:?}"))["source"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(source("figures of h100-sxm").contains("data sheet"));
    assert!(source("rent of h100-sxm").starts_with("median of "));
    assert!(source("efficiencies and intervals").contains("unroof-dev fit"));
    assert!(!source("sizes of gpt-oss-120b").is_empty());

    let body = json!({"model": "GLM-4.7-Flash", "machine": "h100-sxm"});
    let caveats = self::answer(&api, "/simulate", &body).await["caveats"].to_string();
    assert!(caveats.contains("is an estimate"), "{caveats}");
}

#[tokio::test]
async fn index_keys_are_kept_in_one_byte_beside_a_wider_cache() {
    let api = api().await;
    let stored = async |precision: Value| {
        let body = json!({"model": "DeepSeek-V3.2", "machine": "h200-sxm", "precision": precision});
        number(&answer(&api, "/simulate", &body).await["roofline"]["kv_bytes_per_token_stored"])
    };
    let layers = 61.0;
    let narrow = stored(json!({"kv_bytes_per_element": 2})).await;
    assert_near(narrow, layers * (576.0 * 2.0 + 128.0));
    let both = json!({"kv_bytes_per_element": 2, "index_bytes_per_element": 2});
    assert_near(stored(both).await, layers * (576.0 + 128.0) * 2.0);
}
