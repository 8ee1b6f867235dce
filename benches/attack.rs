//! Everything that an attacker tried, at once, against a running service: what is left for a normal client, how much memory the
//! service takes, and whether anything is lost or stored twice.
//!
//! `UNROOF_ATTACK_MINUTES=10 ./scripts/with-postgres cargo bench --bench attack`
//!
//! The normal client sends a price sheet, reads its estimate and a list, one after the other without a pause. Its throughput is
//! compared with what it has while the same attackers send to a bare axum server that answers 503 at once, since attackers and service
//! share the cores. PostgreSQL is restarted every minute of the attack; the time until the service is ready again does not count.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

#[path = "attack/attackers.rs"]
mod attackers;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/database_faults/cluster.rs"]
mod cluster;
#[expect(dead_code, reason = "other benches use more of it")]
mod service;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};

use cluster::Cluster;
use service::Process;

/// The message of the tests' cluster where PostgreSQL is missing.
mod support {
    pub(crate) fn skip_postgres() {
        println!("PostgreSQL skipped: run this by ./scripts/with-postgres");
    }
}

/// Variable with the role of a process of this bench.
const ROLE: &str = "UNROOF_ATTACK_ROLE";
/// Duration of the attack on the bare server, before and after.
const BASELINE: Duration = Duration::from_mins(1);
/// Time between two restarts of the database.
const BETWEEN_RESTARTS: Duration = Duration::from_mins(1);
/// Sheets that the heavy lists have to show.
const LISTED_SHEETS: u32 = 2_500;
/// Memory limit stated in OPERATIONS for the default limits.
const MOST_MEMORY: u64 = 2 << 30;
/// Share of its throughput that a normal client keeps.
const LEAST_SHARE: f64 = 0.8;

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("attack") => attackers::run(),
        Ok("refuse") => refuse_everything(),
        _ => match std::env::var("UNROOF_ATTACK_MINUTES") {
            Ok(minutes) => measure(Duration::from_secs(60 * minutes.parse::<u64>().unwrap())),
            Err(_) => println!("skipped: UNROOF_ATTACK_MINUTES names no number of minutes"),
        },
    }
}

/// Runs a bare server that refuses everything.
fn refuse_everything() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        let refuse = async || (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "1")]);
        let router = axum::Router::new().fallback(refuse);
        axum::serve(listener, router).await.unwrap();
    });
}

/// Command that runs this bench in another part.
fn role(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, name);
    command
}

/// The service with the limits that it has by default, where no name server answers.
fn service_without_names(database: &str, folder: &Path) -> (Process, String) {
    let program = env!("CARGO_BIN_EXE_unroof");
    let serve = format!(
        "exec {program} serve --listen 127.0.0.1:0 --log error --database-url '{database}'"
    );
    let mute = folder.join("resolv.conf");
    std::fs::write(&mute, "nameserver 127.0.0.153\n").unwrap();
    let mount = format!("mount --bind {} /etc/resolv.conf", mute.display());
    let may_mount = Command::new("unshare")
        .args(["--mount", "sh", "-c", &mount])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut command = if may_mount {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &format!("{mount} && {serve}")]);
        command
    } else {
        println!("names are resolved as on this machine: only root may mount a resolv.conf");
        let mut command = Command::new("sh");
        command.args(["-c", &serve]);
        command
    };
    let log = std::fs::File::create(folder.join("service.log")).unwrap();
    Process::listening(command.stderr(log))
}

/// Attackers, until stopped.
struct Attack(Process);

