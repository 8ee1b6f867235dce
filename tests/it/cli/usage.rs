//! Help, completions, the manual page, `-q` and `-v`, and an import that is stopped.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{LONGEST_WAIT, file_text, output_of, run, run_with, signal, unroof};
use crate::support::TestDatabase;

#[test]
fn help_lists_every_command_in_one_group_and_its_examples_on_one_line_each() {
    let narrow = |arguments: &[&str]| {
        let ended = run_with(unroof(arguments).env("COLUMNS", "40"), "");
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out
    };
    let help = narrow(&["--help"]);
    let place = |heading: &str| help.find(&format!("\n{heading}:\n")).unwrap();
    let headings = ["Ask", "Store", "Serve", "Develop", "Options"].map(place);
    assert!(headings.is_sorted(), "{help}");
    for command in ["infer", "import", "serve", "compare", "completions"] {
        assert_eq!(
            help.matches(&format!("\n  {command} ")).count(),
            1,
            "{help}"
        );
    }
    assert!(!help.contains('\u{a0}'), "{help}");
    let infer = narrow(&["infer", "--help"]);
    let example = "  unroof infer --markdown examples/google_gemini-2.5-pro.json examples/openai_gpt-5.4.json\n";
    assert!(infer.contains(example), "{infer}");
    assert!(!infer.contains('\u{a0}'), "{infer}");
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = output_of(&["completions", shell]);
        for command in ["compare", "history", "import"] {
            assert!(script.contains(command), "{shell}: no {command}");
        }
    }
    assert_eq!(run(&["completions", "cmd"]).code, Some(2));
    let page = output_of(&["man"]);
    assert!(
        page.contains(".TH unroof") && page.contains("compare"),
        "{page}"
    );
    let page = output_of(&["man", "infer"]);
    assert!(page.contains("\\-\\-assumptions"), "{page}");
    let unknown = run(&["man", "surprise"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("unroof --help"), "{}", unknown.err);
}

#[test]
fn quiet_says_only_errors_and_verbose_logs_more() {
    let catalog = json!({"gpt-5": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-6,
        "output_cost_per_token": 1e-5}});
    let import = |flags: &[&str]| {
        let database = TestDatabase::sqlite();
        let arguments = [&["import", "-", "--database-url", &database.url], flags].concat();
        run_with(&mut unroof(&arguments), &catalog.to_string())
    };
    let usual = import(&[]);
    assert!(
        usual.out.contains("Next:") && usual.err.is_empty(),
        "{usual:?}"
    );
    let quiet = import(&["-q"]);
    assert!(
        !quiet.out.contains("Next:") && quiet.err.is_empty(),
        "{quiet:?}"
    );
    let verbose = import(&["-v"]);
    assert!(verbose.err.contains("imported"), "{verbose:?}");
    let exact = import(&["-v", "--log", "error"]);
    assert!(exact.err.is_empty(), "{exact:?}");
    assert_eq!(import(&["-q", "-v"]).code, Some(2));
    assert_eq!(run(&["-q", "infer", "openai/gpt-5.4"]).code, Some(0));
}

#[test]
fn an_import_that_is_stopped_says_how_to_continue_and_does() {
    const MODELS: usize = 150;
    let entry = |number: usize| {
        let price = format!("{}e-8", 100 + number);
        let output = format!("{}e-8", 400 + 4 * number);
        let entry = json!({"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": price,
            "output_cost_per_token": output});
        (format!("acme/m-{number}"), entry)
    };
    let catalog: serde_json::Map<_, _> = (0..MODELS).map(entry).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = file_text(folder.path(), "catalog.json", &json!(catalog).to_string());
    let database = TestDatabase::sqlite();
    let arguments = ["import", &file, "--database-url", &database.url];
    let mut import = unroof(&arguments);
    let import = import.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = import.spawn().unwrap();
    let stored = || {
        let named = run(&[
            "search",
            "m-",
            "--limit",
            "100",
            "--json",
            "--database-url",
            &database.url,
        ]);
        named.out.matches("\"name\":\"m-").count()
    };
    let began = Instant::now();
    while stored() == 0 {
        assert!(began.elapsed() < LONGEST_WAIT, "nothing is stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(child.id(), "INT");
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(
        said.contains("stopped after ") && said.contains(" of 150"),
        "{said}"
    );
    assert!(said.contains("continues where it stopped"), "{said}");
    assert!(stored() > 0);
    // It reports what it would have reported in one go.
    let outcome = |url: &str| {
        let again = run(&["import", &file, "--json", "--database-url", url]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        let mut lines: Vec<String> = again.out.lines().map(str::to_owned).collect();
        lines.retain(|line| !line.contains("\"progress\""));
        lines.sort_unstable();
        lines
    };
    let fresh = TestDatabase::sqlite();
    assert_eq!(outcome(&database.url), outcome(&fresh.url));
}
