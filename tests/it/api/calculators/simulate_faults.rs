//! `POST /simulate`: what is refused, with what would be right, and the ends of what is not.

use serde_json::{Value, json};

use super::simulate::{answer, llama, number, refusal};

#[tokio::test]
async fn a_misspelled_model_is_refused_with_the_nearest_names() {
    let said = refusal(&json!({"model": "deepsek-v3"})).await;
    assert!(
        said.contains("`deepsek-v3` is not among the open-weight models"),
        "{said}"
    );
    assert!(
        said.contains("`DeepSeek-V3`") && said.contains("/reference/open-models"),
        "{said}"
    );
}

#[tokio::test]
async fn names_as_they_are_published_lead_to_ours() {
    for (written, ours) in [
        ("meta-llama/Llama-3.1-70B-Instruct", "`Llama-3.1-70B`"),
        ("deepseek-ai/DeepSeek-V3", "`DeepSeek-V3`"),
        ("DeepSeek-V2", "`DeepSeek-V2/V2.5-236B`"),
        ("mythomax", "MythoMax"),
        ("Kimi-K2", "`Kimi-K2"),
        ("Qwen/Qwen3-235B-A22B-Instruct-FP8", "`Qwen3-235B-A22B`"),
    ] {
        let said = refusal(&json!({"model": written})).await;
        let first = said
            .split("did you mean ")
            .nth(1)
            .unwrap_or_else(|| panic!("{said}"));
        let first = first.split(" or ").next().unwrap();
        assert!(first.contains(ours), "{written}: {said}");
    }
}

#[tokio::test]
async fn parts_that_make_no_whole_are_refused() {
    let model = |experts: Value, always_read: Value| {
        let mut model = llama();
        model["active_parameters"] = json!(2e10);
        model["experts"] = experts;
        if !always_read.is_null() {
            model["always_read_parameters"] = always_read;
        }
        json!({"model": model})
    };
    for (body, part) in [
        (
            model(
                json!({"routed": 8, "active": 2, "parameters": 8e10}),
                Value::Null,
            ),
            "routed experts of",
        ),
        (
            model(json!({"routed": 8, "active": 2}), json!(6e10)),
            "that every token reads",
        ),
        (
            model(json!({"routed": 2, "active": 1}), Value::Null),
            "cannot make",
        ),
    ] {
        let said = refusal(&body).await;
        assert!(said.contains(part), "{said}");
    }
}

#[tokio::test]
async fn every_fault_is_named_with_what_would_be_right() {
    let cases = [
        (
            json!([]),
            "expected an object with named fields, found a list",
        ),
        (json!({"modle": "x"}), "did you mean `model`"),
        (json!({"model": 7}), "/model"),
        (json!({"model": {}}), "/model: too few fields are stated"),
        (
            json!({"machine": {"accelerator": "h1000"}}),
            "did you mean `h100-",
        ),
        (
            json!({"machine": {"chips": 0}}),
            "/machine/chips: `0` is not a whole number from 1",
        ),
        (
            json!({"machine": {"chips": "8"}}),
            "/machine/chips: expected a number, found a text",
        ),
        (
            json!({"spread": "pipeline"}),
            "/spread: `pipeline` is not known here",
        ),
        (
            json!({"model": "Llama-3-8B", "spread": "experts"}),
            "has no experts",
        ),
        (
            json!({"model": "DeepSeek-V3", "machine": {"accelerator": "h200-sxm", "chips": 6}, "tensor": 4}),
            "/tensor: 6 chips are not groups of 4",
        ),
        (
            json!({"model": "Llama-3-8B", "tensor": 2}),
            "/tensor: every matrix is cut",
        ),
        (json!({"load": {"batch": -1}}), "/load/batch: -1 is not"),
        (
            json!({"load": {"batch": 1, "batch_per_chip": 1}}),
            "more than one way",
        ),
        (
            json!({"efficiencies": "best"}),
            "/efficiencies: `best` is not known here",
        ),
        (
            json!({"efficiencies": {"prefill": 1.5}}),
            "/efficiencies/prefill",
        ),
        (
            json!({"grid": {}}),
            "/grid: too few fields are stated (state at least 1 of `batch`",
        ),
        (
            json!({"grid": {"batch": []}}),
            "/grid/batch: a list of 0 points",
        ),
        (
            json!({"grid": {"batch": {"from": 9, "to": 3}}}),
            "ends before it begins",
        ),
        (
            json!({"grid": {"batch": {"from": 1, "to": 3, "points": 5_000}, "context_tokens": {"from": 1, "to": 9, "points": 5_000}}}),
            "15000 points",
        ),
        (
            json!({"price_sheet": {"thresholds_tokens": [9, 3]}}),
            "do not rise",
        ),
        (
            json!({"price_sheet": {"thresholds_tokens": [200_000], "longest_context_tokens": 100_000}}),
            "not below the longest context",
        ),
        (
            json!({"price_sheet": {"cache_storage_tier": "tape"}}),
            "is not a storage tier",
        ),
        (
            json!({"price_sheet": {"input_margin": 1}}),
            "/price_sheet/input_margin",
        ),
    ];
    for (body, expected) in cases {
        let said = refusal(&body).await;
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[tokio::test]
async fn every_fault_of_an_architecture_is_named_at_once() {
    let mut model = llama();
    model["attention"] = json!([
        {"kind": "grouped_query", "layers": 0, "query_heads": 7, "kv_heads": 2, "key_dimension": 128, "vlaue_dimension": 1},
        {"kind": "recurrent"},
        {"kind": "linear", "layers": 1, "state_elements": -1},
    ]);
    model["active_parameters"] = json!(1e12);
    model["experts"] = json!({"routed": 8, "active": 8});
    let said = refusal(&json!({"model": model})).await;
    for expected in [
        "/model/active_parameters: more active than total parameters",
        "/model/experts/active",
        "/model/attention/0/layers",
        "7 query heads cannot share 2 KV heads",
        "/model/attention/0: the field `value_dimension` is missing",
        "/model/attention/0/vlaue_dimension: `vlaue_dimension` is not a known field",
        "/model/attention/1/kind: `recurrent` is not known here",
        "/model/attention/2/state_elements",
    ] {
        assert!(said.contains(expected), "no {expected} in {said}");
    }
}

#[tokio::test]
async fn the_ends_of_every_range_are_answered_with_finite_numbers() {
    let tiny = json!({"total_parameters": 1e3, "layers": 1, "hidden_dimension": 1,
        "attention": [{"kind": "linear", "layers": 1, "state_elements": 1}]});
    let huge = json!({"total_parameters": 1e16, "active_parameters": 1e16, "layers": 16_777_216, "hidden_dimension": 16_777_216,
        "attention": [{"kind": "grouped_query", "layers": 16_777_216, "query_heads": 16_777_216, "kv_heads": 16_777_216,
            "key_dimension": 16_777_216, "value_dimension": 16_777_216}]});
    for model in [tiny, huge] {
        for (batch, context, chips) in [(1e-6, 0.0, 1.0), (1e12, 1e9, 1e6)] {
            let answer = answer(&json!({"model": model, "machine": {"chips": chips},
                "load": {"batch": batch, "context_tokens": context, "input_tokens": 1e8},
                "price_sheet": {}}))
            .await;
            let text = answer.to_string();
            // A number that is not finite would be null where a number must be.
            for pointer in [
                "/decode/time/total_seconds",
                "/prefill/time/total_seconds",
                "/series/0/memory_time_over_compute_time",
                "/memory/used_bytes",
            ] {
                assert!(number(&answer, pointer).is_finite(), "{pointer}: {text}");
            }
        }
    }
}
