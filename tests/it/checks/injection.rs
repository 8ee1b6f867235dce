//! SQL in every place where a client may write: it is a text like any other.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use unroof_server::needed_scopes;

use super::bodies::with_texts;
use super::{stored_sheet, with_query};
use crate::support::{Api, Reply, TestDatabase, on_each_database, sheet};

const STATEMENTS: [&str; 10] = [
    "'; DROP TABLE estimates; --",
    "' OR '1'='1",
    "\" OR \"\"=\"",
    "1); DELETE FROM price_sheets; --",
    "a' UNION SELECT document FROM price_sheets --",
    "'||(SELECT version FROM store_version)||'",
    "\\'; UPDATE store_version SET version = 0; /*",
    "$1 ?1 :name @name %s {0}",
    "%_[a-z]*\\%",
    "'; SELECT pg_sleep(60); COMMIT; --",
];

/// A full sheet in which every text is this one, also the names of its maps.
fn written_all_over(text: &str) -> Value {
    let mut sheet = with_texts(text, text);
    for map in ["schedules", "service_tiers"] {
        let entries = std::mem::take(sheet[map].as_object_mut().unwrap());
        sheet[map] = entries
            .into_iter()
            .map(|(_, entry)| (text.to_owned(), entry))
            .collect();
    }
    // A retirement is a change of its own, and is not a text.
    sheet.as_object_mut().unwrap().remove("retires_at");
    sheet.as_object_mut().unwrap().remove("status");
    sheet["rates"][2]["service_tier"] = json!(text);
    sheet["rates"][3]["schedule"] = json!(text);
    sheet
}

/// A text as a part of a path.
fn part_of_path(text: &str) -> String {
    let part: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    part.replace('+', "%20")
}

async fn assert_intact(database: &TestDatabase, rows: usize) {
    let rows = i64::try_from(rows).unwrap();
    for (sql, expected) in [
        ("SELECT count(*) FROM estimates", rows),
        ("SELECT count(*) FROM price_sheets", rows),
        ("SELECT count(*) FROM estimate_sheets", rows),
        ("SELECT version FROM store_version", rows),
    ] {
        assert_eq!(
            database.number(sql).await,
            expected,
            "{}: {sql}",
            database.name
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_every_text_of_a_sheet_are_stored_and_found_unchanged() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for statement in STATEMENTS {
            let sheet = written_all_over(statement);
            let reply = api.infer(&sheet).await;
            let stored = stored_sheet(&api, &reply).await;
            for part in sheet
                .as_object()
                .unwrap()
                .keys()
                .filter(|part| *part != "rates")
            {
                assert_eq!(
                    stored[part], sheet[part],
                    "{}: {statement}: {part}",
                    database.name
                );
            }
            assert_eq!(
                stored["rates"]
                    .to_string()
                    .matches(&json!(statement).to_string())
                    .count(),
                2,
                "{stored}"
            );
        }
        assert_intact(database, STATEMENTS.len()).await;
        for statement in STATEMENTS {
            for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
                for filter in ["provider", "model", "canonical_model", "region"] {
                    let rows = api.get(&with_query(list, filter, statement)).await.rows();
                    let found: Vec<&Value> = rows.iter().map(|row| &row[filter]).collect();
                    assert_eq!(
                        found,
                        [&json!(statement)],
                        "{}: {list}: {filter}",
                        database.name
                    );
                }
                assert!(
                    api.get(&with_query(list, "currency", statement))
                        .await
                        .rows()
                        .is_empty()
                );
            }
        }
        assert_intact(database, STATEMENTS.len()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_every_other_place_of_a_request_are_refused_or_change_nothing() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let entry = json!({"litellm_provider": "acme", "input_cost_per_token": 1e-6}).to_string();
        for statement in STATEMENTS {
            for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
                for name in ["limit", "cursor", statement] {
                    api.get(&with_query(list, name, statement))
                        .await
                        .problem(400);
                }
            }
            api.get(&with_query("/estimates/latest", "assumptions", statement))
                .await
                .problem(400);
            for path in ["/estimates", "/price-sheets", "/problems"] {
                api.get(&format!("{path}/{}", part_of_path(statement)))
                    .await
                    .problem(404);
            }
            let headers = [
                ("if-none-match", statement),
                ("accept", statement),
                ("x-request-id", statement),
            ];
            let reply = api.ask(Method::GET, "/estimates", &headers).await;
            assert_eq!(reply.status, StatusCode::OK);
            for name in ["store", "format"] {
                api.post(&with_query("/infer", name, statement), entry.clone())
                    .await
                    .problem(400);
            }
        }
        assert_intact(database, 0).await;
        // The key of an entry is a text of its sheet.
        for statement in STATEMENTS {
            let path = format!(
                "{}&format=litellm",
                with_query("/infer", "model", statement)
            );
            let reply = api.post(&path, entry.clone()).await;
            let stored = stored_sheet(&api, &reply).await;
            assert_eq!(
                stored["sources"][0]["locator"], statement,
                "{}",
                database.name
            );
        }
        assert_intact(database, STATEMENTS.len()).await;
    })
    .await;
}

