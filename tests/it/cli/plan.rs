//! `unroof plan`, and what the calculators' commands share in the terminal: titles, lists, whole numbers, curves.

use textwrap::core::display_width;

use crate::server::{output_of, run};

const DENSE: [&str; 9] = [
    "plan",
    "--model",
    "Llama-3.1-70B",
    "--chips",
    "8",
    "--tensor",
    "4,8",
    "--tpot",
    "0.05",
];

#[test]
fn the_report_ranks_names_the_layout_and_stays_within_80_columns() {
    let report = output_of(&DENSE);
    for line in report.lines() {
        assert!(display_width(line) <= 80, "{line}");
    }
    for part in [
        "Llama-3.1-70B on gb200-nvl72",
        "plans within the limits, by the upper end of cost",
        "TP8",
        "binds",
        "speed against cost",
        "change of cost with an input",
        "cheapest tier by time to live",
        "USD/Mtok over tok/s per user",
        "values used",
    ] {
        assert!(report.contains(part), "no {part} in:\n{report}");
    }
}

#[test]
fn a_time_may_have_a_unit() {
    let within = |limit: &str| {
        let stated = [&DENSE[..7], &["--tpot", limit, "--json"]].concat();
        output_of(&stated)
    };
    assert_eq!(within("50ms"), within("0.05"));
    let wrong = run(&["plan", "--ttft", "200 parsecs"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("--ttft"), "{}", wrong.err);
}

#[test]
fn no_plan_is_exit_code_1_with_what_would_do() {
    for as_json in [&[][..], &["--json"]] {
        let none = run(&[&DENSE[..7], &["--tpot", "1ms"], as_json].concat());
        assert_eq!(none.code, Some(1), "{}", none.err);
        assert!(
            none.err.contains("error: no layout keeps the limits"),
            "{}",
            none.err
        );
        let change = if as_json.is_empty() {
            "--tpot of "
        } else {
            "would_do"
        };
        assert!(none.out.contains(change), "{}", none.out);
    }
    let shared = output_of(&[&DENSE[..], &["--share-node"]].concat());
    assert!(shared.contains("plans within the limits"), "{shared}");
}

#[test]
fn a_curve_is_saved_as_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chart.svg");
    let file = file.to_str().unwrap();
    for command in [
        &[&DENSE[..], &["--pass-grid", "1,64"]].concat()[..],
        &["layout"],
        &["training"],
    ] {
        output_of(&[command, &["--save", file]].concat());
        let picture = std::fs::read_to_string(file).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("<polyline"));
        std::fs::remove_file(file).unwrap();
    }
    let without = run(&["simulate", "--save", file]);
    assert_eq!(without.code, Some(2));
    assert!(without.err.contains("--save: the answer has no curve"));
}

#[test]
fn accelerators_are_listed_and_flags_are_named_in_messages() {
    for command in ["plan", "simulate", "layout", "training"] {
        let listed = output_of(&[command, "--list-accelerators"]);
        assert!(listed.contains("gb200-nvl72"), "{listed}");
    }
    let refused = run(&["plan", "--rate", "-1"]);
    assert!(
        refused.err.starts_with("error: --rate: "),
        "{}",
        refused.err
    );
    let refused = run(&["plan", "--accepted", "2"]);
    assert!(
        refused.err.contains("state more --drafted"),
        "{}",
        refused.err
    );
    let refused = run(&["simulate", "--batch", "3", "--batch-per-chip", "2"]);
    assert!(
        refused
            .err
            .contains("state one of --batch, --batch-per-chip"),
        "{}",
        refused.err
    );
}

#[test]
fn no_number_of_a_table_is_split_across_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("request.json");
    let grid = r#"{"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144},
        "grid": {"batch": [1, 1000000], "context_tokens": [4989, 1000000]}}"#;
    std::fs::write(&file, grid).unwrap();
    let report = output_of(&["simulate", file.to_str().unwrap()]);
    let rows = report.split("over the grid").nth(1).unwrap();
    assert!(rows.matches("1,000,000").count() >= 4, "{rows}");
    assert!(report.starts_with("DeepSeek-V3 on 144 × h800"), "{report}");
}
