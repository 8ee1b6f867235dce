//! One client that sends 50 times what its budget allows, next to six that do not: how long those wait for estimates and lists.
//!
//! `cargo bench --bench fairness`, on SQLite, or on the server `UNROOF_TEST_POSTGRES_URL`, which `scripts/with-postgres` starts.
//!
//! The greedy client has a hundred connections, asks again at once whatever the answer is, and shares the cores with the service:
//! what it takes by sending counts against the service.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

#[expect(dead_code, reason = "other benches use more of it")]
mod service;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use service::Process;

/// Clients within their budgets.
const MODEST: usize = 6;
/// Connections of the one that is not.
const GREEDY: usize = 100;
/// Time of each measurement.
const TIME: Duration = Duration::from_secs(30);
/// Pause of a modest client between two requests.
const PAUSE: Duration = Duration::from_millis(330);
/// Requests of a modest client for one estimate.
const PER_ESTIMATE: u32 = 3;
/// Points a second of a client: the default.
const RATE: f64 = 50.0;
/// Points of an estimate.
const ESTIMATE: f64 = 20.0;
/// Times of its rate that the greedy client sends at least.
const EXCESS: f64 = 50.0;
/// Longest 99th percentile next to the greedy client, as a multiple of that without.
const LONGEST: f64 = 1.5;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (_service, address, admin) = serve(folder.path());
    let keys: Vec<String> = (0..=MODEST)
        .map(|number| new_key(&address, &admin, number))
        .collect();
    // Known to the service within half a second.
    thread::sleep(Duration::from_secs(1));
    let (greedy, modest) = keys.split_first().unwrap();
    let alone = Waits::measured(&address, modest);
    println!("alone:                  {alone}");
    let (beside, sent) = beside(&address, greedy, modest);
    let rate = sent / TIME.as_secs_f64() * ESTIMATE / RATE;
    println!("beside {rate:.0} times the rate: {beside}");
    for (kind, [before, now]) in [
        ("estimates", [&alone.estimates, &beside.estimates]),
        ("lists", [&alone.lists, &beside.lists]),
    ] {
        let ratio = millis(now, 0.99) / millis(before, 0.99);
        println!("{kind}: the 99th percentile is {ratio:.2} times as long");
        assert!(ratio <= LONGEST, "{kind} wait for another client");
    }
    assert!(rate >= EXCESS, "the greedy client is not greedy enough");
}

/// The service with the default limits of one that needs keys, its address and the admin key.
fn serve(folder: &Path) -> (Process, String, String) {
    let key_file = folder.join("admin.key");
    let file = || format!("sqlite:{}", folder.join("fairness.db").display());
    let database = std::env::var("UNROOF_TEST_POSTGRES_URL").unwrap_or_else(|_| file());
    let mut command = Command::new(env!("CARGO_BIN_EXE_unroof"));
    command.args([
        "serve",
        "--examples",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "error",
    ]);
    command.args([
        "--database-url",
        &database,
        "--skip-models",
        "--require-keys",
    ]);
    let (service, address) = Process::listening(command.arg("--admin-key-file").arg(&key_file));
    let admin = std::fs::read_to_string(key_file).unwrap();
    (service, address, admin.trim().to_owned())
}

fn new_key(address: &str, admin: &str, number: usize) -> String {
    let body = json!({"name": format!("client {number}"), "scope": "ask"});
    let mut answer = ureq::post(format!("{address}/keys"))
        .header("authorization", format!("Bearer {admin}"))
        .header("content-type", "application/json")
        .send(body.to_string())
        .unwrap();
    let answer: Value = answer.body_mut().read_json().unwrap();
    answer["key"].as_str().unwrap().to_owned()
}

/// A client that takes every status as an answer.
fn agent() -> ureq::Agent {
    let agent = ureq::Agent::config_builder().http_status_as_error(false);
    agent.build().new_agent()
}

/// The status of a new estimate; none if the connection broke.
fn estimate(agent: &ureq::Agent, address: &str, key: &str, number: u64) -> Option<u16> {
    let sheet = json!({
        "schema": "pricesheet/v1", "provider": "acme", "model": format!("m-{number}"), "currency": "USD",
        "unit": "per_1m_tokens", "rates": [{"input": "1.25", "output": "10.00"}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    });
    let answer = agent
        .post(format!("{address}/infer?store=false"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .send(sheet.to_string());
    read(answer)
}

fn list(agent: &ureq::Agent, address: &str, key: &str, number: u64) -> Option<u16> {
    let limit = 1 + number % 100;
    let answer = agent
        .get(format!("{address}/estimates?limit={limit}"))
        .header("authorization", format!("Bearer {key}"))
        .call();
    read(answer)
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<u16> {
    let mut answer = answer.ok()?;
    answer.body_mut().read_to_vec().ok()?;
    Some(answer.status().as_u16())
}

/// Times that modest clients waited for answers.
#[derive(Default)]
struct Waits {
    estimates: Vec<Duration>,
    lists: Vec<Duration>,
}

impl Waits {
    /// Times that modest clients waited during a measurement.
    fn measured(address: &str, keys: &[String]) -> Self {
        let mut all = Self::default();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..)
                .zip(keys)
                .map(|(number, key)| scope.spawn(move || Self::of_client(address, key, number)))
                .collect();
            for client in clients {
                let waits = client.join().unwrap();
                all.estimates.extend(waits.estimates);
                all.lists.extend(waits.lists);
            }
        });
        all.estimates.sort();
        all.lists.sort();
        all
    }

    fn of_client(address: &str, key: &str, client: u32) -> Self {
        let (agent, mut waits, began) = (agent(), Self::default(), Instant::now());
        // Spread over the pause.
        thread::sleep(PAUSE * client / 6);
        let mut number = 0;
        while began.elapsed() < TIME {
            number += 1;
            let id = u64::from(client) << 32 | u64::from(number);
            let asked = Instant::now();
            let (status, kind) = if number % PER_ESTIMATE == 0 {
                (estimate(&agent, address, key, id), &mut waits.estimates)
            } else {
                (list(&agent, address, key, id), &mut waits.lists)
            };
            kind.push(asked.elapsed());
            assert_eq!(status, Some(200), "a modest client is refused");
            thread::sleep(PAUSE);
        }
        waits
    }
}

impl std::fmt::Display for Waits {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = |waits: &[Duration]| {
            let [half, most] = [0.5, 0.99].map(|share| millis(waits, share));
            format!(
                "half within {half:.1} ms, 99 % within {most:.1} ms of {}",
                waits.len()
            )
        };
        write!(
            to,
            "estimates {}; lists {}",
            line(&self.estimates),
            line(&self.lists)
        )
    }
}

/// A percentile of sorted times, in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a few hundred"
)]
fn millis(sorted: &[Duration], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)].as_secs_f64() * 1e3
}

/// Waits of modest clients next to the greedy one, and the number of its requests.
fn beside(address: &str, greedy: &str, modest: &[String]) -> (Waits, f64) {
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let waits = thread::scope(|scope| {
        for _ in 0..GREEDY {
            scope.spawn(|| {
                let agent = agent();
                while !stop.load(Ordering::Relaxed) {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    estimate(&agent, address, greedy, number);
                }
            });
        }
        let waits = Waits::measured(address, modest);
        stop.store(true, Ordering::Relaxed);
        waits
    });
    let sent = u32::try_from(sent.into_inner()).unwrap();
    (waits, f64::from(sent))
}
