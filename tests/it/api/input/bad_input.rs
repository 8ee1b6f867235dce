//! Bodies that cannot be read, and what is around a body.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use crate::support::{TestDatabase, on_each_database, sheet, with};

#[tokio::test]
async fn what_is_not_json_is_refused_with_line_and_column() {
    let api = TestDatabase::sqlite().api().await;
    let text = sheet().to_string();
    let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "an empty body",
            vec![],
            "line 1, column 1: the text is empty",
        ),
        (
            "blanks",
            b" \n\t".into(),
            "line 1, column 1: the text is empty",
        ),
        (
            "a byte order mark",
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            "line 1, column 1: the text begins with a byte order mark",
        ),
        (
            "UTF-16",
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "not valid JSON",
        ),
        (
            "invalid UTF-8",
            b"{\n\"a\": \"\xff\"}".into(),
            "line 2, column 7: the text is not valid UTF-8",
        ),
        (
            "a surrogate in UTF-8",
            b"{\"a\": \"\xed\xa0\x80\"}".into(),
            "the text is not valid UTF-8",
        ),
        (
            "a lone surrogate",
            br#"{"a": "\ud800"}"#.into(),
            "line 1, column 8: not valid JSON",
        ),
        (
            "NUL in a text",
            br#"{"provider": "a\u0000b"}"#.into(),
            "line 1, column 14: a text holds the NUL character",
        ),
        (
            "NUL in a key",
            br#"{"a\u0000": 1}"#.into(),
            "line 1, column 2: a text holds the NUL character",
        ),
        ("a raw NUL", b"{\"a\": \"\0\"}".into(), "not valid JSON"),
        (
            "a raw line break in a text",
            b"{\"a\": \"\n\"}".into(),
            "not valid JSON",
        ),
        (
            "a key twice",
            b"{\"a\": 1,\n  \"a\": 1}".into(),
            "line 2, column 3: the key `a` occurs twice in one object",
        ),
        (
            "a key twice, once escaped",
            br#"{"a": 1, "\u0061": 1}"#.into(),
            "line 1, column 10: the key `a` occurs twice in one object",
        ),
        (
            "a key under which the parser would read a text as JSON",
            br#"{"$serde_json::private::RawValue": "[]"}"#.into(),
            "line 1, column 2: the key `$serde_json::private::RawValue` is reserved",
        ),
        (
            "NaN",
            b"{\"a\": NaN}".into(),
            "line 1, column 7: not valid JSON",
        ),
        ("Infinity", b"{\"a\": -Infinity}".into(), "not valid JSON"),
        (
            "a number beyond all",
            b"{\"a\": 1e400}".into(),
            "line 1, column 7: the number `1e400` is out of range",
        ),
        ("a leading zero", b"{\"a\": 01}".into(), "not valid JSON"),
        ("a leading plus", b"{\"a\": +1}".into(), "not valid JSON"),
        ("a bare point", b"{\"a\": .5}".into(), "not valid JSON"),
        (
            "garbage after the end",
            [text.as_bytes(), b" x"].concat(),
            "trailing data",
        ),
        (
            "two documents",
            [text.as_bytes(), text.as_bytes()].concat(),
            "trailing data",
        ),
        ("a trailing comma", b"{\"a\": 1,}".into(), "trailing comma"),
        ("a comment", b"{\"a\": 1} // so".into(), "not valid JSON"),
        ("single quotes", b"{'a': 1}".into(), "not valid JSON"),
        (
            "an open end",
            text.as_bytes()[..text.len() - 1].into(),
            "not valid JSON",
        ),
        (
            "33 levels",
            nested(33).into(),
            "nested deeper than 32 levels",
        ),
        (
            "100,000 brackets",
            "[".repeat(100_000).into(),
            "line 1, column 33: nested deeper than 32 levels",
        ),
    ];
    for (name, body, detail) in rows {
        let problem = api.post("/infer", body).await.problem(400);
        let given = problem["detail"].as_str().unwrap();
        assert!(given.contains(detail), "{name}: {given}");
        assert!(given.starts_with("line "), "{name}: {given}");
        assert_eq!(problem["type"], "/problems/unreadable", "{name}");
        assert!(problem["hint"].is_string(), "{name}: {problem}");
        assert!(problem["errors"].is_null(), "{name}: {problem}");
    }
    // 32 levels can be read; then `a` is not a field of a sheet.
    api.post("/infer", nested(32)).await.problem(422);
}

