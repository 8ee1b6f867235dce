//! Asking again and again: ETags, 304, one's own writes, and how many queries that costs.

use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::server::{Server, client, get, post};
use crate::support::{
    Api, Reply, TestDatabase, on_each_database, on_each_database_blocking, sheet, sheet_of,
};

const FIXED: [&str; 3] = [
    "/reference/accelerators",
    "/reference/readings",
    "/openapi.json",
];
const LISTS: [&str; 4] = [
    "/estimates",
    "/estimates/latest",
    "/price-sheets",
    "/estimates?limit=1",
];

async fn get_if_none_match(api: &Api, path: &str, tags: &str) -> Reply {
    api.ask(Method::GET, path, &[("if-none-match", tags)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_the_body_gets_304_without_one() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let id = api.store(&sheet()).await;
        api.store(&sheet_of("m-2")).await;
        let single = format!("/estimates/{id}");
        for path in LISTS.into_iter().chain(FIXED).chain([single.as_str()]) {
            let full = api.get(path).await;
            let tag = full.header("etag").unwrap();
            assert!(
                tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10,
                "{path}: {tag}"
            );
            assert_eq!(full.header("cache-control"), Some("no-cache"), "{path}");
            let list = format!("\"other\", {tag} , \"third\"");
            let weak = format!("W/{tag}");
            for known in [tag, "*", &weak, &list] {
                for method in [Method::GET, Method::HEAD] {
                    let reply = api.ask(method, path, &[("if-none-match", known)]).await;
                    assert_eq!(reply.status, StatusCode::NOT_MODIFIED, "{path}: {known}");
                    assert!(reply.body.is_empty());
                    for name in ["etag", "cache-control", "vary", "link"] {
                        assert_eq!(reply.header(name), full.header(name), "{path}: {name}");
                    }
                    assert_eq!(reply.header("content-type"), None, "{path}");
                }
            }
            let bare = tag.trim_matches('"');
            for unknown in ["\"other\"", bare, "", "W/\"other\", \"x\""] {
                let reply = get_if_none_match(&api, path, unknown).await;
                assert_eq!(
                    (reply.status, &reply.body),
                    (StatusCode::OK, &full.body),
                    "{path}: {unknown}"
                );
            }
            let twice = api
                .ask(
                    Method::GET,
                    path,
                    &[("if-none-match", "\"other\""), ("if-none-match", tag)],
                )
                .await;
            assert_eq!(twice.status, StatusCode::NOT_MODIFIED, "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_etag_changes_if_and_only_if_the_body_does_on_every_replica() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let tags = async |api: &Api| {
            let mut tags = Vec::new();
            for path in LISTS {
                tags.push((path, api.get(path).await.header("etag").unwrap().to_owned()));
            }
            tags
        };
        let empty = tags(&api).await;
        api.store(&sheet()).await;
        let with_one = tags(&api).await;
        assert!(
            empty
                .iter()
                .zip(&with_one)
                .all(|(before, after)| before.1 != after.1),
            "{empty:?}, {with_one:?}"
        );
        assert_eq!(
            tags(&database.api().await).await,
            with_one,
            "another replica"
        );
        // The same content again, and a write that this list does not show.
        assert_eq!(api.infer(&sheet()).await.status, StatusCode::OK);
        assert_eq!(tags(&api).await, with_one);
        let shown = api.get("/estimates?model=m-1").await;
        api.store(&sheet_of("m-2")).await;
        let shown_after = api.get("/estimates?model=m-1").await;
        assert_eq!(shown.header("etag"), shown_after.header("etag"));
        assert_eq!(shown.body, shown_after.body);
        let with_two = tags(&api).await;
        assert!(
            with_one
                .iter()
                .zip(&with_two)
                .all(|(before, after)| before.1 != after.1)
        );
        assert_eq!(
            tags(&database.api().await).await,
            with_two,
            "another replica"
        );
        // JSON and CSV are two bodies.
        let csv = api
            .ask(Method::GET, "/estimates", &[("accept", "text/csv")])
            .await;
        assert_ne!(csv.header("etag"), Some(with_two[0].1.as_str()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replica_wrote_it_shows_at_once() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for number in 0..10 {
            // The list was asked for a moment ago, so that its version is cached.
            for path in LISTS {
                api.get(path).await;
            }
            let id = api.store(&sheet_of(&format!("m-{number}"))).await;
            assert_eq!(api.get("/estimates").await.rows()[0]["id"], json!(id));
            assert_eq!(api.get("/estimates/latest").await.rows().len(), number + 1);
            assert_eq!(api.get("/price-sheets").await.rows().len(), number + 1);
            assert_eq!(
                api.get(&format!("/estimates/{id}")).await.status,
                StatusCode::OK
            );
        }
    })
    .await;
}

#[test]
fn polling_costs_no_query() {
    on_each_database_blocking(|database| {
        let arguments = [
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--log",
            "info,sqlx::query=debug",
        ];
        let server = Server::start_with(&arguments);
        let client = client();
        let (status, _) = post(&client, &format!("{}/infer", server.address), &sheet()).unwrap();
        assert_eq!(status, 201);
        let polled = [
            "/estimates",
            "/estimates/latest",
            "/price-sheets",
            "/estimates?provider=acme",
        ];
        let poll = || {
            for path in polled {
                assert_eq!(get(&client, &format!("{}{path}", server.address)).0, 200);
            }
        };
        // Once without counting, so that every body is known, and that what looks at each write has done so.
        poll();
        std::thread::sleep(Duration::from_secs(2));
        let mark = "counting-begins";
        let marked = client
            .get(format!("{}/healthz", server.address))
            .header("x-request-id", mark);
        assert_eq!(marked.call().unwrap().status(), 200);
        server.wait_for_log(mark);
        let began = Instant::now();
        for _ in 0..50 {
            poll();
        }
        let (_, whole_log) = server.stop();
        // Until it has ended, the server continues to look.
        let elapsed = began.elapsed();
        let queries: Vec<&str> = whole_log
            .split_once(mark)
            .unwrap()
            .1
            .lines()
            .filter(|line| line.contains("sqlx::query"))
            // The link on which news come is tried now and then, and given up in the end; imports whose process is gone
            // are looked for now and then.
            .filter(|line| {
                [
                    "\"SELECT 1\"",
                    "\"UNLISTEN *\"",
                    "FROM imports WHERE outcome = 'running'",
                ]
                .iter()
                .all(|query| !line.contains(query))
            })
            .collect();
        let (of_version, others): (Vec<&str>, Vec<&str>) = queries
            .into_iter()
            .partition(|line| line.contains("FROM store_version"));
        assert!(others.is_empty(), "{}: {others:#?}", database.name);
        // 200 requests. On SQLite, where no notice comes, the version is looked at once a second, however many ask.
        let looks = match database.name {
            "SQLite" => 1 + elapsed.as_secs(),
            _ => 0,
        };
        assert!(
            of_version.len() as u64 <= looks,
            "{}: {} queries in {elapsed:?}",
            database.name,
            of_version.len()
        );
        // Had the log no queries at all, nothing would be counted.
        assert!(whole_log.contains("FROM store_version"), "{whole_log}");
    });
}
