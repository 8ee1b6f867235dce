//! Files of this repository that the program writes, compared with its current output. `UNROOF_BLESS=1` rewrites them
//! (`just bless`).

use std::fmt::Write as _;

use axum::http::Request;
use serde_json::{Value, json};

use crate::openapi::examples::record;
use crate::server::output_of;
use crate::support::{TestDatabase, repository, say};

/// Examples whose report is kept under `examples/answers/`; `docs/ANSWERS.md` shows the same four as tables.
const ANSWERED: [&str; 4] = [
    ANSWER,
    "openai_gpt-5.4",
    "anthropic_claude-haiku-5-5",
    "deepseek_deepseek-chat_v3.0",
];
/// The example whose answer is kept as JSON too, and as a report under stated assumptions.
const ANSWER: &str = "google_gemini-2.5-pro";
/// Assumptions stated for that report, so that readings that need them have a value.
const STATED: &str = r#"{"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": 1e11, "weight_bytes_per_parameter": 1}"#;
/// Columns of a terminal that a report fits into.
const WIDTH: usize = 80;

/// Whether the files are written instead of compared.
pub(crate) fn is_blessing() -> bool {
    std::env::var_os("UNROOF_BLESS").is_some_and(|value| value == "1")
}

/// Compares a file of the repository with the text that it must have, or writes it.
pub(crate) fn assert_generated(file: &str, text: &str) {
    let path = repository().join(file);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == text {
        return;
    }
    if is_blessing() {
        std::fs::write(path, text).unwrap();
        say(&format!("written: {file}"));
        return;
    }
    let mut lines = committed.lines().zip(text.lines()).enumerate();
    let first = lines.find(|(_, (committed, printed))| committed != printed);
    let difference = match first {
        Some((at, (committed, printed))) => {
            format!("line {}:\n- {committed:.300}\n+ {printed:.300}", at + 1)
        }
        None => "its end".to_owned(),
    };
    panic!("{file} is out of date; run: just bless. First difference: {difference}");
}

fn infer(example: &str, arguments: &[&str]) -> String {
    let file = format!("examples/{example}.json");
    output_of(&[&["infer", file.as_str()], arguments].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_document_and_the_schema_of_sheets() {
    let mut document = unroof_server::openapi();
    Box::pin(record(&mut document)).await;
    let document = serde_json::to_string_pretty(&document).unwrap();
    assert_generated("openapi/openapi.json", &format!("{document}\n"));
    assert_generated("openapi/pricesheet.schema.json", &output_of(&["schema"]));
}

#[test]
fn the_reports_of_examples() {
    let mut reports: Vec<_> = ANSWERED
        .iter()
        .map(|example| ((*example).to_owned(), infer(example, &["--readings"])))
        .collect();
    let stated = infer(ANSWER, &["--readings", "--assumptions", STATED]);
    reports.push((format!("{ANSWER}_stated"), stated));
    for (name, report) in reports {
        let widest = report.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH), "{name}: {widest:?} columns");
        assert_generated(&format!("examples/answers/{name}.txt"), &report);
    }
}

#[test]
fn the_answer_to_an_example_as_json() {
    let answer = infer(ANSWER, &["--json"]);
    assert_generated(&format!("examples/answers/{ANSWER}.json"), &answer);
}

#[test]
fn the_page_of_answers() {
    let files = ANSWERED.map(|example| format!("examples/{example}.json"));
    let mut arguments = vec!["infer", "--markdown"];
    arguments.extend(files.iter().map(String::as_str));
    let page = output_of(&arguments);
    // Each conflict of the talk names the side that is taken.
    let conflicts = page
        .matches("**context_tier_kv_bytes against output_ratio_memory_boundness.**")
        .count();
    assert!(
        conflicts >= 2 && page.matches("the joint estimate leans").count() == conflicts,
        "{conflicts}"
    );
    assert_generated("docs/ANSWERS.md", &page);
}

/// Fixed properties of a reading, a line for each.
fn described(reading: &Value) -> String {
    let mut text = format!("{}\n", reading["id"].as_str().unwrap());
    for (name, value) in reading.as_object().unwrap() {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| item.as_str().unwrap()).collect();
                items.join(" | ")
            }
            other => other.to_string(),
        };
        if !["id", "track_record"].contains(&name.as_str()) && !value.is_empty() {
            writeln!(text, "  {name}: {value}").unwrap();
        }
    }
    text
}

#[tokio::test]
async fn the_table_of_readings() {
    let api = TestDatabase::sqlite().api().await;
    let reference = api.get("/reference/readings").await.json();
    let readings = reference["data"].as_array().unwrap().iter();
    let table: Vec<_> = readings.map(described).collect();
    assert_generated("tests/it/generated/readings.txt", &table.join("\n"));
}

#[tokio::test]
async fn a_problem_with_two_faults() {
    let api = TestDatabase::sqlite().api().await;
    let wrong = json!({
        "schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD", "unit": "per_1m_tokens",
        "rates": [{"input": 1.25, "outptu": "10"}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    });
    let request = Request::post("/infer")
        .header("content-type", "application/json")
        .header("x-request-id", "request-1")
        .body(wrong.to_string().into());
    let problem = api.send(request.unwrap()).await.problem(422);
    let text = format!("{problem:#}\n");
    assert_generated("tests/it/generated/problem_422.json", &text);
}
