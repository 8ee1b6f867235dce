//! Tables brought up to date by several at once.

use unroof::storage::{Store, StoreLimits};

use crate::server::{run_with, unroof};
use crate::support::{TestDatabase, on_each_database, on_each_database_blocking};

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
