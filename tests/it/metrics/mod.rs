//! `/metrics`: what is said to Prometheus, in both of its formats, and what it costs.

#![expect(
    clippy::float_cmp,
    reason = "what is shown is what is stored, to the last digit"
)]

mod meters;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use tower::ServiceExt;
use unroof_edge::Limits;
use unroof_server::{App, metrics_router};
use unroof_store::Store;

use crate::server::{self, Server, client, get, run};
use crate::support::{
    Api, NOW, TestDatabase, clock, on_each_database, on_each_database_blocking, sheet, sheet_of,
};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";

/// A metric with its samples.
#[derive(Debug, Default)]
struct Metric {
    kind: String,
    /// Value by name and labels, as they are written.
    samples: BTreeMap<String, f64>,
}

/// Scraped samples, by the name in `# TYPE`.
type Scrape = BTreeMap<String, Metric>;

/// Reads a text as strictly as its format is: a metric is described, then come its samples, and it never comes again.
fn parse(text: &str, is_open: bool) -> Scrape {
    let mut scrape = Scrape::new();
    let mut current = String::new();
    let mut series = BTreeSet::new();
    assert!(text.ends_with('\n'), "the last line has no end");
    let body = if is_open {
        text.strip_suffix("# EOF\n")
            .expect("OpenMetrics has an end")
    } else {
        text
    };
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(!help.is_empty(), "{line}");
            let kind = lines.next().unwrap_or_default();
            let kind = kind.strip_prefix(&format!("# TYPE {name} "));
            let kind = kind.unwrap_or_else(|| panic!("no type after {line}"));
            name.clone_into(&mut current);
            let metric = Metric {
                kind: kind.to_owned(),
                ..Metric::default()
            };
            let before = scrape.insert(current.clone(), metric);
            assert!(before.is_none(), "{name} comes twice");
            continue;
        }
        let (labelled, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(value.is_finite(), "{line}");
        let name = labelled.split('{').next().unwrap();
        assert_labels(&labelled[name.len()..]);
        let metric = scrape.get_mut(&current).unwrap_or_else(|| panic!("{line}"));
        let suffix = name.strip_prefix(&current);
        let suffix = suffix.unwrap_or_else(|| panic!("{line} below {current}"));
        let suffixes: &[&str] = match (&*metric.kind, is_open) {
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            ("counter", true) => &["_total"],
            ("info", true) => &["_info"],
            ("counter" | "gauge", _) => &[""],
            (kind, _) => panic!("{current} is a {kind}"),
        };
        assert!(suffixes.contains(&suffix), "{line}");
        assert!(series.insert(labelled.to_owned()), "{line} comes twice");
        metric.samples.insert(labelled.to_owned(), value);
    }
    scrape
}

/// Asserts that labels are written as `{name="value",…}`, or not at all.
fn assert_labels(text: &str) {
    if text.is_empty() {
        return;
    }
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut rest = inner.unwrap_or_else(|| panic!("{text}"));
    let mut names = BTreeSet::new();
    loop {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(!name.is_empty() && name.chars().all(is_name), "{text}");
        assert!(names.insert(name), "{text}");
        let mut escaped = false;
        let end = after.find(|letter| {
            let is_end = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            is_end
        });
        let end = end.unwrap_or_else(|| panic!("{text}"));
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => break,
        }
    }
    assert_eq!(rest, "", "{text}");
}

/// A replica whose metrics are read without a socket.
pub(crate) struct Replica {
    pub(crate) api: Api,
    app: App,
    store: Store,
}

impl Replica {
    pub(crate) async fn new(database: &TestDatabase) -> Self {
        let store = database.store().await;
        let app = App::new(store.clone(), clock(), Limits::default());
        Self::of(app, store)
    }

    fn of(app: App, store: Store) -> Self {
        Self {
            api: Api::new(app.clone()),
            app,
            store,
        }
    }

