//! The answer for a person.

use serde_json::{Value, json};
use textwrap::core::display_width;

use super::infer;
use crate::server::{output_of, run_with, unroof};
use crate::support::{json_files, repository, sheet, sheet_of, with};

#[test]
fn the_report_is_80_columns_wide_and_holds_every_equation_in_numbers() {
    let stated = json!({
        "accelerator": "gb200-nvl72", "active_parameters": {"low": 5e10, "high": 2e11}, "mean_decode_context_tokens": 8_000,
        "kv_bytes_per_token_stored": 70_000, "minimum_batch": 32, "load_path_bytes_per_second": 5e10, "usd_per_currency_unit": 0.14,
    })
    .to_string();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for file in json_files(&repository().join("examples")) {
        let file = file.to_str().unwrap();
        for arguments in [
            vec!["infer", file],
            vec!["infer", file, "--assumptions", &stated],
        ] {
            let report = output_of(&[&arguments[..], &["--readings"]].concat());
            for line in report.lines() {
                assert!(
                    display_width(line) <= 80,
                    "{file}: {} columns: {line}",
                    display_width(line)
                );
                assert_eq!(line, line.trim_end(), "{file}");
            }
            let answer: Value =
                serde_json::from_str(&output_of(&[&arguments[..], &["--json"]].concat())).unwrap();
            let words = squeezed(&report);
            let mut workings = 0;
            let mut shown = std::collections::BTreeSet::new();
            for reading in answer["readings"].as_array().unwrap() {
                // Readings of one value share a line.
                let value = reading["value"]
                    .as_f64()
                    .map(|value| format!("{value:.3e}"));
                let is_first = shown.insert(format!("{} {value:?}", reading["id"]));
                if let Some(working) = reading["working"].as_str().filter(|_| is_first) {
                    workings += 1;
                    assert!(words.contains(&squeezed(working)), "{file}: no `{working}`");
                    assert!(
                        words.contains(&squeezed(reading["equation"].as_str().unwrap())),
                        "{file}: {reading}"
                    );
                }
                if let Some(reason) = reading["not_defined"]["detail"].as_str() {
                    assert!(words.contains(&squeezed(reason)), "{file}: no `{reason}`");
                }
            }
            assert!(workings > 0, "{file}");
            for conflict in answer["conflicts"].as_array().unwrap() {
                assert!(
                    words.contains(&squeezed(conflict["why"].as_str().unwrap())),
                    "{file}: {conflict}"
                );
            }
            assert!(words.contains(answer["id"].as_str().unwrap()), "{file}");
        }
    }
}

#[test]
fn a_report_is_a_headline_a_table_and_conflicts_on_less_than_a_page() {
    for file in json_files(&repository().join("examples")) {
        let file = file.to_str().unwrap();
        let answer: Value = serde_json::from_str(&output_of(&["infer", file, "--json"])).unwrap();
        for columns in ["40", "80", "120", "200"] {
            let ended = run_with(unroof(&["infer", file]).env("COLUMNS", columns), "");
            let report = ended.out.trim_end();
            let count = report.lines().count();
            assert!(
                columns == "40" || count <= 52,
                "{file}: {count} lines\n{report}"
            );
            let columns: usize = columns.parse().unwrap();
            // The last line names the answer, and an id is never torn.
            for line in report.lines().rev().skip(1) {
                assert!(display_width(line) <= columns, "{file}, {columns}: {line}");
            }
        }
        let report = output_of(&["infer", file]);
        let sentence: Vec<&str> = report.lines().take_while(|line| !line.is_empty()).collect();
        let sentence = sentence.join(" ");
        for (name, label) in [
            ("active_parameters", "active parameters ("),
            ("total_parameters", "total parameters ("),
        ] {
            let is_identified = answer["quantities"][name]["identified"] == true;
            // What is public is shown with the estimate, right or wrong.
            let is_public = answer["published"]["values"].get(name).is_some();
            assert_eq!(
                sentence.contains(label),
                is_identified || is_public,
                "{file}: {sentence}"
            );
        }
        assert!(sentence.ends_with('.'), "{sentence}");
        for conflict in answer["conflicts"].as_array().unwrap() {
            assert!(report.contains("against"), "{file}: {conflict}");
        }
        let serving = &answer["published"]["serving"]["margins"];
        let margins = serving.as_array().or(answer["margins"].as_array());
        let warned = margins.unwrap().iter();
        let warned = warned
            .filter(|margin| margin["warning"].is_string())
            .count();
        assert!(report.matches("warning: ").count() >= warned, "{file}");
    }
}

#[test]
fn a_bar_is_never_torn() {
    for price in ["0.00001", "0.01", "0.11", "3", "100000"] {
        let sheet = with(sheet(), "/rates/0/input", json!(price));
        let report = infer(&sheet.to_string(), &[]).out;
        let is_rest = |line: &&str| line.trim().chars().count() < 3 && !line.trim().is_empty();
        assert_eq!(report.lines().find(is_rest), None, "{price}: {report}");
    }
}

#[test]
fn readings_of_one_value_are_one_line() {
    let file = repository().join("examples/openai_gpt-6-astra.json");
    let report = output_of(&["infer", file.to_str().unwrap(), "--readings"]);
    let lines = report
        .lines()
        .filter(|line| line.contains("735.29 bytes/token"));
    assert!(lines.count() <= 2, "{report}");
    assert!(
        report.contains("standard, batch, flex, priority, ultrafast, above 272,000 tokens"),
        "{report}"
    );
}

#[test]
fn long_and_wide_names_stay_within_80_columns() {
    for model in [
        "模型".repeat(60),
        "a-very-long-name/".repeat(12),
        "😀".repeat(90),
    ] {
        let mut sheet = sheet_of(&model);
        for (pointer, value) in [
            ("/canonical_model", json!(model)),
            ("/region", json!(model)),
            ("/rates/0/service_tier", json!("standard")),
            (
                "/rates/1",
                json!({"service_tier": model, "input": "999999999999.999999999999999999", "output": "0.000000000000000001"}),
            ),
            (
                "/service_tiers",
                json!({&model: {"speed_multiplier": {"value": "2"}}}),
            ),
        ] {
            sheet = with(sheet, pointer, value);
        }
        let ended = infer(&sheet.to_string(), &[]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        for line in ended.out.lines() {
            assert!(
                display_width(line) <= 80,
                "{} columns: {line}",
                display_width(line)
            );
        }
    }
}

#[test]
fn neither_a_pipe_nor_no_color_gets_escape_codes() {
    let text = sheet().to_string();
    let wrong = with(sheet(), "/currency", json!("XYZ")).to_string();
    for variables in [
        vec![],
        vec![("NO_COLOR", "1")],
        vec![("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
        vec![("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")],
    ] {
        for input in [&text, &wrong] {
            let ended = run_with(unroof(&["infer", "-"]).envs(variables.clone()), input);
            assert!(
                !ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'),
                "{variables:?}: {ended:?}"
            );
        }
    }
    // Colour can be requested; otherwise this test would see none wherever it looked.
    let forced = run_with(unroof(&["infer", "-"]).env("CLICOLOR_FORCE", "1"), &text);
    assert!(forced.out.contains('\u{1b}'), "{}", forced.out);
}
