//! `POST /infer`: what is stored, and what the answers are promised to be.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, TestDatabase, example, on_each_database, sheet, sheet_of, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_sheet_is_201_with_its_location_and_the_same_again_200_with_the_same_bytes() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let first = api.infer(&sheet()).await;
        assert_eq!(first.status, StatusCode::CREATED);
        assert_eq!(first.header("content-type"), Some("application/json"));
        let location = first.header("location").unwrap();
        assert_eq!(location, format!("/estimates/{}", first.id()));
        // Another replica knows it too.
        for api in [&api, &database.api().await] {
            let again = api.infer(&sheet()).await;
            assert_eq!(again.status, StatusCode::OK);
            assert_eq!(again.header("location"), Some(location));
            assert_eq!(again.body, first.body);
            let stored = api.get(location).await;
            assert_eq!(stored.status, StatusCode::OK);
            assert_eq!(stored.text(), first.stored_body());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_requests_at_the_same_moment_exactly_one_is_201() {
    on_each_database(async |database: &TestDatabase| {
        let replicas = [database.api().await, database.api().await];
        let requests: Vec<_> = (0..20)
            .map(|number| {
                let api: Api = replicas[number % 2].clone();
                tokio::spawn(async move { api.infer(&sheet()).await })
            })
            .collect();
        let mut created = 0;
        let mut bodies = Vec::new();
        for request in requests {
            let reply = request.await.unwrap();
            match reply.status {
                StatusCode::CREATED => created += 1,
                status => assert_eq!(status, StatusCode::OK, "{}", reply.text()),
            }
            bodies.push(reply.body);
        }
        assert_eq!(created, 1);
        assert!(bodies.iter().all(|body| *body == bodies[0]));
        assert_eq!(database.number("SELECT count(*) FROM estimates").await, 1);
    })
    .await;
}

#[tokio::test]
async fn what_is_only_computed_is_not_stored_and_has_no_location() {
    let api = TestDatabase::sqlite().api().await;
    let computed = api.post("/infer?store=false", sheet().to_string()).await;
    assert_eq!(computed.status, StatusCode::OK);
    assert_eq!(computed.header("location"), None);
    assert_eq!(
        computed.json()["store"],
        json!({"stored": false, "because": "the request has `store=false`"})
    );
    assert!(api.get("/estimates").await.rows().is_empty());
    assert!(api.get("/price-sheets").await.rows().is_empty());
    let stored = api.post("/infer?store=true", sheet().to_string()).await;
    assert_eq!(stored.status, StatusCode::CREATED);
    let sheet = stored.json()["price_sheets"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    // Nothing is found under the ids of what is not stored: it has none.
    let mut without_ids = stored.stored_body();
    for id in [stored.id(), sheet] {
        without_ids = without_ids.replacen(&format!("\"id\":\"{id}\","), "", 1);
    }
    let (computed, _) = computed.text().rsplit_once(",\"store\":").unwrap();
    assert_eq!(without_ids, format!("{computed}}}"));
}

#[tokio::test]
async fn a_free_or_nearly_empty_sheet_is_stored_with_reasons() {
    let api = TestDatabase::sqlite().api().await;
    let free = json!([{"input": "0", "output": "0.00", "cache_read": "0"}]);
    for (model, rates) in [("free", free), ("silent", json!([{}]))] {
        let reply = api.infer(&with(sheet_of(model), "/rates", rates)).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        let answer = reply.json();
        for reading in answer["readings"].as_array().unwrap() {
            // Only what needs no price has a value.
            let needs_price = !["recompute_or_hold", "context_maximum_kv_bytes"]
                .contains(&reading["id"].as_str().unwrap());
            assert!(reading["value"].is_null() || !needs_price, "{reading}");
            let reason = reading["not_defined"]["detail"].as_str().unwrap();
            assert!(reason.starts_with("not defined: "), "{reading}");
        }
        assert_eq!(answer["readings_defined"], 0, "{model}");
        assert_eq!(answer["conflicts"], json!([]));
    }
}

#[tokio::test]
async fn the_release_that_models_dev_states_is_evidence() {
    let api = TestDatabase::sqlite().api().await;
    let total = async |released: Option<&str>| {
        let mut entry = json!({"id": "m-1", "cost": {"input": 0.5, "output": 2}, "limit": {"context": 128_000},
            "modalities": {"input": ["text"], "output": ["text"]}});
        if let Some(day) = released {
            entry["release_date"] = json!(day);
        }
        let path = "/infer?format=models.dev&model=acme%2Fm-1";
        let answer = api.post(path, entry.to_string()).await.json();
        let sheet = &answer["price_sheets"][0]["id"];
        let stored = api
            .get(&format!("/price-sheets/{}", sheet.as_str().unwrap()))
            .await;
        assert_eq!(stored.json()["released"].as_str(), released);
        answer["quantities"]["total_parameters"]["median"]
            .as_f64()
            .unwrap()
    };
    // Later models are mixtures more often.
    let (early, unknown, late) = (
        total(Some("2024-02-01")).await,
        total(None).await,
        total(Some("2026-06-01")).await,
    );
    assert!(
        early < unknown && unknown < late,
        "{early} {unknown} {late}"
    );
}

#[tokio::test]
async fn a_litellm_entry_is_read_bare_or_with_assumptions() {
    let api = TestDatabase::sqlite().api().await;
    let entry = json!({"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5,
        "input_cost_per_token_above_200k_tokens": 2.5e-6, "output_cost_per_token_above_200k_tokens": 1.5e-5, "max_input_tokens": 1_048_576});
    let path = "/infer?format=litellm&model=gemini%2Fgemini-2.5-pro";
    let bare = api.post(path, entry.to_string()).await;
    assert_eq!(bare.status, StatusCode::CREATED, "{}", bare.text());
    let sheet = &bare.json()["price_sheets"][0];
    assert_eq!(
        (&sheet["provider"], &sheet["model"]),
        (&json!("google"), &json!("gemini-2.5-pro"))
    );
    assert_eq!(sheet["rates"][0]["input"], "1.25");
    let wrapped = api.post(path, json!({"entry": entry}).to_string()).await;
    assert_eq!(
        (wrapped.status, &wrapped.body),
        (StatusCode::OK, &bare.body)
    );
    let question = json!({"entry": entry, "assumptions": {"active_parameters": 2e11}});
    let stated = api.post(path, question.to_string()).await;
    assert_eq!(stated.status, StatusCode::CREATED);
    assert_eq!(
        stated.json()["assumptions"],
        json!({"active_parameters": 2e11})
    );
    // The stored sheet says where it came from.
    let stored = api
        .get(&format!("/price-sheets/{}", sheet["id"].as_str().unwrap()))
        .await
        .json();
    assert_eq!(stored["sources"][0]["locator"], "gemini/gemini-2.5-pro");
}

fn reading<'a>(
    answer: &'a Value,
    id: &str,
    distinguishes: impl Fn(&str, &Value) -> bool,
) -> Vec<&'a Value> {
    let readings = answer["readings"].as_array().unwrap().iter();
    let matches = |reading: &&Value| {
        let inputs = reading["inputs"].as_array().unwrap();
        inputs
            .iter()
            .any(|input| distinguishes(input["name"].as_str().unwrap(), &input["value"]))
    };
    readings
        .filter(|reading| reading["id"] == id)
        .filter(matches)
        .collect()
}

