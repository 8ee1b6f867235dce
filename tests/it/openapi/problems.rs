//! The refusals that all routes share, recorded for the API document.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, header};
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::access::Scope;

use crate::access::limits::budget;
use crate::access::{key, service, service_within};
use crate::support::{Api, TestDatabase, clock, sheet, with};

/// A refusal by its status, for all routes where it has nothing of the route.
pub(super) async fn shared_problems() -> BTreeMap<String, Value> {
    let limits = Limits {
        body_time: Duration::from_millis(10),
        ..Limits::default()
    };
    let database = TestDatabase::sqlite();
    let api = database.api_within(limits).await;
    let post = |path: &str, media_type: &str, body: Body| {
        let request = Request::post(path).header(header::CONTENT_TYPE, media_type);
        request
            .header("x-request-id", "request-1")
            .body(body)
            .unwrap()
    };
    let sheets = api.infer(&sheet()).await.json();
    let withdraw = format!(
        "/price-sheets/{}/withdraw",
        sheets["price_sheets"][0]["id"].as_str().unwrap()
    );
    let dearer = with(sheet(), "/rates/0/input", json!("2.50"));
    assert!(api.infer(&dearer).await.status.is_success());
    let endless = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    let requests = [
        post("/infer", "application/json", "{".into()),
        post("/infer", "application/json", Body::from_stream(endless)),
        post(
            "/infer",
            "application/json",
            " ".repeat(1024 * 1024 + 1).into(),
        ),
        post("/infer", "text/plain", "{}".into()),
        post(
            &withdraw,
            "application/json",
            json!({"reason": "a typing error"}).to_string().into(),
        ),
    ];
    let mut problems = BTreeMap::new();
    for request in requests {
        let reply = api.send(request).await;
        problems.insert(reply.status.as_str().to_owned(), reply.json());
    }
    let store = database.store().await;
    let closed = Api::new(App::new(store.clone(), clock(), Limits::default()));
    store.close().await;
    let request = Request::get("/estimates").header("x-request-id", "request-1");
    let reply = closed.send(request.body(Body::empty()).unwrap()).await;
    problems.insert(reply.status.as_str().to_owned(), reply.json());
    let database = TestDatabase::sqlite();
    let (api, store) = service(&database, None).await;
    let reader = key(&store, "dashboard", Scope::Read).await;
    for authorization in [None, Some(format!("Bearer {reader}"))] {
        let mut request = post("/infer", "application/json", "{}".into());
        if let Some(authorization) = authorization {
            let authorization = authorization.parse().unwrap();
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, authorization);
        }
        let reply = api.send(request).await;
        problems.insert(reply.status.as_str().to_owned(), reply.json());
    }
    let (api, _) = service_within(&database, Some(Scope::Read), budget(1)).await;
    api.get("/estimates").await;
    let request = Request::get("/estimates").header("x-request-id", "request-1");
    let reply = api.send(request.body(Body::empty()).unwrap()).await;
    problems.insert(reply.status.as_str().to_owned(), reply.json());
    problems
}
