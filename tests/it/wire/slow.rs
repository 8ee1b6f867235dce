//! Clients that take their time.

use std::time::Duration;

use super::Service;
use super::client::post_lines;
#[cfg(target_os = "linux")]
use super::{
    client::{Client, get},
    process::{open_sockets, resident_bytes},
};
#[cfg(target_os = "linux")]
use crate::server::wait_until;
use crate::support::Reply;

/// The limit that these tests set.
const LIMIT: &str = "1s";
/// No sooner than the limit, but for the coarseness of clocks; and long before any limit that is set without being asked.
const NEAR_LIMIT: std::ops::Range<Duration> = Duration::from_millis(950)..Duration::from_secs(8);

#[test]
fn a_head_that_does_not_come_whole_in_time_closes_the_connection_without_a_word() {
    let service = Service::with(&["--head-timeout", LIMIT]);
    let beginnings = [
        "",
        "G",
        "GET /healthz HTTP/1.1\r\nHost: loc",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    ];
    let clients = beginnings.map(|beginning| {
        let mut client = service.connect();
        client.send(beginning);
        client
    });
    let mut dripping = service.connect();
    dripping.send("GET /healthz HTTP/1.1\r\n");
    assert_eq!(service.get("/healthz").status, 200);
    dripping.drip("X-More: a\r\n", Duration::from_millis(250));
    let lifetime = dripping.lifetime();
    assert!(NEAR_LIMIT.contains(&lifetime), "dripping: {lifetime:?}");
    for (client, beginning) in clients.into_iter().zip(beginnings) {
        let lifetime = client.lifetime();
        assert!(
            NEAR_LIMIT.contains(&lifetime),
            "{beginning:?}: {lifetime:?}"
        );
    }
}

#[test]
fn a_connection_that_rests_between_requests_is_closed_in_time() {
    let service = Service::with(&["--head-timeout", LIMIT]);
    let mut client = service.connect();
    for _ in 0..2 {
        assert_eq!(client.ask("/healthz").status, 200);
    }
    let lifetime = client.lifetime();
    assert!(NEAR_LIMIT.contains(&lifetime), "{lifetime:?}");
}

#[test]
fn a_body_that_does_not_come_whole_in_time_is_408_and_the_connection_closed() {
    let service = Service::with(&["--body-timeout", LIMIT]);
    let beginnings = [
        "Content-Length: 100\r\n\r\n",
        "Content-Length: 100\r\n\r\n{\"price_sheet\": ",
        "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n10\r\n{",
    ];
    let clients = beginnings.map(|beginning| {
        let mut client = service.connect();
        client.send(post_lines("/infer") + beginning);
        client
    });
    let mut dripping = service.connect();
    dripping.send(post_lines("/infer") + "Content-Length: 10000\r\n\r\n");
    assert_eq!(service.get("/healthz").status, 200);
    dripping.drip(" ", Duration::from_millis(100));
    for client in clients.into_iter().chain([dripping]) {
        let mut answers = client.answers();
        answers.retain(|answer| answer.status != 100);
        assert_eq!(answers.len(), 1, "{answers:?}");
        is_late_body(&answers[0]);
    }
    let mut client = service.connect();
    client.send(post_lines("/infer") + "Content-Length: 100\r\n\r\n");
    client.answer();
    assert!(NEAR_LIMIT.contains(&client.age()), "{:?}", client.age());
}

#[test]
fn a_refusal_comes_at_once_and_the_rest_of_its_body_is_read_for_a_second() {
    let service = Service::with(&[]);
    let piece = " ".repeat(1024 * 1024);
    let length = format!("Content-Length: {}\r\n\r\n", 8 * piece.len());
    let head = |path: &str| format!("{}{length}", post_lines(path));
    for (path, status) in [("/infer", 413), ("/nowhere", 404), ("/healthz", 405)] {
        let mut client = service.connect();
        client.send(head(path));
        assert_eq!(client.answer().status, status, "{path}");
        assert!(
            client.age() < NEAR_LIMIT.start,
            "{path}: {:?}",
            client.age()
        );
        for sent in 0..8 {
            assert!(client.send(&piece), "{path}: closed after {sent} MiB");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Only what is too large ends the connection.
        if status == 413 {
            client.lifetime();
        } else {
            assert_eq!(client.ask("/healthz").status, 200, "{path}");
        }
    }
    let mut silent = service.connect();
    silent.send(head("/nowhere"));
    silent.answer();
    let lifetime = silent.lifetime();
    assert!(NEAR_LIMIT.contains(&lifetime), "{lifetime:?}");
}

fn is_late_body(answer: &Reply) {
    let problem = answer.problem(408);
    assert_eq!(problem["type"], "/problems/timeout");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(problem["hint"], "send all of it within 1s");
}

/// Requests whose answers are more than the system keeps for a socket.
#[cfg(target_os = "linux")]
const UNREAD_REQUESTS: usize = 500;

#[cfg(target_os = "linux")]
#[test]
fn clients_that_do_not_read_are_closed_in_time_and_take_no_memory() {
    let service = Service::with(&["--write-timeout", LIMIT]);
    let number = service.server.id();
    let (sockets, bytes) = (open_sockets(number), resident_bytes(number));
    let whole = service.get("/openapi.json").body.len();
    let clients: Vec<Client> = (0..4)
        .map(|_| {
            let mut client = service.connect();
            client.send(get("/openapi.json").repeat(UNREAD_REQUESTS));
            client
        })
        .collect();
    assert_eq!(service.get("/healthz").status, 200);
    let taken = resident_bytes(number).saturating_sub(bytes);
    assert!(taken < 64 * 1024 * 1024, "{taken} bytes");
    wait_until("the connections are closed", || {
        open_sockets(number) <= sockets
    });
    let lifetime = clients[0].age();
    assert!(NEAR_LIMIT.contains(&lifetime), "{lifetime:?}");
    for client in clients {
        let came = client.bytes_until_closed();
        assert!(came < whole * UNREAD_REQUESTS, "all {came} bytes came");
    }
}
