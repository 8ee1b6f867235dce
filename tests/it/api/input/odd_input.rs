//! Input that is right but odd: what other sheets never show.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{TestDatabase, on_each_database, sheet, with};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_unparsed_never_spoils_the_second_sending() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let deep = format!(
            r#"{{"litellm_provider": "acme", "input_cost_per_token": 1e-6, "odd": {}{}}}"#,
            "[".repeat(31),
            "]".repeat(31)
        );
        let long = with(sheet(), "/unmapped", json!({"n": 0})).to_string();
        let long = long.replace("\"n\":0", &format!("\"n\":{}", "9".repeat(100)));
        for (path, body) in [("/infer?format=litellm&model=odd", deep), ("/infer", long)] {
            let first = api.post(path, body.clone()).await;
            assert_eq!(first.status, StatusCode::CREATED, "{}", first.text());
            let second = api.post(path, body).await;
            assert_eq!(second.status, StatusCode::OK, "{}", second.text());
            assert_eq!(second.body, first.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_kept_unparsed_keeps_its_digits() {
    let api = TestDatabase::sqlite().api().await;
    let digits = "12345678901234567890123456789";
    let body = with(sheet(), "/unmapped", json!({"n": 0}))
        .to_string()
        .replace("\"n\":0", &format!("\"n\":{digits}"));
    let answer = api.post("/infer", body).await.json();
    let stored = api
        .get(&format!(
            "/price-sheets/{}",
            answer["price_sheets"][0]["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(stored.json()["unmapped"]["n"], digits);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_shows_nothing_of_other_tiers_where_the_standard_one_is_missing() {
    let api = TestDatabase::sqlite().api().await;
    let rates = json!([
        {"service_tier": "batch", "input": "1", "output": "5"},
        {"service_tier": "fast", "input": "6", "output": "30"},
    ]);
    let answer = api.infer(&with(sheet(), "/rates", rates)).await.json();
    let row = api.get("/estimates").await.rows().remove(0);
    assert_eq!(row["output_ratio_memory_boundness"], Value::Null);
    assert_eq!(row["price_level_active_parameters"], Value::Null);
    assert_eq!(
        api.get("/price-sheets").await.rows()[0]["input_per_mtok"],
        Value::Null
    );
    let reason = |id: &str| {
        let readings = answer["readings"].as_array().unwrap();
        let reading = readings.iter().find(|reading| reading["id"] == id).unwrap();
        reading["not_defined"]["detail"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for id in ["batch_discount_utilisation", "fast_mode_batch_ratio"] {
        assert!(reason(id).contains("no standard cell"), "{}", reason(id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_speed_may_be_stated_by_another_name_of_its_tier() {
    let api = TestDatabase::sqlite().api().await;
    let rates = json!([
        {"input": "1", "output": "5"},
        {"service_tier": "priority", "input": "2", "output": "10"},
    ]);
    let sheet = with(
        sheet(),
        "/service_tiers",
        json!({"priority": {"aliases": ["fast"]}}),
    );
    let question = json!({
        "price_sheet": with(sheet, "/rates", rates),
        "assumptions": {"speed_multiplier": {"fast": 2.5}},
    });
    let answer = api.infer(&question).await.json();
    let readings = answer["readings"].as_array().unwrap();
    let ratio = readings
        .iter()
        .find(|reading| reading["id"] == "fast_mode_batch_ratio")
        .unwrap();
    assert_eq!(ratio["value"], 5.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_catalog_that_are_no_models_are_refused() {
    let api = TestDatabase::sqlite().api().await;
    let entry = json!({"litellm_provider": "acme", "input_cost_per_token": 0});
    let reply = api
        .post("/infer?format=litellm&model=sample_spec", entry.to_string())
        .await;
    assert!(
        reply.problem(422)["detail"]
            .as_str()
            .unwrap()
            .contains("sample_spec")
    );
}
