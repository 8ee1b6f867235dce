//! A PostgreSQL server that is far away.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use unroof_store::{
    ChangeFilter, ChangeKind, Effect, Listing, Recording, Saved, Store, StoreError, StoreLimits,
};

use crate::changes::Prepared;
use crate::database_faults::proxy::{Link, Proxy};
use crate::server::{Server, client, get, post, wait_until};
use crate::support::{NOW, TestDatabase, on_postgres, sheet_of, with};

const WRITERS: usize = 8;

/// A server behind a proxy, with its tables brought up to date.
async fn far_server(database: &TestDatabase) -> (Proxy, Server) {
    let proxy = Proxy::to(&database.url, Link::Open).await;
    let url = proxy.url(&database.url);
    let server = tokio::task::block_in_place(|| {
        let server = Server::start_with(&["--database-url", &url, "--listen", "127.0.0.1:0"]);
        wait_until_ready(&server);
        server
    });
    (proxy, server)
}

pub(super) fn wait_until_ready(server: &Server) {
    let url = format!("{}/readyz", server.address);
    wait_until("the service is ready", || get(&client(), &url).0 == 200);
}

fn infer(server: &Server, sheet: &Value) -> u16 {
    let sent = post(&client(), &format!("{}/infer", server.address), sheet);
    sent.unwrap().0
}

