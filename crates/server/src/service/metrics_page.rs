//! `/metrics`: numbers about the service, for Prometheus, on a listener of its own.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::metrics::{Labels, register};
use super::middleware;
use crate::app::{App, Parts};
use crate::clients::Clients;
use unroof_edge::{prefers, require_known_host};

/// State of the metrics listener.
pub fn metrics_router(app: App) -> Router {
    Router::new()
        .route("/metrics", get(show_metrics))
        .with_state(app)
}

/// The router of the metrics listener, with the HTTP checks.
pub(crate) fn metrics_service(app: App) -> Router {
    let require_host = from_fn_with_state(Arc::clone(&app.limits), require_known_host);
    metrics_router(app)
        .layer(require_host)
        .layer(from_fn(middleware::problems_only))
}

async fn show_metrics(State(app): State<App>, headers: HeaderMap) -> Response {
    let registry = app.registry().await;
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

/// The text format of Prometheus, which writes the full names of counters and has no type for infos.
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
    /// Registry with the current metrics.
    pub(crate) async fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        let Parts {
            limits,
            answers,
            compute,
            service,
            work,
            clients,
            ..
        } = &**self;
        // Before one is taken for this.
        let database = answers.store.connections();
        service.metrics.register(&mut registry);
        let is_up = answers.version().await.is_ok();
        service
            .meters
            .register(&work.jobs, is_up, &mut registry)
            .await;
        register_refused(clients, &mut registry);
        let takes_writes = answers.store.require_writable().is_ok();
        let connections = limits.connections;
        let open = connections.saturating_sub(service.connections.available_permits());
        let (bytes, most_bytes) = answers.budget.used();
        let reads = answers.store.standby_reads().unwrap_or_default();
        register! { registry,
            "unroof_connections_open", "Connections of clients" => ConstGauge::new(open);
            "unroof_connections_limit", "Limit of connections of clients" => ConstGauge::new(connections);
            "unroof_computations_running", "Running computations" => ConstGauge::new(compute.workers.running());
            "unroof_computations_waiting", "Requests in the request queue" => ConstGauge::new(compute.workers.queued());
            "unroof_bytes_in_flight", "Bytes of bodies and responses in memory, with the response cache" => ConstGauge::new(bytes);
            "unroof_bytes_in_flight_limit", "Limit of bytes of bodies and responses in memory" => ConstGauge::new(most_bytes);
            "unroof_database_up", "Whether the database answers" => ConstGauge::new(u32::from(is_up));
            "unroof_store_version", "Transactions that have written to the store" => ConstGauge::new(answers.store.newest());
            "unroof_database_writable", "Whether the database is not known to refuse writes" => ConstGauge::new(u32::from(takes_writes));
            "unroof_database_connections_used", "Connections to the database in use" => ConstGauge::new(database.used);
            "unroof_database_connections_idle", "Idle connections to the database" => ConstGauge::new(database.idle);
            "unroof_database_connections_limit", "Limit of connections to the database" => ConstGauge::new(database.limit);
            "process_start_time_seconds", "Start time of the process" => ConstGauge::new(service.started_at.as_duration().as_secs_f64());
            "unroof_standby_reads", "Lists that were read from the standby" => ConstCounter::new(reads.standby);
            "unroof_standby_misses", "Lists that were read from the primary because the standby was behind or away" => ConstCounter::new(reads.primary);
            "unroof_cache_entries", "Bodies in the response cache" => ConstGauge::new(answers.bodies.entries());
        }
        registry
    }
}

/// Refused requests by reason; every reason has a series from the start, so that an increase is seen.
fn register_refused(clients: &Clients, registry: &mut Registry) {
    let requests = Family::<Labels<2>, Counter>::default();
    for (reason, count) in clients.visits.refused() {
        let status = if reason.is_unknown() { "401" } else { "403" };
        let labels = [("reason", reason.name().into()), ("status", status.into())];
        requests.get_or_create(&labels).inc_by(count);
    }
    register! { registry,
        "unroof_requests_refused", "Requests of callers that were refused, by reason" => requests;
    }
}
