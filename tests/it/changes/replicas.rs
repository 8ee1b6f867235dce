//! Several replicas on one PostgreSQL: changes by one are announced by the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use unroof_store::StoreLimits;

use super::client::Stream;
use super::{Prepared, models};
use crate::database_faults::cluster::Cluster;
use crate::server::{Server, client, get};
use crate::support::{TestDatabase, on_postgres};

const CLIENTS: usize = 50;
const BATCHES: usize = 40;
const BATCH: usize = 10;

/// Listens until changes of all models have arrived; comes back with the last number where its stream ends.
async fn listen(address: String, ready: Arc<AtomicUsize>) -> (Vec<i64>, Vec<String>) {
    let (mut numbers, mut seen) = (Vec::new(), Vec::new());
    let mut headers = String::new();
    let began = Instant::now();
    loop {
        assert!(
            began.elapsed() < Duration::from_mins(2),
            "{} so far",
            seen.len()
        );
        let Some(mut stream) = Stream::try_open(&address, "/changes/stream", &headers)
            .await
            .filter(|stream| stream.status == 200)
        else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        ready.fetch_add(usize::from(headers.is_empty()), Ordering::Relaxed);
        while let Some(event) = stream.next_change().await {
            numbers.push(event.id.unwrap());
            seen.push(event.row()["model"].as_str().unwrap().to_owned());
            headers = format!("Last-Event-ID: {}\r\n", event.id.unwrap());
            if seen.len() == BATCHES * BATCH {
                return (numbers, seen);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clients_of_one_replica_get_all_that_another_records_once_and_in_order_also_when_postgresql_restarts()
 {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let database = TestDatabase::at(cluster.url());
    let limits = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    let listening = Server::start_with(&limits);
    let recording = database.store_within(StoreLimits::default()).await;
    let ready = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(listen(listening.address.clone(), Arc::clone(&ready))))
        .collect();
    let began = Instant::now();
    while ready.load(Ordering::Relaxed) < CLIENTS {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let all = models(0..BATCHES * BATCH);
    let is_over = Arc::new(AtomicBool::new(false));
    let recorder = {
        let (all, is_over) = (all.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let prepared = Prepared::new();
            for batch in all.chunks(BATCH) {
                prepared.record(&recording, batch).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            is_over.store(true, Ordering::Relaxed);
        })
    };
    for mode in ["fast", "immediate"] {
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(
            !is_over.load(Ordering::Relaxed),
            "all was recorded before the restart"
        );
        tokio::task::block_in_place(|| {
            cluster.down(mode);
            cluster.up();
        });
    }
    recorder.await.unwrap();
    for client in clients {
        let (numbers, seen) = client.await.unwrap();
        assert!(
            numbers.is_sorted_by(|one, other| one < other),
            "{numbers:?}"
        );
        assert_eq!(seen, all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_process_and_another_replica_resumes_it() {
    on_postgres(async |database: &TestDatabase| {
        let (mut one, other) = (Server::start(&database.url), Server::start(&database.url));
        let store = database.store().await;
        let prepared = Prepared::new();
        let mut stream = Stream::open(&one.address, "/changes/stream", "").await;
        prepared.record(&store, &models(0..2)).await;
        assert_eq!(stream.next_change().await.unwrap().row()["model"], "m-0000");
        let last = stream.next_change().await.unwrap().id.unwrap();
        tokio::task::block_in_place(|| one.kill());
        assert_eq!(stream.next_change().await, None);
        prepared.record(&store, &models(2..4)).await;
        let headers = format!("Last-Event-ID: {last}\r\n");
        let mut stream = Stream::open(&other.address, "/changes/stream", &headers).await;
        for model in models(2..4) {
            assert_eq!(stream.next_change().await.unwrap().row()["model"], model);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lists_of_a_replica_show_what_another_wrote_after_the_notification() {
    on_postgres(async |database: &TestDatabase| {
        let server = Server::start(&database.url);
        let store = database.store().await;
        let client = client();
        let prepared = Prepared::new();
        for (number, model) in models(0..10).into_iter().enumerate() {
            prepared.record(&store, &[model]).await;
            let began = Instant::now();
            tokio::task::block_in_place(|| {
                let url = format!("{}/changes?limit=2000", server.address);
                while get(&client, &url).1.matches("\"sequence\"").count() <= number {
                    assert!(began.elapsed() < Duration::from_secs(5));
                }
            });
        }
    })
    .await;
}

#[test]
fn a_replica_without_its_listener_logs_it_polls_and_reconnects() {
    const DEAFEN: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE (query LIKE 'LISTEN %' OR query = 'SELECT 1')
          AND pid <> pg_backend_pid() AND datname = current_database()";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(on_postgres(async |database: &TestDatabase| {
        let server = Server::start(&database.url);
        let mut stream = Stream::open(&server.address, "/changes/stream", "").await;
        let store = database.store().await;
        let mut other = PgConnection::connect(&database.url).await.unwrap();
        // It listens by the time it announces.
        Prepared::new().record(&store, &models(0..1)).await;
        stream.next_change().await.unwrap();
        let ended: i64 = sqlx::query_scalar(DEAFEN)
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert!(ended > 0, "no client received it");
        Prepared::new().record(&store, &models(1..2)).await;
        assert_eq!(stream.next_change().await.unwrap().row()["model"], "m-0001");
        tokio::task::block_in_place(|| {
            server.wait_for_log("LISTEN connection lost");
            server.wait_for_log("LISTEN connection restored");
        });
    }));
}
