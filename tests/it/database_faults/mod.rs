//! Behaviour while the database is unreachable, frozen, slow, locked or starting.

pub(crate) mod cluster;
mod embedded;
mod link;
mod locks;
pub(crate) mod proxy;
mod server;

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::json;
use tokio::task::JoinHandle;
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::{Store, StoreLimits};

use crate::support::{Api, Reply, clock, sheet_of};

/// For an answer that takes a second or a few, on a machine that is busy with something else; by itself a pool waits for 30.
const SOON: Duration = Duration::from_secs(12);
/// Longest time until a database that is back is used again.
const BACK_IN: Duration = Duration::from_secs(5);

/// A version that was asked for, or could not be, is cached for a quarter of a second.
const VERSION_IS_CACHED: Duration = Duration::from_millis(300);

/// A replica with the limits that it has when none are given, and the tables brought up to date on another way.
async fn replica(url: &str, limits: StoreLimits) -> (Api, Store) {
    let (app, store) = app(url, limits).await;
    // As the server does; it ends with the test.
    tokio::spawn(app.jobs().clone().follow_changes());
    (Api::new(app), store)
}

/// A replica of which nothing but requests reaches the database.
async fn quiet_replica(url: &str, limits: StoreLimits) -> (Api, Store) {
    let (app, store) = app(url, limits).await;
    (Api::new(app), store)
}

async fn app(url: &str, limits: StoreLimits) -> (App, Store) {
    let store = Store::open(&url.parse().unwrap(), limits).await.unwrap();
    (App::new(store.clone(), clock(), Limits::default()), store)
}

/// Waits for an answer, which must come soon.
async fn soon(reply: impl Future<Output = Reply>) -> Reply {
    let began = Instant::now();
    let reply = reply.await;
    assert!(
        began.elapsed() < SOON,
        "after {:?}: {reply:?}",
        began.elapsed()
    );
    reply
}

/// Asks for so many lists at once, none of which was asked for before.
fn ask_at_once(api: &Api, count: usize) -> Vec<JoinHandle<Reply>> {
    let ask = |number: usize| {
        let api = api.clone();
        tokio::spawn(
            async move { soon(api.get(&format!("/estimates?limit={}", number + 1))).await },
        )
    };
    (0..count).map(ask).collect()
}

/// Requests fail soon while the database is unreachable; others continue.
async fn assert_unavailable(api: &Api) {
    tokio::time::sleep(VERSION_IS_CACHED).await;
    let refusals = [
        soon(api.get("/readyz")).await,
        soon(api.get("/estimates?provider=never-requested")).await,
        soon(api.infer(&sheet_of("not-stored"))).await,
    ];
    for refusal in refusals {
        let problem = refusal.problem(503);
        assert_eq!(problem["type"], "/problems/unavailable", "{problem}");
        assert_eq!(refusal.header("retry-after"), Some("1"));
    }
    assert_eq!(api.get("/healthz").await.status, StatusCode::OK);
    let computed = api
        .post("/infer?store=false", sheet_of("m").to_string())
        .await;
    assert_eq!(computed.status, StatusCode::OK, "{}", computed.text());
}

/// Time until a write is refused, the median of five: a machine that is busy with something else delays some of them.
async fn refused_after(api: &Api) -> Duration {
    let mut times = Vec::new();
    for number in 0..5 {
        tokio::time::sleep(VERSION_IS_CACHED).await;
        let began = Instant::now();
        soon(api.infer(&sheet_of(&format!("refused {number}"))))
            .await
            .problem(503);
        times.push(began.elapsed());
    }
    times.sort();
    times[2]
}

/// Cached responses are still returned, marked as stale.
async fn assert_stale(api: &Api, path: &str, known: &Reply) {
    let stale = soon(api.get(path)).await;
    assert_eq!((stale.status, stale.text()), (StatusCode::OK, known.text()));
    assert_eq!(stale.header("etag"), known.header("etag"));
    let mark = stale.header("cache-status").unwrap_or_default();
    assert!(mark.contains("fwd=stale"), "{mark}");
}

/// The database is back, soon and for all at once.
async fn assert_recovers(api: &Api) {
    let began = Instant::now();
    while api.get("/readyz").await.status != StatusCode::OK {
        assert!(began.elapsed() < BACK_IN, "it does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Pages that no test has asked for before, and short ones: all are answered in time beside other work.
    let asked = (0..20).map(|number| {
        let api = api.clone();
        tokio::spawn(async move { api.get(&format!("/estimates?limit={}", number + 200)).await })
    });
    for reply in asked.collect::<Vec<_>>() {
        let reply = reply.await.unwrap();
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        assert!(reply.header("cache-status").is_none());
    }
    let sheet = sheet_of(&format!("stored-after-{:?}", began));
    assert_eq!(api.infer(&sheet).await.status, StatusCode::CREATED);
    assert_eq!(api.get("/healthz").await.json(), json!({"status": "ok"}));
}
