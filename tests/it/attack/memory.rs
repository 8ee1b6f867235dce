//! Memory used by clients: unread responses, and one document in many spellings.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{LONGEST_WAIT, Server, get, patient_client, post, unroof};
use crate::support::{TestDatabase, sheet_of};

const MIB: u64 = 1024 * 1024;
const IN_FLIGHT: u64 = 64 * MIB;
const CACHE: u64 = 16 * MIB;
/// Memory of one answer being computed, with its rows and its growing text.
const WORK: u64 = 48 * MIB;
/// Bodies and answers too small to be counted, the buffers of connections, and pages that the allocator keeps for a while.
const REST: u64 = 64 * MIB;
const CLIENTS: usize = 40;

/// Limits that a program which does not know them ignores.
fn serve(database: &TestDatabase) -> Server {
    let mut command = unroof(&["serve", "--max-computing", "1", "--answer-timeout", "2m"]);
    command.args(["--database-url", &database.url, "--listen", "127.0.0.1:0"]);
    command.args(["--pool-timeout", "20s", "--statement-timeout", "20s"]);
    command.env("UNROOF_MAX_BYTES_IN_FLIGHT", IN_FLIGHT.to_string());
    command.env("UNROOF_CACHE_BYTES", CACHE.to_string());
    Server::spawn(command)
}

/// Sheets of 64 hosts with so many rates each.
fn pool(rates: usize) -> Value {
    let rate = |host: usize, step: usize| {
        let mut rate =
            json!({"input": format!("{}.25", step + 1), "output": format!("{}.{host}", step + 11)});
        if step > 0 {
            rate["context_tier"] = json!({"min_prompt_tokens": 1000 * step});
        }
        rate
    };
    let host = |host: usize| {
        json!({
            "schema": "pricesheet/v1", "provider": format!("host-{host}"), "model": "m-1",
            "canonical_model": "acme/m-1", "currency": "USD", "unit": "per_1m_tokens",
            "rates": (0..rates).map(|step| rate(host, step)).collect::<Vec<_>>(),
            "sources": [{"url": "https://acme.example/prices", "format": "official"}],
        })
    };
    json!({"price_sheets": (0..64).map(host).collect::<Vec<_>>()})
}

/// A path of which some characters are written otherwise.
fn spelled(id: &str, number: usize) -> String {
    let character = |(place, character): (usize, char)| {
        if number >> (place % 6) & 1 == 1 {
            format!("%{:02X}", character as u32)
        } else {
            character.to_string()
        }
    };
    let id: String = id.chars().enumerate().map(character).collect();
    format!("/estimates/{id}")
}

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Sends a request and leaves what comes unread.
fn send(server: &Server, request: &str) -> TcpStream {
    let address = server.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

#[test]
fn answers_left_unread_stay_within_the_budget_and_others_are_served() {
    let database = TestDatabase::sqlite();
    let server = serve(&database);
    let client = patient_client();
    let infer = format!("{}/infer", server.address);
    let (status, stored) = post(&client, &infer, &pool(4)).unwrap();
    assert_eq!(status, 201, "{stored}");
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let id = stored["id"].as_str().unwrap();
    let (status, document) = get(&client, &format!("{}/estimates/{id}", server.address));
    assert_eq!(status, 200);
    assert!(document.len() < 8 * 1024 * 1024, "{} bytes", document.len());
    drop(document);

    let before = resident(server.id());
    let grid = json!({"grid": {
        "batch": {"from": 1, "to": 100_000, "points": 100},
        "context_tokens": {"from": 1, "to": 100_000, "points": 100},
    }});
    let grid = grid.to_string();
    let question = format!(
        "POST /simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{grid}",
        grid.len()
    );
    let mut unread = Vec::new();
    for number in 0..CLIENTS {
        let path = spelled(id, number);
        let read = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        unread.push(send(&server, &read));
        unread.push(send(&server, &question));
    }
    // It waits its turn behind all of those.
    for number in 0..3 {
        let (status, _) = post(&client, &infer, &sheet_of(&format!("m-{number}"))).unwrap();
        assert_eq!(status, 201);
        assert_eq!(get(&client, &format!("{}/healthz", server.address)).0, 200);
        assert_eq!(
            get(&client, &format!("{}/estimates", server.address)).0,
            200
        );
        let taken = resident(server.id()).saturating_sub(before);
        let most = IN_FLIGHT + CACHE + WORK + REST;
        assert!(taken < most, "{} of {} MiB", taken / MIB, most / MIB);
    }
    drop(unread);
    let began = Instant::now();
    while resident(server.id()) > before + CACHE + REST {
        let taken = resident(server.id()).saturating_sub(before);
        assert!(began.elapsed() < LONGEST_WAIT, "{} MiB stay", taken / MIB);
        assert_eq!(get(&client, &format!("{}/healthz", server.address)).0, 200);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_pool_whose_answer_would_be_too_large_is_refused_with_the_limit() {
    let database = TestDatabase::sqlite();
    let server = serve(&database);
    let (status, text) = post(
        &patient_client(),
        &format!("{}/infer", server.address),
        &pool(5),
    )
    .unwrap();
    assert_eq!(status, 422, "{} bytes", text.len());
    let problem: Value = serde_json::from_str(&text).unwrap();
    let fault = &problem["errors"][0];
    assert_eq!(fault["pointer"], "/price_sheets");
    assert_eq!(fault["detail"], "320 rates in all sheets together");
    assert!(fault["hint"].as_str().unwrap().contains("256"), "{fault}");
}

#[test]
fn every_spelling_of_a_question_has_one_answer_in_the_cache() {
    let database = TestDatabase::sqlite();
    let mut command = unroof(&["serve", "--log", "info,sqlx::query=debug"]);
    command.args(["--database-url", &database.url, "--listen", "127.0.0.1:0"]);
    let server = Server::spawn(command);
    let client = patient_client();
    let infer = format!("{}/infer", server.address);
    let (_, stored) = post(&client, &infer, &sheet_of("m-1")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let id = stored["id"].as_str().unwrap();
    for number in 0..64 {
        let path = spelled(id, number);
        assert_eq!(get(&client, &format!("{}{path}", server.address)).0, 200);
    }
    for query in [
        "provider=acme&limit=7",
        "limit=7&provider=acme",
        "limit=%37&provider=%61cme",
        "limit=07&provider=acme",
    ] {
        let url = format!("{}/estimates?{query}", server.address);
        assert_eq!(get(&client, &url).0, 200);
    }
    let (_, log) = server.stop();
    let read = |query: &str| log.lines().filter(|line| line.contains(query)).count();
    assert_eq!(read("SELECT document, checksum FROM estimates"), 1);
    assert_eq!(read("FROM estimate_listings AS listing JOIN estimates "), 1);
}
