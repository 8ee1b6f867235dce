//! Hosts and targets of requests.

use super::Service;
use crate::support::Reply;

/// One request on a connection of its own.
fn answer(service: &Service, request: &str) -> Reply {
    let mut client = service.connect();
    client.send(request);
    client.answer()
}

#[test]
fn a_request_has_exactly_one_valid_host() {
    let service = Service::with(&[]);
    let wrong = [
        ("", "the header `Host` is missing"),
        ("Host: a\r\nHost: a\r\n", "the header `Host` is repeated"),
        ("Host: a b\r\n", "the header `Host` is not a host name"),
        ("Host: user@a\r\n", "the header `Host` is not a host name"),
        ("Host: a/b\r\n", "the header `Host` is not a host name"),
        ("Host: [::1\r\n", "the header `Host` is not a host name"),
        ("Host: \u{e9}\r\n", "the header `Host` is not a host name"),
        ("Host:\r\n", "the header `Host` is not a host name"),
    ];
    for (host, detail) in wrong {
        let problem =
            answer(&service, &format!("GET /healthz HTTP/1.1\r\n{host}\r\n")).problem(400);
        assert_eq!(problem["detail"], detail, "{host:?}");
        assert_eq!(problem["type"], "/problems/unreadable", "{host:?}");
    }
    for host in [
        "Host: localhost",
        "Host: localhost:8080",
        "Host: [::1]:8080",
        "host: 127.0.0.1",
    ] {
        let reply = answer(
            &service,
            &format!("GET /healthz HTTP/1.1\r\n{host}\r\n\r\n"),
        );
        assert_eq!(reply.status, 200, "{host}");
    }
    for host in ["", "Host: localhost\r\n"] {
        let reply = answer(&service, &format!("GET /healthz HTTP/1.0\r\n{host}\r\n"));
        assert_eq!(reply.status, 200, "{host:?}");
    }
}

#[test]
fn whatever_is_asked_for_the_fault_is_not_ours() {
    let service = Service::with(&[]);
    let rows = [
        ("GET http://localhost/healthz", 200),
        ("GET http://elsewhere.example/healthz", 421),
        ("GET /healthz#fragment", 200),
        ("GET http://127.0.0.1", 307),
        ("GET http://elsewhere.example", 421),
        ("OPTIONS *", 404),
        ("GET *", 404),
        ("CONNECT elsewhere.example:80", 421),
        ("CONNECT localhost:80", 404),
        ("CONNECT /healthz", 405),
        ("GET elsewhere.example:80", 421),
        ("GET localhost:80", 404),
        ("GET //healthz", 404),
        ("GET /../../etc/passwd", 404),
        ("GET /docs/../../Cargo.toml", 404),
        ("GET /docs/%2e%2e/%2e%2e/Cargo.toml", 404),
        ("GET /estimates/%00", 404),
        ("GET /%", 404),
        ("GET /\u{e9}", 404),
        ("TRACE /healthz", 405),
        ("OPTIONS /healthz", 405),
        ("get /healthz", 405),
        ("INVENTED /healthz", 405),
    ];
    for (first_line, status) in rows {
        let request = format!("{first_line} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let reply = answer(&service, &request);
        assert_eq!(reply.status, status, "{first_line}: {reply:?}");
        if status >= 400 {
            reply.problem(status);
        }
        let allowed = (status == 405).then_some("GET,HEAD");
        assert_eq!(reply.header("allow"), allowed, "{first_line}");
    }
    assert!(!service.server.log().contains("panicked"));
}

#[test]
fn too_much_before_the_body_is_refused_by_its_kind() {
    let service = Service::with(&[]);
    let many = "X-Many: a\r\n".repeat(200);
    let rows = [
        (
            format!(
                "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n",
                "a".repeat(1_000_000)
            ),
            431,
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{many}\r\n"),
            431,
        ),
        (
            format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(70_000)),
            414,
        ),
    ];
    for (request, status) in rows {
        let mut client = service.connect();
        client.send(&request);
        let answers = client.answers();
        let statuses: Vec<u16> = answers
            .iter()
            .map(|answer| answer.status.as_u16())
            .collect();
        assert_eq!(statuses, [status], "{}", &request[..60]);
    }
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a".repeat(60_000)
    );
    answer(&service, &long).problem(404);
}
