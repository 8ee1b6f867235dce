//! `unroof import`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::{catalog, summary};
use crate::support::{TestDatabase, on_each_database_blocking};

fn unroof(database: &TestDatabase, arguments: &[&str], input: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unroof"));
    command
        .arg("import")
        .args(arguments)
        .env("UNROOF_DATABASE_URL", &database.url)
        .env("UNROOF_LOG", "error")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(input.unwrap_or_default().as_bytes())
        .unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_file_and_standard_input_are_imported_with_a_table_or_lines() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("catalog.json");
        std::fs::write(&file, catalog().to_string()).unwrap();
        let file = file.to_str().unwrap();
        let dry = unroof(database, &[file, "--dry-run"], None);
        assert_eq!(dry.status.code(), Some(0), "{}", text(&dry.stderr));
        let first = unroof(database, &[file], None);
        assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
        let said = text(&first.stdout);
        for part in [
            "claude-sonnet-4-5-20250929",
            "a copy of",
            "estimated          2",
            "duplicate          3",
            "8 entries, 6 sheets",
            "acme/free",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        // A bar is for terminals.
        assert!(first.stderr.is_empty(), "{}", text(&first.stderr));
        let again = unroof(
            database,
            &["-", "--json", "--only-changed"],
            Some(&catalog().to_string()),
        );
        let lines: Vec<Value> = text(&again.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(summary(&lines)["unchanged"], 6);
        assert!(!text(&again.stdout).contains("\"unchanged\"}"));
    });
}

#[test]
fn what_matches_nothing_fails_and_says_why() {
    let database = TestDatabase::sqlite();
    let catalog = catalog().to_string();
    for (arguments, input, code, says) in [
        (
            &["-", "--provider", "unheard-of"][..],
            catalog.as_str(),
            1,
            "no usable offer of the provider `unheard-of`",
        ),
        (&["-"], "{}", 1, "none of the known formats"),
        (&["-"], "{", 1, "line 1"),
        (&["-", "--format", "csv"], "{}", 2, "expected one of"),
        (
            &["-", "--observed-at", "2999-01-01T00:00:00Z"],
            &catalog,
            2,
            "in the future",
        ),
        (&["/does/not/exist.json"], "", 2, "cannot read"),
        (
            &["http://127.0.0.1:1/catalog.json"],
            "",
            1,
            "could not be fetched",
        ),
        (&[], "", 2, "SOURCE"),
    ] {
        let output = unroof(&database, arguments, Some(input));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}
