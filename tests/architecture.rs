//! The architecture as data: which module may use which, what may not occur where, and that no file is part of a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// A package of this repository: a folder under `crates/`, or the program.
struct Package {
    name: String,
    /// The folder of the manifest, from the root of the repository.
    folder: String,
    manifest: String,
}

impl Package {
    fn all() -> Vec<Self> {
        let folders = fs::read_dir(repository().join("crates")).expect("a folder of packages");
        let mut folders: Vec<String> = folders
            .map(|entry| format!("crates/{}", entry.expect("an entry").file_name().display()))
            .collect();
        folders.sort();
        folders.push(".".to_owned());
        folders.into_iter().map(Self::read).collect()
    }

    fn read(folder: String) -> Self {
        let manifest = repository().join(&folder).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("a package has a manifest");
        let (_, rest) = manifest.split_once("\nname = \"").expect("it has a name");
        let (name, _) = rest.split_once('"').expect("a name ends");
        Self {
            name: name.to_owned(),
            folder,
            manifest,
        }
    }

    /// Names of the packages under a heading of the manifest.
    fn dependencies(&self) -> BTreeSet<&str> {
        let (_, rest) = self
            .manifest
            .split_once("\n[dependencies]\n")
            .expect("it has dependencies");
        let section = rest.split("\n[").next().unwrap_or_default();
        let named = section
            .lines()
            .filter_map(|line| line.split(['.', ' ']).next());
        named
            .filter(|name| !name.is_empty() && !name.starts_with('#'))
            .collect()
    }

    /// Packages of this repository that it uses.
    fn uses(&self) -> Vec<&str> {
        let all = self.dependencies().into_iter();
        all.filter(|name| name.starts_with("unroof-")).collect()
    }

    fn is_published(&self) -> bool {
        !self.manifest.contains("\npublish = false\n")
    }

    fn files(&self) -> Vec<File> {
        let folder = repository().join(&self.folder).join("src");
        let mut paths = Vec::new();
        rust_files(&folder, &mut paths);
        paths.iter().map(|path| File::read(&folder, path)).collect()
    }
}

/// A file of a package, parsed.
struct File {
    /// Path from the root of the repository.
    path: String,
    /// Module path in its crate: `["http", "page"]`.
    module: Vec<String>,
    text: String,
    /// Paths that it uses of its own crate, from the crate's root.
    uses: BTreeSet<Vec<String>>,
    /// Names that it makes public from elsewhere, and where they are.
    exports: BTreeMap<String, Vec<String>>,
}

impl File {
    fn read(folder: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a source can be read");
        let below = path.strip_prefix(folder).expect("it is below its folder");
        let below = below.with_extension("");
        let mut module: Vec<String> = below
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        let path = path.strip_prefix(repository()).expect("it is ours");
        Self::parsed(path.display().to_string(), module, text)
    }

    fn parsed(path: String, module: Vec<String>, text: String) -> Self {
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut found = Found {
            module: module.clone(),
            uses: BTreeSet::new(),
            exports: BTreeMap::new(),
        };
        found.visit_file(&syntax);
        Self {
            path,
            module,
            text,
            uses: found.uses,
            exports: found.exports,
        }
    }
}

/// Collects what a file uses; tests are left out.
struct Found {
    module: Vec<String>,
    uses: BTreeSet<Vec<String>>,
    exports: BTreeMap<String, Vec<String>>,
}

