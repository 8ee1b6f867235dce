//! Allowed dependencies between the modules, and forbidden code per module.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module and what it may use; what those may use, it may use too.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("input", &["units"]),
    ("reference", &["input"]),
    ("roofline", &["reference"]),
    ("sheet", &["input"]),
    ("clue", &["sheet", "roofline"]),
    ("estimate", &["clue"]),
    ("forward", &["sheet", "roofline"]),
    ("storage", &["estimate"]),
    ("import", &["storage"]),
    ("http", &["import", "forward"]),
    ("calibration", &["roofline", "estimate"]),
    ("cli", &["http", "calibration"]),
];

/// Modules that only compute: no input, no output, no clock.
const PURE: &[&str] = &[
    "units",
    "input",
    "reference",
    "roofline",
    "sheet",
    "clue",
    "estimate",
    "forward",
    "calibration",
];

/// Files at the top of `src/` that are not modules of the library and may use everything.
const ROOTS: &[&str] = &["lib", "main"];

struct Source {
    /// As people write it: `src/http/extract.rs`.
    path: String,
    text: String,
}

impl Source {
    /// `http` for `src/http/extract.rs`, `units` for `src/units.rs`.
    fn module(&self) -> &str {
        let below = self.path.trim_start_matches("src/");
        below
            .split('/')
            .next()
            .unwrap_or(below)
            .trim_end_matches(".rs")
    }

    /// Number of `super` that lead from the top of this file to the crate: 1 for `src/units.rs`.
    fn depth(&self) -> usize {
        let steps = self.path.matches('/').count();
        steps - usize::from(self.path.ends_with("/mod.rs"))
    }
}

