//! Lists from a standby.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use sqlx::{Connection, Executor, PgConnection};
use unroof_store::{Databases, Store};

use super::{replica, until};
use crate::database_faults::cluster::Cluster;
use crate::support::{Api, sheet_of};

/// Lists that were read from the standby, and from the primary in its place.
fn reads(store: &Store) -> (u64, u64) {
    let reads = store.standby_reads().unwrap();
    (reads.standby, reads.primary)
}

/// A list that no request has asked for yet.
async fn models_of(api: &Api, limit: usize) -> Vec<String> {
    let page = api.get(&format!("/price-sheets?limit={limit}")).await;
    let rows = page.rows().into_iter();
    rows.map(|row| row["model"].as_str().unwrap().to_owned())
        .collect()
}

async fn on_standby(standby: &Cluster, sql: &'static str) {
    let mut connection = PgConnection::connect(&standby.url()).await.unwrap();
    connection.execute(sqlx::raw_sql(sql)).await.unwrap();
}

/// Asks for lists until the standby has given one.
async fn until_standby_reads(api: &Api, store: &Store, first: usize) {
    let (before, mut limit) = (reads(store).0, first);
    until("the standby is read from", async || {
        limit += 1;
        models_of(api, limit).await;
        reads(store).0 > before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_from_the_standby_while_it_has_what_they_must_show() {
    let Some(primary) = Cluster::start() else {
        return;
    };
    let standby = Cluster::standby_of(&primary);
    let databases = Databases {
        standby: Some(standby.url().parse().unwrap()),
        ..Databases::at(primary.url().parse().unwrap())
    };
    let (api, store) = replica(&databases).await;
    api.store(&sheet_of("m-0")).await;
    until_standby_reads(&api, &store, 10).await;

    // A standby that lags is not asked for what it does not have.
    on_standby(&standby, "SELECT pg_wal_replay_pause()").await;
    let passed = reads(&store).1;
    for number in 1..6 {
        api.store(&sheet_of(&format!("m-{number}"))).await;
        assert_eq!(models_of(&api, 100 + number).await.len(), number + 1);
    }
    assert!(reads(&store).1 > passed);
    on_standby(&standby, "SELECT pg_wal_replay_resume()").await;
    until_standby_reads(&api, &store, 200).await;
    assert_eq!(models_of(&api, 300).await.len(), 6);

    // Nor is one that is unreachable or frozen; what is asked meanwhile is answered.
    for is_frozen in [false, true] {
        if is_frozen {
            standby.signal("-STOP");
        } else {
            standby.down("immediate");
        }
        for number in 0..8 {
            let began = Instant::now();
            let limit = 400 + number + 10 * usize::from(is_frozen);
            assert_eq!(models_of(&api, limit).await.len(), 6);
            assert!(began.elapsed() < Duration::from_secs(5), "{is_frozen}");
        }
        if is_frozen {
            standby.signal("-CONT");
        } else {
            standby.up();
        }
        until_standby_reads(&api, &store, 500 + 400 * usize::from(is_frozen)).await;
    }
    assert_eq!(api.get("/readyz").await.status, StatusCode::OK);
}