    async fn ask(&self, accept: &str) -> String {
        // A version that was asked for is cached for a quarter of a second.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let request = Request::get("/metrics").header("accept", accept);
        let request = request.body(Body::empty()).unwrap();
        let response = metrics_router(self.app.clone()).oneshot(request).await;
        let (parts, body) = response.unwrap().into_parts();
        assert_eq!(parts.status, StatusCode::OK);
        let expected = if accept.contains("openmetrics") {
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        } else {
            "text/plain; version=0.0.4; charset=utf-8"
        };
        assert_eq!(parts.headers["content-type"], expected);
        let bytes = body.collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// The names of all samples.
    pub(crate) async fn names(&self) -> BTreeSet<String> {
        let scrape = self.scrape().await;
        let samples = scrape.values().flat_map(|metric| metric.samples.keys());
        let name = |sample: &String| sample.split('{').next().unwrap().to_owned();
        samples.map(name).collect()
    }

    /// Read in the older format.
    async fn scrape(&self) -> Scrape {
        parse(&self.ask("*/*").await, false)
    }
}

/// The only sample of a metric.
fn value(scrape: &Scrape, name: &str) -> f64 {
    labelled(scrape, name, "")
}

/// A sample of a metric.
fn labelled(scrape: &Scrape, name: &str, labels: &str) -> f64 {
    let samples = &scrape
        .get(name)
        .unwrap_or_else(|| panic!("no {name}"))
        .samples;
    let value = samples.get(&format!("{name}{labels}"));
    *value.unwrap_or_else(|| panic!("no {name}{labels} in {samples:?}"))
}

fn series(scrape: &Scrape) -> usize {
    scrape.values().map(|metric| metric.samples.len()).sum()
}

#[tokio::test]
async fn requests_are_counted_by_method_route_and_class_of_their_status() {
    let database = TestDatabase::sqlite();
    let replica = Replica::new(&database).await;
    let id = replica.api.store(&sheet()).await;
    for _ in 0..3 {
        replica.api.get(&format!("/estimates/{id}")).await;
    }
    replica.api.get("/estimates/nothing").await;
    replica.api.get("/nothing").await;
    replica.api.ask(Method::DELETE, "/infer", &[]).await;
    // A client that leaves before the response is counted too.
    let left = tokio::time::timeout(Duration::ZERO, replica.api.infer(&sheet_of("m-2"))).await;
    assert!(left.is_err(), "{left:?}");
    let scrape = replica.scrape().await;
    let requests = "unroof_http_requests_total";
    for (labels, expected) in [
        (r#"{method="POST",route="/infer",status="2xx"}"#, 1.0),
        (r#"{method="POST",route="/infer",status="none"}"#, 1.0),
        (r#"{method="DELETE",route="/infer",status="4xx"}"#, 1.0),
        (
            r#"{method="GET",route="/estimates/{id}",status="2xx"}"#,
            3.0,
        ),
        (
            r#"{method="GET",route="/estimates/{id}",status="4xx"}"#,
            1.0,
        ),
        (r#"{method="GET",route="none",status="4xx"}"#, 1.0),
    ] {
        assert_eq!(labelled(&scrape, requests, labels), expected, "{labels}");
    }
    assert_eq!(scrape[requests].samples.len(), 6);
    assert_eq!(value(&scrape, "unroof_http_requests_in_flight"), 0.0);
    let durations = &scrape["unroof_http_request_duration_seconds"].samples;
    let of_route = |part: &str, end: &str| {
        let name = format!("unroof_http_request_duration_seconds{part}");
        durations[&format!("{name}{{{end}route=\"/infer\"}}")]
    };
    assert_eq!(of_route("_count", ""), 3.0);
    assert_eq!(of_route("_bucket", "le=\"+Inf\","), 3.0);
    assert!(of_route("_sum", "") > 0.0);
    assert!(of_route("_bucket", "le=\"0.001\",") < 3.0);
}

#[tokio::test]
async fn the_service_says_how_it_is() {
    on_each_database(async |database: &TestDatabase| {
        let replica = Replica::new(database).await;
        replica.api.store(&sheet()).await;
        replica.api.get("/estimates").await;
        let scrape = replica.scrape().await;
        let started: jiff::Timestamp = NOW.parse().unwrap();
        let is_file = database.url.starts_with("sqlite");
        let connections_limit = if is_file { 8.0 } else { 16.0 };
        for (name, expected) in [
            ("unroof_database_up", 1.0),
            ("unroof_store_version", 1.0),
            ("unroof_connections_open", 0.0),
            ("unroof_connections_limit", 1024.0),
            ("unroof_connections_refused_total", 0.0),
            ("unroof_computations_running", 0.0),
            ("unroof_computations_waiting", 0.0),
            ("unroof_database_connections_limit", connections_limit),
            (
                "process_start_time_seconds",
                started.as_duration().as_secs_f64(),
            ),
        ] {
            assert_eq!(value(&scrape, name), expected, "{name}");
        }
        let connections =
            ["used", "idle"].map(|state| format!("unroof_database_connections_{state}"));
        let open: f64 = connections.iter().map(|name| value(&scrape, name)).sum();
        assert!((1.0..=16.0).contains(&open), "{open}");
        let version = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
        assert_eq!(labelled(&scrape, "unroof_build_info", version), 1.0);
        assert!(scrape.contains_key("unroof_cache_entries"));
        replica.store.close().await;
        let away = replica.scrape().await;
        assert_eq!(value(&away, "unroof_database_up"), 0.0);
        assert_eq!(value(&away, "unroof_store_version"), 1.0);
    })
    .await;
}

#[tokio::test]
async fn both_formats_say_the_same() {
    let database = TestDatabase::sqlite();
    let replica = Replica::new(&database).await;
    replica.api.store(&sheet()).await;
    let plain = parse(&replica.ask("text/plain").await, false);
    let open = parse(&replica.ask(OPEN_METRICS).await, true);
    let samples = |scrape: &Scrape| -> BTreeMap<String, f64> {
        let all = scrape.values().flat_map(|metric| metric.samples.clone());
        // A connection goes back to its pool when it has time to.
        all.filter(|(name, _)| !name.starts_with("unroof_database_connections"))
            .collect()
    };
    assert_eq!(samples(&plain), samples(&open));
    assert_eq!(plain.len(), open.len());
    assert_eq!(plain["unroof_http_requests_total"].kind, "counter");
    assert_eq!(open["unroof_http_requests"].kind, "counter");
    assert_eq!(plain["unroof_build_info"].kind, "gauge");
    assert_eq!(open["unroof_build"].kind, "info");
    // What Prometheus itself sends.
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;\
                      q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    parse(&replica.ask(prometheus).await, true);
}

#[tokio::test]
async fn what_a_client_makes_up_makes_no_series() {
    let database = TestDatabase::sqlite();
    let replica = Replica::new(&database).await;
    let send = async |round: usize| {
        for name in ["BREW", "PROPFIND", "GET", "get"] {
            let method = format!(
                "{name}{}",
                if name == "GET" { "" } else { "X" }.repeat(round)
            );
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            for path in [
                format!("/odd/{round}"),
                format!("/estimates/{round}"),
                format!("/docs/{round}.js"),
                format!("/estimates?provider=p{round}"),
                format!("/price-sheets/{round}%2F\"}}"),
            ] {
                replica.api.ask(method.clone(), &path, &[]).await;
            }
        }
    };
    send(1).await;
    let before = series(&replica.scrape().await);
    for round in 2..40 {
        send(round).await;
    }
    let after = replica.scrape().await;
    assert_eq!(series(&after), before, "{after:?}");
    let requests: f64 = after["unroof_http_requests_total"].samples.values().sum();
    assert_eq!(requests, 39.0 * 20.0);
}

#[test]
fn the_listener_for_metrics_serves_them_and_nothing_else() {
    on_each_database_blocking(|database| {
        let server = Server::start_with(&[
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--examples",
            "--metrics-listen",
            "127.0.0.1:0",
        ]);
        let address = server.metrics_address();
        let client = client();
        let (status, text) = get(&client, &format!("{address}/metrics"));
        assert_eq!(status, 200);
        let scrape = parse(&text, false);
        assert_eq!(value(&scrape, "unroof_database_up"), 1.0);
        for path in ["/", "/healthz", "/estimates", "/metrics/", "/docs"] {
            assert_eq!(get(&client, &format!("{address}{path}")).0, 404, "{path}");
        }
        let posted = server::post(&client, &format!("{address}/metrics"), &json!({}));
        assert_eq!(posted.unwrap().0, 405);
        assert_eq!(get(&client, &format!("{}/metrics", server.address)).0, 404);
        // The client above keeps its connection; the scraper is not among them.
        let scrape = parse(&get(&client, &format!("{address}/metrics")).1, false);
        assert_eq!(value(&scrape, "unroof_connections_open"), 1.0);
        let (status, _) = server.stop();
        assert!(status.success());
    });
}

#[test]
fn without_the_flag_nothing_listens_and_a_wrong_address_is_refused() {
    let database = TestDatabase::sqlite();
    let server = Server::start(&database.url);
    let log = server.wait_for_log("listening");
    assert!(!log.contains("metrics"), "{log}");
    let ended = run(&["serve", "--metrics-listen", "here"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(
        ended.err.contains("write an address and a port"),
        "{}",
        ended.err
    );
}
