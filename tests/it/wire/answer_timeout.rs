//! Response timeout, from the end of the request body to the response headers.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Server, client, post};
use crate::support::TestDatabase;

/// Long after the limit that the test sets, and long before the ones it leaves.
const SOON: Duration = Duration::from_secs(12);
/// More than are computed within the limit.
const QUESTIONS: u32 = 40;

fn serve(database: &TestDatabase) -> Server {
    let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    let limits = ["--answer-timeout", "1s", "--max-computing", "1"];
    Server::start_with(&[&place[..], &limits].concat())
}

#[test]
fn answer_timeout_begins_with_the_end_of_the_body_and_adds_no_other_limit() {
    let database = TestDatabase::sqlite();
    let server = serve(&database);
    let question = |number: u32| {
        json!({"grid": {
            "batch": {"from": 1, "to": 100_000 + number, "points": 100},
            "context_tokens": {"from": 1, "to": 100_000, "points": 100},
        }})
    };
    let ask = |number| {
        let url = format!("{}/simulate", server.address);
        let (client, began) = (client(), Instant::now());
        let (status, _) = post(&client, &url, &question(number)).unwrap();
        (status, began.elapsed())
    };
    let answers: Vec<(u16, Duration)> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..QUESTIONS)
            .map(|number| scope.spawn(move || ask(number)))
            .collect();
        asking
            .into_iter()
            .map(|asked| asked.join().unwrap())
            .collect()
    });
    let late = answers.iter().filter(|(status, _)| *status == 503).count();
    assert!(late > 0, "{answers:?}");
    let longest = answers.iter().map(|(_, time)| *time).max().unwrap();
    assert!(longest < SOON, "{answers:?}");
}

#[test]
fn answer_timeout_does_not_count_the_time_of_the_body() {
    use std::io::{Read, Write};

    let database = TestDatabase::sqlite();
    let server = serve(&database);
    let address = server.address.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = "POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 30\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // Thrice the time of an answer, and far less than that of a body.
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(100));
        stream.write_all(b"{").unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}
