//! Realistic mistakes: each refusal names the place and the correction, and what can be read is warned of.

use axum::http::Method;
use serde_json::{Value, json};

use crate::server::{file_text, run};
use crate::support::{TestDatabase, faults, sheet, with};

/// A mistake in a sheet, the place of its fault, and words of the hint.
fn refused() -> Vec<(Value, &'static str, &'static str)> {
    let of = |pointer: &str, value: Value| with(sheet(), pointer, value);
    let price = |text: &str| of("/rates/0/input", json!(text));
    vec![
        (
            of("/unit", json!("per_1k_tokens")),
            "/unit",
            "multiply every price by 1,000 ",
        ),
        (
            of("/unit", json!("per_token")),
            "/unit",
            "multiply every price by 1,000,000 ",
        ),
        (
            of("/rates/0/cached_input", json!("0.1")),
            "/rates/0/cached_input",
            "write `cache_read` instead",
        ),
        (
            of("/rates/0/prompt", json!("1")),
            "/rates/0/prompt",
            "write `input` instead",
        ),
        (
            of("/rates/0/completion", json!("1")),
            "/rates/0/completion",
            "write `output` instead",
        ),
        (
            of("/rates/0/input_cost_per_token", json!("1")),
            "/rates/0/input_cost_per_token",
            "multiply a price per token by 1,000,000",
        ),
        (price("3,00"), "/rates/0/input", "write \"3.00\""),
        (
            price("1,000"),
            "/rates/0/input",
            "write \"1000\" if the comma separates thousands",
        ),
        (
            price("$3.00"),
            "/rates/0/input",
            "write \"3.00\"; the currency is a field",
        ),
        (
            price("3.00 USD"),
            "/rates/0/input",
            "write \"3.00\"; the currency is a field",
        ),
        (
            of("/rates/0/input", json!(1.5)),
            "/rates/0/input",
            "put the number in quotes: \"1.5\"",
        ),
        (
            of("/rates/0/cache_write", json!("3.75")),
            "/rates/0/cache_write",
            "\"price\": \"3.75\"",
        ),
        (
            of(
                "/rates/1",
                json!({"context_tier": {"min_prompt_tokens": "200k"}, "input": "2"}),
            ),
            "/rates/1/context_tier/min_prompt_tokens",
            "write 200000, a number without quotes",
        ),
        (
            of("/sources/0/url", json!("acme.example/prices")),
            "/sources/0/url",
            "write \"https://acme.example/prices\"",
        ),
    ]
}

#[tokio::test]
async fn a_mistake_is_one_fault_whose_hint_is_the_correction() {
    let api = TestDatabase::sqlite().api().await;
    for (sheet, place, hint) in refused() {
        let problem = api.infer(&sheet).await.problem(422);
        assert_eq!(
            problem["errors"].as_array().unwrap().len(),
            1,
            "{}",
            faults(&problem)
        );
        assert_eq!(problem["errors"][0]["pointer"], place);
        let found = problem["errors"][0]["hint"].as_str().unwrap();
        assert!(found.contains(hint), "{place}: {found}");
    }
}

