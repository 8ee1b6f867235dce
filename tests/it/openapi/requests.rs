//! Bodies that the document allows are read, and those that it forbids are refused.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{committed, validator};
use crate::support::{TestDatabase, sheet, with};

/// The validator for what is sent to a path.
fn validator_of_requests(document: &Value, path: &str) -> jsonschema::Validator {
    let content = &document["paths"][path]["post"]["requestBody"]["content"];
    validator(document, &content["application/json"]["schema"])
}

#[tokio::test]
async fn what_the_document_allows_is_what_is_read() {
    let document = committed();
    let api = TestDatabase::sqlite().api().await;
    let sheet_with = |pointer: &str, value: Value| with(sheet(), pointer, value);
    let stating = |assumptions: Value| json!({"price_sheet": sheet(), "assumptions": assumptions});
    let names = |count: usize| vec!["a"; count];
    let window = |start: &str| json!({"night": {"timezone": "UTC", "windows": [{"start": start, "end": "06:00"}]}});
    let linear = json!({"kind": "linear", "layers": 1, "state_elements": 1});
    let model = |group: Value| json!({"model": {"total_parameters": 1e9, "layers": 1, "hidden_dimension": 64, "attention": [group]}});
    let cases = [
        ("/infer", sheet_with("/currency", json!("CNY")), true),
        ("/infer", sheet_with("/currency", json!("AAA")), false),
        (
            "/infer",
            sheet_with("/provider", json!("a\u{a0}\u{1f600}")),
            true,
        ),
        (
            "/infer",
            sheet_with("/provider", json!("\u{a0}\u{2003}")),
            false,
        ),
        ("/infer", sheet_with("/provider", json!("a\u{85}")), false),
        ("/infer", sheet_with("/region", json!("a\tb")), false),
        ("/infer", sheet_with("/notes", json!(["a\tb\n"])), true),
        ("/infer", sheet_with("/notes", json!([" "])), false),
        ("/infer", sheet_with("/aliases", json!(names(64))), true),
        ("/infer", sheet_with("/aliases", json!(names(65))), false),
        (
            "/infer",
            sheet_with("/valid_from", json!("1970-01-01T00:00:00Z")),
            true,
        ),
        (
            "/infer",
            sheet_with("/valid_from", json!("1969-12-31T00:00:00Z")),
            false,
        ),
        ("/infer", sheet_with("/schedules", window("24:00")), true),
        ("/infer", sheet_with("/schedules", window("24:01")), false),
        (
            "/infer",
            sheet_with("/schedules", json!({"": window("00:00")["night"]})),
            false,
        ),
        (
            "/infer",
            sheet_with("/rates/0/input", json!("\u{661}")),
            false,
        ),
        (
            "/infer",
            sheet_with(
                "/service_tiers",
                json!({"fast": {"slo": {"percentile": 0}}}),
            ),
            false,
        ),
        ("/infer", stating(json!({"total_parameters": 1e16})), true),
        (
            "/infer",
            stating(json!({"total_parameters": 10_000_000_000_000_001_u64})),
            false,
        ),
        ("/infer", stating(json!({"chips": 0.999_999})), false),
        ("/infer", stating(json!({"accelerator": "h100-sxm"})), true),
        ("/infer", stating(json!({"accelerator": "abacus"})), false),
        ("/layout", json!({"load": {"context_tokens": 2e-313}}), true),
        (
            "/layout",
            json!({"model": {"total_parameters": 10_000_000_000_000_000_u64}}),
            true,
        ),
        (
            "/layout",
            json!({"model": {"total_parameters": 10_000_000_000_000_001_u64}}),
            false,
        ),
        (
            "/layout",
            json!({"layout": {"pipeline_stages_grid": [0]}}),
            false,
        ),
        ("/layout", json!({"machine": "abacus"}), false),
        ("/simulate", json!({"grid": {}}), false),
        (
            "/simulate",
            json!({"grid": {"batch": [1], "context_tokens": [0]}}),
            true,
        ),
        ("/simulate", json!({"grid": {"batch": [0]}}), false),
        ("/simulate", json!({"grid": {"context_tokens": []}}), false),
        (
            "/simulate",
            json!({"grid": {"batch": {"from": 1, "to": 2, "step": 1}}}),
            false,
        ),
        ("/simulate", json!({"model": "abacus"}), false),
        (
            "/simulate",
            json!({"price_sheet": {"cache_ttls_seconds": [0]}}),
            false,
        ),
        (
            "/simulate",
            json!({"price_sheet": {"cache_storage_tier": "abacus"}}),
            false,
        ),
        ("/simulate", model(linear.clone()), true),
        ("/simulate", model(with(linear, "/window", json!(1))), false),
        (
            "/plan",
            json!({"load": {"input_tokens": [{"tokens": 0.5, "share": 1}]}}),
            false,
        ),
        ("/plan", json!({"limits": {"percentile": "p99"}}), false),
        (
            "/training",
            json!({"quality": {"experts_over_active_grid": [0.5]}}),
            false,
        ),
        (
            "/training",
            json!({"quality": {"routing": "round-robin"}}),
            false,
        ),
        (
            "/training",
            json!({"machine": {"accelerator": "abacus"}}),
            false,
        ),
    ];
    for (path, body, is_right) in cases {
        let reply = api.post(path, body.to_string()).await;
        assert_eq!(
            validator_of_requests(&document, path).is_valid(&body),
            is_right,
            "the document on {path} {body}"
        );
        if is_right {
            assert!(reply.status.is_success(), "{path} {body}: {}", reply.text());
        } else {
            assert_eq!(
                reply.status,
                StatusCode::UNPROCESSABLE_ENTITY,
                "{path} {body}"
            );
        }
    }
}
