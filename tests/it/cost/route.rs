//! `POST /cost`: stored prices at a time, sheets in the body, sources, and what is refused.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::lines;
use crate::support::{Api, TestDatabase, faults, on_each_database, sheet, with};

async fn ask(api: &Api, body: &Value) -> Value {
    let reply = api.post("/cost", body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    reply.json()
}

/// A sheet with one input price, from a time on.
fn since(input: &str, valid_from: &str) -> Value {
    let sheet = with(sheet(), "/rates/0/input", json!(input));
    with(sheet, "/valid_from", json!(valid_from))
}

fn of_offer(at: &str) -> Value {
    json!({"offer": {"provider": "acme", "model": "m-1"}, "at": at, "usage": {"input_tokens": 1_000_000, "output_tokens": 1}})
}

#[tokio::test]
async fn a_usage_has_the_stored_price_of_its_time() {
    on_each_database(async |database| {
        let api = database.api().await;
        let first = api.infer(&since("1", "2026-01-01T00:00:00Z")).await;
        assert_eq!(first.status, StatusCode::CREATED);
        let second = api.infer(&since("2", "2026-06-01T00:00:00Z")).await;
        assert_eq!(second.status, StatusCode::CREATED);
        let before = ask(&api, &of_offer("2026-05-31T23:59:59Z")).await;
        assert_eq!(before["total"], "1.00001");
        assert_eq!(before["sheet"]["valid_from"], "2026-01-01T00:00:00Z");
        assert_eq!(before["sheet"]["valid_to"], "2026-06-01T00:00:00Z");
        assert_eq!(before["sheet"]["source"], "official");
        let after = ask(&api, &of_offer("2026-06-01T00:00:00Z")).await;
        assert_eq!(after["total"], "2.00001");
        assert_eq!(after["sheet"]["valid_to"], Value::Null);
        // The id is that of the stored sheet.
        let path = format!("/price-sheets/{}", after["sheet"]["id"].as_str().unwrap());
        assert_eq!(api.get(&path).await.json()["rates"][0]["input"], "2");
        // Without a time, the price of now.
        let mut now = of_offer("");
        now.as_object_mut().unwrap().remove("at");
        let now = ask(&api, &now).await;
        assert_eq!(
            (&now["total"], &now["at"]),
            (&json!("2.00001"), &json!("2026-11-21T12:00:00.123456Z"))
        );
        let too_early = api
            .post("/cost", of_offer("2025-12-31T23:59:59Z").to_string())
            .await;
        let problem = too_early.problem(404);
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("`m-1` of `acme`"),
            "{problem}"
        );
    })
    .await;
}

#[tokio::test]
async fn sources_that_state_another_price_are_listed_with_their_total() {
    on_each_database(async |database| {
        let api = database.api().await;
        let catalog = |input: f64, output: f64| {
            json!({"acme": {"id": "acme", "name": "Acme", "npm": "", "doc": "", "env": [], "models": {"m-1": {
                "id": "m-1", "name": "M 1", "cost": {"input": input, "output": output}, "limit": {"context": 1_000_000, "output": 1_000}}}}})
        };
        let litellm = json!({"acme/m-1": {"litellm_provider": "acme", "mode": "chat",
            "input_cost_per_token": 1e-6, "output_cost_per_token": 5e-6}});
        for body in [litellm, catalog(1.5, 5.0)] {
            let reply = api.post("/catalogs", body.to_string()).await;
            assert!(reply.text().contains("\"done\""), "{}", reply.text());
        }
        let mut request = of_offer("");
        request.as_object_mut().unwrap().remove("at");
        let cost = ask(&api, &request).await;
        let sources: Vec<String> = cost["sources"].as_array().unwrap().iter().map(|source| {
            format!("{} {} {}", source["source"].as_str().unwrap(), source["total"].as_str().unwrap(), source["agrees"])
        }).collect();
        assert_eq!(sources.len(), 2, "{cost}");
        assert!(sources.contains(&format!("{} {} true", cost["sheet"]["source"].as_str().unwrap(), cost["total"].as_str().unwrap())), "{sources:?}");
        let totals = ["litellm 1.000005", "models.dev 1.500005"];
        assert!(totals.iter().all(|total| sources.iter().any(|source| source.starts_with(total))), "{sources:?}");
        // Sources that differ in the input price agree on a usage without input.
        request["usage"] = json!({"output_tokens": 10});
        let cost = ask(&api, &request).await;
        let agree = |source: &Value| source["agrees"] == true;
        assert!(cost["sources"].as_array().unwrap().iter().all(agree), "{cost}");
    })
    .await;
}

