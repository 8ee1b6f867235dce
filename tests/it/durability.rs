//! What was acknowledged is there, whatever becomes of the process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::server::{Server, client, get, post};
use crate::support::{on_each_database_blocking, sheet_of, wait_for};

const WRITERS: usize = 8;
const KILLS: usize = 4;
/// Acknowledged between two kills.
const BURST: usize = 60;

#[test]
fn killing_the_server_during_a_burst_loses_no_acknowledged_estimate() {
    on_each_database_blocking(|database| {
        let acknowledged: Mutex<BTreeMap<String, String>> = Mutex::default();
        let count = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let mut server = Server::start(&database.url);
        let address = RwLock::new(server.address.clone());
        let (mut sent, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (acknowledged, count, is_over, address) =
                        (&acknowledged, &count, &is_over, &address);
                    scope.spawn(move || {
                        let client = client();
                        let (mut sent, mut refused) = (0, 0);
                        while !is_over.load(Ordering::Relaxed) {
                            let sheet = sheet_of(&format!("m-{writer}-{sent}"));
                            let url = format!("{}/infer", address.read().unwrap());
                            sent += 1;
                            match post(&client, &url, &sheet) {
                                Some((201, body)) => {
                                    let id = body[7..43].to_owned();
                                    acknowledged.lock().unwrap().insert(id, body);
                                    count.fetch_add(1, Ordering::Relaxed);
                                }
                                Some((status, body)) => panic!("{status}: {body}"),
                                None => {
                                    refused += 1;
                                    std::thread::sleep(Duration::from_millis(2));
                                }
                            }
                        }
                        (sent, refused)
                    })
                })
                .collect();
            for kill in 1..=KILLS {
                let began = Instant::now();
                while count.load(Ordering::Relaxed) < kill * BURST
                    && began.elapsed() < Duration::from_mins(1)
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                server.kill();
                server = Server::start(&database.url);
                server.address.clone_into(&mut address.write().unwrap());
            }
            is_over.store(true, Ordering::Relaxed);
            for writer in writers {
                let (by_writer, refused_of_it) = writer.join().unwrap();
                sent += by_writer;
                refused += refused_of_it;
            }
        });
        let acknowledged = acknowledged.into_inner().unwrap();
        assert!(
            acknowledged.len() >= KILLS * BURST,
            "{} of {sent}",
            acknowledged.len()
        );
        assert!(
            refused > 0,
            "no request was under way when the server was killed"
        );
        let client = client();
        for (id, body) in &acknowledged {
            let (status, stored) = get(&client, &format!("{}/estimates/{id}", server.address));
            assert_eq!((status, &stored), (200, body), "{}: {id}", database.name);
        }
        wait_for(async {
            let stored = database.number("SELECT count(*) FROM estimates").await;
            assert!(stored >= i64::try_from(acknowledged.len()).unwrap());
            let halves = [
                "SELECT count(*) FROM estimates WHERE id NOT IN (SELECT estimate_id FROM estimate_sheets)",
                "SELECT count(*) FROM price_sheets WHERE id NOT IN (SELECT sheet_id FROM estimate_sheets)",
                "SELECT count(*) FROM estimate_sheets WHERE estimate_id NOT IN (SELECT id FROM estimates)",
                "SELECT count(*) FROM estimate_sheets WHERE sheet_id NOT IN (SELECT id FROM price_sheets)",
            ];
            for sql in halves {
                assert_eq!(database.number(sql).await, 0, "{}: {sql}", database.name);
            }
        });
    });
}

#[test]
fn a_server_that_is_asked_to_stop_ends_well() {
    on_each_database_blocking(|database| {
        let server = Server::start(&database.url);
        let client = client();
        let (status, body) = post(
            &client,
            &format!("{}/infer", server.address),
            &sheet_of("m"),
        )
        .unwrap();
        assert_eq!(status, 201, "{body}");
        drop(client);
        let (ended, log) = server.stop();
        assert!(ended.success(), "{ended}: {log}");
        assert!(log.contains("stopping"), "{log}");
        wait_for(async {
            assert_eq!(database.number("SELECT count(*) FROM estimates").await, 1);
        });
    });
}