/// The path of an estimate, and its document.
async fn stored(api: &Api) -> (String, Reply) {
    let path = format!("/estimates/{}", api.store(&sheet()).await);
    let document = api.get(&path).await;
    (path, document)
}

/// Sends a body; the answer, which is not a fault of the service.
async fn send(api: &Api, path: &str, body: &Value) -> Value {
    let reply = api.post(path, body.to_string()).await;
    assert!(reply.status.is_success(), "{path}: {}", reply.text());
    reply.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_the_bodies_of_other_routes_are_kept_as_texts() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let (estimate, known) = stored(&api).await;
        let sheets = api.get("/price-sheets").await.rows();
        let withdrawal = format!("/price-sheets/{}", sheets[0]["id"].as_str().unwrap());
        for statement in STATEMENTS {
            let key = json!({"name": statement, "scope": "read"});
            assert_eq!(send(&api, "/keys", &key).await["name"], statement);
            let filter = json!({"provider": [statement], "model": [statement]});
            let webhook = json!({"url": "https://example.com/hook", "filter": filter});
            let added = send(&api, "/webhooks", &webhook).await;
            assert_eq!(added["filter"]["model"], json!([statement]));
            let reason = json!({"reason": statement});
            let withdrawn = send(&api, &format!("{withdrawal}/withdraw"), &reason).await;
            assert_eq!(withdrawn["reason"], statement);
            let undone = format!("{withdrawal}/withdrawal");
            let undone = api.ask(Method::DELETE, &undone, &[]).await;
            assert!(undone.status.is_success(), "{}", undone.text());
            let entry = json!({
                "litellm_provider": statement, "mode": "chat",
                "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6,
            });
            let catalog = json!({(statement): entry}).to_string();
            let imported = api.post("/catalogs", catalog).await;
            assert!(imported.status.is_success(), "{}", imported.text());
        }
        let keys = api.get("/keys").await.rows();
        let names: BTreeSet<&str> = keys.iter().filter_map(|key| key["name"].as_str()).collect();
        assert_eq!(names, BTreeSet::from(STATEMENTS));
        assert_eq!(api.get("/webhooks").await.rows().len(), STATEMENTS.len());
        assert_eq!(api.get(&estimate).await.text(), known.text());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_the_path_of_a_route_are_no_fault_of_the_service() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let (estimate, known) = stored(&api).await;
        for (route, _) in needed_scopes() {
            let Some((before, rest)) = route.split_once('{') else {
                continue;
            };
            let (_, after) = rest.split_once('}').unwrap();
            for statement in STATEMENTS {
                let part = part_of_path(statement);
                let path = format!("{before}{part}{}", after.replace(['{', '}'], ""));
                let reply = api.get(&path).await;
                assert!(!reply.status.is_server_error(), "{path}: {}", reply.text());
            }
        }
        assert_eq!(api.get(&estimate).await.text(), known.text());
    })
    .await;
}
