//! Entries of the audit log, and who may read them.

use axum::http::Method;
use serde_json::{Value, json};
use unroof_store::access::Scope;

use super::{get, key, post, send, service};
use crate::support::{on_each_database, sheet};

/// Action, caller and name of a row.
fn of(row: &Value) -> (String, String, String) {
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    (text("action"), text("caller"), text("name"))
}

#[tokio::test]
async fn the_log_says_who_changed_what_and_in_which_request() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "the admin", Scope::Admin).await;
        let desk = key(&store, "the desk", Scope::Observe).await;
        let asks = key(&store, "the asker", Scope::Ask).await;
        assert_eq!(post(&api, "/infer", &asks, &sheet()).await.status, 201);
        assert_eq!(post(&api, "/infer", &desk, &sheet()).await.status, 200);
        // The same price again is no news.
        assert_eq!(post(&api, "/infer", &desk, &sheet()).await.status, 200);
        let id = get(&api, "/price-sheets", &desk).await.rows()[0]["id"].clone();
        let id = id.as_str().unwrap();
        let withdraw = format!("/price-sheets/{id}/withdraw");
        let reason = json!({"reason": "a digit was missing"});
        assert_eq!(post(&api, &withdraw, &desk, &reason).await.status, 200);
        let undo = format!("/price-sheets/{id}/withdrawal");
        assert_eq!(
            send(&api, Method::DELETE, &undo, &desk, &Value::Null)
                .await
                .status,
            204
        );
        let hook = json!({"url": "https://user@hooks.example.com/x?token=secret"});
        post(&api, "/webhooks", &admin, &hook).await.problem(422);
        let hook = json!({"url": "https://hooks.example.com/x?token=secret"});
        let hook = post(&api, "/webhooks", &admin, &hook).await.id();
        let path = format!("/webhooks/{hook}");
        assert_eq!(
            send(&api, Method::DELETE, &path, &admin, &Value::Null)
                .await
                .status,
            204
        );
        let catalog = json!({"gpt-x": {"litellm_provider": "openai", "mode": "chat",
            "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}});
        let imported = post(&api, "/catalogs?format=litellm", &desk, &catalog).await;
        assert_eq!(imported.status, 200, "{}", imported.text());

        let log = get(&api, "/audit", &admin).await;
        assert!(!log.text().contains("secret"), "{}", log.text());
        let rows = log.rows();
        let expected = [
            ("catalog.imported", "key", "the desk"),
            ("webhook.removed", "key", "the admin"),
            ("webhook.added", "key", "the admin"),
            ("sheet.reinstated", "key", "the desk"),
            ("sheet.withdrawn", "key", "the desk"),
            ("sheet.observed", "key", "the desk"),
            ("key.created", "command_line", ""),
            ("key.created", "command_line", ""),
            ("key.created", "command_line", ""),
        ];
        let found: Vec<_> = rows.iter().map(of).collect();
        let expected =
            expected.map(|(action, caller, name)| (action.into(), caller.into(), name.into()));
        assert_eq!(found, expected);
        assert_eq!(rows[4]["subject"], "a digit was missing");
        assert_eq!(rows[4]["subject_id"], id);
        assert_eq!(rows[5]["subject"], "acme/m-1");
        assert!(
            rows[..6].iter().all(|row| row["request_id"] == "test-1"),
            "{rows:?}"
        );
        assert_eq!(rows[8]["request_id"], Value::Null);

        let first = get(&api, "/audit?limit=4", &admin).await;
        let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
        let second = get(&api, &format!("/audit?limit=100&cursor={cursor}"), &admin).await;
        assert_eq!([first.rows(), second.rows()].concat(), rows);
    })
    .await;
}
