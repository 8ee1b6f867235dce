//! Tables brought up to date by several at once.

use serde_json::json;
use unroof::storage::{Store, StoreLimits};

use crate::server::{run_with, unroof};
use crate::support::{TestDatabase, on_each_database, on_each_database_blocking, sheet, with};

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_migrate_at_once_all_start() {
    on_each_database(async |database: &TestDatabase| {
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let url = database.url.parse().unwrap();
                tokio::spawn(async move {
                    let store = Store::open(&url, StoreLimits::default()).await?;
                    store.migrate().await?;
                    store.version().await
                })
            })
            .collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
        // Once more, on tables that are up to date.
        database.store().await.migrate().await.unwrap();
    })
    .await;
}

#[test]
fn processes_that_migrate_at_once_all_end_well() {
    on_each_database_blocking(|database| {
        std::thread::scope(|scope| {
            let starts: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        run_with(
                            &mut unroof(&["migrate", "--database-url", &database.url]),
                            "",
                        )
                    })
                })
                .collect();
            for start in starts {
                let ended = start.join().unwrap();
                assert_eq!(ended.code, Some(0), "{}: {}", database.name, ended.err);
                assert!(ended.out.starts_with("the tables of "), "{}", ended.out);
            }
        });
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn sheets_of_an_older_program_get_their_history_when_the_tables_are_brought_up_to_date() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let priced = |price: &str| with(sheet(), "/rates/0/input", json!(price));
        for (price, at) in [("1", "2026-03-01"), ("2", "2026-06-01")] {
            let path = format!("/infer?observed_at={at}T00:00:00Z");
            api.post(&path, priced(price).to_string()).await.id();
        }
        let (history, latest) = ("/models/acme/m-1/history", "/estimates/latest");
        let before = (api.get(history).await.rows(), api.get(latest).await.rows());
        assert_eq!((before.0.len(), before.1.len()), (2, 1));
        // As migration 0003 leaves what was stored before it.
        let statements = "DELETE FROM price_periods; DELETE FROM statements;
            UPDATE price_sheets SET offer_id = NULL, model_key = NULL; UPDATE estimate_listings SET offer_id = NULL";
        database.execute(statements).await;
        let api = database.api().await;
        assert_eq!((api.get(history).await.rows(), api.get(latest).await.rows()), before);
        assert_eq!(database.number("SELECT count(*) FROM price_sheets WHERE offer_id IS NULL").await, 0);
    })
    .await;
}