#[tokio::test]
async fn a_sheet_in_the_body_prices_without_the_store() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let request = json!({"id": "r-1", "price_sheet": sheet(), "usage": {"input_tokens": 8, "output_tokens": 3, "reasoning_tokens": 2}});
    let cost = ask(&api, &request).await;
    assert_eq!(cost["id"], "r-1");
    assert_eq!(cost["total"], "0.00004");
    assert_eq!(
        lines(&cost),
        [
            "input 8 × 1.25 = 0.00001",
            "reasoning 2 as output × 10.00 = 0.00002",
            "output 1 × 10.00 = 0.00001"
        ]
    );
    assert_eq!(cost["sources"][0]["source"], "official");
    assert_eq!(
        database.number("SELECT count(*) FROM price_sheets").await,
        0
    );
    let expired = with(
        request,
        "/price_sheet/valid_to",
        json!("2026-01-01T00:00:00Z"),
    );
    assert_eq!(ask(&api, &expired).await["total"], Value::Null);
}

#[tokio::test]
async fn an_offer_in_several_regions_needs_one_of_them() {
    let api = TestDatabase::sqlite().api().await;
    for region in ["eu", "us"] {
        api.store(&with(sheet(), "/region", json!(region))).await;
    }
    let request = of_offer("2026-11-21T12:00:01Z");
    let problem = api.post("/cost", request.to_string()).await.problem(422);
    assert_eq!(
        faults(&problem),
        "/offer: `m-1` of `acme` has prices in several regions and none for `global` (state `region`: eu, us)\n"
    );
    let in_region = with(request.clone(), "/offer/region", json!("eu"));
    assert_eq!(ask(&api, &in_region).await["sheet"]["region"], "eu");
    api.store(&sheet()).await;
    assert_eq!(ask(&api, &request).await["sheet"]["region"], "global");
}

#[tokio::test]
async fn every_fault_of_a_request_is_named() {
    let api = TestDatabase::sqlite().api().await;
    let rows = [
        (
            json!({"usage": {"input_tokens": 1}}),
            ": there is neither an offer nor a sheet (",
        ),
        (
            json!({"offer": {"provider": "a", "model": "b"}, "price_sheet": sheet(), "usage": {"input_tokens": 1}}),
            ": there are both an offer and a sheet (",
        ),
        (
            json!({"price_sheet": sheet()}),
            ": the field `usage` is missing (",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {}}),
            "/usage: too few fields are stated (",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {"prompt_tokens": 1}}),
            "/usage/prompt_tokens: `prompt_tokens` is not a known field (write `input_tokens` instead",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {"input_tokens": 10, "cached_input_tokens": 11}}),
            "/usage/input_tokens: 10 prompt tokens, of which 11 are cached (",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {"input_tokens": 10, "uncached_input_tokens": 9}}),
            "/usage/uncached_input_tokens: `uncached_input_tokens` is not a known field (write `input_tokens` instead",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {"output_tokens": 10, "reasoning_tokens": 11}}),
            "/usage/reasoning_tokens: 11 reasoning tokens among 10 output tokens (",
        ),
        (
            json!({"price_sheet": sheet(), "usage": {"input_tokens": -1}}),
            "/usage/input_tokens: `-1` is not a whole number from 0 to 2147483647 (",
        ),
        (
            json!({"price_sheet": sheet(), "at": "yesterday", "usage": {"input_tokens": 1}}),
            "/at: `yesterday` is not a date and time (",
        ),
        (
            json!({"price_sheet": with(sheet(), "/rates/0/input", json!(1.25)), "usage": {"input_tokens": 1}}),
            "/price_sheet/rates/0/input: expected a decimal written as a text, found a number (",
        ),
    ];
    for (request, expected) in rows {
        let problem = api.post("/cost", request.to_string()).await.problem(422);
        assert!(faults(&problem).contains(expected), "{problem}");
    }
}
