//! Every route of the list: what a key of each scope may do there.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use unroof_server::needed_scopes;
use unroof_store::access::Scope;

use super::pages::form;
use super::{key, post, send, service};
use crate::support::{TestDatabase, on_each_database, sheet};

/// Methods that are tried on every path, whether it has them or not.
const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Tables that a request may write to without changing the record.
const OF_THE_SERVICE: [&str; 1] = ["readiness"];

/// A path with something that is there in each place.
pub(super) fn filled(path: &str, sheet: &str, estimate: &str, webhook: &str) -> String {
    let id = match path {
        path if path.starts_with("/estimates") => estimate,
        path if path.starts_with("/webhooks") => webhook,
        _ => sheet,
    };
    path.replace("{id}", id)
        .replace("{author}", "acme")
        .replace("{provider}", "acme")
        .replace("{model}", "m-1")
        .replace("{name}", "acme")
        .replace("{chart}", "market.svg")
        .replace("{slug}", "scope")
        .replace("{*rest}", "rest")
}

/// A table's name and its rows, as text.
type Table = (String, Vec<String>);

/// Every row of every table.
pub(super) async fn content(database: &TestDatabase) -> Vec<Table> {
    let is_file = database.name == "SQLite";
    let names = if is_file {
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    } else {
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
    };
    let names = database.texts(names).await.into_iter();
    let mut tables = Vec::new();
    for name in names.filter(|name| !OF_THE_SERVICE.contains(&name.as_str())) {
        let rows = if is_file {
            let columns =
                format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{name}')");
            let columns = database.texts(columns).await.join(" || '|' || ");
            format!("SELECT {columns} FROM {name} ORDER BY 1")
        } else {
            format!("SELECT one::text FROM {name} AS one ORDER BY 1")
        };
        tables.push((name, database.texts(rows).await));
    }
    tables
}

#[tokio::test]
async fn a_key_of_scope_read_changes_not_a_byte_on_any_route() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let read = key(&store, "read", Scope::Read).await;
        let stored = post(&api, "/infer", &admin, &sheet()).await;
        let estimate = stored.id();
        let sheets = super::get(&api, "/price-sheets", &admin).await.rows();
        let webhook = post(
            &api,
            "/webhooks",
            &admin,
            &json!({"url": "https://example.com/hook"}),
        )
        .await;
        let (sheet_id, webhook) = (sheets[0]["id"].as_str().unwrap().to_owned(), webhook.id());
        let before = content(database).await;
        let routes = needed_scopes();
        assert!(routes.len() > 55, "{}", routes.len());
        for (path, _) in &routes {
            let is_stream = path == "/changes/stream";
            let path = filled(path, &sheet_id, &estimate, &webhook);
            for method in METHODS {
                // A stream has no end: its head is enough.
                if is_stream && method == Method::GET {
                    let request =
                        Request::get(&path).header("authorization", format!("Bearer {read}"));
                    let answer = api.begin(request.body(Body::empty()).unwrap()).await;
                    assert_eq!(answer.status(), 200);
                    continue;
                }
                for body in bodies() {
                    let reply = send(&api, method.clone(), &path, &read, &body).await;
                    assert!(
                        !reply.status.is_server_error(),
                        "{method} {path}: {}",
                        reply.text()
                    );
                }
            }
        }
        // What these two take is not a body of the list, or not the id of a sheet.
        let request = Request::post("/ui/try")
            .header("authorization", format!("Bearer {read}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        let body = form_of_a_sheet();
        let reply = api.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(reply.status, 403, "{}", reply.text());
        for key in store.keys(None, 100).await.unwrap() {
            let path = format!("/keys/{}", key.id);
            send(&api, Method::DELETE, &path, &read, &Value::Null)
                .await
                .problem(403);
        }
        assert_eq!(content(database).await, before, "on {}", database.name);

        // A sign-in stores a session until it ends, and a row of the audit log, as a sign-out does.
        let changed = async || changed_tables(&before, &content(database).await);
        let body = format!("key={read}");
        let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
        assert_eq!(entered.status, 303, "{}", entered.text());
        assert_eq!(changed().await, ["api_keys", "audit", "store_version"]);
        let cookie = entered.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap();
        form(&api, "/ui/sign-out", "same-origin", cookie, "").await;
        assert_eq!(changed().await, ["audit", "store_version"]);
    })
    .await;
}