#[tokio::test]
async fn the_worked_examples_of_the_issue_come_out() {
    let api = TestDatabase::sqlite().api().await;
    let ask = async |file: &str, assumptions: Value| {
        let question = json!({"price_sheet": example(file), "assumptions": assumptions});
        let reply = api.infer(&question).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        reply.json()
    };
    let close = |value: &Value, expected: f64| {
        let number = value.as_f64().unwrap();
        assert!(
            (number / expected - 1.0).abs() < 1e-3,
            "{number}, not {expected}"
        );
    };
    let value_of = |answer: &Value, id: &str, name: &str, value: &Value| {
        reading(answer, id, |input, found| input == name && found == value)[0]["value"].clone()
    };

    let stated = json!({"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": 1e11, "weight_bytes_per_parameter": 1});
    let gemini = ask("google_gemini-2.5-pro.json", stated).await;
    let standard = json!("standard");
    close(
        &value_of(&gemini, "context_tier_kv_bytes", "service_tier", &standard),
        5e3 / 3.0,
    );
    let ratios = reading(&gemini, "output_ratio_memory_boundness", |name, value| {
        name == "service_tier" && *value == standard
    });
    close(&ratios[0]["value"], 8.0);
    close(&ratios[1]["value"], 6.0);
    let conflict = &gemini["conflicts"][0];
    assert_eq!(
        conflict["between"],
        json!(["context_tier_kv_bytes", "output_ratio_memory_boundness"])
    );
    assert!(
        conflict["why"]
            .as_str()
            .unwrap()
            .contains("opposite sides of t_mem = t_comp"),
        "{conflict}"
    );

    let fast = json!("fast");
    let ids = [
        "fast_mode_batch_ratio",
        "fast_mode_kv_over_weights",
        "fast_mode_max_speedup",
    ];
    let opus = ask(
        "anthropic_claude-opus-5-5.json",
        json!({"speed_multiplier": {"fast": 2.5}}),
    )
    .await;
    for (id, expected) in ids.iter().zip([5.0, 3.0, 4.0]) {
        close(&value_of(&opus, id, "service_tier", &fast), expected);
    }
    let silent = ask("anthropic_claude-opus-5-5.json", json!({})).await;
    for id in ids {
        let entry = reading(&silent, id, |name, value| {
            name == "service_tier" && *value == fast
        })[0];
        let reason = entry["not_defined"]["detail"].as_str().unwrap();
        assert!(
            reason.starts_with("not defined: the sheet states no speed"),
            "{reason}"
        );
    }
    let older = ask("anthropic_claude-opus-4-6.json", json!({})).await;
    for (id, expected) in ids.iter().zip([15.0, 1.8, 2.8]) {
        close(&value_of(&older, id, "service_tier", &fast), expected);
    }
    close(
        &value_of(&older, "cache_write_hold_price", "service_tier", &standard),
        3.75 * 12.0 / 11.0,
    );
}
