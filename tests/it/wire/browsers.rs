//! Browser security headers.

use std::collections::BTreeSet;

use super::Service;
use super::client::Client;
use crate::openapi::{committed, operations};
use crate::support::Reply;

/// Any method, with headers and without a body.
fn ask(client: &mut Client, method: &str, path: &str, headers: &str) -> Reply {
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
    ));
    client.answer()
}

/// Headers that every response has, and headers that none has.
fn is_restricted(path: &str, reply: &Reply) {
    let policy = reply.header("content-security-policy").unwrap_or_default();
    assert!(
        policy.contains("frame-ancestors 'none'"),
        "{path}: {reply:?}"
    );
    let narrowest = if path.starts_with("/docs") {
        "default-src 'self'"
    } else {
        "default-src 'none'"
    };
    assert!(policy.starts_with(narrowest), "{path}: {policy}");
    assert!(
        !policy.contains('*') && !policy.contains("http"),
        "{path}: {policy}"
    );
    let scripts = policy.contains("script-src") || policy.contains("unsafe-eval");
    assert!(!scripts, "{path}: {policy}");
    assert_eq!(
        reply.header("x-content-type-options"),
        Some("nosniff"),
        "{path}"
    );
    assert_eq!(
        reply.header("referrer-policy"),
        Some("no-referrer"),
        "{path}"
    );
    // This is left to the TLS proxy.
    assert_eq!(reply.header("strict-transport-security"), None, "{path}");
    for name in ["server", "x-powered-by", "access-control-allow-origin"] {
        assert_eq!(reply.header(name), None, "{path}: {name}");
    }
}

#[test]
fn every_answer_has_the_browser_security_headers() {
    let service = Service::with(&["--max-connections", "1"]);
    let mut client = service.connect();
    let known = client.ask("/estimates").header("etag").unwrap().to_owned();
    let rows = [
        ("GET", "/estimates", String::new(), 200),
        (
            "GET",
            "/estimates",
            format!("If-None-Match: {known}\r\n"),
            304,
        ),
        ("GET", "/estimates?limit=0", String::new(), 400),
        ("GET", "/nothing", String::new(), 404),
        ("GET", "/infer", String::new(), 405),
        ("POST", "/infer", "Content-Length: 0\r\n".to_owned(), 415),
        ("GET", "/problems/busy", String::new(), 200),
        ("GET", "/openapi.json", String::new(), 200),
        ("GET", "/", String::new(), 307),
        ("GET", "/docs", String::new(), 303),
        ("GET", "/docs/", String::new(), 200),
        ("GET", "/docs/nothing.js", String::new(), 404),
    ];
    for (method, path, headers, status) in rows {
        let reply = ask(&mut client, method, path, &headers);
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        is_restricted(path, &reply);
    }
    let refused = service.get("/estimates");
    assert_eq!(refused.status, 503);
    is_restricted("/estimates", &refused);
    drop(client);
}

#[test]
fn the_page_of_the_docs_loads_from_here_alone() {
    let service = Service::with(&[]);
    let mut client = service.connect();
    let page = client.ask("/docs/");
    let html = page.text();
    let parts = ["src=\"", "href=\""]
        .iter()
        .flat_map(|attribute| html.split(attribute).skip(1));
    let addresses: Vec<&str> = parts.map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(addresses.len() > 3, "{html}");
    for address in addresses {
        let is_beside_the_page = !address.contains(':') && !address.starts_with('/');
        assert!(is_beside_the_page, "from elsewhere: {address}");
        let name = address.trim_start_matches("./");
        let path = format!("/docs/{name}");
        let reply = client.ask(&path);
        assert_eq!(reply.status, 200, "{path}");
        is_restricted(&path, &reply);
    }
    // Its policy forbids scripts in the page itself.
    for script in html.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains("src="), "{script}");
        assert!(rest.trim_start().starts_with("</script>"), "{script}");
    }
}

const DASHBOARD: &str = "https://dashboard.example";

