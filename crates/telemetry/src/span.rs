//! Spans of traces. They are not those of the log, which leaves them out; without a receiver none is made.

use axum::http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use tracing::{Level, Span, info_span, span_enabled};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use url::Url;
use uuid::Uuid;

use super::trace_context::{of_caller, trace_id};

/// Target of all spans of traces, and of nothing else.
pub const TARGET: &str = "unroof::trace";

/// Attribute for the status of an answer, received or sent.
const STATUS: &str = "http.response.status_code";

/// The part of a trace that a request is, from its head to the head of its answer.
#[derive(Debug)]
pub struct RequestTrace {
    /// Disabled where traces are not sent.
    pub span: Span,
    /// Id of the trace: the caller's, else a new one where traces are sent.
    pub trace_id: Option<String>,
}

impl RequestTrace {
    /// Begins with the head of a request. The names of attributes are OpenTelemetry's conventions for HTTP.
    pub fn begin(
        headers: &HeaderMap,
        method: &'static str,
        route: &str,
        path: &str,
        request_id: &str,
    ) -> Self {
        let caller = of_caller(headers);
        let span = info_span!(
            target: TARGET,
            parent: None,
            "request",
            otel.name = %format_args!("{method} {route}").to_string().trim_end(),
            otel.kind = "server",
            otel.status_code = tracing::field::Empty,
            http.request.method = method,
            http.route = (!route.is_empty()).then_some(route),
            http.response.status_code = tracing::field::Empty,
            url.scheme = "http",
            url.path = path,
            unroof.request_id = request_id,
        );
        if let Some(caller) = &caller {
            // Fails only where traces are not sent.
            let _ = span.set_parent(caller.clone());
        }
        let own = (!span.is_disabled()).then(|| span.context());
        let trace_id = own.or(caller).as_ref().and_then(trace_id);
        Self { span, trace_id }
    }

    /// Ends with the status of the answer.
    pub fn end(&self, status: u16) {
        self.span.record(STATUS, status);
        if status >= 500 {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

/// Span of a computation.
pub fn compute_span() -> Span {
    info_span!(target: TARGET, "compute", otel.kind = "internal")
}

/// An attempt to deliver changes to a webhook, a trace of its own.
pub fn delivery_span(webhook: Uuid) -> Span {
    info_span!(
        target: TARGET,
        parent: None,
        "deliver webhook",
        otel.kind = "internal",
        unroof.webhook.id = %webhook,
    )
}

/// A request to another service. Only the host of its address is part of the trace: the rest may hold a secret.
pub fn call_span(method: &'static str, address: &str) -> Span {
    if !span_enabled!(target: TARGET, Level::INFO) {
        return Span::none();
    }
    let address = Url::parse(address).ok();
    let host = address.as_ref().and_then(Url::host_str);
    info_span!(
        target: TARGET,
        "call",
        otel.name = method,
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        http.request.method = method,
        http.response.status_code = tracing::field::Empty,
        server.address = host,
    )
}

/// Notes the answer to a request to another service; none where there was no answer.
pub fn note_status(call: &Span, status: Option<u16>) {
    if let Some(status) = status {
        call.record(STATUS, status);
    }
    if status.is_none_or(|status| status >= 400) {
        call.record("otel.status_code", "ERROR");
    }
}

/// An operation of the database as part of a trace; disabled outside of one, so that a job that polls makes no traces.
pub fn database_span(system: &'static str) -> Span {
    let is_traced = span_enabled!(target: TARGET, Level::INFO)
        && Context::map_current(TraceContextExt::has_active_span);
    if !is_traced {
        return Span::none();
    }
    info_span!(
        target: TARGET,
        "database",
        otel.name = system,
        otel.kind = "client",
        db.system.name = system,
        db.query.text = tracing::field::Empty,
    )
}