#[test]
fn every_module_uses_only_what_is_below_it() {
    let wrong: Vec<String> = sources().iter().flat_map(wrong_uses).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_row_in_the_table() {
    for source in sources() {
        let module = source.module();
        assert!(
            ROOTS.contains(&module) || direct(module).is_some(),
            "{}: module `{module}` has no row in MAY_USE of tests/architecture.rs; add one that says what it may use",
            source.path
        );
    }
}

#[test]
fn every_file_begins_with_what_it_is() {
    for source in sources() {
        assert!(
            source.text.starts_with("//! "),
            "{}: begin it with a sentence behind `//!`",
            source.path
        );
    }
}

#[test]
fn sqlx_stays_inside_storage() {
    assert_absent(&["sqlx", "jiff_sqlx"], |module| module != "storage");
}

#[test]
fn status_codes_stay_inside_http() {
    assert_absent(&["StatusCode"], |module| module != "http");
}

#[test]
fn pure_modules_are_not_asynchronous() {
    assert_absent(&["async", ".await", "tokio"], |module| {
        PURE.contains(&module)
    });
}

#[test]
fn nothing_below_http_reads_the_clock() {
    let clocks = ["Timestamp::now", "Zoned::now", "SystemTime::now"];
    assert_absent(&clocks, |module| {
        PURE.contains(&module) || ["storage", "import"].contains(&module)
    });
    // The store may measure how long it waits.
    assert_absent(&["Instant::now"], |module| {
        PURE.contains(&module) || module == "import"
    });
}

#[test]
fn both_databases_have_the_same_migrations() {
    let postgres = file_names("migrations/postgres");
    assert!(!postgres.is_empty(), "migrations/postgres is empty");
    assert_eq!(
        postgres,
        file_names("migrations/sqlite"),
        "every migration needs a file of the same name in migrations/postgres and migrations/sqlite"
    );
}

#[test]
fn the_checker_finds_wrong_uses_however_they_are_written() {
    let cases = [
        ("src/sheet.rs", "use crate::http;"),
        ("src/sheet.rs", "use crate::{units::{Usd, a}, http::Page};"),
        ("src/sheet.rs", "fn f() { crate :: http::page() }"),
        ("src/sheet/row.rs", "use super::super::http::Page;"),
        ("src/sheet/mod.rs", "mod tests { use super::super::http; }"),
        ("src/sheet.rs", "const A: &str = \"//\"; use crate::http;"),
        ("src/sheet.rs", "const A: char = '\"'; use crate::http;"),
        ("src/sheet.rs", "fn f<'a>(a: &'a str) { crate::http::f(a) }"),
        (
            "src/sheet.rs",
            "const A: &str = r#\"\"\"#; use crate::http;",
        ),
    ];
    for (path, text) in cases {
        let wrong = wrong_uses(&source(path, text));
        assert_eq!(
            wrong,
            [format!(
                "{path}:1: `sheet` uses `crate::http`, but may use only `input`, `units`, itself"
            )],
            "in {text}"
        );
    }
}

#[test]
fn the_checker_finds_names_that_are_no_module() {
    let wrong = wrong_uses(&source("src/sheet.rs", "\nuse crate::Helper;"));
    assert_eq!(
        wrong,
        ["src/sheet.rs:2: `sheet` uses `crate::Helper`, but may use only `input`, `units`, itself"]
    );
}

#[test]
fn the_checker_accepts_allowed_uses_comments_and_strings() {
    let cases = [
        (
            "src/clue.rs",
            "use crate::{clue::A, reference, sheet::{http, B}, units::*};",
        ),
        (
            "src/sheet.rs",
            "// use crate::http;\n/* /* */ crate::http */",
        ),
        ("src/sheet.rs", "/// [`Page`](crate::http::Page)"),
        ("src/sheet.rs", "const A: &str = \"\\\" crate::http\";"),
        (
            "src/sheet/row.rs",
            "use super::http; mod tests { use super::*; }",
        ),
        (
            "src/sheet.rs",
            "mod tests { use super::http; } pub(crate) fn f() {}",
        ),
        ("src/main.rs", "use unroof::http;"),
        ("src/lib.rs", "pub use crate::http::serve;"),
    ];
    for (path, text) in cases {
        assert_eq!(wrong_uses(&source(path, text)), [""; 0], "in {text}");
    }
}

#[test]
fn the_checker_finds_words_in_code_only() {
    let text = "// sqlx\nlet a = \"sqlx\";\nlet sqlxy = 1;\nsqlx::query(a).await;";
    let lines = |needle| lines_with(&source("src/http.rs", text), needle);
    assert_eq!(lines("sqlx"), [4]);
    assert_eq!(lines(".await"), [4]);
    assert_eq!(lines("sqlx::execute"), [0; 0]);
}

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// A sentence for every use of a module that the table does not allow.
fn wrong_uses(source: &Source) -> Vec<String> {
    let module = source.module();
    // A module without a row is the business of its own test.
    if direct(module).is_none() {
        return Vec::new();
    }
    let allowed = allowed(module);
    let mut list: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
    list.push("itself".to_owned());
    let list = list.join(", ");
    names_in_crate(source)
        .into_iter()
        .filter(|(_, name)| *name != module && !allowed.contains(name))
        .map(|(line, name)| {
            format!(
                "{}:{line}: `{module}` uses `crate::{name}`, but may use only {list}",
                source.path
            )
        })
        .collect()
}

fn direct(module: &str) -> Option<&'static [&'static str]> {
    let row = MAY_USE.iter().find(|(name, _)| *name == module)?;
    Some(row.1)
}

fn allowed(module: &str) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for name in direct(module).unwrap_or_default() {
        all.insert(*name);
        all.extend(allowed(name));
    }
    all
}

