//! Bodies that are small to write and large to read: refused, soon, and without sending them back.

use std::time::{Duration, Instant};

use serde_json::json;

use super::paths_taking_a_body;
use crate::support::{Api, TestDatabase, sheet, with};

/// Greatest size of a body, in bytes.
const MOST_BYTES: usize = 1024 * 1024;
/// Far more than any of it takes, also on a busy machine, and far less than what takes the square of its size would.
const SOON: Duration = Duration::from_secs(5);
/// A thousand faults fit into it.
const MOST_SAID: usize = 512 * 1024;

async fn assert_refused_soon(api: &Api, path: &str, body: &str, status: u16, what: &str) {
    assert!(body.len() <= MOST_BYTES, "{what}: {} bytes", body.len());
    let began = Instant::now();
    let reply = api.post(path, body.to_owned()).await;
    let taken = began.elapsed();
    reply.problem(status);
    assert!(taken < SOON, "{path}: {what}: {taken:?}");
    assert!(
        reply.body.len() < MOST_SAID,
        "{path}: {what}: {} bytes",
        reply.body.len()
    );
}

/// A text that is as long as a body may be.
fn filled(head: &str, filler: &str, tail: &str) -> String {
    let room = MOST_BYTES - head.len() - tail.len();
    format!("{head}{}{tail}", filler.repeat(room / filler.len()))
}

fn listed(head: &str, part: impl Fn(usize) -> String, count: usize, tail: &str) -> String {
    let parts: Vec<String> = (0..count).map(part).collect();
    format!("{head}{}{tail}", parts.join(","))
}

#[tokio::test]
async fn bodies_that_are_all_depth_or_all_length_are_refused_soon_on_every_route() {
    let api = TestDatabase::sqlite().api().await;
    let deep = 100_000;
    let bodies = [
        ("lists in lists", "[".repeat(deep), 400),
        (
            "closed lists in lists",
            format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
            400,
        ),
        ("objects in objects", "{\"a\":".repeat(deep), 400),
        ("brackets", "[".repeat(MOST_BYTES), 400),
        ("empty texts", filled("[", "\"\",", "\"\"]"), 422),
        ("digits", "7".repeat(MOST_BYTES), 400),
        ("zeros", filled("[0.", "0", "1]"), 400),
        ("blanks", " ".repeat(MOST_BYTES), 400),
        ("one text", filled("\"", "x", "\""), 422),
        ("one text of escapes", filled("\"", "\\u00e9", "\""), 422),
        (
            "one key twice",
            format!("{{\"{0}\":1,\"{0}\":1}}", "x".repeat(500_000)),
            400,
        ),
        (
            "keys",
            listed("{", |key| format!("\"{key}\":1"), 80_000, "}"),
            422,
        ),
        (
            "numbers",
            listed("[", |item| item.to_string(), 100_000, "]"),
            422,
        ),
        (
            "objects",
            listed("[", |_| "{}".to_owned(), 100_000, "]"),
            422,
        ),
    ];
    for path in paths_taking_a_body(&api).await {
        for (name, body, status) in &bodies {
            assert_refused_soon(&api, &path, body, *status, name).await;
        }
        // Its pointer names the key, and so does what is said of it where it is the only fault.
        let reply = api.post(&path, filled("{\"", "x", "\":1}")).await;
        reply.problem(422);
        let most = 2 * MOST_BYTES + 4_096;
        assert!(
            reply.body.len() < most,
            "{path}: {} bytes",
            reply.body.len()
        );
    }
}

#[tokio::test]
async fn known_fields_that_hold_too_much_are_refused_soon() {
    let api = TestDatabase::sqlite().api().await;
    for (path, fields) in [
        ("/infer", ["rates", "sources", "price_sheets"]),
        ("/simulate", ["model", "grid", "price_sheet"]),
        ("/layout", ["model", "machine", "layout"]),
        ("/training", ["model", "tokens", "quality"]),
        ("/plan", ["model", "load", "grid"]),
    ] {
        for field in fields {
            let head = format!("{{\"{field}\":");
            let keys = listed(
                &format!("{head}{{"),
                |key| format!("\"{key}\":1"),
                80_000,
                "}}",
            );
            assert_refused_soon(&api, path, &keys, 422, field).await;
            let items = listed(&format!("{head}["), |_| "{}".to_owned(), 100_000, "]}");
            assert_refused_soon(&api, path, &items, 422, field).await;
            let text = filled(&format!("{head}\""), "x", "\"}");
            assert_refused_soon(&api, path, &text, 422, field).await;
        }
    }
}

#[tokio::test]
async fn a_text_too_long_in_any_place_of_a_question_is_refused_soon_and_not_sent_back() {
    let api = TestDatabase::sqlite().api().await;
    let question = json!({"price_sheet": sheet(), "assumptions": {}});
    let places = [
        "/price_sheet/schema",
        "/price_sheet/provider",
        "/price_sheet/currency",
        "/price_sheet/valid_from",
        "/price_sheet/context_tier_semantics",
        "/price_sheet/rates/0/input",
        "/price_sheet/rates/0/schedule",
        "/price_sheet/sources/0/url",
        "/price_sheet/sources/0/format",
        "/price_sheet/notes",
        "/assumptions/accelerator",
        "/assumptions/chips",
    ];
    for place in places {
        for filler in ["x", "7", "-", "😀", "1e", "0."] {
            let body = with(
                question.clone(),
                place,
                json!(filler.repeat(800_000 / filler.len())),
            );
            assert_refused_soon(&api, "/infer", &body.to_string(), 422, place).await;
        }
    }
    let entry = json!({"litellm_provider": "acme", "input_cost_per_token": "7".repeat(900_000)})
        .to_string();
    assert_refused_soon(
        &api,
        "/infer?format=litellm&model=m",
        &entry,
        422,
        "an entry",
    )
    .await;
    let name = format!("{}_cost_per_token", "x".repeat(900_000));
    let entry = json!({"litellm_provider": "acme", name: "many"}).to_string();
    assert_refused_soon(
        &api,
        "/infer?format=litellm&model=m",
        &entry,
        422,
        "a price of an entry",
    )
    .await;
}
