//! Counters of served requests, for Prometheus.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Registers metrics: name, description, value.
macro_rules! register {
    ($registry:expr, $($name:expr, $description:expr => $metric:expr;)*) => {
        $($registry.register($name, $description, $metric);)*
    };
}
pub(crate) use register;

/// Counters of served requests. Labels contain no text from clients, so the number of series per route is bounded.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) refused_connections: Counter,
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
}

/// The labels of a series: names and values.
pub(crate) type Labels<const COUNT: usize> = [(&'static str, Cow<'static, str>); COUNT];

/// Bucket bounds of the duration histogram, in seconds: from a cached response to the response timeout.
const DURATIONS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            refused_connections: Counter::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            in_flight: Gauge::default(),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        register! { registry,
            "unroof_http_requests", "Requests by method, route and class of the status" => self.requests.clone();
            "unroof_http_request_duration_seconds", "Time from the head of a request to the head of its response" => self.durations.clone();
            "unroof_http_requests_in_flight", "Requests in progress" => self.in_flight.clone();
            "unroof_connections_refused", "Connections refused because the limit was reached" => self.refused_connections.clone();
            "unroof_build", "The program that runs" => Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        }
    }
}

/// A request, counted when it ends, also if its client disconnects before the response.
pub(crate) struct Counted {
    metrics: Arc<Metrics>,
    method: &'static str,
    route: String,
    status: &'static str,
    started: Instant,
}

impl Counted {
    /// A request to a route; none has an empty name.
    pub(crate) fn new(metrics: Arc<Metrics>, method: &'static str, route: &str) -> Self {
        metrics.in_flight.inc();
        let route = if route.is_empty() { "none" } else { route };
        Self {
            metrics,
            method,
            route: route.to_owned(),
            status: "none",
            started: Instant::now(),
        }
    }

    /// Notes the status of the answer; the time since the request came.
    pub(crate) fn answered(&mut self, status: StatusCode) -> Duration {
        self.status = status_class(status);
        self.started.elapsed()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let route = ("route", std::mem::take(&mut self.route).into());
        let (method, status) = (self.method.into(), self.status.into());
        let request = [("method", method), route.clone(), ("status", status)];
        self.metrics.in_flight.dec();
        self.metrics.requests.get_or_create(&request).inc();
        let durations = self.metrics.durations.get_or_create(&[route]);
        durations.observe(self.started.elapsed().as_secs_f64());
    }
}

/// The methods of RFC 9110; clients may send any other word, of any length.
pub(crate) fn method_name(method: &Method) -> &'static str {
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
