//! Imports by the command `unroof import`.

use serde_json::Value;

use super::{catalog, summary};
use crate::server::{Ended, run_with, unroof};
use crate::support::{TestDatabase, on_each_database_blocking};

fn import(database: &TestDatabase, arguments: &[&str], input: &str) -> Ended {
    let mut command = unroof(&["import"]);
    command
        .args(arguments)
        .env("UNROOF_DATABASE_URL", &database.url)
        .env("UNROOF_LOG", "error");
    run_with(&mut command, input)
}

#[test]
fn a_file_and_standard_input_are_imported_with_a_table_or_lines() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("catalog.json");
        std::fs::write(&file, catalog().to_string()).unwrap();
        let file = file.to_str().unwrap();
        let dry = import(database, &[file, "--dry-run"], "");
        assert_eq!(dry.code, Some(0), "{}", dry.err);
        let first = import(database, &[file], "");
        assert_eq!(first.code, Some(0), "{}", first.err);
        let said = first.out;
        for part in [
            "claude-sonnet-4-5-20250929",
            "duplicate of",
            "estimated          2",
            "duplicate          3",
            "8 entries, 6 sheets",
            "acme/free",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        // A bar is for terminals.
        assert!(first.err.is_empty(), "{}", first.err);
        let again = import(
            database,
            &["-", "--json", "--only-changed"],
            &catalog().to_string(),
        );
        let lines: Vec<Value> = again
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(summary(&lines)["unchanged"], 6);
        assert!(!again.out.contains("\"unchanged\"}"));
    });
}

#[test]
fn what_matches_nothing_fails_and_says_why() {
    let database = TestDatabase::sqlite();
    let catalog = catalog().to_string();
    for (arguments, input, code, says) in [
        (
            &["-", "--provider", "unknown"][..],
            catalog.as_str(),
            1,
            "no usable offer of the provider `unknown`",
        ),
        (
            &["-", "--provider", "antropic"],
            &catalog,
            1,
            "did you mean `anthropic`?",
        ),
        (&["-"], "{}", 1, "format is not recognised"),
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
        let output = import(&database, arguments, input);
        let said = output.err;
        assert_eq!(output.code, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}
