//! Requests that are none, and those that hide another one.

use super::Service;
use super::client::{get, post_lines};
#[cfg(target_os = "linux")]
use super::process::resident_bytes;

/// Every request of these tests is followed by another, which must not be answered.
fn answered(service: &Service, request: &str) -> Vec<u16> {
    let mut client = service.connect();
    client.send(request.to_owned() + get("/problems/busy").as_str());
    let answers = client.answers();
    answers
        .iter()
        .map(|answer| answer.status.as_u16())
        .collect()
}

#[test]
fn what_is_no_request_is_refused_and_nothing_after_it_read() {
    let service = Service::with(&[]);
    let heads = [
        "GET /healthz\r\n",
        "GET /healthz\r\n\r\n",
        "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.1\rHost: a\r\r",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "{\"price_sheet\": 1}\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}hello\r\n\r\n",
    ];
    for head in heads {
        assert_eq!(answered(&service, head), [400], "{head:?}");
    }
    // Another protocol's first words.
    assert!(answered(&service, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").is_empty());
    assert_eq!(service.get("/healthz").status, 200);
}

#[test]
fn a_body_whose_end_is_doubtful_is_refused_and_nothing_after_it_read() {
    let service = Service::with(&[]);
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    let rows = [
        (
            "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}".to_owned(),
            400,
        ),
        ("Content-Length: 2, 3\r\n\r\n{}".to_owned(), 400),
        ("Content-Length: +2\r\n\r\n{}".to_owned(), 400),
        ("Content-Length: -2\r\n\r\n{}".to_owned(), 400),
        ("Content-Length: 0x2\r\n\r\n{}".to_owned(), 400),
        (
            "Content-Length: 99999999999999999999\r\n\r\n{}".to_owned(),
            400,
        ),
        (format!("Transfer-Encoding: xchunked\r\n\r\n{chunks}"), 400),
        (format!("Transfer-Encoding: identity\r\n\r\n{chunks}"), 400),
        (
            format!("Transfer-Encoding: chunked, identity\r\n\r\n{chunks}"),
            400,
        ),
        (
            format!("Transfer-Encoding: identity, chunked\r\n\r\n{chunks}"),
            400,
        ),
        (
            format!("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"),
            400,
        ),
        (
            format!("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"),
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n".to_owned(),
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n".to_owned(),
            400,
        ),
        // Both: the chunks count, `{}` is not a question, and the connection ends with its answer.
        (
            format!("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"),
            422,
        ),
        (
            format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{chunks}"),
            422,
        ),
        (
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG".to_owned(),
            400,
        ),
    ];
    for (rest, status) in rows {
        let request = post_lines("/infer") + rest.as_str();
        assert_eq!(answered(&service, &request), [status], "{rest:?}");
    }
    let of_old = format!(
        "POST /infer HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
    );
    assert_eq!(answered(&service, &of_old), [400]);
}

#[test]
fn a_body_in_chunks_is_read_to_its_end() {
    let service = Service::with(&[]);
    let sheet = crate::support::sheet().to_string();
    let (one, other) = sheet.split_at(20);
    let mut client = service.connect();
    for coding in ["chunked", "Chunked"] {
        client.send(post_lines("/infer?store=false"));
        client.send(format!(
            "Transfer-Encoding: {coding}\r\n\r\n14;name=value\r\n{one}\r\n{:x}\r\n{other}\r\n0\r\nX-Trailer: a\r\n\r\n",
            other.len(),
        ));
        assert_eq!(client.answer().status, 200, "{coding}");
    }
    // The same length twice is one length.
    client.send(post_lines("/infer?store=false"));
    client.send(format!(
        "Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n{sheet}",
        sheet.len()
    ));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn lines_may_end_without_a_carriage_return() {
    let service = Service::with(&[]);
    let mut client = service.connect();
    for _ in 0..2 {
        client.send("GET /healthz HTTP/1.1\nHost: localhost\n\n");
        assert_eq!(client.answer().status, 200);
    }
}

#[test]
fn chunk_extensions_and_trailers_are_not_collected() {
    let service = Service::with(&[]);
    #[cfg(target_os = "linux")]
    let before = resident_bytes(service.server.id());
    let floods = [
        format!("2;{}\r\n{{}}\r\n", "a".repeat(4_000_000)),
        "1;name=value;name=value\r\n \r\n".repeat(150_000),
        format!(
            "2\r\n{{}}\r\n0\r\n{}",
            "X-Trailer: value\r\n".repeat(200_000)
        ),
        format!("2\r\n{{}}\r\n0\r\nX-Trailer: {}", "a".repeat(4_000_000)),
    ];
    for flood in floods {
        let mut client = service.connect();
        client.send(post_lines("/infer") + "Transfer-Encoding: chunked\r\n\r\n" + flood.as_str());
        let answers = client.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].problem(400);
    }
    #[cfg(target_os = "linux")]
    {
        let taken = resident_bytes(service.server.id()).saturating_sub(before);
        assert!(taken < 64 * 1024 * 1024, "{taken} bytes");
    }
}
