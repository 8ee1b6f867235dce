//! Readiness: one failure of a probe says nothing, two in a row do.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::server::{LONGEST_WAIT, Server, client, get};
use crate::support::{TestDatabase, on_postgres};

/// Since when which questions wait for a lock.
const WAITING: &str = "
    SELECT activity.query_start::text FROM pg_locks AS lock
    JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
    WHERE NOT lock.granted AND activity.datname = current_database()";

/// Waits until another question than this one waits for a lock, or the answer is there.
async fn wait_for_question(
    connection: &mut PgConnection,
    known: Option<&String>,
    reply: &JoinHandle<u16>,
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
        let database_arguments = ["--database-url", &database.url, "--statement-timeout", "1s"];
        let arguments = [&["--listen", "127.0.0.1:0"], &database_arguments[..]].concat();
        let server = tokio::task::block_in_place(|| Server::start_with(&arguments));
        let url = format!("{}/readyz", server.address);
        let ask = || {
            let url = url.clone();
            tokio::task::spawn_blocking(move || get(&client(), &url).0)
        };
        assert_eq!(ask().await.unwrap(), 200);
        for failures in [1, 2] {
            // What was asked for a quarter of a second ago is cached.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let mut other = PgConnection::connect(&database.url).await.unwrap();
            sqlx::raw_sql("BEGIN; LOCK TABLE store_version IN ACCESS EXCLUSIVE MODE")
                .execute(&mut other)
                .await
                .unwrap();
            let reply = ask();
            let first = wait_for_question(&mut other, None, &reply).await;
            wait_for_question(&mut other, first.as_ref(), &reply).await;
            if failures == 1 {
                sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
            }
            let expected = [200, 503][failures - 1];
            assert_eq!(reply.await.unwrap(), expected, "{failures} failures");
        }
    })
    .await;
}
