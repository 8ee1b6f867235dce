//! Faults of the link between the service and PostgreSQL.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use unroof_store::StoreLimits;

use super::proxy::{Link, Proxy};
use super::{
    ask_at_once, assert_recovers, assert_stale, assert_unavailable, quiet_replica, refused_after,
    replica, soon,
};
use crate::server::{Server, client, get};
use crate::support::{TestDatabase, clock, on_postgres, sheet_of, with};

/// A replica behind a proxy, with an estimate stored and listed.
async fn behind_proxy(database: &TestDatabase) -> (Proxy, crate::support::Api) {
    let proxy = Proxy::to(&database.url, Link::Open).await;
    let (api, store) = replica(&proxy.url(&database.url), StoreLimits::default()).await;
    store.migrate().await.unwrap();
    api.store(&sheet_of("known")).await;
    (proxy, api)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_cut_costs_a_second_and_what_was_read_is_still_answered() {
    on_postgres(async |database| {
        let (proxy, api) = behind_proxy(database).await;
        let known = api.get("/estimates").await;
        // What was read before the last write counts as well.
        api.store(&sheet_of("second")).await;
        proxy.set(Link::Closed);
        assert_unavailable(&api).await;
        // A second for a connection; nothing is computed.
        let taken = refused_after(&api).await;
        assert!(taken <= Duration::from_millis(1_200), "{taken:?}");
        assert_stale(&api, "/estimates", &known).await;
        proxy.set(Link::Open);
        assert_recovers(&api).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_which_nothing_passes_costs_no_more_and_no_place_in_the_pool() {
    on_postgres(async |database| {
        let (proxy, api) = behind_proxy(database).await;
        let known = api.get("/estimates").await;
        for _ in 0..3 {
            proxy.set(Link::Frozen);
            // More requests than the pool has connections.
            let asked = ask_at_once(&api, 24);
            for reply in asked {
                reply.await.unwrap().problem(503);
            }
            assert_unavailable(&api).await;
            let taken = refused_after(&api).await;
            assert!(taken <= Duration::from_secs(3), "{taken:?}");
            assert_stale(&api, "/estimates", &known).await;
            proxy.set(Link::Open);
            assert_recovers(&api).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_with_two_hundred_milliseconds_of_delay_works() {
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Open).await;
        let url = proxy.url(&database.url);
        let (api, store) = quiet_replica(&url, StoreLimits::default()).await;
        store.migrate().await.unwrap();
        // As the jobs of a service do when it starts.
        store.time_to_record(clock().now()).await;
        proxy.set(Link::Slow(Duration::from_millis(200)));
        // For the first write of a connection, every statement is prepared.
        let dearer = with(sheet_of("far away"), "/rates/0/input", json!("1.50"));
        for sheet in [sheet_of("far away"), dearer] {
            let stored = api.infer(&sheet).await;
            assert_eq!(stored.status, StatusCode::CREATED, "{}", stored.text());
        }
        // As many as there are connections are answered. Of twice as many some may be refused, and all are
        // answered when they do.
        for reply in ask_at_once(&api, 16) {
            assert!(!reply.await.unwrap().rows().is_empty());
        }
        for (number, reply) in ask_at_once(&api, 32).into_iter().enumerate() {
            let mut reply = reply.await.unwrap();
            while reply.status != StatusCode::OK {
                reply.problem(503);
                reply = soon(api.get(&format!("/estimates?limit={}", number + 1))).await;
            }
            assert!(!reply.rows().is_empty());
        }
        proxy.set(Link::Open);
        assert_recovers(&api).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_in_the_middle_is_a_503_and_its_connection_is_not_used_again() {
    on_postgres(async |database| {
        let (proxy, api) = behind_proxy(database).await;
        let whole = api.get("/estimates").await;
        for limit in 1..=6 {
            proxy.set(Link::HalfAnswer);
            let cut = soon(api.get(&format!("/estimates?limit={limit}"))).await;
            cut.problem(503);
            assert_eq!(cut.header("retry-after"), Some("1"));
            let refused = soon(api.infer(&sheet_of(&format!("cut {limit}")))).await;
            refused.problem(503);
            proxy.set(Link::Open);
            let began = Instant::now();
            let next = loop {
                let next = api.get(&format!("/estimates?limit={limit}")).await;
                // The version is not asked for again at once after a failure.
                if next.status == StatusCode::OK || began.elapsed() > Duration::from_secs(5) {
                    break next;
                }
            };
            assert_eq!(next.rows(), whole.rows());
        }
        assert_recovers(&api).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_leave_at_any_moment_leave_no_transaction_open() {
    on_postgres(async |database| {
        let (proxy, api) = behind_proxy(database).await;
        proxy.set(Link::Slow(Duration::from_millis(50)));
        let leave = |number: u32| {
            let api = api.clone();
            let wanted_for = number * Duration::from_millis(15);
            tokio::spawn(async move {
                let sheet = sheet_of(&format!("left {number}"));
                let _ = tokio::time::timeout(wanted_for, api.infer(&sheet)).await;
            })
        };
        let left: Vec<_> = (0..100).map(leave).collect();
        for left in left {
            left.await.unwrap();
        }
        proxy.set(Link::Open);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut direct = PgConnection::connect(&database.url).await.unwrap();
        let open = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        let open: i64 = sqlx::query_scalar(open)
            .fetch_one(&mut direct)
            .await
            .unwrap();
        assert_eq!(open, 0);
        assert_recovers(&api).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_started_before_its_database_waits_for_it() {
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Closed).await;
        let url = proxy.url(&database.url);
        tokio::task::block_in_place(|| {
            let server = Server::start_with(&[
                "--database-url",
                &url,
                "--listen",
                "127.0.0.1:0",
                "--examples",
            ]);
            let client = client();
            let status = |path: &str| get(&client, &format!("{}{path}", server.address)).0;
            assert_eq!(status("/healthz"), 200);
            for path in ["/readyz", "/estimates"] {
                let began = Instant::now();
                assert_eq!(status(path), 503, "{path}");
                assert!(began.elapsed() < super::SOON);
            }
            let log = server.wait_for_log("the database is not ready");
            assert!(log.contains("refused"), "{log}");
            proxy.set(Link::Open);
            let began = Instant::now();
            while status("/readyz") != 200 {
                assert!(began.elapsed() < super::BACK_IN, "{}", server.log());
                std::thread::sleep(Duration::from_millis(20));
            }
            server.wait_for_log("loaded the example sheets");
            assert_eq!(status("/estimates/latest"), 200);
            let (ended, log) = server.stop();
            assert!(ended.success(), "{log}");
            // Once for the whole time, not once for every try.
            assert_eq!(log.matches("the database is not ready").count(), 1, "{log}");
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_waits_for_its_database_stops_when_it_is_asked_to() {
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Frozen).await;
        let url = proxy.url(&database.url);
        tokio::task::block_in_place(|| {
            let server = Server::start_with(&["--database-url", &url, "--listen", "127.0.0.1:0"]);
            let (ended, log) = server.stop();
            assert!(ended.success(), "{log}");
        });
    })
    .await;
}
