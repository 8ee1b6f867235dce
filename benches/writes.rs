//! Writes a second with PostgreSQL at hand and far away: eight clients send price sheets that are not stored yet.
//!
//! `./scripts/with-postgres cargo bench --bench writes`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/database_faults/cluster.rs"]
mod cluster;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/database_faults/proxy.rs"]
mod proxy;
#[expect(dead_code, reason = "other benches use more of it")]
mod service;

use std::time::{Duration, Instant};

use serde_json::json;

use cluster::Cluster;
use proxy::{Link, Proxy};
use service::Process;

/// The message of the tests' cluster where PostgreSQL is missing.
mod support {
    pub(crate) fn skip_postgres() {
        println!("PostgreSQL skipped: run this by ./scripts/with-postgres");
    }
}

const WRITERS: usize = 8;
/// Added latency of the database.
const DELAYS: [u64; 3] = [0, 5, 25];
const RUNS: usize = 5;
const TIME: Duration = Duration::from_secs(5);

fn main() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let proxy = runtime.block_on(Proxy::to(&cluster.url(), Link::Open));
    let (_service, address) = Process::service(&proxy.url(&cluster.url()));
    while ureq::get(format!("{address}/readyz")).call().is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for delay in DELAYS {
        proxy.set(Link::Slow(Duration::from_millis(delay)));
        let mut runs: Vec<(f64, usize)> = (0..RUNS)
            .map(|run| write(&address, &format!("{delay}-{run}")))
            .collect();
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let refused: usize = runs.iter().map(|run| run.1).sum();
        println!(
            "+{delay} ms: {:.0} stored a second ({:.0} to {:.0} in {RUNS} runs), {refused} refused",
            runs[RUNS / 2].0,
            runs[0].0,
            runs[RUNS - 1].0
        );
    }
}

/// Sheets stored in a second, and requests that were not answered with 201.
fn write(address: &str, name: &str) -> (f64, usize) {
    let began = Instant::now();
    let send = |writer: usize| {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let (mut stored, mut refused) = (0_u32, 0);
        while began.elapsed() < TIME {
            let sheet = json!({
                "schema": "pricesheet/v1", "provider": "acme", "model": format!("m-{name}-{writer}-{stored}-{refused}"),
                "currency": "USD", "unit": "per_1m_tokens", "rates": [{"input": "1.25", "output": "10.00"}],
                "sources": [{"url": "https://acme.example/prices", "format": "official"}],
            });
            let answer = agent
                .post(format!("{address}/infer"))
                .header("content-type", "application/json")
                .send(sheet.to_string());
            match answer {
                Ok(answer) if answer.status() == 201 => stored += 1,
                _ => refused += 1,
            }
        }
        (stored, refused)
    };
    let (stored, refused) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || send(writer)))
            .collect();
        let counts = writers.into_iter().map(|writer| writer.join().unwrap());
        counts.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
    });
    (f64::from(stored) / began.elapsed().as_secs_f64(), refused)
}
