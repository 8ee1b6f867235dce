//! Readiness: one failure of a probe says nothing, two in a row do.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;
use unroof::http::{App, Limits};
use unroof::storage::StoreLimits;

use crate::server::LONGEST_WAIT;
use crate::support::{Api, Reply, TestDatabase, clock, on_postgres};

/// Since when which questions wait for a lock.
const WAITING: &str = "
    SELECT activity.query_start::text FROM pg_locks AS lock
    JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
    WHERE NOT lock.granted AND activity.datname = current_database()";

/// Waits until another question than this one waits for a lock, or the answer is there.
async fn wait_for_question(
    connection: &mut PgConnection,
    known: Option<&String>,
    reply: &JoinHandle<Reply>,
) -> Option<String> {
    let began = Instant::now();
    while !reply.is_finished() {
        let waiting: Vec<String> = sqlx::query_scalar(WAITING)
            .fetch_all(&mut *connection)
            .await
            .unwrap();
        let other = waiting.into_iter().find(|question| Some(question) != known);
        if other.is_some() {
            return other;
        }
        assert!(began.elapsed() < LONGEST_WAIT, "nothing waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_probe_does_not_make_the_service_unready_and_two_do() {
    on_postgres(async |database: &TestDatabase| {
        let limits = StoreLimits {
            statement: Duration::from_secs(1),
            ..StoreLimits::default()
        };
        let store = database.store_within(limits).await;
        let api = Api::new(App::new(store, clock(), Limits::default()));
        assert_eq!(api.get("/readyz").await.status, StatusCode::OK);
        for failures in [1, 2] {
            // What was asked for a quarter of a second ago is believed.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let mut other = PgConnection::connect(&database.url).await.unwrap();
            sqlx::raw_sql("BEGIN; LOCK TABLE store_version IN ACCESS EXCLUSIVE MODE")
                .execute(&mut other)
                .await
                .unwrap();
            let asking = api.clone();
            let reply = tokio::spawn(async move { asking.get("/readyz").await });
            let first = wait_for_question(&mut other, None, &reply).await;
            wait_for_question(&mut other, first.as_ref(), &reply).await;
            if failures == 1 {
                sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
            }
            let reply = reply.await.unwrap();
            let expected = [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE][failures - 1];
            assert_eq!(
                reply.status,
                expected,
                "{failures} failures: {}",
                reply.text()
            );
        }
    })
    .await;
}
