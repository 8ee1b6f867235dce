//! `unroof healthcheck` against a server.

use std::net::TcpListener;

use super::Service;
use crate::server::{Ended, run};

fn check(address: &str, path: &str) -> Ended {
    run(&["healthcheck", "--url", &format!("{address}{path}")])
}

#[test]
fn a_healthcheck_says_by_its_code_whether_the_service_is_well() {
    let service = Service::with(&[]);
    let address = &service.server.address;
    for path in ["/healthz", "/readyz"] {
        let ended = check(address, path);
        assert_eq!(ended.code, Some(0), "{path}: {}", ended.err);
        assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    }
    let ended = check(address, "/nothing");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("/nothing is unhealthy"), "{}", ended.err);
    assert!(ended.err.contains("404"), "{}", ended.err);
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let ended = check(&format!("http://{free}"), "/healthz");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("is unhealthy"), "{}", ended.err);
}
