//! Prices that come into force or run out are made known once.

use jiff::Timestamp;
use serde_json::json;
use unroof_store::ChangeFilter;

use super::{from, priced, seen};
use crate::support::{TestDatabase, on_each_database, with};

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_starts_or_expires_is_announced_by_one_replica() {
    on_each_database(async |database: &TestDatabase| {
        let (api, replicas) = (
            database.api().await,
            [database.store().await, database.store().await],
        );
        seen(&api, &priced("2"), "2026-06-01T00:00:00Z").await;
        let promotion = with(
            from(priced("1"), "2026-12-01T00:00:00Z"),
            "/valid_to",
            json!("2026-12-24T00:00:00Z"),
        );
        seen(&api, &promotion, "2026-07-01T00:00:00Z").await;
        let only = with(
            from(priced("4"), "2026-12-01T00:00:00Z"),
            "/valid_to",
            json!("2027-01-01T00:00:00Z"),
        );
        seen(
            &api,
            &with(only, "/model", json!("m-2")),
            "2026-07-01T00:00:00Z",
        )
        .await;
        let reported = async |time: &str| {
            let since = replicas[0].version().await.unwrap();
            let (one, other) = tokio::join!(
                replicas[0].announce_due_prices(at(time)),
                replicas[1].announce_due_prices(at(time))
            );
            one.unwrap();
            other.unwrap();
            let changes = replicas[0]
                .changes(&ChangeFilter::default(), since, 100)
                .await
                .unwrap();
            let mut reported: Vec<String> = changes
                .iter()
                .map(|row| format!("{} {}", row.kind.name(), row.model))
                .collect();
            reported.sort();
            reported
        };
        assert_eq!(
            replicas[0].next_due().await.unwrap(),
            Some(at("2026-12-01T00:00:00Z"))
        );
        assert!(reported("2026-11-30T23:59:59Z").await.is_empty());
        assert_eq!(
            reported("2026-12-01T00:00:00Z").await,
            ["price.changed m-1", "price.changed m-2"]
        );
        // The price before the promotion is back.
        assert_eq!(
            reported("2026-12-24T00:00:00Z").await,
            ["price.changed m-1"]
        );
        assert_eq!(
            reported("2027-06-01T00:00:00Z").await,
            ["price.expired m-2"]
        );
        assert!(reported("2027-06-01T00:00:00Z").await.is_empty());
        assert_eq!(replicas[0].next_due().await.unwrap(), None);
    })
    .await;
}
