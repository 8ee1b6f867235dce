//! Commands that read what is stored: `models`, `show`, `history`, `changes`, `search`, `compare`, and `infer` by name.

use serde_json::{Value, json};
use textwrap::core::display_width;

use crate::server::{Ended, Server, client, file_text, get, run_with, unroof};
use crate::support::{TestDatabase, on_each_database_blocking};

/// A catalog with two models of one author, one of them at two hosts, and one that only a reseller sells.
fn catalog() -> Value {
    let entry = |provider: &str, input: f64| {
        json!({"litellm_provider": provider, "mode": "chat", "input_cost_per_token": input,
            "output_cost_per_token": 8.0 * input, "max_input_tokens": 400_000})
    };
    json!({
        "gpt-5": entry("openai", 1.25e-6),
        "azure/gpt-5": entry("azure", 1.25e-6),
        "gpt-5-mini": entry("openai", 2.5e-7),
        "groq/openai/gpt-oss-120b": entry("groq", 1.5e-7),
        "cerebras/gpt-oss-120b": entry("cerebras", 3.5e-7),
    })
}

/// Stores the catalog of the tests.
fn filled(database: &TestDatabase) {
    let mut command = unroof(&["import", "-", "--database-url", &database.url]);
    let ended = run_with(&mut command, &catalog().to_string());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for command in ["models", "show NAME", "changes --since 24h"] {
        let next = format!("\n  unroof {command} --database-url {}", database.url);
        // The password of a database is not shown.
        let is_shown = ended.out.contains(&next) || database.url.starts_with("postgres");
        assert!(is_shown, "no `{next}` in {}", ended.out);
    }
}

/// Runs a command at a width.
fn at_width(place: (&str, &str), columns: &str, arguments: &[&str]) -> Ended {
    let mut command = unroof(arguments);
    command.env(place.0, place.1).env("COLUMNS", columns);
    run_with(&mut command, "")
}

