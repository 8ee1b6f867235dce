//! Polling: headers of every body, tags that outlive the process, and what a poll costs the database.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::paths_taking;
use crate::server::{Server, client, post};
use crate::support::{
    Api, TestDatabase, on_each_database, on_each_database_blocking, sheet, sheet_of, wait_for, with,
};

/// The addresses of everything that may be kept.
async fn kept_paths(api: &Api) -> Vec<String> {
    let mut paths = paths_taking(api, "GET").await;
    // A model or a vendor that nothing is stored of has no body to keep.
    paths.retain(|path| {
        !path.ends_with('z')
            && !path.starts_with("/problems")
            && path != "/compare"
            && !path.contains('{')
    });
    paths.extend(
        [
            "/estimates?limit=1",
            "/estimates?provider=acme",
            "/price-sheets?model=nothing",
        ]
        .map(str::to_owned),
    );
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_may_be_kept_says_how_and_is_not_sent_twice() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        api.store(&sheet_of("m-2")).await;
        for path in kept_paths(&api).await {
            for accept in ["application/json", "text/csv"] {
                let ask = async |tags: &str| {
                    let headers = [("accept", accept), ("if-none-match", tags)];
                    api.ask(Method::GET, &path, &headers).await
                };
                let full = ask("\"none\"").await;
                assert_eq!(full.status, StatusCode::OK, "{path}");
                let tag = full.header("etag").unwrap();
                assert!(
                    tag.starts_with('"') && tag.ends_with('"') && tag.len() > 20,
                    "{path}: {tag}"
                );
                assert_eq!(full.header("cache-control"), Some("no-cache"), "{path}");
                let vary = full.header("vary").unwrap().to_ascii_lowercase();
                assert!(
                    vary.split(',').any(|name| name.trim() == "accept"),
                    "{path}: {vary}"
                );
                let many = format!("{}{tag}", "\"other\",".repeat(200));
                for known in [
                    tag,
                    "*",
                    &format!("W/{tag}"),
                    &format!("  \"a\" ,{tag}"),
                    &many,
                ] {
                    let reply = ask(known).await;
                    assert_eq!(reply.status, StatusCode::NOT_MODIFIED, "{path}: {known}");
                    assert!(reply.body.is_empty(), "{path}");
                    for name in ["etag", "cache-control", "vary", "link"] {
                        assert_eq!(reply.header(name), full.header(name), "{path}: {name}");
                    }
                }
                for other in [
                    "",
                    ",",
                    "\"",
                    "\"none\"",
                    &tag.to_ascii_lowercase().replace('"', "'"),
                    &format!("\"{tag}\""),
                ] {
                    assert_eq!(ask(other).await.body, full.body, "{path}: {other}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_or_not_right_is_no_304_whatever_the_client_has() {
    let api = TestDatabase::sqlite().api().await;
    let any = [("if-none-match", "*")];
    for (path, status) in [
        ("/estimates/00000000-0000-0000-0000-000000000000", 404),
        ("/price-sheets/00000000-0000-0000-0000-000000000000", 404),
        ("/nothing", 404),
        ("/estimates?limit=0", 400),
    ] {
        api.ask(Method::GET, path, &any).await.problem(status);
    }
}

#[tokio::test]
async fn a_document_has_one_tag_in_each_form_and_for_each_content() {
    let api = TestDatabase::sqlite().api().await;
    let noted = |notes: &str| with(sheet(), "/sources/0/locator", json!(notes));
    let answer = api.infer(&noted("one")).await.json();
    let path = format!(
        "/price-sheets/{}",
        answer["price_sheets"][0]["id"].as_str().unwrap()
    );
    let tag = async |path: &str, accept: &str| {
        let reply = api.ask(Method::GET, path, &[("accept", accept)]).await;
        reply.header("etag").unwrap().to_owned()
    };
    let (json, csv) = (
        tag("/estimates", "application/json").await,
        tag("/estimates", "text/csv").await,
    );
    assert_ne!(json, csv);
    let crossed = api
        .ask(
            Method::GET,
            "/estimates",
            &[("accept", "text/csv"), ("if-none-match", &json)],
        )
        .await;
    assert_eq!(
        (crossed.status, crossed.header("etag")),
        (StatusCode::OK, Some(csv.as_str()))
    );
    // A source more is another document of the same sheet; the estimate stays what it was.
    let (before, estimate) = (
        tag(&path, "*/*").await,
        format!("/estimates/{}", answer["id"].as_str().unwrap()),
    );
    let estimate_before = tag(&estimate, "*/*").await;
    api.infer(&noted("two")).await;
    assert_ne!(tag(&path, "*/*").await, before);
    assert_eq!(tag(&estimate, "*/*").await, estimate_before);
    assert_eq!(tag("/estimates", "application/json").await, json);
}

/// Status and tag of an answer over the wire.
fn tag_of(client: &ureq::Agent, url: &str, known: &str) -> (u16, String) {
    let mut response = client
        .get(url)
        .header("if-none-match", known)
        .call()
        .unwrap();
    // Read to its end, so that the connection serves again.
    response.body_mut().read_to_vec().unwrap();
    let tag = response.headers()["etag"].to_str().unwrap().to_owned();
    (response.status().as_u16(), tag)
}

/// Full minutes of the clock.
#[expect(clippy::disallowed_methods, reason = "the service has this clock")]
fn minute() -> i64 {
    jiff::Timestamp::now().as_second() / 60
}

#[test]
fn tags_are_the_same_in_every_process_and_after_a_restart() {
    on_each_database_blocking(|database| {
        let paths = wait_for(async { kept_paths(&database.api().await).await });
        let began = minute();
        let client = client();
        let mut known = vec!["\"none\"".to_owned(); paths.len()];
        let mut expected = 200;
        // An embedded database has one replica at a time.
        let count = if database.name == "SQLite" { 1 } else { 2 };
        let replicas: Vec<Server> = (0..count).map(|_| Server::start(&database.url)).collect();
        let mut check = |server: &Server| {
            for (path, known) in paths.iter().zip(&mut known) {
                let (status, tag) = tag_of(&client, &format!("{}{path}", server.address), known);
                // Its window begins at a full minute: in the next one it is another body.
                let is_moved = path == "/changes/summary" && minute() != began;
                assert!(
                    is_moved || status == expected,
                    "{}: {path}: {status}, not {expected}",
                    database.name
                );
                *known = tag;
            }
            expected = 304;
        };
        replicas.iter().for_each(&mut check);
        for replica in replicas {
            replica.stop();
        }
        check(&Server::start(&database.url));
    });
}

/// Number of reads of a table since the database was created, once it is stable and has no other connection.
fn reads_of(database: &TestDatabase, sql: &'static str) -> i64 {
    const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    let mut last = -1;
    // A connection reports its statistics when it ends.
    for _ in 0..50 {
        let others = wait_for(database.number(OTHERS));
        let reads = wait_for(database.number(sql));
        if others == 0 && reads == last {
            return reads;
        }
        last = reads;
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("reads without an end: {last}");
}

#[test]
fn ten_thousand_polls_that_learn_nothing_cost_the_database_nothing() {
    const VERSIONS: &str =
        "SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0)::bigint FROM pg_stat_user_tables
        WHERE relname = 'store_version'";
    const OTHERS: &str =
        "SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0)::bigint FROM pg_stat_user_tables
        WHERE relname IN ('estimates', 'price_sheets', 'estimate_sheets')";
    on_each_database_blocking(|database| {
        // SQLite does not count; what the program asks of either is counted in its log elsewhere.
        if database.name == "SQLite" {
            return;
        }
        let client = client();
        let server = Server::start(&database.url);
        let url = format!("{}/infer", server.address);
        let (status, _) = post(&client, &url, &sheet()).unwrap();
        assert_eq!(status, 201);
        server.stop();
        let paths = [
            "/estimates",
            "/estimates/latest",
            "/price-sheets",
            "/estimates?provider=acme",
        ];
        let poll = |rounds: usize| {
            let (versions, others) = (reads_of(database, VERSIONS), reads_of(database, OTHERS));
            let server = Server::start(&database.url);
            let mut known = paths.map(|_| "\"none\"".to_owned());
            for round in 0..rounds {
                for (path, known) in paths.iter().zip(&mut known) {
                    let (status, tag) =
                        tag_of(&client, &format!("{}{path}", server.address), known);
                    assert_eq!(status, if round == 0 { 200 } else { 304 }, "{path}");
                    *known = tag;
                }
            }
            server.stop();
            (
                reads_of(database, VERSIONS) - versions,
                reads_of(database, OTHERS) - others,
            )
        };
        let (versions_of_one, others_of_one) = poll(1);
        assert!(others_of_one > 0, "the database counts nothing");
        let (versions, others) = poll(2_500);
        assert_eq!(others, others_of_one, "a list was read again");
        // Until the service listens it may have to ask: at its start, and once for the first who comes.
        assert!(
            versions > 0 && (versions - versions_of_one).abs() <= 2,
            "{versions}, and {versions_of_one} for one poll"
        );
    });
}
