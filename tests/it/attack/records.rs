//! Small faults of what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::clock::Clock;

use super::withdrawal::{Service, now, priced};
use crate::server::run;
use crate::support::{
    Api, NOW, TestDatabase, on_each_database, on_each_database_blocking, on_postgres, sheet_of,
    wait_for, with,
};

#[test]
fn a_price_that_is_stated_from_1970_on_is_of_that_day_and_one_without_a_start_is_not() {
    on_each_database_blocking(|database| {
        let service = Service::start(database);
        let stated = with(
            sheet_of("m-1"),
            "/valid_from",
            json!("1970-01-01T00:00:00Z"),
        );
        let over = |sheet| with(sheet, "/valid_to", json!("2020-01-01T00:00:00Z"));
        service.sees(&stated, "");
        service.sees(&over(sheet_of("m-2")), "");
        for (model, start) in [("m-1", json!("1970-01-01T00:00:00Z")), ("m-2", Value::Null)] {
            let path = format!("/offers/acme/{model}/history");
            let rows = service.rows(&path);
            assert_eq!(rows[0]["valid_from"], start, "{rows:?}");
            let csv = service
                .client
                .get(service.url(&path))
                .header("accept", "text/csv");
            let csv = csv.call().unwrap().body_mut().read_to_string().unwrap();
            let line = csv.lines().nth(1).unwrap();
            assert_eq!(
                line.contains("1970-01-01T00:00:00Z"),
                !start.is_null(),
                "{csv}"
            );
        }
        // One catalog may state both of an offer: they are not one sheet that is priced twice.
        let offer = |price: &str| with(priced(price), "/model", json!("m-3"));
        let from_1970 = with(offer("2"), "/valid_from", json!("1970-01-01T00:00:00Z"));
        let outcomes = service.import(&json!([over(from_1970), offer("3")]));
        assert!(!outcomes.contains(&"refused".to_owned()), "{outcomes:?}");
        assert_eq!(service.rows("/offers/acme/m-3/history").len(), 2);
        if database.name == "PostgreSQL" {
            let unknown = "SELECT count(*) FROM reporting.price_history WHERE starts_at IS NULL";
            assert_eq!(wait_for(database.number(unknown)), 1);
        }
    });
}

/// A replica whose clock can be set.
async fn replica(database: &TestDatabase, seconds_ahead: &Arc<AtomicI64>) -> Api {
    let now: Timestamp = NOW.parse().unwrap();
    let ahead = Arc::clone(seconds_ahead);
    let clock = Clock::new(move || now + ahead.load(Ordering::Relaxed).seconds());
    Api::new(App::new(database.store().await, clock, Limits::default()))
}

/// The estimate that is the latest by this replica, which caches a version for a quarter of a second.
async fn latest(api: &Api) -> Vec<Value> {
    tokio::time::sleep(Duration::from_millis(300)).await;
    let rows = api.get("/estimates/latest").await.rows();
    rows.iter().map(|row| row["id"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_stored_by_a_clock_that_was_ahead_is_in_force() {
    on_each_database(async |database: &TestDatabase| {
        let (right, fast) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(3600)));
        // In a file it is one replica, whose clock was ahead and is put right.
        let ahead = replica(database, &fast).await;
        let other = replica(database, &right).await;
        let first = json!(ahead.store(&priced("1")).await);
        let second = json!(ahead.store(&priced("2")).await);
        assert_ne!(first, second);
        for api in [&ahead, &other] {
            assert_eq!(latest(api).await, std::slice::from_ref(&second));
        }
        fast.store(0, Ordering::Relaxed);
        assert_eq!(latest(&ahead).await, std::slice::from_ref(&second));
        // What is seen later replaces it at once, though by this clock it is seen before.
        let third = json!(other.store(&priced("3")).await);
        for api in [&ahead, &other] {
            assert_eq!(latest(api).await, std::slice::from_ref(&third));
        }
        let sheets = other.get("/price-sheets").await.rows();
        let id = sheets[0]["id"].as_str().unwrap();
        let path = format!("/price-sheets/{id}/withdraw");
        let reply = other.post(&path, json!({"reason": "a"}).to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        assert_eq!(latest(&other).await, [second], "what held before");
        // Seen again.
        assert!(other.infer(&priced("3")).await.status.is_success());
        assert_eq!(latest(&other).await, [third]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_records_no_time_that_the_database_has_not_reached() {
    on_postgres(async |database: &TestDatabase| {
        let ahead = Clock::new(|| now() + 24.hours());
        let replica = App::new(database.store().await, ahead, Limits::default());
        let id = Api::new(replica).store(&priced("1")).await;
        let other = App::new(database.store().await, Clock::system(), Limits::default());
        let other = Api::new(other);
        for list in ["/price-sheets", "/estimates", "/estimates/latest"] {
            let rows = other.get(&format!("{list}?as_of={}", now())).await.rows();
            assert_eq!(rows.len(), 1, "{list}");
        }
        let path = format!("/estimates/{id}?as_of={}", now());
        assert_eq!(other.get(&path).await.status, StatusCode::OK);
    })
    .await;
}

/// `ann:s@c/r:t`, as RFC 7617 has it.
const AUTHORIZATION: &str = "Basic YW5uOnNAYy9yOnQ=";

async fn catalog(headers: HeaderMap) -> axum::response::Response {
    if headers
        .get("authorization")
        .is_none_or(|value| value != AUTHORIZATION)
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let entry = json!({"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6,
                       "output_cost_per_token": 4e-6});
    json!({"acme/m-1": entry}).to_string().into_response()
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_in_the_address_of_a_catalog_are_used_and_never_shown() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/catalog.json", get(catalog))
        .route("/moved", get(async || Redirect::temporary("/catalog.json")));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    tokio::task::block_in_place(|| {
        let database = TestDatabase::sqlite();
        let import = |address: &str| {
            run(&[
                "import",
                "--allow-private",
                "--database-url",
                &database.url,
                "--json",
                address,
            ])
        };
        for path in ["catalog.json", "moved"] {
            let ended = import(&format!("http://ann:s%40c%2Fr%3At@{host}/{path}"));
            assert_eq!(ended.code, Some(0), "{path}: {}{}", ended.out, ended.err);
        }
        let refused = import(&format!("http://ann:s3cret@{host}/catalog.json"));
        assert_eq!(refused.code, Some(1), "{}", refused.err);
        assert!(refused.err.contains("401"), "{}", refused.err);
        assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
        let sources = "SELECT DISTINCT source FROM imports ORDER BY source";
        let sources = wait_for(database.texts(sources));
        let expected = ["catalog.json", "moved"].map(|path| format!("http://{host}/{path}"));
        assert_eq!(sources, expected);
    });
}
