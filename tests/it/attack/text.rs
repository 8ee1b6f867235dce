//! Texts that a terminal, a browser or a spreadsheet would act on.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, client, post, run, run_with, unroof};
use crate::support::{TestDatabase, on_each_database_blocking, sheet, with};

/// Characters that must not reach a terminal: control characters but the line end, and bidirectional controls.
fn acts_on_terminal(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text as a terminal gets it, without the styles of our own labels.
fn is_plain(text: &str) {
    let text = text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert!(!text.contains(acts_on_terminal), "{text:?}");
}

const NOT_TO_BE_SHOWN: [&str; 9] = [
    "\u{1b}[2J",
    "\u{1b}]0;t\u{7}",
    "\u{9b}31m",
    "\u{7f}",
    "\r",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{2028}",
];

#[test]
fn a_name_that_does_not_read_as_it_is_written_is_refused() {
    on_each_database_blocking(|database: &TestDatabase| {
        let server = Server::start(&database.url);
        let client = client();
        let url = format!("{}/infer", server.address);
        let tiers = |name: &str| json!({name: {}});
        for sign in [
            "\u{202e}", "\u{202a}", "\u{2066}", "\u{2069}", "\u{200e}", "\u{61c}",
        ] {
            let name = format!("gpt{sign}5.4");
            for field in [
                "provider",
                "model",
                "region",
                "canonical_model",
                "upstream_provider",
                "quantization",
            ] {
                let sheet = with(sheet(), &format!("/{field}"), json!(name));
                let (status, body) = post(&client, &url, &sheet).unwrap();
                assert_eq!(status, 422, "{field}: {body}");
                let fault = &serde_json::from_str::<Value>(&body).unwrap()["errors"][0];
                assert_eq!(fault["pointer"], format!("/{field}"));
                let shown = format!("`gpt\\u{:04x}5.4`", u32::from(sign.chars().next().unwrap()));
                assert!(
                    fault["detail"].as_str().unwrap().contains(&shown),
                    "{fault}"
                );
                assert!(
                    fault["hint"].as_str().unwrap().contains("bidirectional"),
                    "{fault}"
                );
            }
            let sheet = with(sheet(), "/service_tiers", tiers(&name));
            assert_eq!(post(&client, &url, &sheet).unwrap().0, 422, "{sign:?}");
        }
        // Other scripts are written as ever.
        let sheet = with(sheet(), "/model", json!("نموذج 模型 é"));
        assert_eq!(post(&client, &url, &sheet).unwrap().0, 201);
    });
}

/// A catalog of LiteLLM with these keys.
fn catalog(keys: &[String]) -> Value {
    let entry = json!({"litellm_provider": "openai", "mode": "chat",
        "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1.5e-5});
    keys.iter()
        .map(|key| (key.clone(), entry.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn an_entry_whose_key_does_not_read_as_it_is_written_is_refused_by_name() {
    on_each_database_blocking(|database: &TestDatabase| {
        let server = Server::start(&database.url);
        let mut keys: Vec<String> = NOT_TO_BE_SHOWN.map(|sign| format!("gpt-5.4{sign}")).into();
        keys.push("gpt-5.4".to_owned());
        let url = format!("{}/catalogs", server.address);
        let (status, lines) = post(&client(), &url, &catalog(&keys)).unwrap();
        assert_eq!(status, 200, "{lines}");
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let entries: Vec<&Value> = lines
            .iter()
            .filter(|line| line["type"] == "entry")
            .collect();
        assert_eq!(entries.len(), keys.len());
        for entry in entries {
            let is_well = entry["entry"] == "gpt-5.4";
            assert_eq!(entry["outcome"] != "refused", is_well, "{entry}");
            if !is_well {
                let reason = entry["reason"].as_str().unwrap();
                assert!(!reason.contains(acts_on_terminal), "{reason:?}");
                assert!(reason.contains("the key `gpt-5.4\\u"), "{reason}");
            }
        }
    });
}

#[test]
fn what_an_import_says_does_nothing_to_a_terminal() {
    let database = TestDatabase::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a\u{1b}[2Jb.json");
    // Sheets in canonical form too: their entry is called by provider and model, whether or not these are well.
    let sheets: Vec<Value> = NOT_TO_BE_SHOWN
        .iter()
        .map(|sign| with(sheet(), "/model", json!(format!("m{sign}"))))
        .chain([sheet()])
        .collect();
    let mut keys: Vec<String> = NOT_TO_BE_SHOWN.map(|sign| format!("gpt-5.4{sign}")).into();
    keys.push("gpt-5.4".to_owned());
    for catalog in [json!(sheets), catalog(&keys)] {
        fs::write(&file, catalog.to_string()).unwrap();
        for more in [&[][..], &["--json"][..]] {
            let mut command = unroof(&["import", "--database-url", &database.url]);
            command.arg(&file).args(more);
            // As if it wrote to a terminal.
            command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "");
            let ended = run_with(&mut command, "");
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            is_plain(&ended.out);
            let styles = ended
                .err
                .replace("\u{1b}[2m", "")
                .replace("\u{1b}[32m", "")
                .replace("\u{1b}[3m", "");
            is_plain(&styles);
            assert!(ended.out.contains("\\u001b"), "{}", ended.out);
            if more.is_empty() {
                continue;
            }
            for line in ended.out.lines() {
                serde_json::from_str::<Value>(line).unwrap();
            }
        }
    }
}

#[test]
fn what_is_wrong_is_said_without_acting_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sheet.json");
    let path = file.to_str().unwrap();
    for sign in NOT_TO_BE_SHOWN {
        let key = format!("a{sign}b");
        let sheet = with(
            with(sheet(), &format!("/{key}"), json!(1)),
            "/currency",
            json!("US\u{202e}"),
        );
        fs::write(&file, sheet.to_string()).unwrap();
        let missing = format!("{path}{sign}");
        for arguments in [
            vec!["infer", path],
            vec!["infer", &missing],
            vec!["serve", &key],
            vec![&key],
            vec!["serve", "--listen", &key],
        ] {
            let mut command = unroof(&arguments);
            command.env("CLICOLOR_FORCE", "1");
            let ended = run_with(&mut command, "");
            assert_ne!(ended.code, Some(0), "{arguments:?}");
            // The styles of the command line's own library.
            let said = ["4m", "31m", "32m", "33m", "36m"]
                .iter()
                .fold(ended.err, |said, style| {
                    said.replace(&format!("\u{1b}[{style}"), "")
                });
            is_plain(&said);
            assert!(said.contains("\\u"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn an_answer_in_json_does_nothing_to_a_terminal_and_means_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sheet.json");
    let sheet = with(sheet(), "/notes", json!(["a\u{202e}b"]));
    let sheet = with(sheet, "/unmapped", json!({"c\u{9b}": "d\u{7f}\u{2066}"}));
    fs::write(&file, sheet.to_string()).unwrap();
    let text = run(&["infer", file.to_str().unwrap(), "--json"]);
    assert_eq!(text.code, Some(0), "{}", text.err);
    is_plain(&text.out);
    serde_json::from_str::<Value>(&text.out).unwrap();
}

#[test]
fn no_cell_of_a_list_is_a_formula() {
    on_each_database_blocking(|database: &TestDatabase| {
        let server = Server::start(&database.url);
        let client = client();
        let names = [
            ("=HYPERLINK(\"http://a.example\")", "@SUM(1+1)"),
            ("+1+cmd|' /C calc'!A0", "-1+1"),
            ("'quoted", "＝1+1"),
            ("-1.5", "plain"),
        ];
        for (provider, model) in names {
            let sheet = with(
                with(sheet(), "/provider", json!(provider)),
                "/model",
                json!(model),
            );
            let (status, body) =
                post(&client, &format!("{}/infer", server.address), &sheet).unwrap();
            assert_eq!(status, 201, "{body}");
        }
        for list in ["estimates", "estimates/latest", "price-sheets", "changes"] {
            let url = format!("{}/{list}", server.address);
            let mut answer = client
                .get(&url)
                .header("accept", "text/csv")
                .call()
                .unwrap();
            assert_eq!(answer.status(), 200);
            let text = answer.body_mut().read_to_string().unwrap();
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let header = reader.headers().unwrap().clone();
            let mut seen = 0;
            for row in reader.records() {
                for (column, cell) in header.iter().zip(&row.unwrap()) {
                    let is_number = cell.parse::<f64>().is_ok();
                    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝']);
                    assert!(is_number || !is_formula, "{list}: {column}: {cell}");
                    // Without its first apostrophe it is what was sent.
                    let text = cell.strip_prefix('\'').unwrap_or(cell);
                    let sent = |name: fn(&(&'static str, &'static str)) -> &'static str| {
                        names.iter().any(|pair| name(pair) == text)
                    };
                    match column {
                        "provider" => assert!(sent(|pair| pair.0), "{cell}"),
                        "model" => assert!(sent(|pair| pair.1), "{cell}"),
                        _ => continue,
                    }
                    seen += 1;
                }
            }
            assert_eq!(seen, 2 * names.len(), "{list}: {text}");
        }
    });
}
