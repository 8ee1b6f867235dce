//! `unroof infer`: what it reads, what it answers and what it refuses.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{file_with, infer};
use crate::server::{output_of, run_with, unroof};
use crate::support::{
    TestDatabase, examples, faults, json_files, repository, sheet, sheet_of, wait_for, with,
};

#[test]
fn the_json_of_a_sheet_is_the_http_answer_byte_for_byte() {
    let answers = wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        let mut answers = Vec::new();
        for (_, sheet) in examples() {
            answers.push(api.infer(&sheet).await.stored_body());
        }
        answers
    });
    for (file, answer) in json_files(&repository().join("examples"))
        .iter()
        .zip(answers)
    {
        let printed = output_of(&["infer", file.to_str().unwrap(), "--json"]);
        assert_eq!(printed, format!("{answer}\n"), "{}", file.display());
    }
}

#[test]
fn a_question_and_stated_assumptions_are_answered_as_over_http() {
    let assumptions =
        json!({"accelerator": "gb200-nvl72", "active_parameters": {"low": 5e10, "high": 2e11}});
    let question = json!({"price_sheet": sheet(), "assumptions": assumptions}).to_string();
    let answer = wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        api.post("/infer", question.clone()).await.stored_body()
    }) + "\n";
    assert_eq!(infer(&question, &["--json"]).out, answer);
    let text = assumptions.to_string();
    assert_eq!(
        infer(&sheet().to_string(), &["--json", "--assumptions", &text]).out,
        answer
    );
    let (_folder, file) = file_with(&text);
    let ended = infer(
        &sheet().to_string(),
        &["--json", "--assumptions", &format!("@{file}")],
    );
    assert_eq!(ended.out, answer, "{}", ended.err);
    let of_no_tier = infer(
        &sheet().to_string(),
        &["--assumptions", "{\"speed_multiplier\": {\"fast\": 2}}"],
    );
    assert_eq!(of_no_tier.code, Some(1));
    assert!(
        of_no_tier
            .err
            .contains("error: /assumptions/speed_multiplier/fast: "),
        "{}",
        of_no_tier.err
    );
    // Stated in both places, it is not clear which counts.
    let twice = infer(&question, &["--json", "--assumptions", &text]);
    assert_eq!(twice.code, Some(1));
    assert!(
        twice.err.contains("assumptions are stated twice"),
        "{}",
        twice.err
    );
}

#[test]
fn a_list_of_sheets_gives_a_list_of_answers() {
    let one = infer(&sheet().to_string(), &["--json"]).out;
    let two = infer(&sheet_of("m-2").to_string(), &["--json"]).out;
    let list = json!([sheet(), {"price_sheet": sheet_of("m-2")}]).to_string();
    let ended = infer(&list, &["--json"]);
    assert_eq!(
        ended.out,
        format!("[{},{}]\n", one.trim_end(), two.trim_end()),
        "{}",
        ended.err
    );
    assert_eq!(
        infer(&json!([sheet()]).to_string(), &["--json"]).out,
        format!("[{}]\n", one.trim_end())
    );
    let report = infer(&list, &[]).out;
    assert!(
        report.contains("m-1 at acme") && report.contains("m-2 at acme"),
        "{report}"
    );
    let wrong = infer(
        &json!([sheet(), with(sheet(), "/rates/0/input", json!(1)), 5]).to_string(),
        &[],
    );
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(1), ""));
    assert!(
        wrong.err.contains("error: /1/rates/0/input: ") && wrong.err.contains("error: /2: "),
        "{}",
        wrong.err
    );
    assert_eq!(infer("[]", &["--json"]).code, Some(1));
}

#[test]
fn a_litellm_entry_is_read_bare_or_from_a_whole_catalog() {
    let entry = json!({"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5});
    let catalog = json!({
        "sample_spec": {"litellm_provider": "one of these", "input_cost_per_token": 0.0},
        "gpt-5": entry,
        "gpt-5-mini": with(entry.clone(), "/input_cost_per_token", json!(2.5e-7)),
        "gpt-5-live": {"litellm_provider": "openai", "output_cost_per_second": 0.1},
        "sora-2": {"litellm_provider": "openai", "output_cost_per_second": 0.1},
    });
    let read = |document: &Value, model: &str| {
        infer(
            &document.to_string(),
            &["--json", "--format", "litellm", "--model", model],
        )
    };
    let answer = wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        api.post("/infer?format=litellm&model=gpt-5", entry.to_string())
            .await
            .stored_body()
    }) + "\n";
    assert_eq!(read(&entry, "gpt-5").out, answer);
    assert_eq!(read(&catalog, "gpt-5").out, answer);
    assert_ne!(read(&catalog, "gpt-5-mini").out, answer);
    let missed = read(&catalog, "gpt-5-mni");
    assert_eq!(missed.code, Some(1));
    assert!(
        missed.err.contains("the catalog has no entry `gpt-5-mni`"),
        "{}",
        missed.err
    );
    assert!(
        missed
            .err
            .contains("hint: did you mean gpt-5-mini or gpt-5"),
        "{}",
        missed.err
    );
    let unlike = read(&catalog, "nothing-like-it").err;
    let example = "hint: name an entry by its key in the catalog, such as `gpt-5";
    assert!(unlike.contains(example), "{unlike}");
    let without_text = read(&catalog, "sora-2");
    assert_eq!(without_text.code, Some(1));
    assert!(
        without_text
            .err
            .contains("the model does not generate text: its name has the word `sora`"),
        "{}",
        without_text.err
    );
    let priceless = read(&catalog, "gpt-5-live");
    assert_eq!(priceless.code, Some(1));
    assert!(
        priceless
            .err
            .contains("the entry has no token price; it is priced by output_cost_per_second"),
        "{}",
        priceless.err
    );
}