impl Found {
    /// A path from the crate's root, if it leads into this crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut module = self.module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
            }
            _ => return None,
        }
        module.extend(rest.iter().cloned());
        Some(module)
    }

    fn use_tree(&mut self, tree: &syn::UseTree, before: &[String], is_public: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&path.tree, &with(&path.ident), is_public),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(tree, before, is_public);
                }
            }
            syn::UseTree::Name(name) => self.used(&with(&name.ident), &name.ident, is_public),
            syn::UseTree::Rename(name) => self.used(&with(&name.ident), &name.rename, is_public),
            syn::UseTree::Glob(_) => self.uses.extend(self.absolute(before)),
        }
    }

    fn used(&mut self, path: &[String], name: &syn::Ident, is_public: bool) {
        // `pub use page::Page` in a folder's own file names a file of that folder.
        let own = || [&self.module, path].concat();
        if is_public {
            let path = self.absolute(path).unwrap_or_else(own);
            self.exports.insert(name.to_string(), path);
        } else {
            self.uses.extend(self.absolute(path));
        }
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"));
        if !is_test && item.content.is_some() {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        self.use_tree(&item.tree, &[], is_public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.uses.extend(self.absolute(&parts.collect::<Vec<_>>()));
        visit::visit_path(self, path);
    }
}

#[test]
fn no_file_is_part_of_a_cycle() {
    for package in Package::all() {
        let files = package.files();
        let mut arrows: BTreeMap<&str, BTreeSet<&str>> = files
            .iter()
            .map(|file| (file.path.as_str(), uses_of_files(file, &files)))
            .collect();
        // A file that uses none of those left, or that none of them uses, is in no cycle.
        loop {
            let left: BTreeSet<&str> = arrows.keys().copied().collect();
            let used: BTreeSet<&str> = arrows.values().flatten().copied().collect();
            arrows.retain(|file, uses| {
                uses.retain(|used| left.contains(used));
                !uses.is_empty() && used.contains(file)
            });
            if arrows.len() == left.len() {
                break;
            }
        }
        assert!(arrows.is_empty(), "cycles: {arrows:#?}");
    }
}

/// Files that a file uses. A folder's `mod.rs` may name what is in the folder, and the files in it what `mod.rs` declares.
fn uses_of_files<'f>(file: &File, files: &'f [File]) -> BTreeSet<&'f str> {
    let used = file.uses.iter().filter_map(|path| file_of(path, files));
    used.filter(|used| {
        !file.module.starts_with(&used.module) && !used.module.starts_with(&file.module)
    })
    .map(|used| used.path.as_str())
    .collect()
}

/// The file that declares what a path leads to.
fn file_of<'f>(path: &[String], files: &'f [File]) -> Option<&'f File> {
    let of_module = |length: usize| files.iter().find(|file| file.module == path[..length]);
    let (length, file) = (1..=path.len())
        .rev()
        .find_map(|length| Some((length, of_module(length)?)))?;
    let exported = path.get(length).and_then(|name| file.exports.get(name));
    match exported {
        Some(elsewhere) if elsewhere != path => file_of(elsewhere, files),
        _ => Some(file),
    }
}

#[test]
fn the_checker_finds_uses_however_they_are_written() {
    for text in [
        "use crate::clue;",
        "use crate::{units::Usd, clue::Clue};",
        "fn f() { crate::clue::read() }",
        "use super::clue::Clue;",
        "fn f(a: crate::clue::Clue) {}",
    ] {
        let file = File::parsed("a.rs".to_owned(), vec!["sheet".to_owned()], text.to_owned());
        let is_used = file.uses.iter().any(|path| path[0] == "clue");
        assert!(is_used, "{text}");
    }
    for text in [
        "// use crate::clue;",
        "const A: &str = \"crate::clue\";",
        "#[cfg(test)] mod tests { use crate::clue; }",
    ] {
        let file = File::parsed("a.rs".to_owned(), vec!["sheet".to_owned()], text.to_owned());
        assert_eq!(file.uses, BTreeSet::new(), "{text}");
    }
}

#[test]
fn every_file_begins_with_what_it_is() {
    for file in Package::all().iter().flat_map(Package::files) {
        let path = &file.path;
        assert!(
            file.text.starts_with("//! "),
            "{path}: begin it with a sentence behind `//!`"
        );
    }
}

/// Packages that only compute, and that others can use.
const LIBRARIES: [&str; 4] = [
    "unroof-base",
    "unroof-infer",
    "unroof-price-sheet",
    "unroof-roofline",
];

#[test]
fn the_libraries_are_published_and_depend_on_no_input_or_output() {
    let packages = Package::all();
    let published = packages.iter().filter(|package| package.is_published());
    let names: Vec<&str> = published.map(|package| package.name.as_str()).collect();
    assert_eq!(names, LIBRARIES);
    for package in packages.iter().filter(|package| package.is_published()) {
        let dependencies = package.dependencies();
        for name in ["tokio", "sqlx", "axum", "hyper", "ureq", "clap"] {
            let is_there = dependencies.contains(name);
            assert!(!is_there, "{} depends on {name}", package.name);
        }
        for name in package.uses() {
            assert!(LIBRARIES.contains(&name), "{name} is not published");
        }
    }
}

