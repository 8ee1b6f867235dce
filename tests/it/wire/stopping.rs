//! Stopping the service: from the signal to the end.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Service;
use super::client::{Client, post_lines};
use crate::server::{Server, signal, unroof, wait_until};
use crate::support::{TestDatabase, say, sheet};

/// Longer than a second, shorter than all that these tests do not want to wait for.
const SOON: Duration = Duration::from_secs(20);

/// A client whose request has begun, and the rest of it.
fn half_asked(service: &Service) -> (Client, String) {
    let question = sheet().to_string();
    let (half, rest) = question.split_at(question.len() / 2);
    let mut client = service.connect();
    client.send(post_lines("/infer"));
    client.send(format!("Content-Length: {}\r\n\r\n{half}", question.len()));
    // Connections are taken in their order, so the first was taken if a second is answered.
    assert_eq!(service.get("/healthz").status, 200);
    (client, rest.to_owned())
}

fn ask_to_stop(service: &Service, name: &str) {
    signal(service.server.id(), name);
    service.server.wait_for_log("stopping");
}

fn is_refused(service: &Service) -> bool {
    let address = service.server.address.strip_prefix("http://").unwrap();
    TcpStream::connect(address).is_err()
}

#[test]
fn a_server_that_stops_says_so_finishes_what_it_began_and_ends_well() {
    let service = Service::with(&["--stop-notice", "2s", "--drain-timeout", "60s"]);
    let mut resting = service.connect();
    assert_eq!(resting.ask("/readyz").status, 200);
    let (mut client, rest) = half_asked(&service);
    ask_to_stop(&service, "TERM");
    let unready = service.get("/readyz");
    let problem = unready.problem(503);
    assert_eq!(problem["type"], "/problems/busy");
    assert_eq!(problem["detail"], "the service is stopping");
    assert_eq!(unready.header("retry-after"), Some("1"));
    assert_eq!(service.get("/healthz").status, 200);
    assert_eq!(resting.ask("/healthz").status, 200);
    wait_until("new connections are refused", || is_refused(&service));
    client.send(rest);
    assert_eq!(client.answer().status, 201);
    assert!(client.answers().is_empty());
    resting.lifetime();
    let (status, log) = service.server.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_service_that_is_stopped_while_it_prepares_its_database_ends_well() {
    for pause in (0..50).map(Duration::from_millis) {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("unroof.db").display());
        let serve = ["serve", "--listen", "127.0.0.1:0", "--stop-notice", "0s"];
        let mut command = unroof(&serve);
        command.args(["--database-url", &database]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let child = child.unwrap();
        // It listens for signals once it has written its address.
        wait_until("the address is written", || has_address(folder.path()));
        std::thread::sleep(pause);
        signal(child.id(), "TERM");
        let ended = child.wait_with_output().unwrap();
        let log = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{pause:?}: {log}");
    }
}

fn has_address(folder: &Path) -> bool {
    let mut files = std::fs::read_dir(folder).unwrap();
    files.any(|file| file.unwrap().path().extension() == Some("address".as_ref()))
}

#[test]
fn a_request_that_never_comes_whole_does_not_keep_a_server_from_ending() {
    let service = Service::with(&["--stop-notice", "0s", "--drain-timeout", "1s"]);
    let (client, _) = half_asked(&service);
    let began = Instant::now();
    ask_to_stop(&service, "TERM");
    client.lifetime();
    let (status, log) = service.server.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(
        log.contains("some requests did not finish in time"),
        "{log}"
    );
    let took = began.elapsed();
    assert!(
        (Duration::from_millis(950)..SOON).contains(&took),
        "{took:?}"
    );
}

#[test]
fn asked_to_stop_again_a_server_leaves_what_it_began() {
    for limits in [
        ["--stop-notice", "60s", "--drain-timeout", "0s"],
        ["--stop-notice", "0s", "--drain-timeout", "60s"],
    ] {
        let service = Service::with(&limits);
        let (client, _) = half_asked(&service);
        let began = Instant::now();
        ask_to_stop(&service, "TERM");
        if limits[1] == "0s" {
            wait_until("new connections are refused", || is_refused(&service));
        }
        signal(service.server.id(), "TERM");
        client.lifetime();
        let (status, log) = service.server.end();
        assert_eq!(status.code(), Some(1), "{limits:?}: {log}");
        assert!(
            log.contains("second stop signal before all requests were finished"),
            "{log}"
        );
        assert!(began.elapsed() < SOON, "{limits:?}");
    }
}

#[test]
fn a_person_who_stops_a_server_does_not_wait_for_those_who_look_whether_it_is_ready() {
    let service = Service::with(&["--stop-notice", "60s", "--drain-timeout", "60s"]);
    let mut resting = service.connect();
    assert_eq!(resting.ask("/healthz").status, 200);
    let began = Instant::now();
    ask_to_stop(&service, "INT");
    let (status, log) = service.server.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(began.elapsed() < SOON);
    resting.lifetime();
}

/// Ways to a process that is the first of its own, for root and for others.
#[cfg(target_os = "linux")]
const FIRST_OF_ITS_OWN: [&[&str]; 2] = [
    &["--pid", "--fork", "--kill-child", "--mount-proc"],
    &[
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
    ],
];

#[cfg(target_os = "linux")]
#[test]
fn the_first_process_of_a_container_stops_when_it_is_asked_to() {
    use super::process::{children, own_number};

    let is_permitted = |ways: &&&[&str]| {
        let tried = Command::new("unshare").args(**ways).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    let Some(ways) = FIRST_OF_ITS_OWN.iter().find(is_permitted) else {
        return say("skipped as the first process of a container: `unshare` is not permitted here");
    };
    let database = TestDatabase::sqlite();
    let serve = unroof(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        &database.url,
    ]);
    let mut command = Command::new("unshare");
    command
        .env_clear()
        .args(*ways)
        .arg(serve.get_program())
        .args(serve.get_args());
    let server = Server::spawn(command);
    let first = children(server.id());
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(own_number(first[0]), 1);
    assert_eq!(Client::connect(&server.address).ask("/healthz").status, 200);
    signal(first[0], "TERM");
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0), "{log}");
}