fn output(place: (&str, &str), arguments: &[&str]) -> String {
    let ended = at_width(place, "80", arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
    assert_eq!(ended.err, "", "{arguments:?}");
    ended.out
}

const EVERY_COMMAND: [&[&str]; 10] = [
    &["models", "gpt"],
    &["models", "--sort", "active"],
    &["show", "openai/gpt-5"],
    &["show", "azure/gpt-5"],
    &["history", "openai/gpt-5"],
    &["changes"],
    &["search", "gpt"],
    &["compare", "openai/gpt-5", "openai/gpt-5-mini"],
    &["margins", "--least-models", "1"],
    &["margins", "gpt-oss-120b"],
];

#[test]
fn the_database_and_the_service_print_the_same_and_no_line_is_torn() {
    on_each_database_blocking(|database| {
        filled(database);
        let server = Server::start(&database.url);
        let (of_database, of_service) = (
            ("UNROOF_DATABASE_URL", database.url.as_str()),
            ("UNROOF_SERVER", server.address.as_str()),
        );
        for arguments in EVERY_COMMAND {
            let report = output(of_database, arguments);
            assert_eq!(output(of_service, arguments), report, "{arguments:?}");
            for columns in [40, 57, 80, 120, 200] {
                let ended = at_width(of_database, &columns.to_string(), arguments);
                for line in ended
                    .out
                    .lines()
                    .filter(|line| !line.starts_with("estimate "))
                {
                    assert!(
                        display_width(line) <= columns,
                        "{arguments:?} at {columns}: {line}"
                    );
                }
            }
        }
    });
}

#[test]
fn public_facts_of_a_file_are_read_by_the_estimates_of_stored_models() {
    on_each_database_blocking(|database| {
        filled(database);
        let place = ("UNROOF_DATABASE_URL", database.url.as_str());
        let shown = |name: &str| -> Value {
            serde_json::from_str(&output(place, &["show", name, "--json"])).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("facts.csv");
        let facts = "model,kind,benchmark,accuracy,source,date\n\
            openai/gpt-5,knowledge_score,aa-omniscience,0.2,https://example.com/scores,2026-07-01\n";
        std::fs::write(&file, facts).unwrap();
        let import = || {
            let file = file.to_str().unwrap();
            let arguments = ["import", "-", "--evidence", file];
            let mut command =
                unroof(&[&arguments[..], &["--database-url", &database.url]].concat());
            let ended = run_with(&mut command, &catalog().to_string());
            assert_eq!(ended.code, Some(0), "{}", ended.err);
        };
        let (before, other) = (shown("openai/gpt-5"), shown("openai/gpt-5-mini"));
        import();
        let after = shown("openai/gpt-5");
        assert_eq!(after["evidence"][0]["accuracy"], 0.2);
        let total = |shown: &Value| shown["quantities"]["total_parameters"]["median"].as_f64();
        assert_ne!(total(&after), total(&before));
        // The same facts change nothing, and what has none stays.
        import();
        assert_eq!(shown("openai/gpt-5")["id"], after["id"]);
        assert_eq!(shown("openai/gpt-5-mini")["id"], other["id"]);
        // Both estimates are drawn again as they are stored.
        output(place, &["check"]);
    });
}

#[test]
fn the_json_of_a_command_is_the_http_answer_byte_for_byte() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let server = Server::start(&database.url);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    let paths: [(&[&str], &str); 10] = [
        (&["models", "gpt", "--limit", "2"], "/models?q=gpt&limit=2"),
        (&["show", "openai/gpt-5"], "/models/openai/gpt-5"),
        (&["show", "gpt-5-mini"], "/models/openai/gpt-5-mini"),
        (
            &["history", "azure/gpt-5"],
            "/history?provider=azure&model=gpt-5&limit=100",
        ),
        (&["changes", "--since", "1"], "/changes?since=1&limit=20"),
        (
            &["changes", "--since", "7d"],
            "/changes/summary?window=7d&limit=20",
        ),
        (&["search", "gpt"], "/search?q=gpt&limit=10"),
        (
            &["compare", "gpt-5", "openai/gpt-5-mini"],
            "/compare?model=openai/gpt-5,openai/gpt-5-mini",
        ),
        (&["margins"], "/margins"),
        (&["margins", "gpt-oss-120b"], "/margins/openai/gpt-oss-120b"),
    ];
    for (arguments, path) in paths {
        let ask = || get(&client(), &format!("{}{path}", server.address));
        let before = ask();
        let json = output(place, &[arguments, &["--json"]].concat());
        // Where a window has begun a minute later meanwhile, the answer has changed.
        let after = ask();
        let same = [(200, json.trim_end().to_owned())];
        assert!(
            same.contains(&before) || same.contains(&after),
            "{path}: {json}, and {after:?}"
        );
    }
    let estimate: Value =
        serde_json::from_str(&output(place, &["show", "azure/gpt-5", "--json"])).unwrap();
    let id = estimate["id"].as_str().unwrap();
    let by_id: Value = serde_json::from_str(&output(place, &["show", id, "--json"])).unwrap();
    assert_eq!(by_id, estimate);
}

#[test]
fn models_are_sorted_filtered_and_cut() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    let names = |arguments: &[&str]| {
        let page = output(place, &[&["models", "--json"], arguments].concat());
        let page: Value = serde_json::from_str(&page).unwrap();
        let rows = page["data"].as_array().unwrap().clone();
        let name = |row: &Value| row["canonical_model"].as_str().unwrap().to_owned();
        rows.iter().map(name).collect::<Vec<_>>()
    };
    let all = names(&[]);
    assert_eq!(
        all,
        ["openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-oss-120b"]
    );
    assert_eq!(
        names(&["--sort", "active", "--limit", "1"]),
        ["openai/gpt-5"]
    );
    assert_eq!(names(&["--sort", "sheets", "--limit", "2"]).len(), 2);
    assert_eq!(names(&["gpt-5"]), all[..2]);
    assert_eq!(names(&["--author", "google"]), [""; 0]);
    let report = output(place, &["models", "--author", "google"]);
    assert!(report.contains("No such model is stored"), "{report}");
}

#[test]
fn a_model_is_shown_with_its_sentence_and_the_margin_of_each_offer() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    for name in ["openai/gpt-5", "gpt-5"] {
        let report = output(place, &["show", name]);
        for words in [
            "openai/gpt-5 from 2 sheets: probably ",
            "active parameters (",
            "from 2 sheets of one pricing decision",
            " azure/gpt-5 ",
            "no public truth",
        ] {
            assert!(report.contains(words), "no `{words}` in {report}");
        }
    }
    let offer = output(place, &["show", "openai/gpt-5", "--offer"]);
    assert!(offer.starts_with("openai/gpt-5: probably "), "{offer}");
    // The name of the command before, which scripts may have.
    assert_eq!(
        output(place, &["model", "gpt-5"]),
        output(place, &["show", "gpt-5"])
    );
}

