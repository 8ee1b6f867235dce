//! Acknowledged writes survive failures of the service and of the database.

mod recovery;
mod rolling;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server, client, get, post};
use crate::support::{
    TestDatabase, on_each_database_blocking, sheet, sheet_of, stored_answer, wait_for,
};

const WRITERS: usize = 32;
const FAULTS: usize = 20;
/// Acknowledged between two faults.
const BURST: usize = 16;

/// Requests of writers, and their responses.
#[derive(Default)]
struct Log {
    /// Id and body of what was acknowledged.
    acknowledged: Mutex<BTreeMap<String, String>>,
    /// Requests that got no answer, or were refused, and were sent again.
    refused: AtomicUsize,
    count: AtomicUsize,
    is_over: AtomicBool,
}

impl Log {
    /// Sends sheets of its own, each until it is acknowledged, wherever the service is.
    fn write(&self, writer: usize, address: &RwLock<String>) {
        let client = client();
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let sheet = sheet_of(&format!("m-{writer}-{number}"));
            let url = format!("{}/infer", address.read().unwrap());
            match post(&client, &url, &sheet) {
                // 200 where it was stored before, and the answer did not arrive.
                Some((200 | 201, body)) => {
                    let id = body[7..43].to_owned();
                    let answer = stored_answer(&body);
                    self.acknowledged.lock().unwrap().insert(id, answer);
                    self.count.fetch_add(1, Ordering::Relaxed);
                    number += 1;
                }
                None | Some((503, _)) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                }
                Some((status, body)) => panic!("{status}: {body}"),
            }
        }
    }

    /// Waits until another burst is acknowledged.
    fn wait_for_burst(&self) {
        let until = self.count.load(Ordering::Relaxed) + BURST;
        let began = Instant::now();
        while self.count.load(Ordering::Relaxed) < until {
            assert!(began.elapsed() < Duration::from_mins(2), "no burst");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Lets a fault happen in the middle of each burst.
fn burst_after_burst(address: &RwLock<String>, mut fault: impl FnMut()) -> Log {
    let log = Log::default();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &log;
            scope.spawn(move || log.write(writer, address));
        }
        for _ in 0..FAULTS {
            log.wait_for_burst();
            fault();
        }
        log.wait_for_burst();
        log.is_over.store(true, Ordering::Relaxed);
    });
    log
}

/// All that was acknowledged is there, and nothing is there twice or by half.
fn assert_nothing_lost(address: &str, log: Log, number: impl AsyncFn(&'static str) -> i64) {
    let client = client();
    assert!(log.refused.into_inner() > 0, "no fault met a request");
    for (id, body) in &log.acknowledged.into_inner().unwrap() {
        let (status, stored) = get(&client, &format!("{address}/estimates/{id}"));
        assert_eq!((status, &stored), (200, body), "{id}");
    }
    let none = [
        "SELECT count(*) FROM estimates WHERE id NOT IN (SELECT estimate_id FROM estimate_sheets)",
        "SELECT count(*) FROM price_sheets WHERE id NOT IN (SELECT sheet_id FROM estimate_sheets)",
        "SELECT count(*) FROM estimate_sheets WHERE estimate_id NOT IN (SELECT id FROM estimates)",
        "SELECT count(*) FROM estimate_sheets WHERE sheet_id NOT IN (SELECT id FROM price_sheets)",
        "SELECT count(*) FROM (SELECT model FROM estimate_listings GROUP BY model HAVING count(*) > 1) AS twice",
        "SELECT count(*) FROM (SELECT model FROM price_sheets GROUP BY model HAVING count(*) > 1) AS twice",
    ];
    wait_for(async {
        for sql in none {
            assert_eq!(number(sql).await, 0, "{sql}");
        }
    });
}

#[test]
fn killing_the_service_during_bursts_loses_and_doubles_nothing() {
    on_each_database_blocking(|database| {
        let mut server = Server::start(&database.url);
        let address = RwLock::new(server.address.clone());
        let log = burst_after_burst(&address, || {
            server.kill();
            server = Server::start(&database.url);
            server.address.clone_into(&mut address.write().unwrap());
        });
        assert_nothing_lost(&server.address, log, async |sql| database.number(sql).await);
    });
}

#[test]
fn what_was_stored_and_not_answered_is_known_when_it_is_sent_again() {
    on_each_database_blocking(|database| {
        let stored = || wait_for(database.number("SELECT count(*) FROM estimates"));
        let mut server = Server::start(&database.url);
        // The client never reads: to it, the service dies between its commit and its answer.
        let host = server.address.trim_start_matches("http://");
        let mut unread = TcpStream::connect(host).unwrap();
        let body = sheet().to_string();
        let length = body.len();
        write!(
            unread,
            "POST /infer HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let began = Instant::now();
        while stored() == 0 {
            assert!(began.elapsed() < LONGEST_WAIT, "nothing was stored");
            std::thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        server = Server::start(&database.url);
        let again = post(&client(), &format!("{}/infer", server.address), &sheet());
        let (status, answer) = again.unwrap();
        assert_eq!(status, 200, "{}: {answer}", database.name);
        assert_eq!(stored(), 1, "{}", database.name);
    });
}

#[test]
fn stopping_postgresql_at_once_during_bursts_loses_and_doubles_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let database = TestDatabase::at(cluster.url());
    let server = Server::start(&database.url);
    let log = burst_after_burst(&RwLock::new(server.address.clone()), || {
        cluster.down("immediate");
        cluster.up();
    });
    assert_nothing_lost(&server.address, log, async |sql| database.number(sql).await);
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