/// Most source files directly in a folder: what can be held in mind.
const MOST_FILES: usize = 20;

#[test]
fn no_folder_has_more_than_twenty_files_and_its_own_file_is_in_it() {
    let mut paths = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz/src"] {
        rust_files(&repository().join(folder), &mut paths);
    }
    let mut folders: BTreeMap<&Path, usize> = BTreeMap::new();
    for path in &paths {
        *folders.entry(path.parent().unwrap()).or_default() += 1;
        let is_beside = path.with_extension("").is_dir();
        // Cargo finds the programs of tests and benches at the top of their folders.
        let is_program = path
            .parent()
            .is_some_and(|parent| parent.ends_with("benches"));
        assert!(
            !is_beside || is_program,
            "{}: make it mod.rs of its folder",
            path.display()
        );
    }
    for (folder, files) in folders {
        assert!(
            files <= MOST_FILES,
            "{} has {files} files",
            folder.display()
        );
    }
}

/// Most lines of code of a package, without comments, blank lines and tests: the largest one today. The goal is 16,000.
const MOST_LINES: usize = 16_000;

#[test]
fn no_package_is_too_large_to_be_held_in_mind() {
    for package in Package::all() {
        let files = package.files();
        let tests = ["tests", "testing"].map(str::to_owned);
        let code = files
            .iter()
            .filter(|file| !file.module.iter().any(|name| tests.contains(name)));
        let lines: usize = code.map(|file| lines_of_code(&file.text)).sum();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", package.name);
    }
}

/// Lines that are neither blank nor comments, before the tests at the end of a file.
fn lines_of_code(text: &str) -> usize {
    let code = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines = code.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn words_stay_where_they_belong() {
    let clocks = [
        "Timestamp::now",
        "Zoned::now",
        "SystemTime::now",
        "Instant::now",
    ];
    let rules: [(&[&str], &[&str]); 3] = [
        (&["sqlx::", "jiff_sqlx::"], &["crates/store/"]),
        (&["StatusCode::"], &["crates/edge/", "crates/server/"]),
        // The store measures how long it waits, and an import how long its reader takes. What expires is compared with the time
        // that has passed.
        (
            &clocks,
            &[
                "crates/store/",
                "crates/import/",
                "crates/jobs/src/expiry.rs",
                "crates/jobs/src/egress/fetch.rs",
                "crates/jobs/src/outage.rs",
                "crates/edge/",
                "crates/server/",
                "src/",
            ],
        ),
    ];
    for file in Package::all().iter().flat_map(Package::files) {
        for (words, places) in rules {
            let is_there = places.iter().any(|place| file.path.starts_with(place));
            let found = words
                .iter()
                .find(|word| !is_there && file.text.contains(*word));
            assert_eq!(found, None, "{}", file.path);
        }
    }
}

/// Collects the functions that take a part of the service's state, by the part: `State<Arc<Work>>` is `Work`.
#[derive(Default)]
struct Takers {
    of: BTreeMap<String, BTreeSet<String>>,
}

impl<'ast> Visit<'ast> for Takers {
    fn visit_signature(&mut self, function: &'ast syn::Signature) {
        for argument in &function.inputs {
            if let syn::FnArg::Typed(argument) = argument
                && let Some(part) = part_of_state(&argument.ty)
            {
                let takers = self.of.entry(part).or_default();
                takers.insert(function.ident.to_string());
            }
        }
    }
}

/// The part in `State<Part>` and `State<Arc<Part>>`.
fn part_of_state(argument: &syn::Type) -> Option<String> {
    let (state, part) = named_and_inner(argument)?;
    let part = part.filter(|_| state == "State")?;
    let (name, inner) = named_and_inner(part)?;
    match inner {
        Some(inner) => named_and_inner(inner).map(|(name, _)| name),
        None => Some(name),
    }
}

/// The last name of a type, and its first argument that is a type.
fn named_and_inner(named: &syn::Type) -> Option<(String, Option<&syn::Type>)> {
    let syn::Type::Path(path) = named else {
        return None;
    };
    let last = path.path.segments.last()?;
    let inner = match &last.arguments {
        syn::PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().find_map(|argument| match argument {
                syn::GenericArgument::Type(inner) => Some(inner),
                _ => None,
            })
        }
        _ => None,
    };
    Some((last.ident.to_string(), inner))
}

