//! Catalogs that are pulled again and again: conditionally, by one replica, and with every run on record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use unroof_edge::Limits;
use unroof_jobs::Refresh;
use unroof_server::App;
use unroof_store::{ImportOrder, ImportRow, ImportSelection, Store};

use super::catalog;
use crate::changes::webhooks::Hand;
use crate::support::{TestDatabase, clock, on_each_database};

/// A catalog's server: counts what it is asked for, and knows its own version.
#[derive(Clone, Default)]
struct Publisher {
    asked: Arc<AtomicUsize>,
    not_modified: Arc<AtomicUsize>,
}

async fn publish(State(publisher): State<Publisher>, headers: HeaderMap) -> Response {
    publisher.asked.fetch_add(1, Ordering::SeqCst);
    if headers
        .get("if-none-match")
        .is_some_and(|tag| tag == "\"one\"")
    {
        publisher.not_modified.fetch_add(1, Ordering::SeqCst);
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([("etag", "\"one\"")], catalog().to_string()).into_response()
}

async fn address_of(publisher: Publisher) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let broken = async || StatusCode::INTERNAL_SERVER_ERROR;
    let router = Router::new()
        .route("/catalog.json", get(publish))
        .route("/broken", get(broken))
        .with_state(publisher);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}

async fn imports(store: &Store) -> Vec<ImportRow> {
    let all = ImportSelection::default();
    let newest = ImportOrder::NEWEST;
    store.imports(&all, newest, None, 100).await.unwrap()
}

/// Lets two replicas refresh at once until there are so many finished runs.
async fn refresh_until(database: &TestDatabase, refresh: &str, runs: usize) -> Vec<String> {
    let refresh: Refresh = refresh.parse().unwrap();
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let app = App::new(database.store().await, clock(), without_models());
        replicas.push(app.jobs().start(std::slice::from_ref(&refresh)));
    }
    let store = database.store().await;
    let mut outcomes = Vec::new();
    for _ in 0..600 {
        let rows = imports(&store).await;
        outcomes = rows
            .iter()
            .map(|row| row.outcome.name().to_owned())
            .collect();
        if outcomes.len() >= runs && !outcomes.iter().any(|outcome| outcome == "running") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Long enough for a second replica to do it again, if it would.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let rows = imports(&store).await;
    assert_eq!(rows.len(), outcomes.len());
    drop(replicas);
    outcomes
}

/// Models would be listed a moment later.
fn without_models() -> Limits {
    Limits {
        skip_models: true,
        refresh_allow_private: true,
        check_every: None,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_pull_once_and_ask_the_next_time_only_for_what_is_new() {
    on_each_database(async |database: &TestDatabase| {
        // In a file there is one process that serves.
        let publisher = Publisher::default();
        let url = address_of(publisher.clone()).await;
        let refresh = format!("litellm={url}/catalog.json@1h");
        let api = database.api().await;
        if database.name == "SQLite" {
            let app = App::new(database.store().await, clock(), without_models());
            let one = app.jobs().start(&[refresh.parse().unwrap()]);
            for _ in 0..600 {
                if api
                    .get("/imports")
                    .await
                    .rows()
                    .iter()
                    .any(|row| row["outcome"] == "done")
                {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drop(one);
        } else {
            assert_eq!(refresh_until(database, &refresh, 1).await, ["done"]);
        }
        assert_eq!(publisher.asked.load(Ordering::SeqCst), 1);
        let runs = api.get("/imports").await.rows();
        assert_eq!(runs[0]["source"], json!(format!("{url}/catalog.json")));
        assert_eq!(
            (&runs[0]["estimated"], &runs[0]["duplicates"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(api.get("/estimates").await.rows().len(), 6);
        // An hour later.
        let earlier = "UPDATE imports SET started_at = '2026-11-21T10:00:00.000000Z'";
        database.execute(earlier).await;
        if database.name == "PostgreSQL" {
            assert_eq!(
                refresh_until(database, &refresh, 2).await,
                ["not_modified", "done"]
            );
            assert_eq!(publisher.not_modified.load(Ordering::SeqCst), 1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_fails_is_on_record_with_its_reason() {
    on_each_database(async |database: &TestDatabase| {
        let url = address_of(Publisher::default()).await;
        for (path, says) in [("broken", "500"), ("nothing-here", "404")] {
            let refresh = format!("litellm={url}/{path}@1h");
            let app = App::new(database.store().await, clock(), without_models());
            let jobs = app.jobs().start(&[refresh.parse().unwrap()]);
            let api = database.api().await;
            let mut error = String::new();
            for _ in 0..200 {
                let runs = api
                    .get(&format!("/imports?source={url}/{path}"))
                    .await
                    .rows();
                if let Some(reason) = runs.first().and_then(|run| run["error"].as_str()) {
                    error = reason.to_owned();
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drop(jobs);
            assert!(error.contains(says) && error.contains(path), "{error}");
        }
    })
    .await;
}

/// Lets a service refresh by a clock until so many runs have ended, and for long enough for another one, if it would.
async fn runs_by(database: &TestDatabase, hand: &Hand, refresh: &str, runs: usize) -> usize {
    let app = App::new(database.store().await, hand.clock(), without_models());
    let _jobs = app.jobs().start(&[refresh.parse().unwrap()]);
    let store = database.store().await;
    let has_ended = |row: &ImportRow| row.ended_at.is_some();
    for _ in 0..600 {
        if imports(&store)
            .await
            .iter()
            .filter(|row| has_ended(row))
            .count()
            >= runs
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    imports(&store).await.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_a_day_ahead_delays_no_pull_and_repeats_none() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, publisher) = (Hand::new(), Publisher::default());
        let url = address_of(publisher.clone()).await;
        let refresh = format!("litellm={url}/catalog.json@1h");
        let day = Duration::from_hours(24);
        hand.advance(day);
        assert_eq!(runs_by(database, &hand, &refresh, 1).await, 1);
        hand.set_back(day);
        assert_eq!(runs_by(database, &hand, &refresh, 2).await, 2);
        assert_eq!(runs_by(database, &hand, &refresh, 2).await, 2);
        hand.advance(Duration::from_hours(1));
        assert_eq!(runs_by(database, &hand, &refresh, 3).await, 3);
        // Clocks of replicas differ by seconds: what another one has just pulled is not pulled again.
        hand.set_back(Duration::from_secs(30));
        assert_eq!(runs_by(database, &hand, &refresh, 3).await, 3);
        assert_eq!(publisher.asked.load(Ordering::SeqCst), 3);
        assert_eq!(publisher.not_modified.load(Ordering::SeqCst), 1);
    })
    .await;
}
