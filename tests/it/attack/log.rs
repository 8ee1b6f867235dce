//! The log of a service under attack: no line is as long as a client wants it, and an outage is not a line per request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::database_faults::cluster::Cluster;
use crate::server::{LONGEST_WAIT, Server, client, get, post};
use crate::support::{TestDatabase, sheet_of};

#[test]
fn a_method_of_a_clients_own_is_logged_as_other() {
    let database = TestDatabase::sqlite();
    let server = Server::start(&database.url);
    let method = "OFANYLENGTH".repeat(1_000);
    let mut connection = TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
    let request =
        format!("{method} /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    let log = server.wait_for_log("served");
    assert!(!log.contains("OFANYLENGTH"), "{log}");
    assert!(log.contains("method=other"), "{log}");
}

#[test]
fn an_outage_is_a_line_per_cause_and_one_when_it_is_over_and_not_one_per_request() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let url = cluster.url();
    let server = Server::start_with(&["--listen", "127.0.0.1:0", "--database-url", &url]);
    let (client, address) = (client(), server.address.clone());
    let (infer, ready) = (format!("{address}/infer"), format!("{address}/readyz"));
    assert_eq!(post(&client, &infer, &sheet_of("known")).unwrap().0, 201);
    for outage in 1..=2 {
        cluster.down("fast");
        std::thread::scope(|scope| {
            for number in 0..32 {
                let (client, infer) = (&client, &infer);
                scope.spawn(move || {
                    let sheet = sheet_of(&format!("refused {number}"));
                    assert_eq!(post(client, infer, &sheet).unwrap().0, 503);
                });
            }
        });
        cluster.up();
        let began = Instant::now();
        while get(&client, &ready).0 != 200
            || server.log().matches("database outage over").count() < outage
        {
            assert!(began.elapsed() < LONGEST_WAIT, "{}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = server.log();
        let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
        // The pool's wait, a connection that was cut, a server that shuts down or starts up.
        assert!(
            (outage..=4 * outage).contains(&errors.len()),
            "outage {outage}: {errors:#?}"
        );
    }
    let log = server.log();
    let over = log
        .lines()
        .find(|line| line.contains("database outage over"))
        .unwrap();
    let failures = over.split("failures=").nth(1).unwrap();
    let failures: u64 = failures.split(' ').next().unwrap().parse().unwrap();
    assert!(failures >= 32 && over.contains("seconds="), "{over}");
}
