//! Two replicas on one PostgreSQL, each stopped and started again under load, behind clients that try the other one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::server::{LONGEST_WAIT, Server, client, get, post};
use crate::support::{TestDatabase, on_postgres, sheet_of, stored_answer};

const CLIENTS: usize = 8;
const ROUNDS: usize = 2;
/// Requests that succeed between two steps.
const BURST: usize = 40;
/// Longest time for which a client tries one request again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The addresses of the replicas, and the requests of clients.
struct Load {
    replicas: [RwLock<String>; 2],
    acknowledged: Mutex<BTreeMap<String, String>>,
    count: AtomicUsize,
    retried: AtomicUsize,
    is_over: AtomicBool,
}

impl Load {
    fn address(&self, replica: usize) -> String {
        self.replicas[replica % 2].read().unwrap().clone()
    }

    /// Sends a request until a replica answers; as a balancer does, the other one after 502, 503 or a lost connection.
    fn send(&self, first: usize, request: impl Fn(&str) -> Option<(u16, String)>) -> String {
        let began = Instant::now();
        for replica in first.. {
            match request(&self.address(replica)) {
                Some((200 | 201, body)) => {
                    self.count.fetch_add(1, Ordering::Relaxed);
                    return body;
                }
                None | Some((502 | 503, _)) => {
                    self.retried.fetch_add(1, Ordering::Relaxed);
                    assert!(began.elapsed() < PATIENCE, "no replica answers");
                    std::thread::sleep(Duration::from_millis(5));
                }
                Some((status, body)) => panic!("{status}: {body}"),
            }
        }
        unreachable!("replicas are tried without end");
    }

    /// Writes and reads until the load is over.
    fn run(&self, client_number: usize) {
        let client = client();
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let sheet = sheet_of(&format!("m-{client_number}-{number}"));
            let body = self.send(client_number + number, |address| {
                post(&client, &format!("{address}/infer"), &sheet)
            });
            let (id, document) = (body[7..43].to_owned(), stored_answer(&body));
            let stored = self.send(client_number + number + 1, |address| {
                let mut response = client
                    .get(format!("{address}/estimates/{id}"))
                    .call()
                    .ok()?;
                let text = response.body_mut().read_to_string().ok()?;
                Some((response.status().as_u16(), text))
            });
            assert_eq!(stored, document);
            self.acknowledged.lock().unwrap().insert(id, document);
            number += 1;
        }
    }

    fn wait_for_burst(&self) {
        let until = self.count.load(Ordering::Relaxed) + BURST;
        let began = Instant::now();
        while self.count.load(Ordering::Relaxed) < until {
            assert!(began.elapsed() < LONGEST_WAIT, "no burst");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Stops and starts each replica in turn.
fn roll(load: &Load, servers: &mut [Option<Server>; 2], database: &TestDatabase) {
    for replica in (0..2).cycle().take(2 * ROUNDS) {
        load.wait_for_burst();
        let server = servers[replica].take().unwrap();
        let (ended, log) = server.stop();
        assert!(ended.success(), "{log}");
        let server = Server::start(&database.url);
        server
            .address
            .clone_into(&mut load.replicas[replica].write().unwrap());
        servers[replica] = Some(server);
    }
    load.wait_for_burst();
    load.is_over.store(true, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_replaced_one_by_one_under_load_cost_no_request() {
    on_postgres(async |database: &TestDatabase| {
        tokio::task::block_in_place(|| {
            let mut servers = [0, 1].map(|_| Some(Server::start(&database.url)));
            let addresses = [0, 1].map(|replica: usize| {
                RwLock::new(servers[replica].as_ref().unwrap().address.clone())
            });
            let load = Load {
                replicas: addresses,
                acknowledged: Mutex::default(),
                count: AtomicUsize::new(0),
                retried: AtomicUsize::new(0),
                is_over: AtomicBool::new(false),
            };
            std::thread::scope(|scope| {
                for number in 0..CLIENTS {
                    let load = &load;
                    scope.spawn(move || load.run(number));
                }
                roll(&load, &mut servers, database);
            });
            assert!(load.retried.into_inner() > 0, "no request met a stop");
            let address = &servers[0].as_ref().unwrap().address;
            let client = client();
            for (id, document) in load.acknowledged.into_inner().unwrap() {
                let stored = get(&client, &format!("{address}/estimates/{id}"));
                assert_eq!(stored, (200, document));
            }
        });
    })
    .await;
}
