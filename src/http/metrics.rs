//! `/metrics`: numbers about the service and the watched models, for Prometheus, on a listener of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::app::App;
use super::hosts::require_known_host;
use super::middleware;
use super::response_cache::prefers;

/// Counters of served requests. Labels hold no text that a client chose, so that there are never more than
/// a few series per route.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) refused_connections: Counter,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// The ends of the histogram of durations, in seconds: from an answer that was kept to the longest that one may take.
const DURATIONS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

impl Metrics {
    pub(super) fn new() -> Self {
        Self {
            refused_connections: Counter::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            in_flight: Gauge::default(),
        }
    }

    fn register(&self, registry: &mut Registry) {
        registry.register(
            "unroof_http_requests",
            "Requests by method, route and class of the status",
            self.requests.clone(),
        );
        registry.register(
            "unroof_http_request_duration_seconds",
            "Time from the head of a request to the head of its answer",
            self.durations.clone(),
        );
        registry.register(
            "unroof_http_requests_in_flight",
            "Requests that have no answer yet",
            self.in_flight.clone(),
        );
        registry.register(
            "unroof_connections_refused",
            "Connections for which there was no place",
            self.refused_connections.clone(),
        );
        registry.register(
            "unroof_build",
            "The program that runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
    }
}

/// Counts a request.
pub(super) async fn count(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let mut counted = Counted::new(metrics, &request);
    let response = next.run(request).await;
    counted.status = status_class(response.status());
    response
}

/// A request that is counted when it is over, also where its client left before the answer.
struct Counted {
    metrics: Arc<Metrics>,
    method: &'static str,
    route: String,
    status: &'static str,
    started: Instant,
}

impl Counted {
    fn new(metrics: Arc<Metrics>, request: &Request) -> Self {
        metrics.in_flight.inc();
        let route = request.extensions().get::<MatchedPath>();
        Self {
            metrics,
            method: method_name(request.method()),
            route: route.map_or("none", MatchedPath::as_str).to_owned(),
            status: "none",
            started: Instant::now(),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let route = std::mem::take(&mut self.route);
        let requests = RequestLabels {
            method: self.method,
            route: route.clone(),
            status: self.status,
        };
        self.metrics.in_flight.dec();
        self.metrics.requests.get_or_create(&requests).inc();
        self.metrics
            .durations
            .get_or_create(&RouteLabels { route })
            .observe(self.started.elapsed().as_secs_f64());
    }
}

/// The methods of RFC 9110; clients may send any other word, of any length.
pub(super) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn status_class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

/// Everything that the listener for metrics serves.
pub fn metrics_router(app: App) -> Router {
    let started_at = app.now();
    Router::new()
        .route("/metrics", get(show_metrics))
        .with_state((app, started_at))
}

/// The same for requests off the wire.
pub(super) fn metrics_service(app: App) -> Router {
    let require_host = from_fn_with_state(Arc::clone(&app.limits), require_known_host);
    metrics_router(app)
        .layer(require_host)
        .layer(from_fn(middleware::problems_only))
}

async fn show_metrics(
    State((app, started_at)): State<(App, Timestamp)>,
    headers: HeaderMap,
) -> Response {
    let mut registry = app.registry().await;
    registry.register(
        "process_start_time_seconds",
        "When the process started",
        ConstGauge::new(started_at.as_duration().as_secs_f64()),
    );
    let is_open_metrics = prefers(&headers, "application/openmetrics-text", "text/plain");
    let encoded = if is_open_metrics {
        open_metrics(&registry)
    } else {
        plain_text(&registry)
    };
    let content_type = if is_open_metrics {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    match encoded {
        Ok(body) => ([(header::CONTENT_TYPE, content_type)], body).into_response(),
        Err(fmt::Error) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn open_metrics(registry: &Registry) -> Result<String, fmt::Error> {
    let mut body = String::new();
    text::encode(&mut body, registry)?;
    Ok(body)
}

/// The older format of Prometheus. It names counters and infos in full where they are described, and knows no infos.
fn plain_text(registry: &Registry) -> Result<String, fmt::Error> {
    let mut described = String::new();
    text::encode_registry(&mut described, registry)?;
    let mut body = String::with_capacity(described.len());
    let mut lines = described.lines().peekable();
    while let Some(line) = lines.next() {
        let kind = lines.peek().copied().unwrap_or_default();
        let Some(help) = line.strip_prefix("# HELP ") else {
            body.extend([line, "\n"]);
            continue;
        };
        let (name, help) = help.split_once(' ').unwrap_or((help, ""));
        let (suffix, kind) = match kind.rsplit(' ').next().unwrap_or_default() {
            "counter" => ("_total", "counter"),
            "info" => ("_info", "gauge"),
            kind => ("", kind),
        };
        body.extend([
            "# HELP ",
            name,
            suffix,
            " ",
            help,
            "\n# TYPE ",
            name,
            suffix,
            " ",
            kind,
            "\n",
        ]);
        lines.next();
    }
    Ok(body)
}

impl App {
    /// All metrics as they are now.
    async fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        // Before one is taken for this.
        let database = self.store.connections();
        self.metrics.register(&mut registry);
        self.watchlist.register(self, &mut registry).await;
        let connections = self.limits.connections;
        let open = connections.saturating_sub(self.connections.available_permits());
        let (bytes, most_bytes) = self.budget.used();
        let gauges = [
            ("unroof_connections_open", "Connections of clients", open),
            (
                "unroof_connections_limit",
                "Connections that there may be",
                connections,
            ),
            (
                "unroof_computations_running",
                "Computations that are running",
                self.computing.running(),
            ),
            (
                "unroof_computations_waiting",
                "Requests in the request queue, which wait for a computation",
                self.computing.queued(),
            ),
            (
                "unroof_bytes_in_flight",
                "Bytes of bodies and answers in memory, those that are kept included",
                bytes,
            ),
            (
                "unroof_bytes_in_flight_limit",
                "Bytes that there may be",
                most_bytes,
            ),
            (
                "unroof_database_connections_used",
                "Connections to the database that are at work",
                database.used,
            ),
            (
                "unroof_database_connections_idle",
                "Connections to the database that are free",
                database.idle,
            ),
            (
                "unroof_database_connections_limit",
                "Connections to the database that there may be",
                database.limit,
            ),
        ];
        for (name, help, value) in gauges {
            registry.register(name, help, ConstGauge::new(value));
        }
        registry.register(
            "unroof_cache_entries",
            "Answers that are kept for those who poll",
            ConstGauge::new(self.bodies.entries()),
        );
        registry
    }
}
