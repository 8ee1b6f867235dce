//! Callers that were refused, and last uses of keys: counted, audited and written, and none of it while a request waits.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tower::ServiceExt;
use unroof_edge::Access;
use unroof_edge::{Limits, Peer};
use unroof_server::{App, metrics_router};
use unroof_store::access::{MOST_REFUSED, Scope};
use unroof_store::{AuditAction, AuditRow, Store};

use super::pages::form;
use super::{get, key, post};
use crate::server::Server;
use crate::support::{
    Api, NOW, Reply, TestDatabase, clock, on_each_database, on_each_database_blocking, sheet,
    wait_for,
};

/// A service that needs keys, with its parts.
async fn service(database: &TestDatabase) -> (App, Api, Store) {
    let store = database.store().await;
    let access = Access {
        requires_keys: true,
        ..Access::default()
    };
    let app = App::new(store.clone(), clock(), Limits::default()).allowing(access);
    (app.clone(), Api::new(app), store)
}

/// A request from an address.
pub(super) async fn from(api: &Api, address: &str, method: Method, path: &str, key: &str) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .extension(Peer::Tcp(format!("{address}:4711").parse().unwrap()))
        .header("x-request-id", "test-1");
    let request = match key {
        "" => request,
        key => request.header("authorization", format!("Bearer {key}")),
    };
    api.send(request.body(Body::empty()).unwrap()).await
}

async fn refused_rows(store: &Store) -> Vec<AuditRow> {
    let rows = store.audit(None, 2_000).await.unwrap().into_iter();
    rows.filter(|row| row.action == AuditAction::AccessRefused)
        .collect()
}

