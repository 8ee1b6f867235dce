//! Traces as a receiver gets them.

use std::fmt::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::json;

use super::receiver::{Receiver, text_of};
use super::{PARENT, Service, TRACE, traceparent};
use crate::support::on_each_database_blocking;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn a_request_is_a_span_below_the_callers_and_above_its_computation_and_statements() {
    on_each_database_blocking(|database| {
        let receiver = Receiver::start();
        let arguments = ["--otlp-endpoint", receiver.address.as_str()];
        let environment = [("OTEL_BSP_SCHEDULE_DELAY", "50")];
        let service = Service::on(database, &arguments, &environment);
        check_request(&service, &receiver, &database.name.to_lowercase());
    });
}

fn check_request(service: &Service, receiver: &Receiver, system: &str) {
    let traceparent = traceparent(true);
    let headers = [
        ("traceparent", traceparent.as_str()),
        ("x-request-id", "seven"),
    ];
    service.infer(&headers);

    let request = receiver.span("POST /infer");
    assert_eq!(hex(&request.trace_id), TRACE);
    assert_eq!(hex(&request.parent_span_id), PARENT);
    assert_eq!(request.kind, i32::from(SpanKind::Server));
    for (name, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/infer"),
        ("http.response.status_code", "201"),
        ("url.path", "/infer"),
        ("unroof.request_id", "seven"),
    ] {
        let found = text_of(&request.attributes, name);
        assert_eq!(found.as_deref(), Some(value), "{name}");
    }
    receiver.child(&request, "compute");
    let statement = receiver.child(&request, system);
    assert_eq!(statement.kind, i32::from(SpanKind::Client));
    assert_eq!(receiver.of_resource("service.name"), "unroof");
    let instance = crate::server::client()
        .get(service.url("/healthz"))
        .call()
        .unwrap();
    let instance = instance.headers()["unroof-instance"].to_str().unwrap();
    assert_eq!(receiver.of_resource("service.instance.id"), instance);

    // A list states its statement, without values.
    service.ask("/estimates?provider=acme", &headers);
    let list = receiver.span("GET /estimates");
    let statement = receiver.child(&list, system);
    let text = text_of(&statement.attributes, "db.query.text").unwrap_or_default();
    assert!(text.contains("SELECT") && !text.contains("acme"), "{text}");
}

#[test]
fn a_trace_that_the_caller_does_not_record_is_not_sent_and_jobs_alone_make_no_traces() {
    let receiver = Receiver::start();
    let service = Service::reporting_to(&receiver, &[]);
    service.infer(&[("traceparent", &traceparent(false))]);
    let (status, problem) = service.ask("/nowhere", &[]);
    assert_eq!(status, 404);
    // Spans are sent in the order in which they end.
    let unknown = receiver.span("GET");
    assert_eq!(problem["trace_id"], hex(&unknown.trace_id));
    assert!(unknown.parent_span_id.is_empty());
    assert_eq!(text_of(&unknown.attributes, "http.route"), None);
    for span in receiver.spans() {
        assert_ne!(hex(&span.trace_id), TRACE);
        assert!(span.name != "sqlite" || !span.parent_span_id.is_empty());
    }
}

#[test]
fn a_webhook_and_a_catalog_are_asked_for_with_the_trace_of_the_job() {
    let receiver = Receiver::start();
    let hooks = Receiver::start();
    let catalogs = Receiver::start();
    let refresh = format!("litellm={}/prices.json@24h", catalogs.address);
    let arguments = [
        "--webhook-allow-private",
        "--refresh-allow-private",
        "--refresh",
        &refresh,
    ];
    let service = Service::reporting_to(&receiver, &arguments);
    let url = format!("{}/hook/secret", hooks.address);
    service.post("/webhooks", &[], &json!({"url": url}));
    service.infer(&[]);

    let delivery = receiver.span("deliver webhook");
    let call = receiver.child(&delivery, "POST");
    let sent = hooks.other();
    let expected = format!("00-{}-{}-01", hex(&call.trace_id), hex(&call.span_id));
    assert_eq!(sent["traceparent"], expected);
    assert!(!sent.contains_key("tracestate"));
    for (name, value) in [
        ("server.address", "127.0.0.1"),
        ("http.response.status_code", "204"),
    ] {
        let found = text_of(&call.attributes, name);
        assert_eq!(found.as_deref(), Some(value), "{name}");
    }
    assert!(!format!("{call:?}").contains("secret"));

    let call = receiver.span("GET");
    let expected = format!("00-{}-{}-01", hex(&call.trace_id), hex(&call.span_id));
    assert_eq!(catalogs.other()["traceparent"], expected);
}

#[test]
fn the_receiver_of_the_environment_is_sent_the_headers_of_the_environment() {
    let receiver = Receiver::start();
    let endpoint = format!("{}/", receiver.address);
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-scope-id=team%201"),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let service = Service::with(&[], &environment);
    service.ask("/healthz", &[]);
    receiver.span("GET /healthz");
    let scopes = receiver.headers("x-scope-id");
    assert!(!scopes.is_empty());
    assert!(scopes.iter().all(|id| id == "team 1"), "{scopes:?}");
}

#[test]
fn a_service_that_stops_sends_what_it_has_first() {
    let receiver = Receiver::start();
    let service = Service::with(
        &["--otlp-endpoint", &receiver.address],
        &[("OTEL_BSP_SCHEDULE_DELAY", "600000")],
    );
    service.infer(&[]);
    assert!(receiver.spans().is_empty());
    let (status, log) = service.server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    let names: Vec<String> = receiver.spans().into_iter().map(|span| span.name).collect();
    assert!(names.iter().any(|name| name == "POST /infer"), "{names:?}");
}

#[test]
fn a_receiver_that_is_unreachable_or_silent_delays_nothing_and_is_one_line_of_the_log() {
    // It takes connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for (endpoint, longest_stop) in [
        ("http://127.0.0.1:9", Duration::from_secs(20)),
        (silent.as_str(), Duration::from_secs(20)),
    ] {
        let service = Service::with(
            &["--otlp-endpoint", endpoint],
            &[("OTEL_BSP_SCHEDULE_DELAY", "10")],
        );
        let began = Instant::now();
        for _ in 0..50 {
            assert_eq!(service.ask("/healthz", &[]).0, 200);
            std::thread::sleep(Duration::from_millis(10));
        }
        // Were each to wait for the receiver, it would take minutes.
        assert!(began.elapsed() < Duration::from_secs(20));
        service.server.wait_for_log("traces are not received");
        let began = Instant::now();
        let (status, log) = service.server.stop();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(began.elapsed() < longest_stop);
        assert_eq!(log.matches("traces are not received").count(), 1, "{log}");
    }
}
