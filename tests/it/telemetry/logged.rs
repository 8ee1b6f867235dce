//! Trace ids in the log and in problems, and lines about what was slow.

use serde_json::Value;

use super::{Service, TRACE, traceparent};
use crate::support::on_each_database_blocking;

/// The lines of a log in JSON with this message.
fn lines(log: &str, message: &str) -> Vec<Value> {
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines
        .filter(|line: &Value| line["fields"]["message"] == message)
        .collect()
}

#[test]
fn a_callers_trace_is_in_the_log_and_in_problems_without_any_receiver() {
    let service = Service::with(&["--log-format", "json"], &[]);
    let headers = [
        ("traceparent", traceparent(true)),
        ("x-request-id", "a".to_owned()),
    ];
    let headers = headers
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let (_, problem) = service.ask("/nowhere", &headers);
    assert_eq!(problem["trace_id"], TRACE);
    let (_, problem) = service.ask(
        "/nowhere",
        &[("traceparent", "00-abc"), ("x-request-id", "b")],
    );
    assert_eq!(problem.get("trace_id"), None);
    let log = service.server.wait_for_log("\"request_id\":\"b\"");
    let served = lines(&log, "served");
    let ids: Vec<_> = served
        .iter()
        .map(|line| line["span"].get("trace_id"))
        .collect();
    assert_eq!(ids, [Some(&Value::from(TRACE)), None]);
    // The same without other fields.
    let fields = served[1]["span"].as_object().unwrap().keys();
    let expected = ["client", "method", "name", "request_id", "route"];
    let mut fields: Vec<&String> = fields.collect();
    fields.sort();
    assert_eq!(fields, expected);
}

#[test]
fn slow_answers_and_slow_statements_are_logged_with_the_ids_of_their_request() {
    on_each_database_blocking(|database| {
        let limits = ["--slow-answer", "1us", "--slow-query", "1us"];
        let arguments = [&limits[..], &["--log-format", "json"]].concat();
        check_slow(&Service::on(database, &arguments, &[]));
    });
}

fn check_slow(service: &Service) {
    service.infer(&[
        ("traceparent", &traceparent(true)),
        ("x-request-id", "slow"),
    ]);
    let log = service.server.wait_for_log("slow answer");
    let [line] = lines(&log, "slow answer").try_into().unwrap();
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["span"]["route"], "/infer");
    assert_eq!(line["span"]["request_id"], "slow");
    assert_eq!(line["span"]["trace_id"], TRACE);
    assert_eq!(line["fields"]["status"], 201);
    assert!(line["fields"]["duration_ms"].as_f64() > Some(0.0));
    let statements = lines(
        &log,
        "slow statement: execution time exceeded alert threshold",
    );
    let is_of_request = |line: &Value| line["span"]["trace_id"] == TRACE;
    assert!(statements.iter().any(is_of_request), "{log}");
    assert!(!format!("{statements:?}").contains("acme"), "{log}");
}

#[test]
fn nothing_is_slow_where_the_limits_are_zero_and_an_error_has_the_ids_at_any_level() {
    let limits = ["--slow-answer", "0s", "--slow-query", "0s"];
    let service = Service::with(&[&limits[..], &["--log-format", "json"]].concat(), &[]);
    service.infer(&[]);
    let (status, log) = service.server.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("slow"), "{log}");

    let arguments = [
        "--slow-answer",
        "1us",
        "--log",
        "warn",
        "--log-format",
        "json",
    ];
    let service = Service::with(&arguments, &[]);
    service.ask("/healthz", &[("x-request-id", "quiet")]);
    let log = service.server.wait_for_log("slow answer");
    let [line] = lines(&log, "slow answer").try_into().unwrap();
    assert_eq!(line["span"]["request_id"], "quiet");
}