fn allowed(reply: &Reply) -> Option<&str> {
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    let origin = reply.header("access-control-allow-origin");
    assert_ne!(origin, Some("*"));
    origin
}

fn varies_by_origin(reply: &Reply) -> bool {
    let mut names = reply
        .headers
        .get_all("vary")
        .iter()
        .flat_map(|value| value.to_str().unwrap().split(','));
    names.any(|name| name.trim().eq_ignore_ascii_case("origin"))
}

#[test]
fn pages_of_an_allowed_origin_may_read_and_others_may_not() {
    let service = Service::with(&["--allow-origin", DASHBOARD]);
    let mut client = service.connect();
    for (origin, expected) in [
        (DASHBOARD, Some(DASHBOARD)),
        ("https://elsewhere.example", None),
        ("http://dashboard.example", None),
        ("https://dashboard.example.elsewhere.example", None),
        ("https://dashboard.example:8443", None),
        ("null", None),
    ] {
        let origin_line = format!("Origin: {origin}\r\n");
        for path in ["/estimates", "/healthz", "/nothing", "/estimates?limit=0"] {
            let reply = ask(&mut client, "GET", path, &origin_line);
            assert_eq!(allowed(&reply), expected, "{origin} {path}");
            assert!(varies_by_origin(&reply), "{origin} {path}: {reply:?}");
        }
        let preflight = format!(
            "{origin_line}Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n"
        );
        let reply = ask(&mut client, "OPTIONS", "/infer", &preflight);
        assert!([200, 204].contains(&reply.status.as_u16()), "{reply:?}");
        assert_eq!(allowed(&reply), expected, "{origin}");
        assert!(varies_by_origin(&reply), "{reply:?}");
        let list = |name: &str| reply.header(name).unwrap_or_default().to_ascii_lowercase();
        assert!(
            list("access-control-allow-methods").contains("post"),
            "{reply:?}"
        );
        assert!(
            list("access-control-allow-headers").contains("content-type"),
            "{reply:?}"
        );
    }
    let without_origin = client.ask("/estimates");
    assert_eq!(allowed(&without_origin), None);
    let read = ask(
        &mut client,
        "GET",
        "/estimates",
        &format!("Origin: {DASHBOARD}\r\n"),
    );
    let exposed = read.header("access-control-expose-headers").unwrap();
    assert!(
        exposed.contains("etag") && exposed.contains("link"),
        "{exposed}"
    );
}

#[test]
fn a_page_of_an_allowed_origin_may_use_every_method_of_the_api() {
    let service = Service::with(&["--allow-origin", DASHBOARD]);
    let mut client = service.connect();
    let document = committed();
    let operations = operations(&document).into_iter();
    let methods: BTreeSet<String> = operations
        .map(|(_, method, _)| method.to_uppercase())
        .collect();
    assert!(methods.contains("DELETE"), "{methods:?}");
    for method in methods {
        let preflight =
            format!("Origin: {DASHBOARD}\r\nAccess-Control-Request-Method: {method}\r\n");
        let reply = ask(&mut client, "OPTIONS", "/estimates", &preflight);
        let allowed = reply.header("access-control-allow-methods");
        let mut allowed = allowed.unwrap_or_default().split(',').map(str::trim);
        assert!(allowed.any(|name| name == method), "{method}: {reply:?}");
    }
}

#[test]
fn where_no_origin_is_allowed_none_is_named() {
    let service = Service::with(&[]);
    let mut client = service.connect();
    let origin = format!("Origin: {DASHBOARD}\r\nAccess-Control-Request-Method: GET\r\n");
    for (method, status) in [("GET", 200), ("OPTIONS", 405)] {
        let reply = ask(&mut client, method, "/estimates", &origin);
        assert_eq!(reply.status, status);
        let mut names = reply.headers.keys().map(axum::http::HeaderName::as_str);
        assert!(
            !names.any(|name| name.starts_with("access-control-")),
            "{reply:?}"
        );
    }
}