#[tokio::test]
async fn a_body_of_more_than_a_mebibyte_is_413_and_one_of_a_mebibyte_is_read() {
    let api = TestDatabase::sqlite().api().await;
    let mut text = sheet().to_string();
    text.push_str(&" ".repeat(1024 * 1024 - text.len()));
    assert_eq!(
        api.post("/infer", text.clone()).await.status,
        StatusCode::CREATED
    );
    text.push(' ');
    let problem = api.post("/infer", text.clone()).await.problem(413);
    assert_eq!(problem["detail"], "the body exceeds 1048576 bytes");
    // The same without a length in the head.
    let pieces = text.into_bytes();
    let stream = futures_of(pieces);
    let request = Request::post("/infer").header("content-type", "application/json");
    api.send(request.body(stream).unwrap()).await.problem(413);
}

/// A body of unknown length.
fn futures_of(bytes: Vec<u8>) -> Body {
    use http_body_util::{BodyExt, Full};
    let whole = Full::new(axum::body::Bytes::from(bytes));
    Body::new(whole.map_frame(|frame| frame))
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_every_script_come_back_as_they_were_sent() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let names = [
            "模型-1",
            "😀 🇨🇭",
            "שלום",
            "e\u{301}",
            "a'b\"c\\d--;",
            "%_",
            "\u{10ffff}",
            "x/../y?z#q",
            "$1 {0}",
        ];
        for name in names.into_iter().chain(["é".repeat(255).as_str()]) {
            let sheet = with(
                with(sheet(), "/provider", json!(name)),
                "/model",
                json!(name),
            );
            let reply = api.infer(&sheet).await;
            assert_eq!(
                reply.status,
                StatusCode::CREATED,
                "{name}: {}",
                reply.text()
            );
            assert_eq!(reply.json()["price_sheets"][0]["model"], name);
            let query: String = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("model", name)
                .finish();
            let rows = api.get(&format!("/estimates?{query}")).await.rows();
            assert_eq!(rows.len(), 1, "{name}");
            assert_eq!(rows[0]["provider"], name);
        }
    })
    .await;
}

#[tokio::test]
async fn only_json_in_utf_8_is_read() {
    let api = TestDatabase::sqlite().api().await;
    let send = async |headers: &[(&str, &str)]| {
        let mut request = Request::post("/infer?store=false");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        api.send(request.body(Body::from(sheet().to_string())).unwrap())
            .await
    };
    let json = ("content-type", "application/json");
    let refused: [&[(&str, &str)]; 10] = [
        &[],
        &[("content-type", "")],
        &[("content-type", "text/plain")],
        &[("content-type", "text/json")],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "application/jsonp")],
        &[("content-type", "application/json; charset=utf-16")],
        &[("content-type", "application/json; charset=\"latin1\"")],
        &[json, ("content-encoding", "gzip")],
        &[json, ("content-encoding", "br")],
    ];
    for headers in refused {
        let problem = send(headers).await.problem(415);
        assert_eq!(
            problem["hint"], "send `Content-Type: application/json`, in UTF-8",
            "{headers:?}"
        );
    }
    let read: [&[(&str, &str)]; 7] = [
        &[json],
        &[("content-type", "Application/JSON")],
        &[("content-type", "application/json; charset=utf-8")],
        &[("content-type", "application/json;charset=\"UTF-8\"")],
        &[("content-type", "application/json; profile=x")],
        &[("content-type", "application/vnd.acme+json")],
        &[json, ("content-encoding", "identity")],
    ];
    for headers in read {
        let reply = send(headers).await;
        assert_eq!(
            reply.status,
            StatusCode::OK,
            "{headers:?}: {}",
            reply.text()
        );
    }
}
