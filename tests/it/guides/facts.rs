//! Tables and links of the documents, compared with the program, the API document and the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::output_of;
use crate::support::{read_json, repository};

fn text(file: &str) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap()
}

/// The Markdown files of a folder and of those in it.
fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(markdown_in(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn documents() -> Vec<PathBuf> {
    let mut files = markdown_in(&repository().join("docs"));
    files.extend(
        [
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "crates/roofline/data/README.md",
        ]
        .map(|file| repository().join(file)),
    );
    files
}

/// The cells of the table rows that have a text.
fn rows_with<'a>(page: &'a str, text: &str) -> Vec<Vec<&'a str>> {
    page.lines()
        .filter(|line| line.starts_with('|') && line.contains(text))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    page.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn pages_are_short() {
    for file in documents() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        let most = match name {
            "README.md" | "CONTRIBUTING.md" if file.parent() == Some(repository()) => 250,
            // Tables of every setting and every model.
            "VALIDATION.md" => 499,
            _ => 399,
        };
        assert!(lines <= most, "{}: {lines} lines", file.display());
    }
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut wrong = Vec::new();
    for file in documents() {
        let page = std::fs::read_to_string(&file).unwrap();
        for target in page
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if path.is_empty() {
                file.clone()
            } else {
                file.parent().unwrap().join(path)
            };
            let is_there = linked.exists()
                && (anchor.is_empty()
                    || anchors(&std::fs::read_to_string(&linked).unwrap()).contains(anchor));
            if !is_there {
                wrong.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_route_is_in_the_readme_and_in_the_reference() {
    let document = read_json(&repository().join("openapi/openapi.json"));
    let (readme, reference) = (text("README.md"), text("docs/reference/routes.md"));
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let route = format!("`{} {path}`", method.to_uppercase());
            assert!(readme.contains(&route), "README.md has no {route}");
            let rows = rows_with(&reference, &format!("| {route} |"));
            assert_eq!(rows.len(), 1, "docs/reference/routes.md: {route}");
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let named: Vec<String> = parameters
                .filter(|parameter| parameter["in"] == "query")
                .map(|parameter| format!("`{}`", parameter["name"].as_str().unwrap()))
                .collect();
            assert_eq!(
                rows[0][1],
                named.join(", "),
                "docs/reference/routes.md: {route}"
            );
            let statuses: Vec<&str> = operation["responses"]
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .filter(|status| !["400", "401", "403", "429", "503"].contains(status))
                .collect();
            assert_eq!(
                rows[0][2],
                statuses.join(", "),
                "docs/reference/routes.md: {route}"
            );
        }
    }
}

#[test]
fn every_command_is_in_the_readme() {
    let help = output_of(&["--help"]);
    let commands = help.split("\nAsk:\n").nth(1).unwrap();
    let commands = commands.split("\nOptions:\n").next().unwrap();
    let readme = text("README.md");
    for line in commands.lines() {
        // A longer indentation continues the description of the command before.
        let Some(name) = line
            .strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
        else {
            continue;
        };
        let name = name.split(' ').next().unwrap();
        assert!(
            name == "help" || readme.contains(&format!("`unroof {name}")),
            "README.md has no command {name}"
        );
    }
}

#[test]
fn every_setting_is_in_the_reference_with_its_variable_and_default() {
    let help = output_of(&["serve", "--help"]);
    let page = text("docs/reference/settings.md");
    let mut row: Vec<&str> = Vec::new();
    let mut settings = 0;
    for line in help.lines().map(str::trim) {
        if let Some(flag) = line.strip_prefix("--") {
            let flag = format!("`--{}`", flag.split(' ').next().unwrap());
            row = rows_with(&page, &format!("| {flag} |"))
                .pop()
                .unwrap_or_else(|| panic!("docs/reference/settings.md has no {flag}"));
            settings += 1;
        }
        let inside = |name: &str| line.strip_prefix(name)?.strip_suffix(']');
        if let Some(variable) = inside("[env: ") {
            let variable = variable.trim_end_matches('=');
            assert_eq!(row[1], format!("`{variable}`"), "{}", row[0]);
        }
        if let Some(default) = inside("[default: ") {
            assert_eq!(row[3], format!("`{default}`"), "{}", row[0]);
        }
    }
    assert_eq!(settings, rows_with(&page, "| `--").len());
}

/// A number such as `1e3`.
fn number(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

#[test]
fn every_assumption_is_in_the_reference_with_its_range() {
    let document = read_json(&repository().join("openapi/openapi.json"));
    let fields = &document["components"]["schemas"]["Assumptions"]["properties"];
    let accelerator = &fields["accelerator"]["oneOf"][1]["properties"];
    let page = text("docs/reference/assumptions.md");
    let all = [fields, accelerator].map(|fields| fields.as_object().unwrap());
    for (name, schema) in all.into_iter().flatten() {
        let value: &Value = &schema["oneOf"][0];
        if value["minimum"].is_null() {
            assert!(page.contains(&format!("`{name}`")), "{name}");
            continue;
        }
        let rows = rows_with(&page, &format!("| `{name}` |"));
        let [row] = rows.as_slice() else {
            panic!("docs/reference/assumptions.md: {name}");
        };
        let (least, most) = row[4].split_once(" to ").unwrap();
        assert_eq!(Some(number(least)), value["minimum"].as_f64(), "{name}");
        assert_eq!(Some(number(most)), value["maximum"].as_f64(), "{name}");
    }
}

#[test]
fn the_track_record_of_the_readme_is_that_of_the_validation() {
    let (readme, validation) = (text("README.md"), text("docs/VALIDATION.md"));
    let measured = |title: &str| -> Vec<Vec<&str>> {
        let mut sections = validation.split("\n## ");
        let table = sections.find(|section| section.starts_with(title)).unwrap();
        let rows = rows_with(table, "× |");
        assert!(!rows.is_empty());
        rows
    };
    let alone = measured("(b) The author's sheet alone");
    for (pooled, alone) in measured("(a) Pooled hosts").into_iter().zip(alone) {
        assert_eq!(pooled[0], alone[0]);
        let of_readme = rows_with(&readme, &format!("| {} |", pooled[0]));
        let [of_readme] = of_readme.as_slice() else {
            panic!("README.md has no {}", pooled[0]);
        };
        let expected = [&pooled, &alone].map(|row| [row[6], row[7], row[8]]);
        assert_eq!(of_readme[1..], expected.concat(), "{}", pooled[0]);
    }
}

/// Figures in the text of a page, and the same figures where they are printed or generated.
const FIGURES: [(&str, &str, &str, &str); 10] = [
    (
        "README.md",
        "Active parameters: 97.7 billion",
        "README.md",
        "active parameters 97.7B",
    ),
    (
        "README.md",
        "from 33.2 to 250 billion",
        "README.md",
        "33.2B to 250B",
    ),
    (
        "README.md",
        "1.7 bits of information",
        "README.md",
        "1.7 * total parameters",
    ),
    (
        "README.md",
        "16,400 bytes are read",
        "README.md",
        "KV bytes read 16.4k",
    ),
    (
        "README.md",
        "The row has no star",
        "README.md",
        "1.0 KV bytes stored",
    ),
    (
        "README.md",
        "takes 0.71 times as long",
        "README.md",
        "memory/compute time 0.71",
    ),
    (
        "README.md",
        "the limit is 77 %",
        "README.md",
        "arithmetic with a probability of 77 %",
    ),
    (
        "README.md",
        "off by a factor of 9.1 in the median, on 14 models",
        "docs/VALIDATION.md",
        "| context_tier_kv_bytes | kv_bytes_per_token_read_slope | 14 | 9.1× |",
    ),
    (
        "docs/model/measurements.md",
        "decoding is off by 0.12 in 447 rows",
        "docs/model/errors.md",
        "| decode | 447 | **0.97** | 0.23 | 0.12 |",
    ),
    (
        "docs/guide/forward-questions.md",
        "takes 47.6 ms per step; a fit without the H800 measurements predicts 51.6 ms",
        "docs/model/measurements.md",
        "| decode, 88 per chip at 4,989 | 47.57 ms | 51.57 ms |",
    ),
];

#[test]
fn figures_in_the_text_are_those_that_are_printed() {
    let words = |file: &str| text(file).split_whitespace().collect::<Vec<_>>().join(" ");
    for (page, figure, source, printed) in FIGURES {
        assert!(
            words(page).contains(figure),
            "{page}: `{figure}` is in no sentence"
        );
        assert!(
            words(source).contains(printed),
            "{page}: `{figure}`; {source} has no `{printed}`"
        );
    }
}

/// Texts of all Rust files of a folder and of those in it, one after the other.
fn sources_in(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().map(|path| {
        if path.is_dir() {
            sources_in(path)
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            std::fs::read_to_string(path).unwrap()
        } else {
            String::new()
        }
    });
    texts.collect()
}

/// Names of the tests in a text of Rust.
fn tests_in(sources: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut is_test = false;
    for line in sources.lines().map(str::trim) {
        let line = line.strip_prefix("async ").unwrap_or(line);
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(function) = line.strip_prefix("fn ") {
            if is_test {
                names.extend(function.split('(').next());
            }
            is_test = false;
        }
    }
    names
}

#[test]
fn every_fault_of_the_security_page_is_shown_by_a_test_or_script_that_there_is() {
    let sources = ["tests", "src", "crates"].map(|folder| sources_in(&repository().join(folder)));
    let sources = sources.concat();
    let tests = tests_in(&sources);
    let page = text("docs/SECURITY.md");
    let (_, list) = page.split_once("\n## 72 faults and attacks\n").unwrap();
    let (list, _) = list.split_once("\n## ").unwrap();
    let mut number = 0;
    for row in list.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells[0] == "no." {
            continue;
        }
        number += 1;
        assert_eq!(cells[0], number.to_string(), "{row}");
        let names: Vec<&str> = cells[3].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "nothing shows {number}");
        for name in names {
            let is_there = if name.starts_with("scripts/") {
                repository().join(name).is_file()
            } else {
                tests.contains(name)
            };
            assert!(is_there, "{number}: {name}");
        }
    }
    assert_eq!(number, 72);
}
