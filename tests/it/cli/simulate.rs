//! `unroof simulate` and `unroof fit`.

use serde_json::{Value, json};
use textwrap::core::display_width;

use super::file_with;
use crate::server::{maintain, output_of, run, run_with, unroof};
use crate::support::{TestDatabase, repository, wait_for};

fn over_http(body: &Value) -> String {
    wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        api.post("/simulate", body.to_string())
            .await
            .text()
            .to_owned()
    }) + "\n"
}

#[test]
fn the_json_of_a_simulation_is_the_http_answer_byte_for_byte() {
    let body = json!({"model": "Qwen3-32B", "grid": {"batch": [1, 8]}, "price_sheet": {}});
    let (_folder, file) = file_with(&body.to_string());
    assert_eq!(output_of(&["simulate", &file, "--json"]), over_http(&body));
    assert_eq!(output_of(&["simulate", "--json"]), over_http(&json!({})));
}

#[test]
fn flags_state_a_question() {
    let printed = output_of(&[
        "simulate",
        "--model",
        "llama-3.1-70b",
        "--accelerator",
        "h100-sxm",
        "--chips",
        "8",
        "--batch",
        "1",
        "--context",
        "4096",
        "--efficiencies",
        "peak",
        "--json",
    ]);
    let same = json!({"model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
        "load": {"batch": 1, "context_tokens": 4096}, "efficiencies": "peak"});
    assert_eq!(printed, over_http(&same));
}

#[test]
fn the_names_of_the_models_are_listed() {
    let names = output_of(&["simulate", "--list-models"]);
    assert_eq!(names.lines().count(), 183);
    assert!(names.lines().any(|name| name == "DeepSeek-V3"));
}

#[test]
fn the_implied_sheet_can_be_piped_into_infer() {
    let simulated = output_of(&[
        "simulate",
        "--model",
        "Llama-3.1-70B",
        "--batch",
        "64",
        "--json",
    ]);
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    assert!(simulated.get("price_sheet").is_none());
    let (_folder, file) = file_with(r#"{"model": "Llama-3.1-70B", "price_sheet": {}}"#);
    let simulated: Value =
        serde_json::from_str(&output_of(&["simulate", &file, "--json"])).unwrap();
    let request = simulated["price_sheet"]["infer_request"].to_string();
    let read = run_with(&mut unroof(&["infer", "-", "--readings"]), &request);
    assert_eq!(read.code, Some(0), "{}", read.err);
    assert!(read.out.contains("output_ratio_memory_boundness"));
}

#[test]
fn the_report_stays_within_80_columns_and_says_what_matters() {
    let body = json!({
        "model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 8}, "spread": "tensor",
        "grid": {"batch": {"from": 1, "to": 1e6, "points": 50}, "context_tokens": [1, 1e9]},
        "price_sheet": {"thresholds_tokens": [32_000]},
    });
    let (_folder, file) = file_with(&body.to_string());
    let report = output_of(&["simulate", &file]);
    for line in report.lines() {
        assert!(display_width(line) <= 80, "{line}");
    }
    for part in [
        "roofline, at peak",
        "fits                no, ",
        "decode, ",
        "prefill, ",
        "over the grid",
        "more; --json has them all",
        "the price sheet it implies",
        "values that its readings recover",
        "equations",
        "values used",
    ] {
        assert!(report.contains(part), "no {part} in:\n{report}");
    }
}

#[test]
fn ones_own_benchmark_is_a_table_or_a_result_file() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("bench.csv");
    let rows = "concurrency,input_tokens,output_tokens,output_tokens_per_second\n32,1024,128,1600\n8,1024,128,700\n";
    std::fs::write(&table, rows).unwrap();
    let scenario = [
        "simulate",
        "--model",
        "Llama-3.1-8B",
        "--accelerator",
        "h100-sxm",
        "--chips",
        "1",
    ];
    let report = output_of(&[&scenario[..], &["--measured", table.to_str().unwrap()]].concat());
    assert!(
        report.contains("learned from 2 rows of your own"),
        "{report}"
    );
    assert!(report.contains("share of HBM bandwidth"), "{report}");
    let result = folder.path().join("result.json");
    std::fs::write(&result, r#"{"output_throughput": 1600}"#).unwrap();
    let refused = run(&[&scenario[..], &["--measured", result.to_str().unwrap()]].concat());
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("completed"), "{}", refused.err);
}

#[test]
fn what_is_wrong_is_said_with_a_hint_and_exit_1() {
    let refused = run(&["simulate", "--model", "lama-3.1-70b"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("`Llama-3.1-70B`"), "{}", refused.err);
    let refused = run(&["simulate", "--chips", "none"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("--chips"), "{}", refused.err);
}

#[test]
fn the_fit_writes_the_files_that_are_shipped() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().to_str().unwrap();
    let wrote = maintain(&["fit", "--write", "--project", project]).unwrap();
    for file in [
        "crates/roofline/data/efficiencies.json",
        "docs/model/measurements.md",
        "docs/model/errors.md",
    ] {
        assert!(wrote.contains(file), "{wrote}");
        let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join(file)).unwrap();
        // The page has other sections, which other commands write.
        assert!(
            read(repository()).contains(read(folder.path()).trim_end()),
            "{file} is out of date; run: just data"
        );
    }
    let printed: Value = serde_json::from_str(&maintain(&["fit", "--json"]).unwrap()).unwrap();
    assert!(printed["all"]["bandwidth"].is_number());
    let lost = maintain(&["fit", "--write", "--project", "/proc/none"]);
    assert!(lost.unwrap_err().to_string().contains("/proc/none"));
}
