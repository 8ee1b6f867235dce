//! The W3C trace context in the headers of requests: read from callers, written to others.

use std::collections::HashMap;

use axum::http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The caller's span; none where the caller sent no valid one, or more than one.
pub(super) fn of_caller(headers: &HeaderMap) -> Option<Context> {
    let mut sent = headers.get_all("traceparent").iter();
    if sent.next().is_none() || sent.next().is_some() {
        return None;
    }
    let headers = HeaderExtractor(headers);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    context.has_active_span().then_some(context)
}

/// Id of the trace that a span belongs to; none where traces are not sent and no caller has one.
pub(super) fn trace_id(context: &Context) -> Option<String> {
    let id = context.span().span_context().trace_id();
    context
        .span()
        .span_context()
        .is_valid()
        .then(|| id.to_string())
}

/// Headers with which another service continues the trace of a span; none where traces are not sent.
#[must_use]
pub fn headers_of(span: &Span) -> HashMap<String, String> {
    let mut headers = HashMap::new();
    if !span.is_disabled() {
        TraceContextPropagator::new().inject_context(&span.context(), &mut headers);
        headers.retain(|_, value| !value.is_empty());
    }
    headers
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn id_of(sent: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append("traceparent", HeaderValue::from_str(value).unwrap());
        }
        trace_id(&of_caller(&headers)?)
    }

    #[test]
    fn only_a_single_valid_parent_is_read() {
        let valid = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(id_of(&[&valid]), Some(TRACE.to_owned()));
        let unsampled = format!("00-{TRACE}-00f067aa0ba902b7-00");
        assert_eq!(id_of(&[&unsampled]), Some(TRACE.to_owned()));
        for sent in [
            [].as_slice(),
            &[""],
            &["00"],
            &[&valid.to_uppercase()],
            &[&format!("ff-{TRACE}-00f067aa0ba902b7-01")],
            &[&format!("00-{TRACE}-0000000000000000-01")],
            &["00-00000000000000000000000000000000-00f067aa0ba902b7-01"],
            &[&format!("00-{TRACE}0-00f067aa0ba902b7-01")],
            &[&valid, &valid],
        ] {
            assert_eq!(id_of(sent), None, "{sent:?}");
        }
    }
}
