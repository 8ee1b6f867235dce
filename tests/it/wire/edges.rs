//! Heads, bodies and answers at the edge of what is taken.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::raw::{connect, exchange, first_answer};
use crate::server::Server;
use crate::support::TestDatabase;

fn serve(more: &[&str]) -> (Server, TestDatabase) {
    let database = TestDatabase::sqlite();
    let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    (Server::start_with(&[&place[..], more].concat()), database)
}

/// A request whose head has so many bytes.
fn head_of(bytes: usize) -> String {
    let (start, end) = (
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
        "\r\n\r\n",
    );
    let filled = "a".repeat(bytes - start.len() - end.len());
    format!("{start}{filled}{end}")
}

#[test]
fn a_head_is_as_long_as_it_may_be_and_no_byte_longer() {
    for most in [8192, 10_000, 20_000, 131_072] {
        let (server, _database) = serve(&["--max-head-bytes", &most.to_string()]);
        for (bytes, status) in [
            (most - 1, 200),
            (most, 200),
            (most + 1, 431),
            (most + 100, 431),
            (most + 4_000, 431),
        ] {
            let answer = exchange(&server.address, head_of(bytes));
            assert_eq!(answer.status, status, "{bytes} bytes of {most}");
        }
        // In pieces, and as the second request of a connection.
        let (whole, beyond) = (head_of(most), head_of(most + 1));
        let mut stream = connect(&server.address);
        for (request, status) in [(&whole, 200), (&whole, 200), (&beyond, 431)] {
            let (one, other) = request.split_at(most / 2);
            stream.write_all(one.as_bytes()).unwrap();
            stream.write_all(other.as_bytes()).unwrap();
            assert_eq!(first_answer(&mut stream).status, status, "{most}");
        }
    }
}

#[test]
fn a_body_that_is_too_large_by_its_own_word_is_refused_before_it_is_sent() {
    let (server, _database) = serve(&["--max-body-bytes", "1000", "--max-catalog-bytes", "5000"]);
    for (path, most) in [
        ("/infer", 1_000),
        ("/simulate", 1_000),
        ("/catalogs", 5_000),
    ] {
        for bytes in [most + 1, 10_000_000_000_u64] {
            let mut stream = connect(&server.address);
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\nExpect: 100-continue\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let answer = first_answer(&mut stream);
            assert_eq!(answer.status, 413, "{path} {bytes}: {answer:?}");
            assert!(answer.head.contains("\r\nconnection: close"), "{answer:?}");
            assert_eq!(answer.json()["type"], "/problems/too-large");
            assert_eq!(
                stream.read(&mut [0]).unwrap(),
                0,
                "the connection stays open"
            );
        }
        let mut stream = connect(&server.address);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {most}\r\nExpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(first_answer(&mut stream).status, 100, "{path}");
    }
}

/// A client that sends without asking first still sees why.
#[test]
fn a_body_that_is_sent_all_the_same_is_refused_with_a_word() {
    let (server, _database) = serve(&["--max-body-bytes", "100000"]);
    let body = "a".repeat(150_000);
    let request = format!(
        "POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(exchange(&server.address, request).status, 413);
}

/// Thirty times as fast as 30 kB/s, with a tenth of the time to write that is usual: half as much again as it may take
/// from one write to the next.
const PIECE: usize = 15_000;
const BETWEEN_PIECES: Duration = Duration::from_millis(50);

#[test]
fn a_client_that_reads_slowly_and_steadily_gets_all() {
    let (server, _database) = serve(&["--write-timeout", "3s"]);
    let mut stream = connect(&server.address);
    // More than systems keep for a connection.
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    stream.write_all(requests.as_bytes()).unwrap();
    let began = Instant::now();
    let mut piece = vec![0; PIECE];
    while began.elapsed() < Duration::from_secs(15) {
        stream
            .read_exact(&mut piece)
            .unwrap_or_else(|error| panic!("{error} after {:?}", began.elapsed()));
        std::thread::sleep(BETWEEN_PIECES);
    }
}