/// Fails with every place where one of `needles` is in a file of a module that `applies`.
fn assert_absent(needles: &[&str], applies: impl Fn(&str) -> bool) {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| applies(source.module())) {
        for needle in needles {
            for line in lines_with(source, needle) {
                found.push(format!(
                    "{}:{line}: `{}` must not use `{needle}`",
                    source.path,
                    source.module()
                ));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn lines_with(source: &Source, needle: &str) -> Vec<usize> {
    let needle: Vec<&str> = tokens(needle).iter().map(|token| token.1).collect();
    tokens(&source.text)
        .windows(needle.len())
        .filter(|window| {
            window
                .iter()
                .map(|token| token.1)
                .eq(needle.iter().copied())
        })
        .map(|window| window[0].0)
        .collect()
}

/// Every name that is taken from the top of the crate, through `crate::` or enough `super::`.
fn names_in_crate(source: &Source) -> Vec<(usize, &str)> {
    let tokens = tokens(&source.text);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.1);
    let mut names = Vec::new();
    let mut braces = 0_usize;
    // At how many open braces each `mod name {` around this place began.
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match text(at) {
            "mod" if text(at + 2) == "{" => modules.push(braces),
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                modules.pop_if(|began| *began == braces);
            }
            "crate" if text(at + 1) == "::" => names.extend(first_names(&tokens[at + 2..])),
            "super" if text(at + 1) == "::" => {
                let mut steps = 1;
                while text(at + 2) == "super" && text(at + 3) == "::" {
                    steps += 1;
                    at += 2;
                }
                if steps == source.depth() + modules.len() {
                    names.extend(first_names(&tokens[at + 2..]));
                }
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// `a` of `a::b`; `a` and `b` of `{a, b::{c, d}}`.
fn first_names<'a>(tokens: &[(usize, &'a str)]) -> Vec<(usize, &'a str)> {
    if tokens.first().is_none_or(|token| token.1 != "{") {
        return tokens.first().copied().into_iter().collect();
    }
    let mut names = Vec::new();
    let mut braces = 0;
    for pair in tokens.windows(2) {
        match pair[0].1 {
            "{" => braces += 1,
            "}" => braces -= 1,
            _ => {}
        }
        if braces == 0 {
            break;
        }
        if braces == 1 && matches!(pair[0].1, "{" | ",") && pair[1].1 != "}" {
            names.push(pair[1]);
        }
    }
    names
}

/// Words and signs with their lines, without comments, strings and characters.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while !rest.is_empty() {
        let (length, is_code) = next_token(rest);
        let (token, left) = rest.split_at(length);
        if is_code {
            found.push((line, token));
        }
        line += token.matches('\n').count();
        rest = left;
    }
    found
}

/// The length of what `rest` begins with, and whether that is code.
fn next_token(rest: &str) -> (usize, bool) {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let word = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(0, char::len_utf8);
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (block_comment(rest), false)
    } else if let Some(length) = raw_string(rest, word) {
        (length, false)
    } else if word > 0 {
        (word, true)
    } else if rest.starts_with('"') {
        (quoted(rest, '"'), false)
    } else if is_character(rest) {
        (quoted(rest, '\''), false)
    } else if rest.starts_with("::") {
        (2, true)
    } else {
        (first, !rest.starts_with(char::is_whitespace))
    }
}

fn block_comment(rest: &str) -> usize {
    let mut open = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            open += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            open -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if open == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of `r#"..."#` and its kin.
fn raw_string(rest: &str, word: usize) -> Option<usize> {
    let (prefix, after) = rest.split_at(word);
    let hashes = after.len() - after.trim_start_matches('#').len();
    if !matches!(prefix, "r" | "br" | "cr") || !after[hashes..].starts_with('"') {
        return None;
    }
    let begin = word + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[begin..].find(&end).map(|at| begin + at + end.len());
    Some(length.unwrap_or(rest.len()))
}

/// Whether an apostrophe begins a character: `'a'` does, the lifetime `'a` does not.
fn is_character(rest: &str) -> bool {
    let mut letters = rest.chars();
    letters.next() == Some('\'') && (letters.next() == Some('\\') || letters.next() == Some('\''))
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + letter.len_utf8();
        }
        escaped = letter == '\\' && !escaped;
    }
    rest.len()
}

/// Every Rust file below `src/`; never none, so that no check passes for want of files.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect_sources(&repository().join("src"), &mut found);
    assert!(!found.is_empty(), "there is no Rust file in src/");
    found
}

fn collect_sources(folder: &Path, found: &mut Vec<Source>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file is readable text");
            found.push(source(&relative(&path), &text));
        }
    }
}

fn file_names(folder: &str) -> Vec<String> {
    let folder = repository().join(folder);
    let name = |path: PathBuf| relative(&path).rsplit('/').next().map(str::to_owned);
    entries(&folder).into_iter().filter_map(name).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{} cannot be listed: {error}", relative(folder)));
    let mut paths: Vec<PathBuf> = listing
        .map(|entry| entry.expect("a folder entry is readable").path())
        .collect();
    paths.sort();
    paths
}

/// With slashes, whatever the system writes.
fn relative(path: &Path) -> String {
    let below = path.strip_prefix(repository()).unwrap_or(path);
    below.to_string_lossy().replace('\\', "/")
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
