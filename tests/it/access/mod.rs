//! Access: keys and scopes, the audit log, the pages' sign-in, trusted proxies, and the start of a service.

mod audit;
mod keys;
pub(crate) mod limits;
mod pages;
mod questions;
mod refusals;
mod restricted;
mod routes;
mod serve;
mod single_sign_on;
#[cfg(target_os = "linux")]
mod sockets;
mod timing;
mod work;

use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};
use unroof_edge::Access;
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::access::{Actor, NewKey, Only, Scope};
use unroof_store::{NewKeyRow, Store};
use uuid::Uuid;

use crate::support::{Api, Reply, TestDatabase, clock};

/// A service that answers callers with a key.
pub(crate) async fn service(database: &TestDatabase, anonymous: Option<Scope>) -> (Api, Store) {
    service_within(database, anonymous, Limits::default()).await
}

/// A service that answers callers with a key, with limits of its own.
pub(crate) async fn service_within(
    database: &TestDatabase,
    anonymous: Option<Scope>,
    limits: Limits,
) -> (Api, Store) {
    let store = database.store().await;
    let access = Access {
        requires_keys: true,
        anonymous,
        ..Access::default()
    };
    let app = App::new(store.clone(), clock(), limits).allowing(access);
    (Api::new(app), store)
}

/// A key, made as the command line makes it.
pub(crate) async fn key(store: &Store, name: &str, scope: Scope) -> String {
    let key = NewKey::random().unwrap();
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name,
        scope,
        hash: key.hash,
        created_at: clock().now(),
        expires_at: None,
        networks: &Only::ANY,
        providers: &Only::ANY,
    };
    assert!(store.add_key(new, 100, &Actor::COMMAND_LINE).await.unwrap());
    key.text
}

/// A request with a key and a JSON body.
async fn send(api: &Api, method: Method, path: &str, key: &str, body: &Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-request-id", "test-1");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    api.send(request.body(Body::from(body)).unwrap()).await
}

async fn get(api: &Api, path: &str, key: &str) -> Reply {
    send(api, Method::GET, path, key, &json!(null)).await
}

async fn post(api: &Api, path: &str, key: &str, body: &Value) -> Reply {
    send(api, Method::POST, path, key, body).await
}