/// The counters of refused requests that are not zero, as lines.
async fn counted(app: &App) -> BTreeSet<String> {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let answer = metrics_router(app.clone()).oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(answer.into_body(), usize::MAX)
        .await
        .unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("unroof_requests_refused_total"));
    lines
        .filter(|line| !line.ends_with(" 0"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn refused_requests_are_counted_by_reason_and_audited_with_a_row_for_each_client() {
    on_each_database(async |database| {
        let (app, api, store) = service(database).await;
        let reader = key(&store, "reader", Scope::Read).await;
        for _ in 0..3 {
            from(&api, "192.0.2.1", Method::GET, "/models", "unroof_guess")
                .await
                .problem(401);
        }
        from(&api, "192.0.2.2", Method::GET, "/models", "")
            .await
            .problem(401);
        from(&api, "192.0.2.3", Method::GET, "/audit", &reader)
            .await
            .problem(403);
        assert_eq!(
            form(&api, "/ui/sign-in", "same-origin", "", "key=unroof_x")
                .await
                .status,
            401
        );
        assert_eq!(
            form(&api, "/ui/sign-in", "cross-site", "", "key=x")
                .await
                .status,
            403
        );
        let series = |reason: &str, status: u16, count: u32| {
            format!(
                "unroof_requests_refused_total{{reason=\"{reason}\",status=\"{status}\"}} {count}"
            )
        };
        assert_eq!(
            counted(&app).await,
            BTreeSet::from([
                series("no_key", 401, 1),
                series("unknown_key", 401, 4),
                series("scope", 403, 1),
                series("other_site", 403, 1),
            ])
        );
        // No request waits for the audit log.
        assert!(refused_rows(&store).await.is_empty());
        app.jobs().write_visits().await;
        let rows = refused_rows(&store).await;
        assert_eq!(rows.len(), 5, "{rows:?}");
        let guesses = rows.iter().find(|row| row.requests == 3).unwrap();
        assert_eq!(guesses.subject, "unknown_key");
        assert_eq!(guesses.address.as_deref(), Some("192.0.2.1"));
        assert_eq!(guesses.request_id.as_deref(), Some("test-1"));
        let scope = rows.iter().find(|row| row.subject == "scope").unwrap();
        assert_eq!(scope.name.as_deref(), Some("reader"));
        assert_eq!(scope.key_id, Some(scope.subject_id));
        assert_eq!(scope.address.as_deref(), Some("192.0.2.3"));
        // The next row of a client is found by the same id.
        from(&api, "192.0.2.1", Method::GET, "/models", "unroof_guess")
            .await
            .problem(401);
        app.jobs().write_visits().await;
        let again = &refused_rows(&store).await[0];
        assert_eq!((again.subject_id, again.requests), (guesses.subject_id, 1));
    })
    .await;
}

#[tokio::test]
async fn a_flood_of_refused_requests_from_many_addresses_adds_a_few_rows() {
    on_each_database(async |database| {
        let (app, api, store) = service(database).await;
        for number in 0..200 {
            let address = format!("192.0.2.{number}");
            from(&api, &address, Method::GET, "/models", "")
                .await
                .problem(401);
        }
        app.jobs().write_visits().await;
        let rows = refused_rows(&store).await;
        assert_eq!(rows.len(), MOST_REFUSED + 1);
        assert_eq!(rows.iter().map(|row| row.requests).sum::<i64>(), 200);
        // Nothing is left to be written.
        app.jobs().write_visits().await;
        assert_eq!(refused_rows(&store).await.len(), rows.len());
    })
    .await;
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_by_no_request_and_shown_afterwards() {
    on_each_database(async |database| {
        let (app, api, store) = service(database).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        key(&store, "idle", Scope::Read).await;
        let last_used = async || {
            let rows = get(&api, "/keys?fields=name,last_used_at", &admin)
                .await
                .rows();
            let of = |name: &str| {
                let row = rows.iter().find(|row| row["name"] == name).unwrap();
                row["last_used_at"].clone()
            };
            [of("admin"), of("idle")]
        };
        assert_eq!(last_used().await, [Value::Null, Value::Null]);
        app.jobs().write_visits().await;
        assert_eq!(last_used().await, [json!(NOW), Value::Null]);
        // A session of the pages is a use of its key.
        let body = format!("key={admin}");
        let entered = form(&api, "/ui/sign-in", "same-origin", "", &body).await;
        assert_eq!(entered.status, 303);
        app.jobs().write_visits().await;
        assert_eq!(last_used().await[0], json!(NOW));
    })
    .await;
}

#[tokio::test]
async fn what_the_database_does_not_take_is_written_when_it_does() {
    on_each_database(async |database| {
        let (app, api, store) = service(database).await;
        from(&api, "192.0.2.1", Method::GET, "/models", "")
            .await
            .problem(401);
        database.execute("ALTER TABLE audit RENAME TO away").await;
        app.jobs().write_visits().await;
        database.execute("ALTER TABLE away RENAME TO audit").await;
        from(&api, "192.0.2.1", Method::GET, "/models", "")
            .await
            .problem(401);
        app.jobs().write_visits().await;
        let rows = refused_rows(&store).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].requests, 2);
    })
    .await;
}

#[tokio::test]
async fn a_change_is_audited_with_the_address_that_it_came_from() {
    on_each_database(async |database| {
        let (_app, api, store) = service(database).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        assert_eq!(post(&api, "/infer", &admin, &sheet()).await.status, 201);
        let id = store.keys(None, 1).await.unwrap()[0].id;
        let path = format!("/keys/{id}");
        from(&api, "192.0.2.7", Method::DELETE, &path, &admin).await;
        let rows = store.audit(None, 10).await.unwrap();
        let of = |action: AuditAction| rows.iter().find(|row| row.action == action).unwrap();
        assert_eq!(
            of(AuditAction::KeyRevoked).address.as_deref(),
            Some("192.0.2.7")
        );
        assert_eq!(of(AuditAction::KeyRevoked).requests, 1);
        // Neither a request without a connection nor the command line has one.
        assert_eq!(of(AuditAction::SheetObserved).address, None);
        assert_eq!(of(AuditAction::KeyCreated).address, None);
    })
    .await;
}

/// The line of the log about a request.
fn line(log: &str, request: &str) -> Value {
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut served = lines.filter(|line: &Value| line["fields"]["message"] == "served");
    let found = served.find(|line| line["span"]["request_id"] == request);
    found.unwrap_or_else(|| panic!("{request}: {log}"))
}

#[test]
fn lines_of_the_log_say_which_key_user_and_address_asked_also_where_they_are_refused() {
    on_each_database_blocking(|database| {
        let store = wait_for(database.store());
        let reader = wait_for(key(&store, "reader", Scope::Read));
        let id = wait_for(store.keys(None, 1)).unwrap()[0].id.to_string();
        let place = [
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--log-format",
            "json",
        ];
        let proxy = [
            "--trusted-proxy",
            "127.0.0.1",
            "--trusted-user-header",
            "remote-user",
        ];
        let server = Server::start_with(&[&place[..], &proxy, &["--anonymous", "read"]].concat());
        let bearer = format!("Bearer {reader}");
        let address = ("x-forwarded-for", "203.0.113.7");
        for (request, headers) in [
            ("key", [address, ("authorization", bearer.as_str())]),
            ("user", [address, ("remote-user", "anna key=forged")]),
            (
                "refused",
                [address, ("authorization", "Bearer unroof_guess")],
            ),
        ] {
            let mut asked = crate::server::client().get(format!("{}/audit", server.address));
            for (name, value) in headers {
                asked = asked.header(name, value);
            }
            let status = asked
                .header("x-request-id", request)
                .call()
                .unwrap()
                .status();
            assert!([401, 403].contains(&status.as_u16()), "{request}: {status}");
        }
        let (ended, log) = server.stop();
        assert!(ended.success(), "{log}");
        let span = |request: &str| line(&log, request)["span"].clone();
        for request in ["key", "user", "refused"] {
            assert_eq!(span(request)["client"], "203.0.113.7", "{log}");
        }
        assert_eq!(span("key")["key"], id.as_str());
        assert_eq!(span("user")["user"], "anna key=forged");
        assert_eq!(
            (&span("user")["key"], &span("refused")["key"]),
            (&Value::Null, &Value::Null)
        );
        assert!(
            !log.contains(&reader) && !log.contains("unroof_guess"),
            "{log}"
        );
        // A service that is asked to stop writes what it knows first.
        let rows = wait_for(refused_rows(&store));
        let mut reasons: Vec<_> = rows.iter().map(|row| row.subject.as_str()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, ["scope", "scope", "unknown_key"]);
        let used = wait_for(store.keys(None, 1)).unwrap()[0].last_used_at;
        assert!(used.is_some());
    });
}
