//! Tables locked by another connection, and connections that all are in use.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use sqlx::{Connection, PgConnection};
use unroof_store::StoreLimits;

use super::{ask_at_once, assert_recovers, replica, soon};
use crate::support::{TestDatabase, on_postgres, sheet_of};

/// Four lists wait two seconds for the lock, four one second for a connection; then the rest fail.
const ALL_REFUSED_IN: Duration = Duration::from_secs(5);

/// A connection that holds the table of estimates.
async fn lock_estimates(database: &TestDatabase) -> PgConnection {
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let lock = "BEGIN; LOCK TABLE estimates IN ACCESS EXCLUSIVE MODE";
    let locking = sqlx::raw_sql(lock).execute(&mut connection);
    locking.await.unwrap();
    connection
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_table_holds_up_nothing_but_what_needs_it() {
    on_postgres(async |database| {
        let (api, store) = replica(&database.url, StoreLimits::default()).await;
        store.migrate().await.unwrap();
        api.store(&sheet_of("known")).await;
        let mut other = lock_estimates(database).await;
        let asked_at = Instant::now();
        let waiting = ask_at_once(&api, 6);
        let write = {
            let api = api.clone();
            tokio::spawn(async move { soon(api.infer(&sheet_of("second"))).await })
        };
        let sheets = soon(api.get("/price-sheets")).await;
        assert_eq!(sheets.rows().len(), 1);
        assert_eq!(soon(api.get("/readyz")).await.status, StatusCode::OK);
        assert!(asked_at.elapsed() <= Duration::from_secs(2));
        for reply in waiting {
            reply.await.unwrap().problem(503);
        }
        write.await.unwrap().problem(503);
        assert!(asked_at.elapsed() <= ALL_REFUSED_IN);
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        assert_recovers(&api).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_connections_are_in_use_other_requests_fail_soon() {
    on_postgres(async |database| {
        let limits = StoreLimits {
            connections: 4,
            ..StoreLimits::default()
        };
        let (api, store) = replica(&database.url, limits).await;
        store.migrate().await.unwrap();
        let mut other = lock_estimates(database).await;
        let asked_at = Instant::now();
        let waiting = ask_at_once(&api, 64);
        tokio::time::sleep(Duration::from_millis(100)).await;
        // A machine that is busy with something else delays some.
        let mut times = Vec::new();
        for _ in 0..9 {
            let began = Instant::now();
            assert_eq!(api.get("/healthz").await.status, StatusCode::OK);
            times.push(began.elapsed());
        }
        times.sort();
        assert!(times[4] <= Duration::from_millis(50), "{times:?}");
        for reply in waiting {
            reply.await.unwrap().problem(503);
        }
        assert!(asked_at.elapsed() <= ALL_REFUSED_IN);
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        assert_recovers(&api).await;
    })
    .await;
}
