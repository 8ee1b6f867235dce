//! `GET /changes/stream` of one process.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::Value;
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::access::{Actor, Scope};

use super::client::{Event, Stream};
use crate::access::key;
use crate::server::{Server, client, post};
use crate::support::{Api, TestDatabase, clock, on_each_database, sheet_of, wait_for};

/// A served database with its address.
pub(super) struct Served {
    server: Server,
    client: ureq::Agent,
}

impl Served {
    pub(super) fn with(database: &TestDatabase, limits: &[&str]) -> Self {
        let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        Self {
            server: Server::start_with(&[&place[..], limits].concat()),
            client: client(),
        }
    }

    async fn stream(&self, path: &str, headers: &str) -> Stream {
        let stream = Stream::open(&self.server.address, path, headers).await;
        assert_eq!(stream.status, 200, "{}", stream.head);
        stream
    }

    fn store(&self, model: &str) {
        let url = format!("{}/infer", self.server.address);
        let (status, body) = post(&self.client, &url, &sheet_of(model)).unwrap();
        assert_eq!(status, 201, "{body}");
    }
}

fn model(event: &Event) -> String {
    event.row()["model"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_sends_what_is_committed_from_then_on_and_resumes_where_it_was() {
    on_each_database(async |database: &TestDatabase| {
        let served = Served::with(database, &[]);
        served.store("before");
        let mut stream = served.stream("/changes/stream", "").await;
        let head = stream.head.to_ascii_lowercase();
        for line in [
            "content-type: text/event-stream",
            "cache-control: no-cache",
            "x-accel-buffering: no",
        ] {
            assert!(head.contains(line), "{head}");
        }
        assert_eq!(stream.next().await.unwrap().retry, Some(5000));
        served.store("a");
        served.store("b");
        let (first, second) = (
            stream.next_change().await.unwrap(),
            stream.next_change().await.unwrap(),
        );
        assert_eq!(
            (model(&first), model(&second)),
            ("a".to_owned(), "b".to_owned())
        );
        assert_eq!(first.kind, "offer.added");
        drop(stream);
        served.store("c");
        let list = served
            .client
            .get(format!("{}/changes", served.server.address))
            .call()
            .unwrap();
        let list: Value = list.into_body().read_json().unwrap();
        assert_eq!(second.row(), list["data"][2], "{}", database.name);
        assert_eq!(Some(second.row()["sequence"].as_i64().unwrap()), second.id);
        // The header wins over the query.
        let seen = format!("Last-Event-ID: {}\r\n", first.id.unwrap());
        for (path, headers, expected) in [
            ("/changes/stream?since=0", "", vec!["before", "a", "b", "c"]),
            ("/changes/stream?since=0", seen.as_str(), vec!["b", "c"]),
            ("/changes/stream", seen.as_str(), vec!["b", "c"]),
        ] {
            let mut stream = served.stream(path, headers).await;
            for expected in expected {
                assert_eq!(model(&stream.next_change().await.unwrap()), expected);
            }
            assert!(stream.is_silent_for(Duration::from_millis(200)).await);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_is_kept_open_by_comments_for_longer_than_any_answer_may_take() {
    let database = TestDatabase::sqlite();
    let limits = [
        "--head-timeout",
        "1s",
        "--answer-timeout",
        "1s",
        "--body-timeout",
        "1s",
        "--write-timeout",
        "1s",
        "--heartbeat",
        "300ms",
    ];
    let served = Served::with(&database, &limits);
    let began = Instant::now();
    let mut stream = served.stream("/changes/stream", "").await;
    assert!(stream.next().await.unwrap().retry.is_some());
    for _ in 0..12 {
        assert!(stream.next().await.unwrap().is_comment);
    }
    assert!(
        began.elapsed() > Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    // By another process: the first answer of a service takes long where the machine is busy.
    let store = database.store().await;
    let prepared = super::Prepared::new();
    prepared.record(&store, &super::models(0..1)).await;
    assert_eq!(model(&stream.next_change().await.unwrap()), "m-0000");
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_a_stream_is_refused_and_one_that_ends_frees_its_place() {
    let database = TestDatabase::sqlite();
    let served = Served::with(&database, &["--streams", "2", "--heartbeat", "50ms"]);
    let mut first = served.stream("/changes/stream", "").await;
    let _second = served.stream("/changes/stream", "").await;
    let third = Stream::open(&served.server.address, "/changes/stream", "").await;
    assert_eq!(third.status, 503);
    assert!(third.head.contains("retry-after: 1"), "{}", third.head);
    assert!(first.next().await.is_some());
    drop(first);
    let began = Instant::now();
    // That a client has left is seen when it is sent something.
    while Stream::open(&served.server.address, "/changes/stream", "")
        .await
        .status
        != 200
    {
        assert!(began.elapsed() < crate::server::LONGEST_WAIT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The header line with a key.
fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_within_a_second_after_its_key_is_revoked() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let other = key(&store, "other", Scope::Read).await;
        let mut readers = Vec::new();
        for name in ["first", "second", "third"] {
            readers.push((name, key(&store, name, Scope::Read).await));
        }
        let served = Served::with(database, &["--require-keys"]);
        let mut kept = served.stream("/changes/stream", &bearer(&other)).await;
        assert_eq!(kept.next().await.unwrap().retry, Some(5000));
        // A machine that is busy with something else delays some.
        let mut fastest = Duration::MAX;
        for (name, reader) in readers {
            let mut ending = served.stream("/changes/stream", &bearer(&reader)).await;
            assert_eq!(ending.next().await.unwrap().retry, Some(5000));
            assert!(ending.is_silent_for(Duration::from_millis(700)).await);
            let keys = store.keys(None, 100).await.unwrap();
            let key = keys.iter().find(|key| key.name == name).unwrap();
            let revoked = store.revoke_key(key, clock().now(), &Actor::COMMAND_LINE);
            assert!(revoked.await.unwrap());
            let began = Instant::now();
            assert_eq!(ending.next().await, None, "{}", database.name);
            let took = began.elapsed();
            assert!(took < Duration::from_secs(5), "after {took:?}");
            fastest = fastest.min(took);
        }
        assert!(fastest <= Duration::from_secs(1), "{fastest:?}");
        assert!(kept.is_silent_for(Duration::from_millis(700)).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_has_at_most_a_quarter_of_the_streams() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let first = key(&store, "first", Scope::Read).await;
    let second = key(&store, "second", Scope::Read).await;
    let served = Served::with(&database, &["--require-keys", "--streams", "8"]);
    let _open = [
        served.stream("/changes/stream", &bearer(&first)).await,
        served.stream("/changes/stream", &bearer(&first)).await,
    ];
    let address = &served.server.address;
    let third = Stream::open(address, "/changes/stream", &bearer(&first)).await;
    assert_eq!(third.status, 429);
    served.stream("/changes/stream", &bearer(&second)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_at_once_when_the_service_stops_and_do_not_hold_it() {
    let database = TestDatabase::sqlite();
    let served = Served::with(
        &database,
        &["--stop-notice", "0s", "--drain-timeout", "60s"],
    );
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(served.stream("/changes/stream", "").await);
    }
    let began = Instant::now();
    let (status, log) = tokio::task::block_in_place(|| served.server.stop());
    assert!(status.success(), "{log}");
    assert!(!log.contains("did not finish in time"), "{log}");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    for mut stream in streams {
        while let Some(event) = stream.next().await {
            assert!(event.id.is_none(), "{event:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_read_loses_nothing() {
    on_each_database(async |database: &TestDatabase| {
        let served = Served::with(database, &["--write-timeout", "60s"]);
        let mut slow = served.stream("/changes/stream", "").await;
        // More than the process keeps for streams, and than the system keeps for a socket.
        let prepared = super::Prepared::new();
        let all = super::models(0..6_000);
        // From another process on PostgreSQL; an embedded database is written to by who serves it, or noticed in a second.
        let store = database.store().await;
        for batch in all.chunks(500) {
            prepared.record(&store, batch).await;
        }
        let mut last = 0;
        for model in &all {
            let event = slow.next_change().await.unwrap();
            assert!(event.id.unwrap() > last);
            last = event.id.unwrap();
            assert_eq!(&self::model(&event), model, "{}", database.name);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_pays_for_the_changes_that_its_stream_reads() {
    on_each_database(async |database: &TestDatabase| {
        let all = super::models(0..2_000);
        let store = database.store().await;
        let prepared = super::Prepared::new();
        for batch in all.chunks(500) {
            prepared.record(&store, batch).await;
        }
        // A budget that does not fill meanwhile.
        let served = Served::with(
            database,
            &["--client-rate", "1", "--client-burst", "100000"],
        );
        let rest = || {
            let url = format!("{}/track-record?limit=1", served.server.address);
            let answer = served.client.get(url).call().unwrap();
            let budget = answer.headers()["ratelimit"].to_str().unwrap().to_owned();
            let mut parts = budget.split(';');
            let rest = parts.find_map(|part| part.strip_prefix("r="));
            rest.unwrap().parse::<u32>().unwrap()
        };
        let before = rest();
        let mut stream = served.stream("/changes/stream", "").await;
        let of_head = before - rest();
        assert!(stream.is_silent_for(Duration::from_millis(100)).await);
        let before = rest();
        let mut stream = served.stream("/changes/stream?since=0", "").await;
        for _ in &all {
            stream.next_change().await.unwrap();
        }
        let of_all = before - rest();
        assert!(
            of_all > of_head + 5,
            "{}: {of_head}, {of_all} points",
            database.name
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_refuses_as_every_route_does() {
    let database = TestDatabase::sqlite();
    let api = Api::new(App::new(
        database.store().await,
        clock(),
        Limits {
            streams: 0,
            ..Limits::default()
        },
    ));
    let busy = api.get("/changes/stream").await;
    assert_eq!(busy.problem(503)["type"], "/problems/busy");
    assert_eq!(busy.header("retry-after"), Some("1"));
    for id in ["", "a", "-1", "1 ", "9223372036854775808"] {
        let reply = api
            .ask(Method::GET, "/changes/stream", &[("last-event-id", id)])
            .await;
        reply.problem(400);
    }
    api.get("/changes/stream?nothing=1").await.problem(400);
    api.get("/changes/stream?since=-1").await.problem(400);
    let other = api.ask(Method::PUT, "/changes/stream", &[]).await;
    other.problem(405);
    assert_eq!(other.header("allow"), Some("GET,HEAD"));
}

#[test]
fn a_process_without_notifications_sees_a_change_within_two_seconds() {
    let database = TestDatabase::sqlite();
    let served = Served::with(&database, &[]);
    wait_for(async {
        let mut stream = served.stream("/changes/stream", "").await;
        let store = database.store().await;
        super::Prepared::new()
            .record(&store, &super::models(0..1))
            .await;
        assert_eq!(model(&stream.next_change().await.unwrap()), "m-0000");
    });
}
