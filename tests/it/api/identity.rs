//! Questions that are the same have one id.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{TestDatabase, with};

/// A sheet in which everything that has two spellings occurs.
fn spelled_out() -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": "acme",
        "model": "m-1",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "valid_from": "2026-01-01T00:00:00Z",
        "limits": {"context": 400_000},
        "rates": [
            {"input": "0.3", "output": "3", "cache_write": [{"ttl_seconds": 300, "price": "0.375"}, {"ttl_seconds": 3600, "price": "0.6"}]},
            {"service_tier": "batch", "input": "0.15", "output": "1.5"},
            {"context_tier": {"min_prompt_tokens": 200_000}, "input": "0.6", "output": "4.5"},
        ],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    })
}

#[tokio::test]
async fn the_same_content_spelled_differently_has_the_same_id_and_the_same_bytes() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let sheet = spelled_out();
    let first = api.infer(&sheet).await;
    let change = |pointer, value| with(spelled_out(), pointer, value);
    let rates = |order: [usize; 3]| {
        let rates = order.map(|index| sheet["rates"][index].clone());
        change("/rates", json!(rates))
    };
    let spellings = [
        (
            "zeros after the last digit",
            change("/rates/0/input", json!("0.30")),
        ),
        (
            "eighteen decimals",
            change("/rates/0/output", json!("3.000000000000000000")),
        ),
        ("rates in another order", rates([2, 1, 0])),
        ("rates in a third order", rates([1, 0, 2])),
        (
            "writes in another order",
            change(
                "/rates/0/cache_write",
                json!([{"price": "0.60", "ttl_seconds": 3600}, {"price": "0.3750", "ttl_seconds": 300}]),
            ),
        ),
        (
            "a whole number with a point",
            change("/rates/0/cache_write/0/ttl_seconds", json!(300.0)),
        ),
        (
            "a whole number with an exponent",
            change("/limits/context", json!(4e5)),
        ),
        (
            "the standard tier",
            change("/rates/0/service_tier", json!("standard")),
        ),
        (
            "from the first token on",
            change(
                "/rates/0/context_tier",
                json!({"min_prompt_tokens": 0, "inclusive": false}),
            ),
        ),
        (
            "not inclusive",
            change("/rates/2/context_tier/inclusive", json!(false)),
        ),
        ("stated", change("/rates/0/basis", json!("stated"))),
        (
            "an index into the sources",
            change("/rates/0/source", json!(0)),
        ),
        ("the default region", change("/region", json!("global"))),
        ("no end", change("/valid_to", json!(null))),
        (
            "another offset",
            change("/valid_from", json!("2026-01-01T08:00:00+08:00")),
        ),
        (
            "default semantics",
            change("/context_tier_semantics", json!("whole_request")),
        ),
        (
            "default measure",
            change("/context_tier_measure", json!("prompt_tokens")),
        ),
        (
            "default billing",
            change("/cache_write_billing", json!("not_published")),
        ),
        (
            "tiers by name",
            change("/service_tiers", json!({"standard": {}, "batch": {}})),
        ),
        (
            "empty lists",
            with(change("/modifiers", json!([])), "/other_meters", json!([])),
        ),
        ("no capacity", change("/capacity_offers", json!([]))),
        ("no schedules", change("/schedules", json!({}))),
        (
            "other sources",
            change(
                "/sources",
                json!([{"url": "https://b.example", "format": "manual", "retrieved_at": "2026-11-21"}]),
            ),
        ),
        ("notes", change("/notes", json!(["a remark"]))),
        ("aliases", change("/aliases", json!(["m-one"]))),
        ("what is not mapped", change("/unmapped", json!({"tpm": 3}))),
    ];
    for (name, spelling) in spellings {
        let reply = api.infer(&spelling).await;
        assert_eq!(reply.status, StatusCode::OK, "{name}: {}", reply.text());
        assert_eq!(reply.body, first.body, "{name}");
    }
    assert_eq!(database.number("SELECT count(*) FROM estimates").await, 1);
    assert_eq!(
        database.number("SELECT count(*) FROM price_sheets").await,
        1
    );
}

