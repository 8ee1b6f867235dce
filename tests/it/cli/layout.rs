//! `unroof layout` and `unroof training`: the HTTP answer, and a report for a person.

use serde_json::{Value, json};
use textwrap::core::display_width;

use super::file_with;
use crate::server::{output_of, run, run_with, unroof};
use crate::support::{TestDatabase, wait_for};

fn over_http(path: &str, body: &Value) -> String {
    wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        api.post(path, body.to_string()).await.text().to_owned()
    }) + "\n"
}

#[test]
fn the_json_of_a_calculator_is_the_http_answer_byte_for_byte() {
    let rows = [
        (
            "layout",
            json!({"machine": "h100-sxm", "model": {"experts": {"routed": 512}}}),
        ),
        (
            "training",
            json!({"machine": {"accelerator": "gb200-nvl72"}}),
        ),
        (
            "plan",
            json!({"model": "Llama-3.1-70B", "layouts": {"tensor": [8]}}),
        ),
    ];
    for (command, body) in rows {
        let path = format!("/{command}");
        let (_folder, file) = file_with(&body.to_string());
        assert_eq!(
            output_of(&[command, &file, "--json"]),
            over_http(&path, &body)
        );
        let piped = run_with(unroof(&[command, "-"]).arg("--json"), &body.to_string());
        assert_eq!(piped.out, over_http(&path, &body), "{}", piped.err);
        assert_eq!(
            output_of(&[command, "--json"]),
            over_http(&path, &json!({}))
        );
    }
}

#[test]
fn flags_state_what_the_file_leaves_out_and_win_over_what_it_says() {
    let (_folder, file) = file_with(r#"{"machine": "h100-sxm", "layout": {"pipeline_stages": 2}}"#);
    let flags = [
        "--accelerator",
        "rubin-nvl72",
        "--experts",
        "384",
        "--pipeline-stages",
        "8",
    ];
    let printed = output_of(&[&["layout", &file, "--json"][..], &flags].concat());
    let same = json!({"machine": {"accelerator": "rubin-nvl72"}, "layout": {"pipeline_stages": 8}, "model": {"experts": {"routed": 384}}});
    assert_eq!(printed, over_http("/layout", &same));
    let flags = [
        "--accelerator",
        "h100-sxm",
        "--model-share",
        "1",
        "--active-parameters",
        "37e9",
    ];
    let printed = output_of(&[&["training", "--json"][..], &flags].concat());
    let same = json!({"model": {"active_parameters": 37e9}, "service": {"model_share": 1}, "machine": {"accelerator": "h100-sxm"}});
    assert_eq!(printed, over_http("/training", &same));
}

#[test]
fn a_refusal_names_the_flag_and_ends_with_1() {
    let rows: [(&[&str], &str); 6] = [
        (
            &["layout", "--experts", "0"],
            "error: --experts: `0` is not a whole number from 2 to 16777216\nhint: ",
        ),
        (
            &["layout", "--experts", "-1"],
            "error: --experts: `-1` is not a whole number",
        ),
        (
            &["layout", "--experts", "many"],
            "error: --experts: expected a number, found a text",
        ),
        (
            &["layout", "--accelerator", "h100"],
            "hint: did you mean `h100-",
        ),
        (
            &["training", "--chips", "0"],
            "error: --chips: `0` is not a whole number",
        ),
        (
            &["training", "--model-share", "1e400"],
            "error: --model-share: expected a number",
        ),
    ];
    for (arguments, expected) in rows {
        let ended = run(arguments);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(1), ""),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(ended.err.contains(expected), "{arguments:?}: {}", ended.err);
    }
    for text in ["{", "[]", r#"{"model": 5}"#, r#"{"machine": 5}"#] {
        let ended = run_with(&mut unroof(&["layout", "-", "--experts", "8"]), text);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(1), ""),
            "{text}: {}",
            ended.err
        );
        assert!(ended.err.starts_with("error: "), "{}", ended.err);
    }
    let missing = run(&["layout", "no/such/file.json"]);
    assert_eq!(missing.code, Some(2), "{}", missing.err);
}

#[test]
fn the_reports_are_80_columns_wide_and_hold_every_value_used_and_every_equation() {
    let rows: [&[&str]; 5] = [
        &["layout"],
        &[
            "layout",
            "--accelerator",
            "mi455x",
            "--experts",
            "1000000",
            "--total-parameters",
            "1e16",
            "--active-parameters",
            "1e12",
        ],
        &[
            "layout",
            "--expert-parallel-chips",
            "144",
            "--sequences-per-micro-batch",
            "1e9",
        ],
        &["training"],
        &[
            "training",
            "--accelerator",
            "gb200-nvl72",
            "--tokens-per-second",
            "1e15",
        ],
    ];
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for arguments in rows {
        let report = output_of(arguments);
        for line in report.lines() {
            assert!(display_width(line) <= 80, "{arguments:?}: {line}");
            assert_eq!(line, line.trim_end(), "{arguments:?}");
        }
        let words = squeezed(&report);
        let printed = output_of(&[arguments, &["--json"]].concat());
        let answer: Value = serde_json::from_str(&printed).unwrap();
        for equation in answer["equations"].as_array().unwrap() {
            let equation = squeezed(equation["equation"].as_str().unwrap());
            assert!(words.contains(&equation), "{arguments:?}: no {equation}");
        }
        for input in answer["inputs"].as_array().unwrap() {
            let name = input["name"].as_str().unwrap();
            assert!(words.contains(name), "{arguments:?}: no {name}");
        }
        for entry in answer["not_defined"].as_array().unwrap() {
            let reason = squeezed(entry["reason"].as_str().unwrap());
            assert!(words.contains(&reason), "{arguments:?}: no {reason}");
        }
    }
    let report = output_of(&["layout"]);
    for line in [
        "experts per chip            4, evenly",
        "free across racks                yes",
    ] {
        assert!(report.contains(line), "{report}");
    }
}