#[test]
fn a_refusal_says_what_http_says_and_ends_with_1() {
    let bodies = [
        "{".to_owned(),
        String::new(),
        "{\"a\": 1, \"a\": 2}".to_owned(),
        "\u{feff}{}".to_owned(),
        with(sheet(), "/rates/0/input", json!(1.25)).to_string(),
        with(
            with(sheet(), "/currency", json!("XYZ")),
            "/limits",
            json!({"contxt": 1}),
        )
        .to_string(),
        json!({"price_sheet": sheet(), "assumptions": {"accelerator": "h100", "active_params": 1}})
            .to_string(),
        with(sheet(), "/price_sheet", sheet()).to_string(),
        "5".to_owned(),
    ];
    for body in bodies {
        let problem = wait_for(async {
            let api = TestDatabase::sqlite().api().await;
            api.post("/infer", body.clone()).await.json()
        });
        let mut expected = String::new();
        for fault in problem["errors"].as_array().into_iter().flatten() {
            let part = |name: &str| fault[name].as_str().unwrap();
            let place = if part("pointer").is_empty() {
                String::new()
            } else {
                format!("{}: ", part("pointer"))
            };
            let (detail, hint) = (part("detail"), part("hint"));
            expected.extend(["error: ", &place, detail, "\nhint: ", hint, "\n"]);
        }
        if expected.is_empty() {
            expected = format!(
                "error: {}\nhint: {}\n",
                problem["detail"].as_str().unwrap(),
                problem["hint"].as_str().unwrap()
            );
        }
        let ended = infer(&body, &[]);
        assert_eq!(
            (ended.code, ended.err.as_str(), ended.out.as_str()),
            (Some(1), expected.as_str(), ""),
            "{}",
            faults(&problem)
        );
    }
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2() {
    let sheet = sheet().to_string();
    let rows: [(&[&str], &str); 13] = [
        (&[], "Usage"),
        (&["infer"], "FILE"),
        (
            &["infer", "no/such/file.json"],
            "cannot read `no/such/file.json`",
        ),
        (
            &["infer", "-", "--assumptions", "@no/such/file"],
            "cannot read `no/such/file`",
        ),
        (&["infer", "-", "--format", "litellm"], "--model"),
        (&["infer", "-", "--model", "m"], "--format"),
        (&["infer", "-", "--format", "csv", "--model", "m"], "csv"),
        (&["infer", "-", "--jsn"], "--json"),
        (&["infre", "-"], "infer"),
        (&["serve", "--listen", "here"], "--listen"),
        (&["serve", "--database-url", "mysql://db"], "--database-url"),
        (
            &["serve", "--listen", "127.0.0.1:0", "--log", "unroof=loud"],
            "--log",
        ),
        (&["migrate"], "neither XDG_DATA_HOME nor HOME is set"),
    ];
    for (arguments, words) in rows {
        let ended = run_with(&mut unroof(arguments), &sheet);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(2), ""),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }
    // What is stated is input, too.
    let stated = infer(&sheet, &["--assumptions", "{"]);
    assert_eq!(stated.code, Some(1), "{}", stated.err);
}

#[test]
fn inferring_needs_no_home_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run_with(
        unroof(&["infer", "-"]).current_dir(folder.path()),
        &sheet().to_string(),
    );
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains("m-1 at acme"), "{}", ended.out);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in [["infer", "-"].as_slice(), &["infer", "-", "--json"]] {
        let mut child = unroof(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The reader leaves before there is anything to read.
        drop(child.stdout.take());
        child
            .stdin
            .take()
            .unwrap()
            .write_all(sheet().to_string().as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn several_files_are_answered_as_a_list() {
    let two = [
        "examples/google_gemini-2.5-pro.json",
        "examples/openai_gpt-5.4.json",
    ];
    let list: Value =
        serde_json::from_str(&output_of(&["infer", "--json", two[0], two[1]])).unwrap();
    let each: Vec<Value> = two
        .iter()
        .map(|file| serde_json::from_str(&output_of(&["infer", "--json", file])).unwrap())
        .collect();
    assert_eq!(list, Value::Array(each));
}