#[tokio::test]
async fn other_content_has_another_id() {
    let api = TestDatabase::sqlite().api().await;
    api.store(&spelled_out()).await;
    let changes = [
        ("/provider", json!("ACME")),
        ("/model", json!("m-2")),
        ("/canonical_model", json!("acme/m-1")),
        ("/upstream_provider", json!("other")),
        ("/region", json!("eu")),
        ("/quantization", json!("fp8")),
        ("/currency", json!("EUR")),
        ("/valid_from", json!("2026-01-01T00:00:00.000001Z")),
        ("/valid_to", json!("2027-01-01T00:00:00Z")),
        ("/limits/context", json!(400_001)),
        ("/context_tier_semantics", json!("marginal")),
        ("/context_tier_measure", json!("session")),
        ("/cache_write_billing", json!("priced")),
        (
            "/service_tiers",
            json!({"batch": {"completion_window_seconds": 86_400}}),
        ),
        ("/rates/0/input", json!("0.300000000000000001")),
        ("/rates/0/reasoning", json!("3")),
        ("/rates/0/cache_read", json!("0")),
        ("/rates/0/basis", json!("computed")),
        ("/rates/0/cache_write/0/ttl_seconds", json!(null)),
        ("/rates/1/service_tier", json!("flex")),
        ("/rates/2/context_tier/inclusive", json!(true)),
        ("/rates/3", json!({"service_tier": "fast"})),
        ("/modifiers", json!([{"name": "eu", "multiplier": "1.1"}])),
        (
            "/other_meters",
            json!([{"meter": "search", "unit": "call", "price": "1"}]),
        ),
        (
            "/capacity_offers",
            json!([{"name": "unit", "price_per_hour": "40"}]),
        ),
    ];
    let mut ids = std::collections::BTreeSet::new();
    let count = changes.len();
    for (pointer, value) in changes {
        ids.insert(api.store(&with(spelled_out(), pointer, value)).await);
    }
    assert_eq!(ids.len(), count);
}

#[tokio::test]
async fn other_assumptions_are_another_question_and_equivalent_ones_are_not() {
    let api = TestDatabase::sqlite().api().await;
    let sheet = with(
        spelled_out(),
        "/rates/3",
        json!({"service_tier": "fast", "input": "0.6", "output": "6"}),
    );
    let question = |assumptions: &Value| json!({"price_sheet": sheet, "assumptions": assumptions});
    // Every row: spellings of one statement.
    let statements = [
        vec![
            json!({}),
            json!({"accelerator": {}}),
            json!({"speed_multiplier": {}}),
        ],
        vec![
            json!({"active_parameters": 1e11}),
            json!({"active_parameters": 100_000_000_000_u64}),
            json!({"active_parameters": {"low": 1e11, "high": 1e11}}),
        ],
        vec![
            json!({"active_parameters": {"low": 1e11, "high": 2e11}}),
            json!({"active_parameters": {"high": 200_000_000_000_u64, "low": 1e11}}),
        ],
        vec![json!({"active_parameters": 2e11})],
        vec![
            json!({"input_margin": 0}),
            json!({"input_margin": 0.0}),
            json!({"input_margin": -0.0}),
        ],
        vec![json!({"accelerator": "h100-sxm"})],
        vec![
            json!({"accelerator": {"compute_to_bandwidth": 300}}),
            json!({"accelerator": {"compute_to_bandwidth": 300.0}}),
        ],
        vec![
            json!({"accelerator": {"domain_size": 72, "bandwidth_bytes_per_second": 8e12}}),
            json!({"accelerator": {"bandwidth_bytes_per_second": 8_000_000_000_000_u64, "domain_size": 72}}),
        ],
        vec![
            json!({"speed_multiplier": {"fast": 2.5}}),
            json!({"speed_multiplier": {"fast": {"low": 2.5, "high": 2.5}}}),
        ],
        vec![
            json!({"speed_multiplier": {"fast": 2.5, "batch": 0.5}, "chips": 8}),
            json!({"chips": 8, "speed_multiplier": {"batch": 0.5, "fast": 2.5}}),
        ],
    ];
    for spellings in statements {
        let id = api.store(&question(&spellings[0])).await;
        for spelling in &spellings {
            let reply = api.infer(&question(spelling)).await;
            assert_eq!(
                (reply.status, reply.id()),
                (StatusCode::OK, id.clone()),
                "{spelling}"
            );
        }
    }
    assert_eq!(
        api.infer(&sheet).await.status,
        StatusCode::OK,
        "a bare sheet states nothing"
    );
}
