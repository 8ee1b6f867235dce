//! Requests that can be read and are wrong: every fault with its pointer, what is wrong and what would be right.

use serde_json::{Value, json};

use crate::support::{TestDatabase, faults, sheet, with};

#[tokio::test]
async fn a_sheet_with_ten_faults_gets_ten_errors() {
    let api = TestDatabase::sqlite().api().await;
    let wrong = json!({
        "schema": "pricesheet/v2",
        "provider": "",
        "currency": "usd",
        "unit": "per_1m_tokens",
        "valid_from": "yesterday",
        "limits": {"context": 0},
        "rates": [
            {"input": 1.25, "outptu": "10"},
            {"schedule": "night", "cache_write": [{"ttl_seconds": 0, "price": "-1"}]},
        ],
        "sources": [{"url": "https://acme.example", "format": "official"}],
    });
    let reply = api.infer(&wrong).await;
    let problem = reply.problem(422);
    let mut pointers: Vec<&str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["pointer"].as_str().unwrap())
        .collect();
    pointers.sort_unstable();
    let expected = [
        "", // `model` is missing
        "/currency",
        "/limits/context",
        "/provider",
        "/rates/0/input",
        "/rates/0/outptu",
        "/rates/1/cache_write/0/price",
        "/rates/1/cache_write/0/ttl_seconds",
        "/rates/1/schedule",
        "/schema",
        "/valid_from",
    ];
    assert_eq!(pointers, expected, "{}", faults(&problem));
    assert_eq!(problem["detail"], "11 faults; see `errors`");
    for fault in problem["errors"].as_array().unwrap() {
        for part in ["detail", "hint"] {
            assert!(!fault[part].as_str().unwrap().is_empty(), "{fault}");
        }
    }
    assert_eq!(problem["type"], "/problems/invalid-request");
}

#[tokio::test]
async fn faults_of_the_assumptions_are_listed_with_those_of_the_sheet() {
    let api = TestDatabase::sqlite().api().await;
    let question = json!({
        "price_sheet": with(sheet(), "/rates/0/input", json!("free")),
        "assumptions": {"active_parameters": -1, "chips": {"low": 8, "high": 4}, "speed": 2},
        "seed": 1,
    });
    let problem = api.infer(&question).await.problem(422);
    let listed = faults(&problem);
    for pointer in [
        "/price_sheet/rates/0/input",
        "/assumptions/active_parameters",
        "/assumptions/chips",
        "/assumptions/speed",
        "/seed",
    ] {
        assert!(
            listed.contains(&format!("{pointer}: ")),
            "no {pointer} in {listed}"
        );
    }
    assert_eq!(problem["errors"].as_array().unwrap().len(), 5, "{listed}");
}

#[tokio::test]
async fn bodies_that_are_no_single_question_are_refused_with_what_to_send() {
    let api = TestDatabase::sqlite().api().await;
    let entry = json!({"litellm_provider": "openai", "input_cost_per_token": 1e-6});
    let both = with(sheet(), "/price_sheet", sheet());
    let both_entries = with(entry.clone(), "/entry", entry.clone());
    let litellm = "/infer?format=litellm&model=m";
    let rows = [
        (
            "/infer",
            json!([sheet()]),
            "send one sheet at a time: {\"price_sheet\": …",
        ),
        ("/infer", json!([]), "send one sheet at a time"),
        ("/infer", json!("pricesheet/v1"), "send {\"price_sheet\": …"),
        ("/infer", json!(1.25), "send {\"price_sheet\": …"),
        ("/infer", json!(true), "send {\"price_sheet\": …"),
        ("/infer", json!(null), "send {\"price_sheet\": …"),
        ("/infer", both, "send either {\"price_sheet\": …"),
        (
            "/infer",
            json!({"assumptions": {}}),
            "send {\"price_sheet\": …",
        ),
        (
            "/infer",
            with(sheet(), "/assumptions", json!({})),
            "send {\"price_sheet\": …",
        ),
        (
            litellm,
            json!([entry]),
            "send one sheet at a time: {\"entry\": …",
        ),
        (litellm, json!("gpt-5"), "send {\"entry\": …"),
        (litellm, both_entries, "send either {\"entry\": …"),
        (litellm, json!({"assumptions": {}}), "send {\"entry\": …"),
    ];
    for (path, body, hint) in rows {
        let problem = api.post(path, body.to_string()).await.problem(422);
        let errors = problem["errors"].as_array().unwrap();
        assert_eq!(
            (errors.len(), &errors[0]["pointer"]),
            (1, &json!("")),
            "{body}: {problem}"
        );
        let given = problem["hint"].as_str().unwrap_or_default();
        assert!(given.contains(hint), "{body}: {given}");
    }
    // Each form under the other's format.
    for (path, body) in [
        (litellm, sheet()),
        ("/infer", entry),
        (litellm, json!({"price_sheet": sheet()})),
    ] {
        api.post(path, body.to_string()).await.problem(422);
    }
}