/// Names of the tables whose rows differ.
fn changed_tables(before: &[Table], after: &[Table]) -> Vec<String> {
    let both = before.iter().zip(after);
    let changed = both.filter(|(before, after)| before != after);
    changed.map(|((name, _), _)| name.clone()).collect()
}

/// The form of the page that tries a sheet.
fn form_of_a_sheet() -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("sheet", &sheet().to_string());
    form.append_pair("store", "yes").finish()
}

/// Bodies that some route takes.
fn bodies() -> [Value; 5] {
    [
        json!(null),
        crate::support::sheet_of("m-2"),
        json!({"url": "https://example.com/hook"}),
        json!({"name": "another", "scope": "admin"}),
        json!({"reason": "a mistake"}),
    ]
}

#[tokio::test]
async fn every_route_refuses_the_scope_before_the_one_that_it_needs() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let mut keys = Vec::new();
        for scope in Scope::ALL {
            keys.push((scope, key(&store, scope.name(), scope).await));
        }
        // A path may need another scope for another method.
        let mut widest = BTreeMap::new();
        for (route, needed) in needed_scopes() {
            let known = widest.entry(route).or_insert(needed);
            *known = needed.max(*known);
        }
        for (route, needed) in widest {
            let path = filled(&route, "x", "x", "x");
            let methods = [Method::GET, Method::POST, Method::DELETE];
            let Some(needed) = needed else {
                let reply = api.get(&path).await;
                assert_ne!(reply.status, 401, "{path}");
                continue;
            };
            for (scope, key) in &keys {
                let mut refused = 0;
                for method in methods.clone() {
                    let body = if *scope < needed {
                        json!({})
                    } else {
                        json!(null)
                    };
                    if *scope >= needed && route == "/changes/stream" {
                        continue;
                    }
                    let reply = send(&api, method, &path, key, &body).await;
                    refused += u32::from(reply.status == 403);
                }
                assert_eq!(refused > 0, *scope < needed, "{path} {scope}");
            }
            let mut unnamed = 0;
            for method in methods {
                unnamed += u32::from(api.ask(method, &path, &[]).await.status == 401);
            }
            assert!(unnamed > 0, "{path} answers callers without a key");
        }
    })
    .await;
}

/// Routes that may change something are written down by hand: another scope for one of them is a decision, and not an accident.
#[test]
fn routes_that_change_something_need_more_than_read() {
    let needed = |wanted: Scope| -> Vec<String> {
        let routes = needed_scopes().into_iter();
        let routes = routes.filter(|(_, needed)| *needed == Some(wanted));
        routes.map(|(path, _)| path).collect()
    };
    assert_eq!(
        needed(Scope::Ask),
        [
            "/infer",
            "/cost",
            "/simulate",
            "/layout",
            "/training",
            "/plan",
            "/ui/plan",
            "/ui/try"
        ]
    );
    assert_eq!(
        needed(Scope::Observe),
        [
            "/price-sheets/{id}/withdraw",
            "/price-sheets/{id}/withdrawal",
            "/catalogs",
            "/imports/{id}/accept",
            "/imports/{id}/discard",
            "/imports/{id}/undo"
        ]
    );
    assert_eq!(
        needed(Scope::Admin),
        [
            "/estimates/{id}",
            "/webhooks",
            "/webhooks",
            "/webhooks/{id}",
            "/webhooks/{id}",
            "/webhooks/{id}/deliveries",
            "/keys",
            "/keys",
            "/keys/{id}",
            "/audit",
        ]
    );
    let open: Vec<String> = needed_scopes()
        .into_iter()
        .filter(|(_, needed)| needed.is_none())
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        open,
        [
            "/healthz",
            "/readyz",
            "/openapi.json",
            "/problems/{slug}",
            "/",
            "/ui",
            "/ui/sign-in",
            "/ui/sign-out",
            "/ui/assets/{name}",
            "/ui/{*rest}",
        ]
    );
}
