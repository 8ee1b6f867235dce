//! Locks that outlive a transaction.

use std::time::Duration;

use unroof_store::{Databases, Store, StoreLimits};

use super::{Pooler, until};
use crate::support::{TestDatabase, on_postgres};

const NAME: &str = "models";

async fn is_free(store: &Store) -> bool {
    store.try_lock(NAME).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_one_process_s_until_it_is_dropped_also_behind_a_pooler() {
    on_postgres(async |database| {
        let one = database.store().await;
        let pooler = Pooler::to(&database.url, 2);
        let by_pooler = Databases {
            direct: Some(database.url.parse().unwrap()),
            ..Databases::at(pooler.url(&database.url).parse().unwrap())
        };
        let other = Store::open_on(&by_pooler, StoreLimits::default());
        let other = other.await.unwrap();
        other.migrate().await.unwrap();
        for (holder, seeker) in [(&one, &other), (&other, &one)] {
            let lock = holder.try_lock(NAME).await.unwrap().unwrap();
            assert!(!is_free(seeker).await && !is_free(holder).await);
            assert!(seeker.try_lock("another").await.unwrap().is_some());
            lock.check().unwrap();
            drop(lock);
            until("the lock is free", async || is_free(seeker).await).await;
            until("and free again", async || is_free(holder).await).await;
            until("nothing is held", async || held(database).await == 0).await;
        }
        // A store that is closed first gives back what was dropped.
        drop(one.try_lock(NAME).await.unwrap().unwrap());
        one.close().await;
        assert_eq!(held(database).await, 0);
    })
    .await;
}

async fn held(database: &TestDatabase) -> i64 {
    database.number("SELECT count(*) FROM locks").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_renewed_and_one_whose_holder_is_gone_expires() {
    on_postgres(async |database| {
        let [one, other] = [database.store().await, database.store().await];
        let lock = one.try_lock(NAME).await.unwrap().unwrap();
        // As if its holder had not renewed it for long.
        let forget = "UPDATE locks SET expires_at = clock_timestamp() + interval '2 seconds'";
        database.execute(forget).await;
        let renewed = "SELECT count(*) FROM locks WHERE expires_at > clock_timestamp() + interval '5 seconds'";
        until("renewed", async || database.number(renewed).await == 1).await;
        assert!(!is_free(&other).await);
        lock.check().unwrap();
        let expire = "UPDATE locks SET expires_at = clock_timestamp() - interval '1 second'";
        database.execute(expire).await;
        let taken = other.try_lock(NAME).await.unwrap().unwrap();
        until("the first holder knows", async || lock.check().is_err()).await;
        drop(lock);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!is_free(&one).await, "a lost lock was released");
        taken.check().unwrap();
    })
    .await;
}
