//! Connections up to the limit and beyond.

use super::Service;
use super::client::Client;
#[cfg(target_os = "linux")]
use super::process::open_files;
use crate::server::wait_until;

/// Files that the database may open meanwhile.
#[cfg(target_os = "linux")]
const OTHER_FILES: usize = 4;

/// Connects beyond the cap; those that are let in.
fn fill(service: &Service, first: Client, cap: usize, connections: usize) -> Vec<Client> {
    let mut open = vec![first];
    open.extend((1..connections).map(|_| service.connect()));
    // Connections are taken in the order in which they were made.
    for client in open.split_off(cap) {
        let answers = client.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        let problem = answers[0].problem(503);
        assert_eq!(problem["type"], "/problems/busy");
        assert_eq!(problem["detail"], "connection limit reached");
        assert_eq!(answers[0].header("retry-after"), Some("1"));
        assert_eq!(answers[0].header("connection"), Some("close"));
    }
    for client in &mut open {
        assert_eq!(client.ask("/healthz").status, 200);
    }
    open
}

/// Whether a new client is let in.
fn is_let_in(service: &Service) -> bool {
    match service.get("/healthz").status.as_u16() {
        200 => true,
        503 => false,
        status => panic!("{status}"),
    }
}

fn refuses_beyond(cap: usize, connections: usize) {
    // Those that are let in must not be closed for resting before all have come.
    let service = Service::with(&[
        "--max-connections",
        &cap.to_string(),
        "--head-timeout",
        "60s",
    ]);
    let mut first = service.connect();
    assert_eq!(first.ask("/estimates").status, 200);
    #[cfg(target_os = "linux")]
    let files = open_files(service.server.id());
    let mut open = fill(&service, first, cap, connections);
    assert!(!is_let_in(&service));
    let kept = &mut open[0];
    for _ in 0..3 {
        assert_eq!(kept.ask("/healthz").status, 200);
    }
    open.truncate(1);
    wait_until("new clients are let in", || is_let_in(&service));
    assert_eq!(open[0].ask("/healthz").status, 200);
    drop(open);
    #[cfg(target_os = "linux")]
    wait_until("the files are closed", || {
        open_files(service.server.id()) <= files + OTHER_FILES
    });
    wait_until("all places are free again", || {
        let mut clients: Vec<Client> = (0..cap).map(|_| service.connect()).collect();
        clients
            .iter_mut()
            .all(|client| client.ask("/healthz").status == 200)
    });
}

#[test]
fn the_connection_beyond_the_limit_is_refused_and_the_others_continue() {
    refuses_beyond(8, 9);
}

#[test]
fn a_flood_of_connections_does_not_harm_the_open_ones() {
    rlimit::increase_nofile_limit(4096).unwrap();
    refuses_beyond(64, 300);
}
