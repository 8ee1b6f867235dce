//! A whole catalog into a running service: how long it takes, the first time and when nothing changed, how much memory,
//! and how long others wait meanwhile; and the same entries sent one by one.
//!
//! `UNROOF_TEST_CATALOGS=DIR ./scripts/with-postgres cargo bench --bench import`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

mod service;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use service::Process;

const RUNS: usize = 5;
/// Entries that are also sent one by one.
const SAMPLE: usize = 200;
/// Time between two requests of the one who reads meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

fn post(address: &str, path: &str, body: &str) -> String {
    let reply = ureq::post(format!("{address}{path}"))
        .header("content-type", "application/json")
        .send(body);
    reply
        .unwrap()
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()
        .unwrap()
}

/// Result of one run.
struct Run {
    first: f64,
    unchanged: f64,
    memory: u32,
    waits: Vec<f64>,
}

/// Asks until stopped; every wait in milliseconds.
fn read_meanwhile(address: &str, stop: &AtomicBool) -> Vec<f64> {
    let agent = ureq::Agent::new_with_defaults();
    let paths = [
        "/healthz",
        "/estimates/latest?limit=10",
        "/price-sheets?limit=10",
        "/reference/readings",
    ];
    let mut waits = Vec::new();
    for path in paths.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let began = Instant::now();
        let mut reply = agent.get(format!("{address}{path}")).call().unwrap();
        reply.body_mut().read_to_vec().unwrap();
        waits.push(began.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    waits
}

fn import(address: &str, catalog: &str) -> (f64, Vec<Value>) {
    let began = Instant::now();
    let text = post(address, "/catalogs", catalog);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["type"], "done", "{:?}", lines.last());
    (began.elapsed().as_secs_f64(), lines)
}

fn run(database: &str, catalog: &str, compares: bool) -> Run {
    let (service, address) = Process::service(database);
    let stop = AtomicBool::new(false);
    let (first, waits, lines) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_meanwhile(&address, &stop));
        let (first, lines) = import(&address, catalog);
        stop.store(true, Ordering::Relaxed);
        (first, reader.join().unwrap(), lines)
    });
    let (unchanged, again) = import(&address, catalog);
    assert_eq!(
        again.last().unwrap()["unchanged"],
        again.last().unwrap()["sheets"]
    );
    let memory = u32::try_from(service.memory("VmHWM") >> 20).unwrap();
    if compares {
        one_by_one(&address, catalog, &lines);
    }
    Run {
        first,
        unchanged,
        memory,
        waits,
    }
}

/// Sends the entries as requests of their own: the answers must have the bytes of the import.
fn one_by_one(address: &str, catalog: &str, lines: &[Value]) {
    let catalog: Value = serde_json::from_str(catalog).unwrap();
    let estimated = lines.iter().filter(|line| line["outcome"] == "estimated");
    let every = estimated.clone().count() / SAMPLE;
    let mut time = 0.0;
    let mut count = 0;
    for line in estimated.step_by(every.max(1)) {
        let key = line["entry"].as_str().unwrap();
        let query: String =
            url::form_urlencoded::Serializer::new("format=litellm&store=false".to_owned())
                .append_pair("model", key)
                .finish();
        let began = Instant::now();
        let alone = post(
            address,
            &format!("/infer?{query}"),
            &catalog[key].to_string(),
        );
        time += began.elapsed().as_secs_f64();
        let id = line["estimate_id"].as_str().unwrap();
        let url = format!("{address}/estimates/{id}");
        let stored = ureq::get(url)
            .call()
            .unwrap()
            .body_mut()
            .read_to_string()
            .unwrap();
        assert_eq!(alone, stored, "{key}");
        count += 1;
    }
    println!(
        "  {count} entries one by one: {:.0} a second, the same bytes",
        f64::from(count) / time
    );
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn report(name: &str, runs: &[Run]) {
    let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    let p99 = |run: &Run| {
        let mut waits = run.waits.clone();
        waits.sort_by(f64::total_cmp);
        waits[waits.len() * 99 / 100]
    };
    let p99 = median(runs.iter().map(p99).collect());
    println!(
        "{name}: first {:.2} s, unchanged {:.2} s, at most {:.0} MiB, others' p99 {p99:.1} ms (medians of {})",
        of(|run| run.first),
        of(|run| run.unchanged),
        of(|run| f64::from(run.memory)),
        runs.len()
    );
}

/// An empty database on a server of PostgreSQL, and its address.
fn postgres(server: &str, name: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut connection = PgConnection::connect(server).await.unwrap();
        for statement in [
            format!("DROP DATABASE IF EXISTS {name}"),
            format!("CREATE DATABASE {name}"),
        ] {
            sqlx::query(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await
                .unwrap();
        }
    });
    let mut url = url::Url::parse(server).unwrap();
    url.set_path(name);
    url.into()
}

fn main() {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        println!("skipped: UNROOF_TEST_CATALOGS names no folder with litellm.json");
        return;
    };
    let catalog = std::fs::read_to_string(PathBuf::from(folder).join("litellm.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = (0..RUNS).map(|number| {
        let file = folder.path().join(format!("{number}.db"));
        run(&format!("sqlite:{}", file.display()), &catalog, number == 0)
    });
    report("SQLite", &runs.collect::<Vec<_>>());
    let Ok(server) = std::env::var("UNROOF_TEST_POSTGRES_URL") else {
        println!("PostgreSQL skipped: UNROOF_TEST_POSTGRES_URL names no server");
        return;
    };
    let runs = (0..RUNS).map(|number| {
        run(
            &postgres(&server, &format!("bench_{number}")),
            &catalog,
            number == 0,
        )
    });
    report("PostgreSQL", &runs.collect::<Vec<_>>());
}
