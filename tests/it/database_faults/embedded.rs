//! Another process at work on the file of the embedded database.

use axum::http::StatusCode;
use sqlx::{Connection, SqliteConnection};
use unroof_store::StoreLimits;

use super::{replica, soon};
use crate::support::{TestDatabase, sheet_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_locked_by_another_process_is_read_and_a_write_is_refused_for_now() {
    let database = TestDatabase::sqlite();
    let (api, store) = replica(&database.url, StoreLimits::default()).await;
    store.migrate().await.unwrap();
    api.store(&sheet_of("known")).await;
    let mut other = SqliteConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("BEGIN EXCLUSIVE")
        .execute(&mut other)
        .await
        .unwrap();
    let writes: Vec<_> = (0..4)
        .map(|number| {
            let api = api.clone();
            tokio::spawn(async move { soon(api.infer(&sheet_of(&format!("m-{number}")))).await })
        })
        .collect();
    assert_eq!(soon(api.get("/estimates")).await.rows().len(), 1);
    assert_eq!(soon(api.get("/readyz")).await.status, StatusCode::OK);
    for write in writes {
        let refusal = write.await.unwrap();
        refusal.problem(503);
        assert_eq!(refusal.header("retry-after"), Some("1"));
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(
        api.infer(&sheet_of("m-0")).await.status,
        StatusCode::CREATED
    );
}
