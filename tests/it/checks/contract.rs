//! Routes: the methods they take, how they refuse, what they do where a handler fails.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::clock::Clock;

use super::{paths_taking, routes, with_query};
use crate::support::{Api, Reply, TestDatabase, clock, on_each_database, sheet};

/// Asked for with a request id of one's own, so that two answers can be compared.
async fn ask(api: &Api, method: Method, path: &str) -> Reply {
    api.ask(method, path, &[("x-request-id", "the-same")]).await
}

/// Headers of an answer without its price, which is lower where the service still knows the answer.
fn contract_headers(reply: &Reply) -> HeaderMap {
    let mut headers = reply.headers.clone();
    headers.remove("unroof-points");
    headers
}

#[tokio::test]
async fn every_path_takes_the_methods_of_the_document_and_names_them_where_it_takes_none_other() {
    let api = TestDatabase::sqlite().api().await;
    for route in routes(&api).await {
        let mut allowed = route.methods.clone();
        if route.takes("GET") {
            allowed.insert("HEAD".to_owned());
        }
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND",
        ] {
            let reply = ask(&api, method.parse().unwrap(), &route.path).await;
            if allowed.contains(method) {
                assert_ne!(
                    reply.status,
                    StatusCode::METHOD_NOT_ALLOWED,
                    "{method} {}",
                    route.path
                );
                continue;
            }
            if method != "HEAD" {
                reply.problem(405);
            }
            assert_eq!(
                reply.status,
                StatusCode::METHOD_NOT_ALLOWED,
                "{method} {}",
                route.path
            );
            let named = reply.header("allow").unwrap_or_default().split(',');
            let named: BTreeSet<String> = named.map(|name| name.trim().to_owned()).collect();
            assert_eq!(named, allowed, "{method} {}", route.path);
        }
    }
}

#[tokio::test]
async fn head_has_the_status_and_every_header_of_get_also_where_it_is_refused() {
    let api = TestDatabase::sqlite().api().await;
    let mut paths = paths_taking(&api, "GET").await;
    paths.extend(["/", "/docs", "/docs/", "/docs/swagger-ui.css"].map(str::to_owned));
    let refused = [
        "/nothing",
        "/docs/nothing",
        "/estimates?limit=0",
        "/estimates/7",
        "/healthz?a=1",
        "/problems/nothing",
    ];
    paths.extend(refused.map(str::to_owned));
    for path in paths {
        let get = ask(&api, Method::GET, &path).await;
        let head = ask(&api, Method::HEAD, &path).await;
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(contract_headers(&head), contract_headers(&get), "{path}");
        assert!(head.body.is_empty(), "{path}: {}", head.text());
    }
}

/// A request with any headers and any body.
async fn send(api: &Api, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.send(request.body(Body::from(body.to_owned())).unwrap())
        .await
}

/// Response to a body that is too large and nested too deep.
fn too_large(path: &str) -> u16 {
    if path == "/catalogs" { 400 } else { 413 }
}

#[tokio::test]
async fn every_route_refuses_every_kind_of_fault_with_a_problem_that_is_not_kept() {
    let api = TestDatabase::sqlite().api().await;
    let json = ("content-type", "application/json");
    let too_much = "[".repeat(1024 * 1024 + 1);
    let mut refusals = Vec::new();
    for route in routes(&api).await {
        let path = route.path.as_str();
        let bare = path.split('?').next().unwrap();
        refusals.push((405, api.ask(Method::PATCH, path, &[]).await));
        refusals.push((404, api.get(&format!("{bare}/nothing/here")).await));
        if route.takes("GET") {
            refusals.push((400, api.get(&with_query(path, "nothing", "1")).await));
            refusals.push((400, api.get(&format!("{bare}?%FF=1")).await));
        }
        if route.has_body {
            let unknown = with_query(path, "nothing", "1");
            for (status, path, headers, body) in [
                (400, unknown.as_str(), vec![json], "{}"),
                (400, path, vec![json], ""),
                (400, path, vec![json], "{"),
                // A catalog may be larger, but not nested deeper.
                (too_large(path), path, vec![json], too_much.as_str()),
                (415, path, vec![], "{}"),
                (415, path, vec![("content-type", "text/plain")], "{}"),
                (415, path, vec![json, ("content-encoding", "gzip")], "{}"),
                (422, path, vec![json], "\"text\""),
                (422, path, vec![json], "[]"),
                (422, path, vec![json], "{\"nothing\": 1}"),
            ] {
                refusals.push((status, send(&api, path, &headers, body).await));
            }
        }
    }
    let mut seen = BTreeSet::new();
    for (status, reply) in refusals {
        let problem = reply.problem(status);
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{problem}");
        seen.insert(status);
    }
    assert_eq!(seen, BTreeSet::from([400, 404, 405, 413, 415, 422]));
}

#[tokio::test]
async fn a_client_that_accepts_no_available_type_gets_the_default() {
    let api = TestDatabase::sqlite().api().await;
    let wishes = [
        "image/png",
        "application/xml;q=1, text/html;q=0.1",
        ";;q=,",
        "*/*;q=0",
    ];
    for path in paths_taking(&api, "GET").await {
        let plain = ask(&api, Method::GET, &path).await;
        for wish in wishes {
            let headers = [("accept", wish), ("x-request-id", "the-same")];
            let reply = api.ask(Method::GET, &path, &headers).await;
            assert_eq!(reply.status, plain.status, "{path}: {wish}");
            assert_eq!(
                contract_headers(&reply),
                contract_headers(&plain),
                "{path}: {wish}"
            );
            assert_eq!(reply.body, plain.body, "{path}: {wish}");
        }
    }
    for path in ["/simulate", "/layout", "/training", "/plan"] {
        for wish in wishes {
            let headers = [("content-type", "application/json"), ("accept", wish)];
            let reply = send(&api, path, &headers, "{}").await;
            assert_eq!(reply.status, StatusCode::OK, "{path}: {wish}");
            assert_eq!(
                reply.header("content-type"),
                Some("application/json"),
                "{path}: {wish}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_is_a_500_without_details_and_the_next_request_is_answered() {
    on_each_database(async |database: &TestDatabase| {
        // The service asks for the time of its start.
        let starts = AtomicBool::new(true);
        let failing = Clock::new(move || {
            assert!(
                starts.swap(false, Ordering::Relaxed),
                "a secret of the clock"
            );
            clock().now()
        });
        let api = Api::new(App::new(database.store().await, failing, Limits::default()));
        // More often than there are connections and permits.
        for _ in 0..24 {
            let reply = api.infer(&sheet()).await;
            let problem = reply.problem(500);
            assert_eq!(problem["type"], "/problems/internal");
            for word in ["secret", "clock", "panic", ".rs"] {
                assert!(!reply.text().contains(word), "{problem}");
            }
        }
        let computed = api.post("/simulate", "{}".to_owned()).await;
        assert_eq!(computed.status, StatusCode::OK);
        assert_eq!(api.get("/readyz").await.status, StatusCode::OK);
        let replica = database.api().await;
        for list in ["/estimates", "/price-sheets"] {
            assert!(
                replica.get(list).await.rows().is_empty(),
                "stored by halves"
            );
        }
        assert_eq!(replica.infer(&sheet()).await.status, StatusCode::CREATED);
    })
    .await;
}
