//! Memory used by catalogs.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::catalog_client::{Sender, of_one_model, serve, wait_for_place};
use crate::server::{Server, client, get, post};
use crate::support::{TestDatabase, sheet_of};

/// Memory limit of an import and the rest of the service, in bytes.
const BOUND: u64 = 512 * 1024 * 1024;

/// The most memory that the process ever held.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Objects of which each is as small as can be: so many values of JSON.
fn small_objects(values: usize) -> String {
    let objects = "{\"a\":0},".repeat(values / 2);
    format!("[{}]", objects.trim_end_matches(','))
}

/// Asks as others do until stopped; how often it was answered.
fn ask_meanwhile(server: &Server, stop: &AtomicBool) -> usize {
    let mut answered = 0;
    while !stop.load(Ordering::Relaxed) {
        let (status, text) = get(&client(), &format!("{}/healthz", server.address));
        assert_eq!(status, 200, "{text}");
        let question = sheet_of(&format!("m-{answered}"));
        let answer = post(&client(), &format!("{}/infer", server.address), &question);
        let (status, text) = answer.unwrap();
        assert_eq!(status, 201, "{text}");
        answered += 1;
    }
    answered
}

#[test]
fn clients_that_leave_and_bodies_that_never_end_stay_below_the_bound() {
    let database = TestDatabase::sqlite();
    let server = serve(&database, &["--body-timeout", "8s"]);
    let objects = small_objects(1_900_000);
    let half_a_body = vec![b' '; 48 * 1024 * 1024];
    let stop = AtomicBool::new(false);
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_meanwhile(&server, &stop));
        let leaving = (0..6).map(|_| {
            scope.spawn(|| {
                for _ in 0..8 {
                    let sender = Sender::whole(&server, "", &objects);
                    // It leaves while what it sent is read.
                    std::thread::sleep(Duration::from_millis(1_500));
                    drop(sender);
                }
            })
        });
        let unfinished = (0..8).map(|_| {
            scope.spawn(|| {
                let mut sender = Sender::begin(&server, "", 64 * 1024 * 1024);
                if !sender.send(&half_a_body) {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                // It stays as long as the server lets it.
                sender.read_rest();
            })
        });
        let attackers: Vec<_> = leaving
            .collect::<Vec<_>>()
            .into_iter()
            .chain(unfinished.collect::<Vec<_>>())
            .collect();
        for attacker in attackers {
            attacker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(asking.join().unwrap() > 0);
    });
    let peak = peak(&server);
    assert!(peak < BOUND, "{peak} bytes");
    // One of them has the place; the others are refused before they have sent all of it.
    assert!(refused.load(Ordering::Relaxed) >= 6, "{refused:?}");
    let freed_after = wait_for_place(&server);
    assert!(freed_after < Duration::from_secs(15), "{freed_after:?}");
}

#[test]
fn a_body_is_left_unread_while_another_catalog_is_imported() {
    let database = TestDatabase::sqlite();
    let server = serve(&database, &[]);
    let first = Sender::begin(&server, "", 1_000);
    // The first one has the place once the second one has not.
    let began = Instant::now();
    let answer = loop {
        let mut second = Sender::begin(&server, "?dry_run=true", 1_000);
        let is_refused = second.read_at_once();
        if let Some(answer) = is_refused {
            break answer;
        }
        drop(second);
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "its body is waited for"
        );
    };
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.contains("another catalog is being imported"),
        "{answer}"
    );
    drop(first);
    wait_for_place(&server);
}

#[test]
fn the_worst_catalogs_stay_below_the_bound() {
    let database = TestDatabase::sqlite();
    let server = serve(&database, &[]);
    let entry = |junk: &str| {
        format!(
            "{{\"litellm_provider\":\"acme\",\"mode\":\"chat\",\"input_cost_per_token\":1e-6,\
             \"output_cost_per_token\":2e-6,\"junk\":{junk}}}"
        )
    };
    let of_entries = |entries: Vec<String>| {
        let entries = entries.into_iter().enumerate();
        let entries: Vec<String> = entries
            .map(|(number, entry)| format!("\"acme/m-{number}\":{entry}"))
            .collect();
        format!("{{{}}}", entries.join(","))
    };
    let url = format!("{}/catalogs?dry_run=true", server.address);
    let patient: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    for (what, catalog, expected) in [
        (
            "too many values",
            small_objects(1_000_002),
            "more than 1000000 values",
        ),
        (
            "one entry of nearly as many",
            of_entries(vec![entry(&small_objects(999_900))]),
            "more than 50000 values",
        ),
        (
            "entries that keep much of what is not read",
            of_entries((0..20).map(|_| entry(&small_objects(48_000))).collect()),
            "160 MiB of sheets",
        ),
        (
            "too many entries",
            of_entries(
                (0..100_001)
                    .map(|_| "{\"litellm_provider\":0,\"input_cost_per_token\":0}".to_owned())
                    .collect(),
            ),
            "more than 100000 entries",
        ),
        (
            "keys that are long",
            format!(
                "{{\"a\":{entry},\"b\":{entry},\"{}\":0}}",
                "k".repeat(40_000_000),
                entry = "{\"litellm_provider\":\"acme\",\"input_cost_per_token\":0}"
            ),
            "done",
        ),
    ] {
        let sent = patient
            .post(&url)
            .header("content-type", "application/json")
            .send(&catalog);
        let mut answer = sent.unwrap();
        let text = answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_string()
            .unwrap();
        let peak = peak(&server);
        let said: String = text.chars().take(300).collect();
        assert!(text.contains(expected), "{what}: {said}");
        assert!(peak < BOUND, "{what}: {peak} bytes");
    }
    // As many offers as fit, of one model, whose client leaves when they are read.
    let mut sender = Sender::whole(&server, "?dry_run=true", &of_one_model(20_000));
    let said = sender.read_until("\"type\":\"unmatched_names\"");
    assert!(
        said.contains("\"sheets\":20000"),
        "{}",
        &said[..said.len().min(300)]
    );
    drop(sender);
    wait_for_place(&server);
    let peak = peak(&server);
    assert!(peak < BOUND, "20,000 offers: {peak} bytes");
    let answer = post(
        &client(),
        &format!("{}/infer", server.address),
        &json!(sheet_of("m")),
    );
    assert_eq!(answer.unwrap().0, 201);
}
