//! Clients that do not wait for their answer.

use std::time::{Duration, Instant};

use serde_json::Value;
use unroof_infer::estimate::{CancelToken, Cancelled, Format, Request, infer_while, read_request};
use unroof_roofline::reference::calibration::Calibration;

use super::client::{Client, post, post_lines};
use super::{Service, pool};
use crate::server::wait_until;
use crate::support::sheet_of;

/// One that is computed and those that wait.
const PLACES: usize = 9;

#[test]
fn clients_that_leave_take_nothing_with_them() {
    let service = Service::with(&["--max-computing", "1", "--max-waiting", "8"]);
    for number in 0..930 {
        let question = sheet_of(&format!("left-{number}")).to_string();
        service.connect().send(post("/infer", &question));
    }
    for number in 0..50 {
        let question = sheet_of(&format!("half-{number}")).to_string();
        let (half, _) = question.split_at(question.len() / 2);
        let head = format!("Content-Length: {}\r\n\r\n", question.len());
        service
            .connect()
            .send(post_lines("/infer") + head.as_str() + half);
    }
    for number in 0..20 {
        service
            .connect()
            .send(post("/infer", &pool(number).to_string()));
    }
    let mut round = 0;
    wait_until("all places are taken", || {
        round += 1;
        let statuses = ask_at_once(&service, round);
        assert!(
            statuses.iter().all(|status| [201, 503].contains(status)),
            "{statuses:?}"
        );
        statuses.iter().all(|status| *status == 201)
    });
}

/// Fills the queue; the status of each answer.
fn ask_at_once(service: &Service, round: usize) -> Vec<u16> {
    let clients: Vec<Client> = (0..PLACES)
        .map(|place| {
            let question = sheet_of(&format!("m-{round}-{place}")).to_string();
            let mut client = service.connect();
            client.send(post("/infer", &question));
            client
        })
        .collect();
    let statuses = clients
        .into_iter()
        .map(|mut client| client.answer().status.as_u16());
    statuses.collect()
}

fn request(question: &Value) -> Request {
    read_request(question.to_string().as_bytes(), &Format::Canonical).unwrap()
}

#[test]
fn nothing_is_computed_for_clients_that_left_before() {
    let (wanted, waiting) = CancelToken::while_waiting();
    drop(waiting);
    let outcome = infer_while(&request(&pool(0)), Calibration::shipped(), &wanted);
    assert!(matches!(outcome, Err(Cancelled)));
}

#[test]
fn computing_for_clients_that_leave_ends_unfinished() {
    let request = request(&pool(0));
    let to_the_end = || {
        let began = Instant::now();
        let outcome = infer_while(&request, Calibration::shipped(), &CancelToken::default());
        assert!(outcome.is_ok());
        began.elapsed()
    };
    // The first one also reads the calibration.
    to_the_end();
    // A machine that does something else meanwhile may spoil one comparison, and not all.
    let mut seen = Vec::new();
    let ends_early = (0..5).any(|_| {
        let whole = to_the_end();
        let (outcome, until_left) = left_after(whole / 8, &request);
        seen.push((whole, until_left, outcome));
        outcome.is_err() && until_left < whole
    });
    assert!(ends_early, "{seen:?}");
}

/// Outcome and time of work for a client that disconnects after a while.
fn left_after(pause: Duration, request: &Request) -> (Result<(), Cancelled>, Duration) {
    let (wanted, waiting) = CancelToken::while_waiting();
    std::thread::scope(|scope| {
        let began = Instant::now();
        let work = scope.spawn(|| infer_while(request, Calibration::shipped(), &wanted).map(drop));
        std::thread::sleep(pause);
        drop(waiting);
        (work.join().unwrap(), began.elapsed())
    })
}
