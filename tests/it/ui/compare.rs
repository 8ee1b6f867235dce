//! `/ui/compare`: models side by side.

use axum::http::StatusCode;
use unroof_base::units::compact;

use super::page;
use crate::models::estimate_models;
use crate::support::{TestDatabase, example};

const TWO: &str = "model=anthropic/claude-opus-4-6&model=google/gemini-2.5-pro";

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_the_api() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    for name in [
        "anthropic_claude-opus-4-6.json",
        "google_gemini-2.5-pro.json",
    ] {
        api.store(&example(name)).await;
    }
    assert_eq!(estimate_models(&database).await, 2);
    let compared = api.get(&format!("/compare?{TWO}")).await.json();
    let reply = api.get(&format!("/ui/compare?{TWO}")).await;
    let shown = page(&reply, StatusCode::OK);
    for quantity in compared["quantities"].as_array().unwrap() {
        for value in quantity["values"].as_array().unwrap() {
            let median = compact(value["median"].as_f64().unwrap());
            assert!(
                shown.contains(&median),
                "{}: {median}",
                quantity["quantity"]
            );
        }
    }
    assert!(shown.contains("least to serve"));
    let rows = api
        .get(&format!(
            "/charts/compare.json?{TWO}&quantity=total_parameters"
        ))
        .await
        .json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 2);
    // One can be left out.
    assert!(shown.contains("href=\"/ui/compare?model=google%2Fgemini-2.5-pro\""));
}

#[tokio::test]
async fn fewer_than_two_unknown_ones_and_too_many_say_what_to_do() {
    let api = TestDatabase::sqlite().api().await;
    for (query, status, words) in [
        ("", 200, "Name two to six models"),
        ("model=", 200, "Name two to six models"),
        ("model=a/b", 200, "Add a second model"),
        ("model=a/1,a/2,a/3,a/4,a/5,a/6,a/7", 200, "At most 6"),
        ("model=a/b&model=%3Cscript%3E/x", 404, "href=\"/ui/\""),
    ] {
        let reply = api.get(&format!("/ui/compare?{query}")).await;
        let shown = page(&reply, StatusCode::from_u16(status).unwrap());
        assert!(shown.contains(words), "{query}");
        assert!(!shown.contains("<script>"), "{query}");
    }
}