/// Each writer sends so many sheets that are not there yet; how long they took, and what was not stored.
fn send_all(server: &Server, name: &str, each: usize) -> (Duration, Vec<u16>) {
    let began = Instant::now();
    let send = |writer: usize| {
        let sheet = |number| sheet_of(&format!("{name}-{writer}-{number}"));
        (0..each)
            .map(|number| infer(server, &sheet(number)))
            .filter(|status| *status != 201)
            .collect::<Vec<_>>()
    };
    let refused = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || send(writer)))
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    (began.elapsed(), refused)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_takes_three_round_trips_while_others_wait_for_it() {
    on_postgres(async |database| {
        let (proxy, server) = far_server(database).await;
        proxy.reset_counts();
        tokio::task::block_in_place(|| {
            // The first ones of a connection, too.
            let (_, refused) = send_all(&server, "new", 2);
            assert!(refused.is_empty(), "{refused:?}");
            let again = with(
                sheet_of("new-0-0"),
                "/sources/0/locator",
                json!("another place"),
            );
            assert_eq!(infer(&server, &again), 200);
            let dearer = with(sheet_of("new-0-0"), "/rates/0/input", json!("7.5"));
            assert_eq!(infer(&server, &dearer), 201);
        });
        assert!(proxy.transactions() > 2);
        // One takes the lock.
        assert!(
            proxy.longest_transaction() <= 1 + 3,
            "{}",
            proxy.longest_transaction()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_that_come_into_force_are_made_known_in_three_round_trips_under_the_lock() {
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Open).await;
        let url = proxy.url(&database.url).parse().unwrap();
        let store = Store::open(&url, StoreLimits::default()).await.unwrap();
        store.migrate().await.unwrap();
        let prepared = Prepared::new();
        let to_come: Vec<Recording> = (0..40)
            .map(|number| {
                let mut sheet = prepared.of(&format!("m-{number}")).sheet;
                sheet.valid_from = Some("2026-12-01T00:00:00Z".parse().unwrap());
                prepared.with(sheet)
            })
            .collect();
        let before = store.record(&to_come).await.unwrap().version.unwrap();
        proxy.reset_counts();
        let (then, other) = (
            "2026-12-01T00:00:01Z".parse().unwrap(),
            database.store().await,
        );
        let (one, two) = tokio::join!(
            store.announce_due_prices(then),
            other.announce_due_prices(then)
        );
        one.unwrap();
        two.unwrap();
        assert!(
            proxy.longest_transaction() <= 1 + 3,
            "{}",
            proxy.longest_transaction()
        );
        let changes = store
            .changes(&ChangeFilter::default(), before, 1_000)
            .await
            .unwrap();
        let models: BTreeSet<&str> = changes.iter().map(|change| change.model.as_str()).collect();
        assert_eq!((changes.len(), models.len()), (40, 40));
        assert!(
            changes
                .iter()
                .all(|change| change.kind == ChangeKind::PriceChanged),
            "{changes:?}"
        );
        assert_eq!(store.next_due().await.unwrap(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_twenty_five_milliseconds_away_are_all_served_and_share_their_round_trips() {
    const DELAY: Duration = Duration::from_millis(25);
    const EACH: usize = 5;
    on_postgres(async |database| {
        let (proxy, server) = far_server(database).await;
        tokio::task::block_in_place(|| {
            let (near, refused) = send_all(&server, "near", EACH);
            assert!(refused.is_empty(), "{refused:?}");
            proxy.set(Link::Slow(DELAY));
            let (far, refused) = send_all(&server, "far", EACH);
            assert!(refused.is_empty(), "{refused:?}");
            proxy.set(Link::Open);
            // The machine may be busier now than it was before.
            let (near_again, refused) = send_all(&server, "near again", EACH);
            assert!(refused.is_empty(), "{refused:?}");
            let near = near.max(near_again);
            // What the distance costs: one after another, writes take eleven and more round trips each.
            let writes = u32::try_from(WRITERS * EACH).unwrap();
            let distance = far.saturating_sub(near);
            assert!(
                distance < 6 * writes * DELAY,
                "{near:?}, and far away {far:?}"
            );
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_price_is_compared_with_a_thousand_without_their_documents() {
    // Prices of before, a day each.
    let add = |from: usize, to: usize| {
        format!(
            "INSERT INTO price_sheets (id, sequence, provider, model, region, currency, observed_at, document, offer_id,
                                       model_key, checksum, price_id, cells, states_limits, is_misfit, observed)
             SELECT md5(number::text)::uuid, -number, provider, model, region, currency, observed_at, document, offer_id,
                    model_key, checksum, md5(number::text)::uuid, cells, states_limits, is_misfit, observed
             FROM price_sheets CROSS JOIN generate_series({from}, {to}) AS number WHERE sequence = 1;
             INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog, starts_at,
                                        ends_at, observed_at, has_begun, has_ended, price_id, start_basis,
                                        last_seen_at, is_flagged)
             SELECT -number, 0, offer_id, provider, model, region, md5(number::text)::uuid, 'official',
                    starts_at - (number + 1) * interval '1 day', starts_at - number * interval '1 day', observed_at, true,
                    true, md5(number::text)::uuid, start_basis, last_seen_at, is_flagged
             FROM price_periods CROSS JOIN generate_series({from}, {to}) AS number WHERE sequence = 1;
             INSERT INTO observations (offer_id, source, sheet_id, catalog, first_at, last_at, source_rank)
             SELECT offer_id, source, md5(number::text)::uuid, catalog, first_at - (number + 1) * interval '1 day',
                    first_at - (number + 1) * interval '1 day', source_rank
             FROM observations CROSS JOIN generate_series({from}, {to}) AS number
             WHERE sheet_id IN (SELECT id FROM price_sheets WHERE sequence = 1)"
        )
    };
    on_postgres(async |database| {
        let (proxy, server) = far_server(database).await;
        assert_eq!(
            tokio::task::block_in_place(|| infer(&server, &sheet_of("m"))),
            201
        );
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        let mut read = Vec::new();
        for (from, to) in [(1, 10), (11, 1_000)] {
            let add = sqlx::AssertSqlSafe(add(from, to));
            sqlx::raw_sql(add).execute(&mut connection).await.unwrap();
            // A changed price is compared with what is known of the offer. Pooled connections prepare their statements
            // on the first of them, so that the least is what the statements read.
            let least = tokio::task::block_in_place(|| {
                let bytes = (0..3).map(|cents| {
                    let price = format!("7.{}{cents}", read.len());
                    let changed = with(sheet_of("m"), "/rates/0/input", json!(price));
                    proxy.reset_counts();
                    assert_eq!(infer(&server, &changed), 201, "{}", server.log());
                    proxy.bytes()
                });
                bytes.min().unwrap()
            });
            read.push(least);
        }
        let each = (read[1] - read[0]) / (1_000 - 10);
        assert!((1..600).contains(&each), "{each} bytes a price: {read:?}");
        // The change names the new price.
        let reported = get(&client(), &format!("{}/changes", server.address)).1;
        assert!(
            reported.contains("price.changed") && reported.contains("7.12"),
            "{reported}"
        );
    })
    .await;
}

/// A connection that holds the lock of those who write.
async fn hold_the_lock(database: &TestDatabase) -> PgConnection {
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let lock = "BEGIN; UPDATE store_version SET version = version WHERE id = 1";
    sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
    connection
}

/// Waits until a connection waits for the lock.
async fn wait_for_a_writer(database: &TestDatabase) {
    const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                           AND datname = current_database() AND query LIKE '%store_version%'";
    let began = Instant::now();
    while database.number(WAITING).await == 0 {
        assert!(began.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn patient() -> StoreLimits {
    StoreLimits {
        connection_wait: Duration::from_secs(20),
        statement: Duration::from_secs(20),
        ..StoreLimits::default()
    }
}

/// Two models to be recorded in one transaction. What is known of two is not looked up first, so that they wait for their
/// turn as soon as they are asked for.
fn two(prepared: &Prepared, name: &str) -> [Recording; 2] {
    [prepared.of(name), prepared.of(&format!("{name}, too"))]
}

/// Asks for recordings to be stored, while others are.
fn ask<'a>(
    store: &'a Store,
    recordings: &'a [Recording],
) -> Pin<Box<dyn Future<Output = Result<Saved, StoreError>> + 'a>> {
    let mut asked = Box::pin(store.record(recordings));
    assert!(asked.as_mut().now_or_never().is_none());
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_writes_are_recorded_together_and_each_gets_its_own_outcome() {
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Open).await;
        let url = proxy.url(&database.url).parse().unwrap();
        let store = Store::open(&url, patient()).await.unwrap();
        store.migrate().await.unwrap();
        let prepared = Prepared::new();
        let known = two(&prepared, "known");
        let before = store.record(&known).await.unwrap().version.unwrap();
        let mut lock = hold_the_lock(database).await;
        proxy.reset_counts();
        let first = {
            let (store, first) = (store.clone(), prepared.of("first"));
            tokio::spawn(async move { store.record(&[first]).await })
        };
        wait_for_a_writer(database).await;
        // Two times each.
        let names = (0..20).map(|number| format!("m-{}", number / 2));
        let recordings: Vec<_> = names.map(|name| two(&prepared, &name)).collect();
        let waiting: Vec<_> = recordings
            .iter()
            .map(|recordings| ask(&store, recordings))
            .collect();
        let nothing_new = ask(&store, &known);
        drop(ask(&store, &two(&prepared, "given up")));
        sqlx::raw_sql("ROLLBACK").execute(&mut lock).await.unwrap();
        assert!(first.await.unwrap().unwrap().version.is_some());
        let saved: Vec<bool> = join_all(waiting)
            .await
            .into_iter()
            .map(|saved| saved.unwrap().version.is_some())
            .collect();
        assert_eq!(saved, [true, false].repeat(10));
        assert_eq!(
            nothing_new.await.unwrap(),
            Saved {
                is_new: false,
                version: None,
                effects: vec![Effect::InForce, Effect::InForce],
            }
        );
        // The one that came first, and all that waited for it.
        assert_eq!(proxy.transactions(), 2);
        let changes = store
            .changes(&ChangeFilter::default(), before, 100)
            .await
            .unwrap();
        let models: Vec<&str> = changes.iter().map(|change| change.model.as_str()).collect();
        assert_eq!(models.len(), 21, "{models:?}");
        assert!(!models.contains(&"given up"), "{models:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_recorded_does_not_keep_the_others_from_it() {
    on_postgres(async |database| {
        let store = database.store_within(patient()).await;
        let prepared = Prepared::new();
        let damaged = two(&prepared, "damaged");
        store.record(&damaged).await.unwrap();
        database
            .execute("UPDATE price_sheets SET document = substr(document, 1, 90)")
            .await;
        let mut lock = hold_the_lock(database).await;
        let first = {
            let (store, first) = (store.clone(), prepared.of("first"));
            tokio::spawn(async move { store.record(&[first]).await })
        };
        wait_for_a_writer(database).await;
        let others = [two(&prepared, "one"), two(&prepared, "other")];
        let (one, bad, other) = (
            ask(&store, &others[0]),
            ask(&store, &damaged),
            ask(&store, &others[1]),
        );
        sqlx::raw_sql("ROLLBACK").execute(&mut lock).await.unwrap();
        first.await.unwrap().unwrap();
        let (one, bad, other) = tokio::join!(one, bad, other);
        assert!(one.unwrap().version.is_some() && other.unwrap().version.is_some());
        let error = bad.unwrap_err();
        let ids = damaged.map(|recording| recording.sheet_id);
        assert!(
            matches!(error, StoreError::Damaged(id) if ids.contains(&id)),
            "{error}"
        );
        let changes = store
            .changes(&ChangeFilter::default(), 0, 100)
            .await
            .unwrap();
        assert_eq!(changes.len(), 2 + 1 + 4, "{changes:?}");
    })
    .await;
}

/// Follows the feed until stopped and nothing is left.
async fn follow(store: Store, is_over: Arc<AtomicBool>) -> Vec<i64> {
    let mut seen: Vec<i64> = Vec::new();
    loop {
        let is_last = is_over.load(Ordering::Relaxed);
        let last = seen.last().copied().unwrap_or(0);
        let changes = store
            .changes(&ChangeFilter::default(), last, 1_000)
            .await
            .unwrap();
        if changes.is_empty() && is_last {
            return seen;
        }
        seen.extend(changes.iter().map(|change| change.sequence));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_that_write_at_once_far_away_keep_the_feed_in_order() {
    const EACH: usize = 10;
    on_postgres(async |database| {
        let proxy = Proxy::to(&database.url, Link::Open).await;
        let url = proxy.url(&database.url).parse().unwrap();
        let near = database.store().await;
        let replicas = [
            Store::open(&url, patient()).await.unwrap(),
            Store::open(&url, patient()).await.unwrap(),
        ];
        for replica in &replicas {
            replica.migrate().await.unwrap();
        }
        proxy.set(Link::Slow(Duration::from_millis(3)));
        let is_over = Arc::new(AtomicBool::new(false));
        let followers: Vec<_> = (0..2)
            .map(|_| tokio::spawn(follow(near.clone(), Arc::clone(&is_over))))
            .collect();
        let prepared = Arc::new(Prepared::new());
        let writers: Vec<_> = (0..2 * WRITERS)
            .map(|writer| {
                let (store, prepared) = (replicas[writer % 2].clone(), Arc::clone(&prepared));
                tokio::spawn(async move {
                    let mut last = 0;
                    for number in 0..EACH {
                        let mut recording = prepared.of(&format!("m-{writer}-{number}"));
                        recording.listing = Listing::Offer { duplicate_of: None };
                        recording.observed_at = NOW.parse().unwrap();
                        let version = store.record(&[recording]).await.unwrap().version.unwrap();
                        assert!(version > last, "{version} after {last}");
                        last = version;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        let all = near
            .changes(&ChangeFilter::default(), 0, 2_000)
            .await
            .unwrap();
        let all: Vec<i64> = all.iter().map(|change| change.sequence).collect();
        assert_eq!(all.len(), 2 * WRITERS * EACH);
        for follower in followers {
            assert_eq!(follower.await.unwrap(), all);
        }
    })
    .await;
}