#[tokio::test]
async fn other_documents_are_recognised() {
    let api = TestDatabase::sqlite().api().await;
    let answer = api.infer(&sheet()).await.json();
    let litellm =
        json!({"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6});
    let openrouter =
        json!({"id": "openai/m-1", "pricing": {"prompt": "0.000001", "completion": "0.000002"}});
    let models_dev =
        json!({"id": "m-1", "cost": {"input": 1, "output": 2}, "limit": {"context": 1000}});
    let genai_prices =
        json!({"id": "m-1", "match": {"equals": "m-1"}, "prices": {"input_mtok": 1}});
    let whole = json!({"gpt-5": litellm});
    for (body, detail, hint) in [
        (answer, "an answer of unroof", "GET /price-sheets/{id}"),
        (whole, "the whole catalog litellm", "POST /catalogs"),
        (
            litellm,
            "an entry of the catalog litellm",
            "`format=litellm`",
        ),
        (
            openrouter,
            "an entry of the catalog openrouter",
            "`format=openrouter`",
        ),
        (
            models_dev,
            "an entry of the catalog models.dev",
            "`format=models.dev`",
        ),
        (
            genai_prices,
            "an entry of the catalog genai-prices",
            "`format=genai-prices`",
        ),
    ] {
        let problem = api.infer(&body).await.problem(422);
        assert_eq!(
            problem["errors"].as_array().unwrap().len(),
            1,
            "{}",
            faults(&problem)
        );
        assert!(
            problem["detail"].as_str().unwrap().contains(detail),
            "{problem}"
        );
        assert!(
            problem["hint"].as_str().unwrap().contains(hint),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn what_can_be_read_but_is_hardly_meant_is_a_warning() {
    let api = TestDatabase::sqlite().api().await;
    let prices = |input: &str, output: &str| {
        let input = with(sheet(), "/rates/0/input", json!(input));
        with(input, "/rates/0/output", json!(output))
    };
    let usual = prices("1.2", "6");
    let tier = |cell: Value| with(usual.clone(), "/rates/1", cell);
    let short = with(
        tier(json!({"context_tier": {"min_prompt_tokens": 200_000}, "input": "2", "output": "9"})),
        "/limits",
        json!({"context": 128_000}),
    );
    for (sheet, warning) in [
        (prices("0.0012", "0.006"), "per 1,000 tokens"),
        (prices("120", "600"), "are these cents"),
        (
            tier(json!({"service_tier": "batch", "input": "2", "output": "9"})),
            "are the two exchanged",
        ),
        (
            tier(json!({"service_tier": "turbo", "input": "2", "output": "9"})),
            "does not describe the tier `turbo`",
        ),
        (short, "no prompt pays its price"),
    ] {
        let answer = api.infer(&sheet).await.json();
        let warnings = answer["diagnostics"]["warnings"].to_string();
        assert!(warnings.contains(warning), "{warnings}");
    }
    let answer = api.infer(&usual).await.json();
    assert_eq!(answer["diagnostics"]["warnings"], json!([]));
}

#[tokio::test]
async fn paths_parameters_and_methods_that_are_nearly_right_are_named() {
    let api = TestDatabase::sqlite().api().await;
    for (path, status, hint) in [
        ("/estimate", 404, "did you mean `/estimates`?"),
        (
            "/model/openai/gpt-5.4",
            404,
            "did you mean `/models/openai/gpt-5.4`?",
        ),
        ("/estimates?providr=acme", 400, "did you mean `provider`?"),
        ("/infer", 405, "send a POST"),
    ] {
        let problem = api.get(path).await.problem(status);
        assert!(
            problem["hint"].as_str().unwrap().contains(hint),
            "{path}: {problem}"
        );
    }
    let problem = api.get("/estimates?as_of=2026-05-01").await.problem(400);
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("2026-05-01T00:00:00Z for the beginning"),
        "{problem}"
    );
    let posted = api.ask(Method::POST, "/estimates", &[]).await.problem(405);
    assert!(
        posted["hint"].as_str().unwrap().contains("send a GET"),
        "{posted}"
    );
}

#[test]
fn the_command_line_says_which_file_and_which_address() {
    let folder = tempfile::tempdir().unwrap();
    let right = file_text(folder.path(), "right.json", &sheet().to_string());
    let wrong = with(sheet(), "/currency", json!("XYZ")).to_string();
    let wrong = file_text(folder.path(), "wrong.json", &wrong);
    let ended = run(&["infer", &right, &wrong]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("wrong.json"), "{}", ended.err);
    let url = format!("sqlite:{}", folder.path().join("unroof.db").display());
    let ended = run(&[
        "import",
        "ftp://catalog.example/prices.json",
        "--database-url",
        &url,
    ]);
    assert!(
        ended.err.contains("download it, and import the file"),
        "{}",
        ended.err
    );
    let by_name = run(&["infer", "openai/gpt-5.4"]);
    assert!(
        by_name.out.starts_with("openai/gpt-5.4: probably"),
        "{}",
        by_name.out
    );
    assert_eq!(run(&["infer", "openai/gpt-5.5.5"]).code, Some(2));
}

#[test]
fn a_port_alone_is_an_address_and_a_taken_one_says_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("unroof.db").display());
    for address in [
        format!("{port}"),
        format!(":{port}"),
        format!("localhost:{port}"),
    ] {
        let ended = run(&["serve", "--listen", &address, "--database-url", &url]);
        assert_ne!(ended.code, Some(0));
        let said = format!("cannot listen on 127.0.0.1:{port}: another program listens there");
        assert!(ended.err.contains(&said), "{address}: {}", ended.err);
        assert!(ended.err.contains("--listen 127.0.0.1:0"), "{}", ended.err);
    }
    let ended = run(&["serve", "--listen", "here", "--database-url", &url]);
    assert!(ended.err.contains("a port alone"), "{}", ended.err);
}
