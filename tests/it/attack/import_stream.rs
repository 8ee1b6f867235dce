//! The last line of an import: it says how the import ended, or the body is cut.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::catalog_client::serve;
use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server, client, get, post};
use crate::support::TestDatabase;

/// Offers of models of their own, each of which takes a while to estimate.
fn catalog(offers: usize) -> Value {
    let entry = |number: usize| {
        let entry = json!({
            "litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 3e-6,
            "output_cost_per_token": format!("{}e-8", 1_000 + number), "cache_read_input_token_cost": 3e-7,
        });
        (format!("acme/model-{number}"), entry)
    };
    (0..offers)
        .map(entry)
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Waits until some of what is imported is stored.
fn wait_for_estimates(server: &Server) {
    let began = Instant::now();
    loop {
        let (status, text) = get(&client(), &format!("{}/estimates?limit=1", server.address));
        let page: Value = serde_json::from_str(&text).unwrap();
        if status == 200 && page["data"].as_array().is_some_and(|rows| !rows.is_empty()) {
            return;
        }
        assert!(began.elapsed() < LONGEST_WAIT, "{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn type_of_last_line(text: &str) -> String {
    let last: Value = serde_json::from_str(text.lines().last().unwrap_or("null")).unwrap();
    last["type"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_import_whose_database_restarts_says_that_it_failed_or_is_cut() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let database = TestDatabase::at(cluster.url());
    let server = serve(&database, &[]);
    let url = format!("{}/catalogs", server.address);
    let catalog = catalog(600);
    let began = Instant::now();
    let answer = std::thread::scope(|scope| {
        let importing = scope.spawn(|| post(&client(), &url, &catalog));
        wait_for_estimates(&server);
        cluster.down("immediate");
        importing.join().unwrap()
    });
    assert!(began.elapsed() < LONGEST_WAIT, "{}", server.log());
    cluster.up();
    if let Some((status, text)) = answer {
        assert_eq!(status, 200, "{text}");
        assert_eq!(type_of_last_line(&text), "failed", "{}", server.log());
    }
    // The place is free, and the next import says how it ended too.
    let began = Instant::now();
    let small = json!({"acme/model-1": catalog["acme/model-1"].clone()});
    loop {
        match post(&client(), &url, &small) {
            Some((200, text)) => {
                assert_eq!(type_of_last_line(&text), "done", "{text}");
                break;
            }
            other => assert!(began.elapsed() < LONGEST_WAIT, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
