//! Budgets that all replicas share.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::Method;
use jiff::SignedDuration;
use unroof_store::access::Scope;
use unroof_edge::limit::limits::{ClientLimits, Limits};
use unroof_store::{ClientCharge, Store};

use super::{get, key, post, service_within};
use crate::server::run;
use crate::support::{TestDatabase, clock, on_each_database, sheet};

fn shared(burst: u32) -> Limits {
    Limits {
        client: Some(ClientLimits {
            rate: NonZeroU32::MIN,
            burst: NonZeroU32::new(burst).unwrap(),
            is_shared: true,
        }),
        ..Limits::default()
    }
}

/// Charges a client seconds, of a hundred, some seconds from now.
async fn charge(store: &Store, client: &str, seconds: u64, later: i64) -> Option<u64> {
    let charge = ClientCharge {
        client,
        at: clock().now() + SignedDuration::from_secs(later),
        cost: Duration::from_secs(seconds),
        whole: Duration::from_secs(100),
    };
    let whole_in = store.charge_client(charge).await.unwrap();
    whole_in.map(|time| time.as_secs())
}

#[tokio::test]
async fn a_budget_in_the_database_is_spent_by_all_and_comes_back_with_time() {
    on_each_database(async |database| {
        let [one, other] = [database.store().await, database.store().await];
        assert_eq!(charge(&one, "anna", 70, 0).await, Some(70));
        assert_eq!(charge(&other, "anna", 30, 0).await, Some(100));
        assert_eq!(charge(&one, "anna", 1, 0).await, None);
        assert_eq!(charge(&one, "ben", 100, 0).await, Some(100));
        assert_eq!(charge(&other, "anna", 20, 19).await, None);
        assert_eq!(charge(&other, "anna", 20, 20).await, Some(100));
        assert_eq!(charge(&one, "anna", 1, 1000).await, Some(1));
        let now = |later| clock().now() + SignedDuration::from_secs(later);
        assert_eq!(one.forget_clients(now(99)).await.unwrap(), 0);
        assert_eq!(one.forget_clients(now(100)).await.unwrap(), 1);
        let left = database.number("SELECT count(*) FROM client_limits").await;
        assert_eq!(left, 1);
    })
    .await;
}

#[tokio::test]
async fn replicas_share_the_budget_of_a_client_and_unchanged_answers_cost_none() {
    on_each_database(async |database| {
        let (one, store) = service_within(database, None, shared(43)).await;
        let (other, _) = service_within(database, None, shared(43)).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let reader = key(&store, "reader", Scope::Read).await;
        for api in [&one, &other] {
            let answer = post(api, "/infer?store=false", &asker, &sheet()).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let third = post(&other, "/infer?store=false", &asker, &sheet()).await;
        assert_eq!(third.header("retry-after"), Some("20"));
        third.problem(429);
        let first = get(&one, "/estimates", &reader).await;
        assert_eq!(first.header("ratelimit"), Some("\"default\";r=42;t=1"));
        let bearer = format!("Bearer {reader}");
        let known = first.header("etag").unwrap();
        let headers = [("authorization", bearer.as_str()), ("if-none-match", known)];
        for _ in 0..100 {
            let same = one.ask(Method::GET, "/estimates", &headers).await;
            assert_eq!(same.status, 304);
        }
        let next = get(&one, "/estimates", &reader).await;
        assert_eq!(next.header("ratelimit"), Some("\"default\";r=41;t=2"));
        let headers = [headers[0], ("if-none-match", "\"0\"")];
        let changed = other.ask(Method::GET, "/estimates", &headers).await;
        assert_eq!(changed.status, 200);
        assert_eq!(changed.header("ratelimit"), Some("\"default\";r=40;t=3"));
    })
    .await;
}

#[tokio::test]
async fn without_the_database_each_replica_limits_for_itself() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, Some(Scope::Read), shared(5)).await;
        let path = "/reference/accelerators";
        assert_eq!(api.get(path).await.status, 200);
        store.close().await;
        let mut statuses = Vec::new();
        for _ in 0..8 {
            statuses.push(api.get(path).await.status.as_u16());
        }
        assert_eq!(statuses[..3], [200; 3]);
        assert!(statuses.contains(&429), "{statuses:?}");
    })
    .await;
}

#[test]
fn an_sqlite_file_has_no_replicas_to_share_limits_with() {
    let database = TestDatabase::sqlite();
    let serve = ["serve", "--database-url", &database.url, "--limits"];
    let refused = run(&[&serve[..], &["shared"]].concat());
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("needs PostgreSQL"), "{}", refused.err);
    assert_eq!(run(&[&serve[..], &["none"]].concat()).code, Some(2));
}