impl Attack {
    fn on(address: &str) -> Self {
        let mut command = role("attack");
        command
            .env(attackers::TARGET, address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Self(Process(command.spawn().unwrap()))
    }

    /// Ends the attack and returns the observations of the attackers.
    fn stop(mut self) -> Value {
        drop(self.0.0.stdin.take());
        let mut text = String::new();
        self.0
            .0
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Sends, reads, reads; for as long as it is counted.
#[derive(Default)]
struct NormalClient {
    stop: AtomicBool,
    /// Whether the database is being restarted.
    is_paused: AtomicBool,
    /// Sheets sent, estimates read, lists read.
    done: [AtomicU64; 3],
    refused: AtomicU64,
    /// The time that they took, in microseconds.
    micros: [AtomicU64; 3],
}

/// Counters of the normal client.
fn counts(counters: &[AtomicU64; 3]) -> [u64; 3] {
    counters
        .each_ref()
        .map(|counter| counter.load(Ordering::Relaxed))
}

impl NormalClient {
    /// The ids of what was acknowledged.
    fn run(&self, address: &str) -> Vec<String> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .into();
        let mut acknowledged = Vec::new();
        let begun = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let sheet = sheet("normal", &format!("m-{}", begun.elapsed().as_nanos()));
            let asked = Instant::now();
            let sent = agent
                .post(format!("{address}/infer"))
                .header("content-type", "application/json")
                .send(sheet.to_string());
            let Some(location) = self.count(sent, 0, asked) else {
                continue;
            };
            acknowledged.extend(location.strip_prefix("/estimates/").map(str::to_owned));
            let asked = Instant::now();
            self.count(agent.get(format!("{address}{location}")).call(), 1, asked);
            let asked = Instant::now();
            self.count(
                agent
                    .get(format!("{address}/estimates/latest?limit=20"))
                    .call(),
                2,
                asked,
            );
        }
        acknowledged
    }

    /// Counts an answer; where it leads to. A refused client respects Retry-After.
    fn count(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
        kind: usize,
        began: Instant,
    ) -> Option<String> {
        match answer {
            Ok(mut answer) if answer.status().is_success() => {
                let location = answer
                    .headers()
                    .get("location")
                    .map(|to| to.to_str().unwrap().to_owned());
                answer.body_mut().read_to_vec().ok()?;
                let took = u64::try_from(began.elapsed().as_micros()).unwrap();
                self.micros[kind].fetch_add(took, Ordering::Relaxed);
                self.done[kind].fetch_add(
                    u64::from(!self.is_paused.load(Ordering::Relaxed)),
                    Ordering::Relaxed,
                );
                Some(location.unwrap_or_default())
            }
            _ => {
                self.refused.fetch_add(
                    u64::from(!self.is_paused.load(Ordering::Relaxed)),
                    Ordering::Relaxed,
                );
                std::thread::sleep(Duration::from_secs(1));
                None
            }
        }
    }
}

fn sheet(provider: &str, model: &str) -> Value {
    json!({
        "schema": "pricesheet/v1", "provider": provider, "model": model, "currency": "USD", "unit": "per_1m_tokens",
        "rates": [{"input": "1.25", "output": "10.00"}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    })
}

/// A catalog of many different prices.
fn catalog(entries: u32) -> String {
    let entry = |number: u32| {
        let input = 1e-8 * f64::from(100 + number);
        let output = 1e-7 * f64::from(37 + 13 * number % 9973);
        let price = json!({"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": input,
                           "output_cost_per_token": output});
        (format!("acme/m-{number}"), price)
    };
    Value::Object((0..entries).map(entry).collect()).to_string()
}

/// Results of the normal client over a period.
struct Throughput {
    answers_a_second: f64,
    /// Median times of a sheet, an estimate and a list, in milliseconds.
    milliseconds: [u64; 3],
}

/// Throughput of the normal client over a time in which others do something; how much of it does not count.
fn throughput(client: &NormalClient, meanwhile: impl FnOnce() -> Duration) -> Throughput {
    let (began, done, micros) = (Instant::now(), counts(&client.done), counts(&client.micros));
    let paused = meanwhile();
    let counted = began.elapsed().saturating_sub(paused);
    let since = |now: [u64; 3], then: [u64; 3]| [0, 1, 2].map(|kind| now[kind] - then[kind]);
    let done = since(counts(&client.done), done);
    let micros = since(counts(&client.micros), micros);
    let answers = u32::try_from(done.iter().sum::<u64>()).unwrap();
    Throughput {
        answers_a_second: f64::from(answers) / counted.as_secs_f64(),
        milliseconds: [0, 1, 2].map(|kind| micros[kind] / 1_000 / done[kind].max(1)),
    }
}

impl std::fmt::Display for Throughput {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [sheet, estimate, list] = self.milliseconds;
        write!(
            to,
            "{:.1} answers a second (a sheet {sheet} ms, an estimate {estimate} ms, a list {list} ms)",
            self.answers_a_second
        )
    }
}

fn is_ready(address: &str) -> bool {
    let answer = ureq::get(format!("{address}/readyz")).call();
    answer.is_ok_and(|answer| answer.status() == 200)
}

/// Restarts the database every minute; total downtime.
fn restart_every_minute(
    cluster: &Cluster,
    address: &str,
    client: &NormalClient,
    time: Duration,
) -> Duration {
    let end = Instant::now() + time;
    let mut away = Duration::ZERO;
    while Instant::now() + BETWEEN_RESTARTS < end {
        let minute = throughput(client, || {
            std::thread::sleep(BETWEEN_RESTARTS / 2);
            let paused = restart(cluster, address, client);
            std::thread::sleep(BETWEEN_RESTARTS / 2);
            away += paused;
            paused
        });
        println!("  a minute of it: {minute}");
    }
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    away
}

/// Restarts the database; how long until the service is ready again.
fn restart(cluster: &Cluster, address: &str, client: &NormalClient) -> Duration {
    let began = Instant::now();
    client.is_paused.store(true, Ordering::Relaxed);
    cluster.down("immediate");
    cluster.up();
    while !is_ready(address) {
        std::thread::sleep(Duration::from_millis(50));
    }
    client.is_paused.store(false, Ordering::Relaxed);
    began.elapsed()
}

/// The ids of all estimates, as often as the list shows them.
fn stored_ids(address: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let mut answer = ureq::get(format!("{address}/estimates?limit=2000{cursor}"))
            .call()
            .unwrap();
        let page: Value = answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_json()
            .unwrap();
        let rows = page["data"].as_array().unwrap();
        ids.extend(rows.iter().map(|row| {
            row["estimate_id"]
                .as_str()
                .or(row["id"].as_str())
                .unwrap()
                .to_owned()
        }));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

fn measure(time: Duration) {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let _mute_name_server = std::net::UdpSocket::bind("127.0.0.153:53")
        .inspect_err(|error| println!("no mute name server: {error}"));
    let (service, address) = service_without_names(&cluster.url(), folder.path());
    let (_bare, bare_address) = Process::listening(&mut role("refuse"));
    fill(&address);
    let client = NormalClient::default();
    let (baselines, beside, away, seen, acknowledged, peak) = std::thread::scope(|scope| {
        let normal = scope.spawn(|| client.run(&address));
        let baseline = || {
            let attack = Attack::on(&bare_address);
            std::thread::sleep(Duration::from_secs(2));
            let alone = throughput(&client, || {
                std::thread::sleep(BASELINE);
                Duration::ZERO
            });
            attack.stop();
            alone
        };
        let before = baseline();
        let attack = Attack::on(&address);
        let mut away = Duration::ZERO;
        let beside = throughput(&client, || {
            away = restart_every_minute(&cluster, &address, &client, time);
            away
        });
        let seen = attack.stop();
        let peak = service.memory("VmHWM");
        let after = baseline();
        client.stop.store(true, Ordering::Relaxed);
        (
            [before, after],
            beside,
            away,
            seen,
            normal.join().unwrap(),
            peak,
        )
    });
    println!("attackers: {}", seen["counts"]);
    for baseline in &baselines {
        println!("normal client next to a bare server under attack: {baseline}");
    }
    println!("normal client during the attack: {beside}");
    let alone: f64 = baselines
        .iter()
        .map(|baseline| baseline.answers_a_second)
        .sum();
    let share = 2.0 * beside.answers_a_second / alone;
    println!(
        "it keeps {:.0} %; {} refused; the database was unreachable for {:.1} s",
        100.0 * share,
        client.refused.load(Ordering::Relaxed),
        away.as_secs_f64()
    );
    println!(
        "memory: at most {} MiB, {} MiB afterwards",
        peak >> 20,
        service.memory("VmRSS") >> 20
    );
    let stored = stored_ids(&address);
    let distinct: HashSet<&String> = stored.iter().collect();
    let floods = seen["acknowledged"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().to_owned());
    let acknowledged: Vec<String> = acknowledged.into_iter().chain(floods).collect();
    let lost = acknowledged
        .iter()
        .filter(|id| !distinct.contains(id))
        .count();
    println!(
        "acknowledged {}, lost {lost}, stored twice {}",
        acknowledged.len(),
        stored.len() - distinct.len()
    );
    let is_kept =
        share >= LEAST_SHARE && peak < MOST_MEMORY && lost == 0 && stored.len() == distinct.len();
    assert!(is_kept, "the service does not keep what OPERATIONS says");
}

/// Results of the heavy lists.
fn fill(address: &str) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(None)
        .build()
        .into();
    let mut lines = agent
        .post(format!("{address}/catalogs?format=litellm"))
        .header("content-type", "application/json")
        .send(catalog(LISTED_SHEETS))
        .unwrap();
    let text = lines
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()
        .unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "done", "{last}");
}
