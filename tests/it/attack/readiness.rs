//! Readiness: one failure of a probe says nothing, two in a row do.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::server::{LONGEST_WAIT, Server, client, get};
use crate::support::{Api, TestDatabase, on_each_database, on_postgres};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_one_of_its_tables_views_or_columns_is_not_ready() {
    // Each undoes the one before.
    const DAMAGES: [(&str, &str, &str); 3] = [
        (
            "ALTER TABLE observations RENAME TO lost",
            "ALTER TABLE lost RENAME TO observations",
            "the table `observations`",
        ),
        (
            "ALTER TABLE imports RENAME COLUMN etag TO tag",
            "ALTER TABLE imports RENAME COLUMN tag TO etag",
            "the column `etag` of `imports`",
        ),
        ("DROP VIEW spellings", "", "the table `spellings`"),
    ];
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        assert_eq!(api.get("/readyz").await.status, 200);
        for (damage, repair, words) in DAMAGES {
            database.execute(damage).await;
            wait_for_status(&api, 503).await;
            let problem = api.get("/readyz").await.problem(503);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(words), "{damage}: {detail}");
            if !repair.is_empty() {
                database.execute(repair).await;
                wait_for_status(&api, 200).await;
            }
        }
    })
    .await;
}

/// Waits until `/readyz` answers with a status: a check counts for a second.
async fn wait_for_status(api: &Api, status: u16) {
    let began = Instant::now();
    while api.get("/readyz").await.status != status {
        assert!(began.elapsed() < LONGEST_WAIT, "still not {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