#[test]
fn a_sheet_is_found_by_its_stored_name_after_the_built_in_ones() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    let provider_and_model = |name: &str| {
        let answer = output(place, &["infer", name, "--json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let sheet = &answer["price_sheets"][0];
        (sheet["provider"].clone(), sheet["model"].clone())
    };
    assert_eq!(
        provider_and_model("azure/gpt-5"),
        (json!("azure"), json!("gpt-5"))
    );
    assert_eq!(
        provider_and_model("gpt-5-mini"),
        (json!("openai"), json!("gpt-5-mini"))
    );
    assert_eq!(
        provider_and_model("openai/gpt-5.4"),
        (json!("openai"), json!("gpt-5.4"))
    );
    let several = at_width(place, "80", &["infer", "openai/gpt-oss-120b"]);
    assert_eq!(several.code, Some(2));
    for words in [
        "several offers",
        "`cerebras/gpt-oss-120b`",
        "`groq/openai/gpt-oss-120b`",
    ] {
        assert!(several.err.contains(words), "{}", several.err);
    }
    let unknown = at_width(place, "80", &["infer", "openai/gpt-55"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("did you mean `openai/gpt-5`"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_comparison_says_which_is_larger_and_aligns_quantities_and_terms() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    let report = output(place, &["compare", "openai/gpt-5-mini", "openai/gpt-5"]);
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("openai/gpt-5 has probably "), "{report}");
    for part in [
        "it has more with a probability of ",
        "times the active parameters of openai/gpt-5-mini",
        "output/input 8 8",
        "input 0.25 1.25",
    ] {
        assert!(words.contains(part), "no `{part}` in {report}");
    }
    // Without a database, built-in examples and files are compared.
    let folder = tempfile::tempdir().unwrap();
    let sheet = crate::support::sheet().to_string();
    let file = file_text(folder.path(), "mine.json", &sheet);
    let home = ("XDG_DATA_HOME", folder.path().to_str().unwrap());
    let json = output(
        home,
        &["compare", "openai/gpt-5.4", "xai/grok-4.7", &file, "--json"],
    );
    let estimates: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(estimates.as_array().unwrap().len(), 3);
    for wrong in [
        &["compare", "openai/gpt-5.4"][..],
        &["compare", "a", "b", "c", "d", "e", "f", "g"],
    ] {
        assert_eq!(at_width(home, "80", wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn what_is_not_there_is_said_with_what_to_do_and_nothing_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none").join("unroof.db");
    let url = format!("sqlite:{}", file.display());
    let none = ("UNROOF_DATABASE_URL", url.as_str());
    for arguments in EVERY_COMMAND {
        let ended = at_width(none, "80", arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("there is no database"), "{}", ended.err);
        assert!(
            ended.err.contains("hint: import a catalog first"),
            "{}",
            ended.err
        );
    }
    assert!(!file.parent().unwrap().exists());
    // Tables of an older version are left as they are.
    let empty = file_text(folder.path(), "empty.db", "");
    let url = format!("sqlite:{empty}");
    let ended = at_width(("UNROOF_DATABASE_URL", &url), "80", &["models"]);
    assert!(ended.err.contains("unroof migrate"), "{}", ended.err);
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0);

    let away = at_width(("UNROOF_SERVER", "http://127.0.0.1:1"), "80", &["models"]);
    assert_eq!(away.code, Some(1));
    assert!(
        away.err.contains("does not answer") && away.err.contains("hint: "),
        "{}",
        away.err
    );
    let database = TestDatabase::sqlite();
    filled(&database);
    for (arguments, words) in [
        (
            &["models", "--server", "here"][..],
            "expected an http or https address",
        ),
        (
            &["models", "--sort", "size"],
            "possible values: name, active",
        ),
        (
            &["changes", "--since", "yesterday"],
            "write a window, such as 7d",
        ),
        (
            &["changes", "--since", "7d", "--kind", "price.changed"],
            "does not go with a window",
        ),
        (&["changes", "--kind", "surprise"], "is not one of"),
    ] {
        let ended = at_width(("UNROOF_DATABASE_URL", &database.url), "80", arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn an_unknown_name_is_answered_with_names_near_to_it() {
    let database = TestDatabase::sqlite();
    filled(&database);
    let place = ("UNROOF_DATABASE_URL", database.url.as_str());
    for (arguments, near) in [
        (["show", "openai/gpt-55"], "`openai/gpt-5`"),
        (["show", "opnai/gpt-5-mni"], "`openai/gpt-5-mini`"),
        (["history", "openai/gpt-5-min"], "`openai/gpt-5-mini`"),
        (
            ["history", "openai/gpt-oss-120b"],
            "`cerebras/gpt-oss-120b`",
        ),
        (["show", "zzz"], "unroof search"),
    ] {
        let ended = at_width(place, "80", &arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(near), "{arguments:?}: {}", ended.err);
    }
}