#[test]
fn a_handler_takes_only_the_parts_of_the_state_that_it_needs() {
    let mut takers = Takers::default();
    for file in Package::all().iter().flat_map(Package::files) {
        takers.visit_file(&syn::parse_file(&file.text).unwrap());
    }
    let of = |part: &str| -> Vec<&str> {
        let found = takers.of.get(part).into_iter().flatten();
        found.map(String::as_str).collect()
    };
    // Jobs, imports and the sender of webhooks.
    let workers = [
        "accept_import",
        "add_webhook",
        "import_catalog",
        "undo_import",
    ];
    assert_eq!(of("Work"), workers);
    // A layer around all handlers, and the page of metrics, which is about every part.
    assert_eq!(of("App"), ["limit", "show_metrics"]);
    let readers = of("Answers");
    for reader in ["list_changes", "list_webhooks", "show_model"] {
        assert!(readers.contains(&reader), "{reader} is not in {readers:?}");
    }
    let lists = fs::read_to_string(repository().join("crates/server/src/list/mod.rs")).unwrap();
    let states = lists.matches("extract::State<");
    assert_eq!(states.count(), 1, "`list!` makes handlers with one state");
    assert!(lists.contains("extract::State<std::sync::Arc<$crate::answers::Answers>>"));
}

#[test]
fn the_image_is_built_from_all_that_the_build_reads() {
    let text = |name| fs::read_to_string(repository().join(name)).expect(name);
    let (image, sent) = (text("Dockerfile"), text(".dockerignore"));
    for name in [
        "benches",
        "crates",
        "examples",
        "migrations",
        "openapi",
        "src",
    ] {
        let copies =
            |line: &str| line.starts_with("COPY") && line.split(' ').any(|word| word == name);
        assert!(
            image.lines().any(copies),
            "the Dockerfile does not copy {name}"
        );
        let is_sent = sent
            .lines()
            .any(|line| line.strip_prefix('!') == Some(name));
        assert!(is_sent, "{name} is not in .dockerignore");
    }
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| -> BTreeSet<_> {
        let folder = repository().join("migrations").join(database);
        let files = fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name());
        // The reporting views are on PostgreSQL alone.
        names.filter(|name| name != "reporting.sql").collect()
    };
    assert!(!names("postgres").is_empty());
    assert_eq!(names("postgres"), names("sqlite"));
}

mod generated {
    use super::*;

    const PAGE: &str = "docs/ARCHITECTURE.md";
    const BEGIN: &str = "<!-- modules: written by `just bless` -->\n";
    const END: &str = "<!-- end of modules -->";

    #[test]
    fn the_picture_of_the_modules() {
        let path = repository().join(PAGE);
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).expect("the page has the first mark");
        let (_, after) = rest.split_once(END).expect("the page has the last mark");
        let expected = format!("{before}{BEGIN}{}{END}{after}", picture());
        if std::env::var_os("UNROOF_BLESS").is_some_and(|value| value == "1") {
            fs::write(path, expected).unwrap();
        } else {
            assert!(page == expected, "{PAGE} is out of date; run: just bless");
        }
    }

    /// A diagram of the packages, and a row for each module with the first sentence of its file.
    fn picture() -> String {
        let packages = Package::all();
        let mut text = "\n```mermaid\nflowchart BT\n".to_owned();
        for package in &packages {
            let name = package.name.trim_start_matches("unroof-");
            let _ = writeln!(text, "  {name}");
            for used in package.uses() {
                let _ = writeln!(text, "  {name} --> {}", used.trim_start_matches("unroof-"));
            }
        }
        text.push_str("```\n\n| module | content |\n|---|---|\n");
        for package in &packages {
            let mut files = package.files();
            files.sort_by(|a, b| a.module.cmp(&b.module));
            for file in files.iter().filter(|file| file.module.len() <= 1) {
                let path = file.path.trim_end_matches("mod.rs");
                let path = path.trim_end_matches("lib.rs").trim_end_matches("main.rs");
                let _ = writeln!(text, "| `{path}` | {} |", first_sentence(&file.text));
            }
        }
        text.push('\n');
        text
    }

    fn first_sentence(text: &str) -> String {
        let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
        let paragraph = lines.collect::<Vec<_>>().join(" ");
        let end = paragraph.find(". ").unwrap_or(paragraph.len());
        paragraph[..end].trim_end_matches('.').replace('|', "\\|")
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