#[tokio::test]
async fn an_entry_without_a_token_price_is_refused_with_the_reason() {
    let api = TestDatabase::sqlite().api().await;
    let path = "/infer?format=litellm&model=gpt-5-live";
    let rows = [
        (
            json!({"litellm_provider": "openai", "output_cost_per_second": 0.1}),
            "the entry has no token price; it is priced by output_cost_per_second",
        ),
        (
            json!({"litellm_provider": "openai"}),
            "the entry has no token price, nor any other price",
        ),
        (
            json!({"input_cost_per_token": 1e-6}),
            "the field `litellm_provider` is missing",
        ),
    ];
    for (entry, reason) in rows {
        let problem = api.post(path, entry.to_string()).await.problem(422);
        assert_eq!(problem["detail"], reason, "{entry}");
    }
    let negative = json!({"litellm_provider": "openai", "input_cost_per_token": -1e-6, "output_cost_per_token": "many"});
    let problem = api.post(path, negative.to_string()).await.problem(422);
    let listed = faults(&problem);
    assert!(
        listed.contains("/input_cost_per_token: `input_cost_per_token` is negative"),
        "{listed}"
    );
    assert!(
        listed.contains("/output_cost_per_token: `output_cost_per_token` is not a number"),
        "{listed}"
    );
}

/// Every row: a body, the pointer to its only fault, and a part of what is said about it.
pub(super) async fn assert_refused<'a>(rows: impl IntoIterator<Item = (Value, &'a str, &'a str)>) {
    let api = TestDatabase::sqlite().api().await;
    for (body, pointer, words) in rows {
        let reply = api.infer(&body).await;
        let problem = reply.problem(422);
        let listed = faults(&problem);
        let errors = problem["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{body}: {listed}");
        assert_eq!(errors[0]["pointer"], pointer, "{body}: {listed}");
        assert!(listed.contains(words), "{body}: no `{words}` in {listed}");
    }
    assert!(api.get("/estimates").await.rows().is_empty());
}

#[tokio::test]
async fn unknown_names_are_refused_with_the_nearest_known_ones() {
    let stating = |assumptions| json!({"price_sheet": sheet(), "assumptions": assumptions});
    assert_refused([
        (
            with(sheet(), "/regoin", json!("eu")),
            "/regoin",
            "did you mean `region`?",
        ),
        (
            with(sheet(), "/rates/0/outptu", json!("1")),
            "/rates/0/outptu",
            "did you mean `output`?",
        ),
        (
            with(sheet(), "/rates/0/cache_wrte", json!([])),
            "/rates/0/cache_wrte",
            "`cache_write`",
        ),
        (
            with(sheet(), "/limits", json!({"contxt": 1})),
            "/limits/contxt",
            "did you mean `context`?",
        ),
        (
            with(sheet(), "/a~1b", json!(1)),
            "/a~01b",
            "is not a known field",
        ),
        (
            with(sheet(), "/sources/0/format", json!("offical")),
            "/sources/0/format",
            "did you mean `official`?",
        ),
        (
            with(sheet(), "/context_tier_semantics", json!("whole")),
            "/context_tier_semantics",
            "did you mean `whole_request`?",
        ),
        (
            stating(json!({"active_params": 1e11})),
            "/assumptions/active_params",
            "did you mean `active_parameters`",
        ),
        (
            stating(json!({"accelerator": "h100"})),
            "/assumptions/accelerator",
            "did you mean `h100-",
        ),
        (
            stating(json!({"accelerator": "abacus"})),
            "/assumptions/accelerator",
            "write one of ",
        ),
        (
            stating(json!({"accelerator": {"bandwith_bytes_per_second": 1e12}})),
            "/assumptions/accelerator/bandwith_bytes_per_second",
            "did you mean `bandwidth_bytes_per_second`",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_speed_can_only_be_stated_for_a_tier_of_the_sheet() {
    let with_fast = with(
        sheet(),
        "/rates/1",
        json!({"service_tier": "fast", "output": "20"}),
    );
    let stating = |sheet, tier: &str| json!({"price_sheet": sheet, "assumptions": {"speed_multiplier": {tier: 2}}});
    assert_refused([
        (
            stating(with_fast.clone(), "fsat"),
            "/assumptions/speed_multiplier/fsat",
            "did you mean fast?",
        ),
        (
            stating(with_fast.clone(), "slow"),
            "/assumptions/speed_multiplier/slow",
            "name one of fast",
        ),
        (
            stating(with_fast, "standard"),
            "/assumptions/speed_multiplier/standard",
            "the service tier `standard`",
        ),
        (
            stating(sheet(), "fast"),
            "/assumptions/speed_multiplier/fast",
            "leave it out: the sheet has only the standard tier",
        ),
    ])
    .await;
}
