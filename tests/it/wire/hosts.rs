//! A page elsewhere whose name leads to this machine: its visitor's browser then connects to the service.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::raw::exchange;
use crate::server::{Server, client, get, run};
use crate::support::{TestDatabase, sheet};

/// A server of a database of its own, with more arguments.
fn serve(more: &[&str]) -> (Server, TestDatabase) {
    let database = TestDatabase::sqlite();
    let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    (Server::start_with(&[&place[..], more].concat()), database)
}

fn status_for(address: &str, target: &str, host: &str) -> u16 {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    exchange(address, request).status
}

#[test]
fn a_name_that_was_made_to_mean_this_machine_neither_reads_nor_writes() {
    let (server, _database) = serve(&[]);
    let body = sheet().to_string();
    let write = |host: &str| {
        let length = body.len();
        let request = format!(
            "POST /infer HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        exchange(&server.address, request)
    };
    for host in [
        "rebind.example",
        "rebind.example:8080",
        "127.0.0.1.rebind.example",
        "localhost.rebind.example",
        "rebind.localhost",
        "2130706433",
        "0x7f.1",
    ] {
        assert_eq!(
            status_for(&server.address, "/estimates", host),
            421,
            "{host}"
        );
        let refused = write(host);
        assert_eq!(refused.status, 421, "{host}");
        let problem = refused.json();
        assert_eq!(problem["type"], "/problems/unknown-host");
        let name = host.trim_end_matches(":8080");
        let detail = format!("the host `{name}` is not allowed");
        assert_eq!(problem["detail"], detail);
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.contains("--allow-host"), "{hint}");
    }
    let (_, stored) = get(&client(), &format!("{}/estimates", server.address));
    assert!(stored.starts_with(r#"{"data":[]"#), "{stored}");
    assert_eq!(write("localhost").status, 201);
}

#[test]
fn the_authority_of_a_target_is_a_host_like_any_other() {
    let (server, _database) = serve(&["--allow-host", "unroof.example"]);
    for (target, host, status) in [
        ("http://rebind.example/healthz", "localhost", 421),
        ("http://localhost/healthz", "rebind.example", 421),
        ("http://unroof.example:80/healthz", "localhost", 200),
        ("http://127.0.0.1/healthz", "unroof.example", 200),
        ("http://user@unroof.example/healthz", "localhost", 400),
    ] {
        let answered = status_for(&server.address, target, host);
        assert_eq!(answered, status, "{target}, Host: {host}");
    }
    let connect = "CONNECT rebind.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(exchange(&server.address, connect).status, 421);
}

#[test]
fn addresses_localhost_and_allowed_names_are_served() {
    let more = [
        "--allow-host",
        "unroof.example",
        "--allow-host",
        "Proxy,other_1.example.",
    ];
    let (server, _database) = serve(&more);
    for host in [
        "127.0.0.1",
        "192.0.2.7:8080",
        "[::1]:8080",
        "[2001:db8::1]",
        "localhost",
        "LOCALHOST.:65535",
        "unroof.example",
        "Unroof.Example.:443",
        "proxy",
        "OTHER_1.example",
    ] {
        assert_eq!(status_for(&server.address, "/healthz", host), 200, "{host}");
    }
    assert_eq!(status_for(&server.address, "/healthz", "example"), 421);
    // What names no host is not the request of a page: no browser sends it, and checks of load balancers do.
    let of_old = exchange(&server.address, "GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(of_old.status, 200);
}

#[test]
fn what_no_host_is_called_is_400() {
    let (server, _database) = serve(&["--allow-host", "a"]);
    for host in [
        "a,b",
        "a, a",
        "a:99999999",
        "a:65536",
        "a:-1",
        "a:b",
        "a:80:80",
        ":80",
        "",
        "user@a",
        "a/b",
        "a?b",
        "a'b",
        "a;b",
        "a*",
        "%61",
        "[::1",
        "[::1]a",
        "[fe80::1%25eth0]",
        "[127.0.0.1]",
        "..",
    ] {
        let expected = if host == ".." { 421 } else { 400 };
        assert_eq!(
            status_for(&server.address, "/healthz", host),
            expected,
            "{host}"
        );
    }
}

#[test]
fn the_listener_for_metrics_knows_its_hosts_too() {
    let (server, _database) = serve(&["--metrics-listen", "127.0.0.1:0", "--allow-host", "unroof"]);
    let address = server.metrics_address();
    for host in ["127.0.0.1", "localhost", "unroof:9464"] {
        assert_eq!(status_for(&address, "/metrics", host), 200, "{host}");
    }
    let request = "GET /metrics HTTP/1.1\r\nHost: rebind.example\r\n\r\n";
    let refused = exchange(&address, request);
    assert_eq!(refused.status, 421);
    assert_eq!(refused.json()["type"], "/problems/unknown-host");
    assert!(!refused.body.contains("unroof_build"), "{}", refused.body);
    assert_eq!(status_for(&address, "/metrics", "a,b"), 400);
}

#[test]
fn a_health_check_of_an_address_needs_no_name() {
    let (server, _database) = serve(&[]);
    let url = format!("{}/healthz", server.address);
    assert_eq!(run(&["healthcheck", "--url", &url]).code, Some(0));
    let by_name = url.replace("127.0.0.1", "localhost");
    assert_eq!(run(&["healthcheck", "--url", &by_name]).code, Some(0));
}

#[test]
fn a_service_for_other_machines_logs_a_hint_about_host_names() {
    let database = TestDatabase::sqlite();
    for (name, hint) in [(None, true), (Some("unroof.example"), false)] {
        let mut arguments = vec![
            "--database-url",
            &database.url,
            "--listen",
            "0.0.0.0:0",
            "--anonymous",
            "read",
        ];
        arguments.extend(name.iter().flat_map(|name| ["--allow-host", *name]));
        let server = Server::start_with(&arguments);
        let log = server.wait_for_log("a key decides what a caller may do");
        let (_, log) = (log, server.stop().1);
        assert_eq!(log.contains("with --allow-host"), hint, "{log}");
    }
}

/// Prometheus asks by the name of the service in the compose file.
#[test]
fn the_compose_file_allows_the_names_that_its_services_use() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(project.join(file)).unwrap();
    let compose = read("docker-compose.yml");
    let allowed = compose
        .lines()
        .find_map(|line| line.trim().strip_prefix("UNROOF_ALLOW_HOST: "));
    let allowed: Vec<&str> = allowed.unwrap().split(',').collect();
    let prometheus = read("dashboards/prometheus/prometheus.yml");
    let targets: Vec<&str> = prometheus
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- targets: ["))
        .flat_map(|targets| targets.trim_end_matches(']').split(", "))
        .collect();
    assert_eq!(json!(targets), json!(["unroof:9464"]));
    assert!(allowed.contains(&"unroof"), "{allowed:?}");
}
