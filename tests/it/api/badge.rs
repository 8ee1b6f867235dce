//! Badges, and some members of an answer.

use axum::http::{Method, StatusCode};
use serde_json::Value;

use crate::models::{estimate_models, hosted, observe};
use crate::support::{on_each_database, stored_answer};

const BADGE: &str = "/models/acme/m-1/badge.svg";

#[tokio::test(flavor = "multi_thread")]
async fn a_badge_shows_a_quantity_and_is_kept_by_its_tag() {
    on_each_database(async |database| {
        let api = database.api().await;
        api.get(BADGE).await.problem(404);
        observe(&api, &hosted("acme", "0.15", "0.6"), "2026-03-01T00:00:00Z").await;
        estimate_models(database).await;
        let badge = api.get(BADGE).await;
        assert_eq!(badge.status, StatusCode::OK, "{}", badge.text());
        assert_eq!(badge.header("content-type"), Some("image/svg+xml"));
        assert!(
            badge
                .text()
                .contains("<title>acme/m-1: active parameters | ")
        );
        assert!(!badge.text().contains("style"), "{}", badge.text());
        let tag = badge.header("etag").unwrap();
        let again = api.ask(Method::GET, BADGE, &[("if-none-match", tag)]).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        // Costs are identified of no offer without a machine's rent, or with it: the badge says what the estimate says.
        let model = api.get("/models/acme/m-1").await.json();
        for (quantity, estimate) in model["quantities"].as_object().unwrap() {
            let badge = api.get(&format!("{BADGE}?quantity={quantity}")).await;
            let is_unknown = badge.text().contains(">not identified<");
            assert_eq!(
                Value::from(!is_unknown),
                estimate["identified"],
                "{quantity}"
            );
        }
        let problem = api
            .get(&format!("{BADGE}?quantity=size"))
            .await
            .problem(400);
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.contains("active_parameters"), "{hint}");
        api.get("/models/acme/m-1%00/badge.svg").await.problem(404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_some_members_is_stored_whole() {
    on_each_database(async |database| {
        let api = database.api().await;
        let sheet = hosted("acme", "0.15", "0.6").to_string();
        let wrong = api.post("/infer?fields=quantity", sheet.clone()).await;
        let problem = wrong.problem(400);
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.contains("quantities"), "{hint}");
        assert!(api.get("/estimates").await.rows().is_empty());
        let some = api
            .post("/infer?fields=quantities,id,observe", sheet.clone())
            .await;
        assert_eq!(some.status, StatusCode::CREATED, "{}", some.text());
        let members: Vec<String> = some.json().as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["quantities", "id", "observe"]);
        let whole = api.post("/infer", sheet.clone()).await;
        let (some, all) = (some.json(), whole.json());
        let figures = |of: &Value| of["quantities"]["total_parameters"]["interval_90"].clone();
        assert_eq!(figures(&some), figures(&all));
        let stored = api.get(&format!("/estimates/{}", whole.id())).await;
        assert_eq!(stored.text(), stored_answer(whole.text()));
        // Nothing else is in an answer of quantities alone.
        let quantities = api
            .post("/infer?fields=quantities&store=false", sheet)
            .await;
        assert_eq!(quantities.json().as_object().unwrap().len(), 1);
        assert!(quantities.body.len() < whole.body.len());
    })
    .await;
}
