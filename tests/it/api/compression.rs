//! Compressed responses: what they decode to, their ETags, and what is sent as it is.

use std::io::Read;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use flate2::read::GzDecoder;
use serde_json::json;

use crate::support::{Api, Reply, TestDatabase, on_each_database, sheet, sheet_of};

const CODINGS: [&str; 2] = ["gzip", "zstd"];

fn decoded(reply: &Reply) -> Vec<u8> {
    let mut plain = Vec::new();
    match reply.header("content-encoding") {
        Some("gzip") => GzDecoder::new(&reply.body[..])
            .read_to_end(&mut plain)
            .unwrap(),
        Some("zstd") => zstd::Decoder::new(&reply.body[..])
            .unwrap()
            .read_to_end(&mut plain)
            .unwrap(),
        other => panic!("{other:?}"),
    };
    plain
}

async fn get(api: &Api, path: &str, coding: &str, known: &str) -> Reply {
    let headers = [("accept-encoding", coding), ("if-none-match", known)];
    api.ask(Method::GET, path, &headers).await
}

async fn post(api: &Api, path: &str, body: String) -> Reply {
    let request = Request::post(path)
        .header("accept-encoding", "gzip")
        .header("content-type", "application/json")
        .body(Body::from(body));
    api.send(request.unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_body_is_the_plain_one_with_a_strong_tag_of_its_own() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let id = api.store(&sheet()).await;
        for number in 2..20 {
            api.store(&sheet_of(&format!("m-{number}"))).await;
        }
        let single = format!("/estimates/{id}");
        let paths = [
            "/estimates",
            "/estimates/latest?limit=5",
            "/reference/open-models",
            "/openapi.json",
            &single,
        ];
        for path in paths {
            let plain = api.get(path).await;
            let plain_tag = plain.header("etag").unwrap();
            for coding in CODINGS {
                let reply = get(&api, path, coding, "\"other\"").await;
                assert_eq!(reply.status, StatusCode::OK);
                assert_eq!(reply.header("content-encoding"), Some(coding), "{path}");
                assert!(decoded(&reply) == plain.body, "{path}");
                assert!(
                    reply.body.len() * 2 < plain.body.len(),
                    "{path}: {}",
                    reply.body.len()
                );
                assert_eq!(reply.header("content-type"), plain.header("content-type"));
                let varies: Vec<_> = reply.headers.get_all("vary").iter().collect();
                assert!(
                    varies.iter().any(|value| *value == "accept-encoding"),
                    "{varies:?}"
                );
                let tag = reply.header("etag").unwrap();
                assert!(tag.starts_with('"') && tag != plain_tag, "{path}: {tag}");
                let again = get(&api, path, coding, "\"other\"").await;
                assert_eq!(
                    (again.header("etag"), &again.body),
                    (Some(tag), &reply.body),
                    "{path}"
                );
                let head = api
                    .ask(Method::HEAD, path, &[("accept-encoding", coding)])
                    .await;
                for name in [
                    "etag",
                    "content-encoding",
                    "content-type",
                    "cache-control",
                    "link",
                ] {
                    assert_eq!(head.header(name), reply.header(name), "{path}: {name}");
                }
                for known in [tag.to_owned(), format!("W/{tag}"), plain_tag.to_owned()] {
                    let unchanged = get(&api, path, coding, &known).await;
                    assert_eq!(
                        unchanged.status,
                        StatusCode::NOT_MODIFIED,
                        "{path}: {known}"
                    );
                    assert!(unchanged.body.is_empty());
                    for name in ["etag", "cache-control", "vary", "link"] {
                        assert_eq!(unchanged.header(name), reply.header(name), "{path}: {name}");
                    }
                    assert_eq!(unchanged.header("content-encoding"), None, "{path}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_tag_of_a_compressed_body_changes_with_the_body() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&sheet()).await;
    let before = get(&api, "/estimates", "gzip", "").await;
    api.store(&sheet_of("m-2")).await;
    let tag = before.header("etag").unwrap();
    let after = get(&api, "/estimates", "gzip", tag).await;
    assert_eq!(after.status, StatusCode::OK);
    assert_ne!(after.header("etag"), Some(tag));
    assert_eq!(decoded(&after), api.get("/estimates").await.body);
}

#[tokio::test]
async fn answers_without_a_tag_and_csv_are_compressed_too() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&sheet()).await;
    let headers = [
        ("accept-encoding", "br;q=1, gzip;q=0.8"),
        ("accept", "text/csv"),
    ];
    let csv = api.ask(Method::GET, "/estimates", &headers).await;
    assert!(decoded(&csv).starts_with(b"id,provider,"));
    let answer = post(&api, "/infer", sheet().to_string()).await;
    let plain: serde_json::Value = serde_json::from_slice(&decoded(&answer)).unwrap();
    assert_eq!(plain, api.infer(&sheet()).await.json());
    assert_eq!(answer.header("etag"), None);
}

#[tokio::test]
async fn small_bodies_streams_and_refusals_are_sent_as_they_are() {
    let api = TestDatabase::sqlite().api().await;
    for path in [
        "/estimates",
        "/healthz",
        "/estimates?limit=0",
        "/nothing",
        "/docs/favicon-32x32.png",
    ] {
        let reply = get(&api, path, "gzip, zstd", "").await;
        assert_eq!(reply.header("content-encoding"), None, "{path}");
    }
    let stream = api
        .ask(
            Method::HEAD,
            "/changes/stream",
            &[("accept-encoding", "gzip")],
        )
        .await;
    assert_eq!(stream.header("content-encoding"), None);
    let catalog = json!([sheet(), sheet_of("m-2")]).to_string();
    let import = post(&api, "/catalogs", catalog).await;
    assert_eq!(import.header("content-encoding"), None);
    assert!(import.text().contains("\"done\""), "{}", import.text());
    for refused in ["gzip;q=0", "identity", "br"] {
        let reply = get(&api, "/openapi.json", refused, "").await;
        assert_eq!(reply.header("content-encoding"), None, "{refused}");
    }
}
