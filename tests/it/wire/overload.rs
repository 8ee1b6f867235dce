//! More questions than can be computed.

use std::time::Duration;

use super::client::{Client, post};
use super::{Service, pool};
use crate::support::sheet_of;

/// Clients that ask at once, one of which is worked for while two wait.
const CLIENTS: usize = 24;
/// Longer than it takes to say that one is well, also on a machine that is busy with others.
const SOON: Duration = Duration::from_secs(1);

#[test]
fn beyond_what_may_wait_the_service_is_busy_and_still_says_that_it_lives() {
    let service = Service::with(&["--max-computing", "1", "--max-waiting", "2"]);
    // Should this test itself be held up for as long as the work takes, it has seen nothing and looks again.
    assert!((0..5).any(|round| is_overloaded(&service, round)));
    assert_eq!(service.infer(&sheet_of("afterwards")).status, 201);
}

/// Asks too much at once. Whether some were answered, some refused, and all that while the service said that it lives.
fn is_overloaded(service: &Service, round: usize) -> bool {
    let questions = (0..CLIENTS).map(|client| pool(round * CLIENTS + client).to_string());
    let questions: Vec<String> = questions.collect();
    let mut clients: Vec<_> = questions.iter().map(|_| service.connect()).collect();
    for (client, question) in clients.iter_mut().zip(&questions) {
        client.send(post("/infer", question));
    }
    for _ in 0..5 {
        let mut other = service.connect();
        assert_eq!(other.ask("/healthz").status, 200);
        assert!(other.age() < SOON, "{:?}", other.age());
    }
    let is_under_way = clients.iter().any(Client::is_unanswered);
    let mut answered = 0;
    for client in &mut clients {
        let answer = client.answer();
        if answer.status == 201 {
            answered += 1;
            continue;
        }
        let problem = answer.problem(503);
        assert_eq!(problem["type"], "/problems/busy");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert!(answered >= 1);
    is_under_way && answered < CLIENTS
}
