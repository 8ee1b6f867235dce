//! `POST /catalogs`: what is taken, what is refused, and what a stranger may not do.

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use unroof_edge::Limits;

use super::{catalog, import, summary};
use crate::support::{TestDatabase, on_each_database, sheet, sheet_of};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_catalog_is_refused_before_anything_is_said() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("[[[[", 400),
        ("{\"a\":1,\"a\":2}", 400),
        ("{}", 422),
        ("[]", 422),
        ("[1, 2]", 422),
        ("null", 422),
        ("\"litellm\"", 422),
        ("{\"a\": {\"b\": 1}}", 422),
    ] {
        let problem = api.post("/catalogs", body).await.problem(status);
        assert!(
            problem["hint"]
                .as_str()
                .is_some_and(|hint| !hint.is_empty()),
            "{body}: {problem}"
        );
    }
    for query in [
        "format=csv",
        "dry_run=perhaps",
        "surprise=1",
        "observed_at=2030-01-01T00:00:00Z",
    ] {
        api.post(&format!("/catalogs?{query}"), catalog().to_string())
            .await
            .problem(400);
    }
    let untyped = api.ask(Method::POST, "/catalogs", &[]).await;
    untyped.problem(415);
    api.get("/catalogs").await.problem(405);
    assert!(api.get("/imports").await.rows().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_has_a_limit_of_its_own() {
    let database = TestDatabase::sqlite();
    let limits = Limits {
        body_bytes: 100,
        catalog_bytes: 10_000,
        ..Limits::default()
    };
    let api = Box::pin(database.api_within(limits)).await;
    let lines = import(&api, "?dry_run=true", &catalog()).await;
    assert_eq!(summary(&lines)["entries"], 8);
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(10_000));
    api.post("/catalogs", large).await.problem(413);
    api.post("/infer", sheet().to_string()).await.problem(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn canonical_sheets_are_a_catalog_too() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let mut wrong = sheet_of("m-3");
        wrong["rates"][0]["input"] = json!("-1");
        let list = json!([sheet(), sheet_of("m-2"), wrong, 7]);
        let lines = import(&api, "", &list).await;
        assert_eq!(lines[0]["format"], "pricesheet/v1");
        let sum = summary(&lines);
        // Two names of one seller are two models, though their prices are equal.
        assert_eq!([&sum["estimated"], &sum["refused"]], [2, 2]);
        let refused = lines
            .iter()
            .find(|line| line["entry"] == "acme/m-3")
            .unwrap();
        let reason = refused["reason"].as_str().unwrap();
        assert!(reason.starts_with("rates/0/input: "), "{reason}");
        assert_eq!(api.get("/price-sheets").await.rows().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_catalog_at_a_time_and_a_client_that_leaves_frees_the_place() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let request = axum::http::Request::post("/catalogs")
        .header("content-type", "application/json")
        .body(Body::from(catalog().to_string()))
        .unwrap();
    // The body of the answer is not read yet, so the import waits.
    let first = api.begin(request).await;
    let busy = api.post("/catalogs", catalog().to_string()).await;
    let status = busy.status;
    drop(first);
    if status == 503 {
        busy.problem(503);
        assert_eq!(busy.header("retry-after"), Some("1"));
    }
    for _ in 0..100 {
        let again = api.post("/catalogs", catalog().to_string()).await;
        if again.status == 200 {
            assert!(again.text().contains("\"type\":\"done\""));
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the place was not given back");
}
