//! The last line of an import.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::withdrawal::Service;
use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server};
use crate::support::{TestDatabase, on_each_database_blocking, on_postgres};

/// Many enough prices to be at work for a while.
const PRICES: u32 = 6_000;

fn long_catalog() -> Value {
    let entry = |number: u32| {
        let entry = json!({
            "litellm_provider": "acme", "mode": "chat", "output_cost_per_token": 4e-6,
            "input_cost_per_token": 1e-6 * (1.0 + f64::from(number) / f64::from(PRICES)),
        });
        (format!("acme/m-{number:04}"), entry)
    };
    Value::Object((0..PRICES).map(entry).collect())
}

/// Sends a catalog whose response is not read to its end.
fn begin_import(service: &Service) {
    let (client, url) = (service.client.clone(), service.url("/catalogs"));
    let catalog = long_catalog().to_string();
    std::thread::spawn(move || {
        let request = client.post(&url).header("content-type", "application/json");
        // It is cut off.
        let answer = request.send(catalog);
        let _ = answer.map(|mut answer| answer.body_mut().read_to_string());
    });
    wait_for_outcome(service, "running", LONGEST_WAIT);
}

/// Waits until the last run has an outcome.
fn wait_for_outcome(service: &Service, outcome: &str, longest: Duration) -> Value {
    let began = Instant::now();
    loop {
        let runs = service.rows("/imports");
        if let Some(run) = runs.first().filter(|run| run["outcome"] == outcome) {
            return run.clone();
        }
        assert!(began.elapsed() < longest, "{runs:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn assert_lost(run: &Value) {
    assert_eq!(run["error"], "the process ended before the import did");
    assert!(
        run["ended_at"].as_str() >= run["started_at"].as_str(),
        "{run}"
    );
}

#[test]
fn run_of_a_process_that_was_killed_is_closed_at_the_next_start() {
    on_each_database_blocking(|database| {
        let mut killed = Service::start(database);
        begin_import(&killed);
        killed.server.kill();
        let next = Service::start(database);
        assert_lost(&wait_for_outcome(&next, "failed", LONGEST_WAIT));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn run_of_a_living_replica_is_left_alone_and_closed_by_another_one_when_it_dies() {
    on_postgres(async |database: &TestDatabase| {
        tokio::task::block_in_place(|| {
            let mut one = Service::start(database);
            begin_import(&one);
            let other = Service::start(database);
            // A run that is lost, by which it shows that the other replica has looked at the runs.
            let lost = "INSERT INTO imports (id, source, started_at, outcome)
                        VALUES (gen_random_uuid(), 'lost', now() - interval '1 hour', 'running')";
            crate::support::wait_for(database.execute(lost));
            let began = Instant::now();
            while other.rows("/imports?source=lost")[0]["outcome"] == "running" {
                assert!(began.elapsed() < LONGEST_WAIT, "{}", other.server.log());
                std::thread::sleep(Duration::from_millis(20));
            }
            let run = &other.rows("/imports?source=request")[0];
            assert_eq!(run["outcome"], "running", "{run}");
            one.server.kill();
            assert_lost(&wait_for_outcome(&other, "failed", LONGEST_WAIT));
        });
    })
    .await;
}

#[test]
fn run_is_closed_once_postgresql_is_back() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let url = cluster.url();
    let arguments = ["--database-url", &url, "--listen", "127.0.0.1:0"];
    let service = Service::of(Server::start_with(&arguments));
    begin_import(&service);
    cluster.down("immediate");
    // Long enough for what is estimated meanwhile to be recorded, and for its failure to be noted, in vain.
    service
        .server
        .wait_for_log("cannot record how an import ended");
    cluster.up();
    let began = Instant::now();
    while crate::server::get(&service.client, &service.url("/readyz")).0 != 200 {
        assert!(began.elapsed() < LONGEST_WAIT);
        std::thread::sleep(Duration::from_millis(20));
    }
    let run = wait_for_outcome(&service, "failed", LONGEST_WAIT);
    let error = run["error"].as_str().unwrap();
    assert!(error.contains("the database cannot be reached"), "{error}");
    assert!(run["ended_at"].is_string(), "{run}");
}
