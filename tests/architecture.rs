//! The architecture as data: which module may use which, what may not occur where, and that no file is part of a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// A module, and the modules that it uses directly. It may also use what those use.
type Modules = &'static [(&'static str, &'static [&'static str])];

/// A package of this repository.
struct Package {
    name: &'static str,
    sources: &'static str,
    modules: Modules,
}

const PACKAGES: [Package; 3] = [
    Package {
        name: "unroof-core",
        sources: "crates/core/src",
        modules: &[
            ("units", &[]),
            ("input", &["units"]),
            ("reference", &["input"]),
            ("roofline", &["reference"]),
            ("sheet", &["input"]),
            ("catalog", &["sheet", "reference"]),
            ("history", &["sheet"]),
            ("cost", &["sheet"]),
            ("model", &["sheet", "roofline"]),
            ("clue", &["model", "catalog"]),
            ("estimate", &["clue"]),
            ("calculator", &["model"]),
            ("plan", &["calculator"]),
            ("calibration", &["estimate"]),
        ],
    },
    Package {
        name: "unroof",
        sources: "src",
        modules: &[
            ("access", &[]),
            ("chart", &[]),
            ("clock", &[]),
            ("examples", &[]),
            ("secrets", &[]),
            ("telemetry", &["secrets"]),
            ("storage", &["telemetry", "access"]),
            ("import", &["storage", "clock"]),
            ("integrity", &["import"]),
            ("jobs", &["integrity"]),
            ("http", &["jobs", "chart", "examples"]),
            ("cli", &["http"]),
        ],
    },
    Package {
        name: "unroof-dev",
        sources: "crates/dev/src",
        modules: &[
            ("generated", &[]),
            ("reporting", &[]),
            ("efficiencies", &[]),
            ("joint", &[]),
            ("calibrate", &["generated"]),
            ("costs", &["generated"]),
            ("fit", &["generated", "efficiencies"]),
            ("validate", &["generated", "joint"]),
        ],
    },
];

impl Package {
    /// The modules that a module may use, near and far.
    fn allowed(&self, module: &str) -> Option<BTreeSet<&'static str>> {
        let (_, direct) = self.modules.iter().find(|(name, _)| *name == module)?;
        let mut all: BTreeSet<&str> = direct.iter().copied().collect();
        all.extend(
            direct
                .iter()
                .filter_map(|name| self.allowed(name))
                .flatten(),
        );
        Some(all)
    }

    fn files(&self) -> Vec<File> {
        let folder = repository().join(self.sources);
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

    /// The folder or file at the top of the crate that it belongs to.
    fn top(&self) -> Option<&str> {
        self.module.first().map(String::as_str)
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
fn every_module_uses_only_what_the_table_says() {
    let mut wrong = Vec::new();
    for package in &PACKAGES {
        for file in package.files() {
            wrong.extend(wrong_uses(package, &file));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn wrong_uses(package: &Package, file: &File) -> Vec<String> {
    let Some(own) = file.top() else {
        return Vec::new();
    };
    let Some(allowed) = package.allowed(own) else {
        let path = &file.path;
        return vec![format!(
            "{path}: `{own}` has no row in the table of {}",
            package.name
        )];
    };
    let tops: BTreeSet<&String> = file.uses.iter().filter_map(|path| path.first()).collect();
    tops.into_iter()
        .filter(|top| *top != own && !allowed.contains(top.as_str()))
        .map(|top| format!("{}: `{own}` must not use `{top}`", file.path))
        .collect()
}

#[test]
fn no_file_is_part_of_a_cycle() {
    for package in &PACKAGES {
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
fn the_checker_finds_wrong_uses_however_they_are_written() {
    let package = &PACKAGES[0];
    for text in [
        "use crate::clue;",
        "use crate::{units::Usd, clue::Clue};",
        "fn f() { crate::clue::read() }",
        "use super::clue::Clue;",
        "fn f(a: crate::clue::Clue) {}",
    ] {
        let file = File::parsed("a.rs".to_owned(), vec!["sheet".to_owned()], text.to_owned());
        assert_eq!(
            wrong_uses(package, &file),
            ["a.rs: `sheet` must not use `clue`"],
            "{text}"
        );
    }
    for text in [
        "use crate::{sheet::A, units::*, input};",
        "// use crate::clue;",
        "const A: &str = \"crate::clue\";",
        "#[cfg(test)] mod tests { use crate::clue; }",
    ] {
        let file = File::parsed("a.rs".to_owned(), vec!["sheet".to_owned()], text.to_owned());
        assert_eq!(wrong_uses(package, &file), [""; 0], "{text}");
    }
}

#[test]
fn every_file_begins_with_what_it_is() {
    for file in PACKAGES.iter().flat_map(Package::files) {
        let path = &file.path;
        assert!(
            file.text.starts_with("//! "),
            "{path}: begin it with a sentence behind `//!`"
        );
    }
}

#[test]
fn the_core_depends_on_no_input_or_output() {
    let manifest = fs::read_to_string(repository().join("crates/core/Cargo.toml")).unwrap();
    for crate_name in ["tokio", "sqlx", "axum", "hyper", "ureq"] {
        assert!(
            !manifest.contains(crate_name),
            "crates/core depends on {crate_name}"
        );
    }
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
        (&["sqlx::", "jiff_sqlx::"], &["src/storage/"]),
        (&["StatusCode::"], &["src/http/"]),
        // The store measures how long it waits, and an import how long its reader takes.
        (
            &clocks,
            &[
                "src/clock.rs",
                "src/storage/",
                "src/import/lines.rs",
                "src/jobs/outage.rs",
                "src/http/",
                "src/cli/",
            ],
        ),
    ];
    for file in PACKAGES.iter().flat_map(Package::files) {
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
    for file in PACKAGES.iter().flat_map(Package::files) {
        takers.visit_file(&syn::parse_file(&file.text).unwrap());
    }
    let of = |part: &str| -> Vec<&str> {
        let found = takers.of.get(part).into_iter().flatten();
        found.map(String::as_str).collect()
    };
    // Jobs, imports and the sender of webhooks.
    assert_eq!(of("Work"), ["add_webhook", "import_catalog"]);
    // A layer around all handlers, and the page of metrics, which is about every part.
    assert_eq!(of("App"), ["limit", "show_metrics"]);
    let readers = of("Answers");
    for reader in ["list_changes", "list_webhooks", "show_model"] {
        assert!(readers.contains(&reader), "{reader} is not in {readers:?}");
    }
    let lists = fs::read_to_string(repository().join("src/http/list.rs")).unwrap();
    let states = lists.matches("extract::State<");
    assert_eq!(states.count(), 1, "`list!` makes handlers with one state");
    assert!(lists.contains("extract::State<std::sync::Arc<$crate::http::answers::Answers>>"));
}

#[test]
fn the_command_line_imports_without_http() {
    let import = fs::read_to_string(repository().join("src/cli/import.rs")).unwrap();
    assert!(!import.contains("crate::http"));
}

#[test]
fn the_image_is_built_from_all_that_the_build_reads() {
    let text = |name| fs::read_to_string(repository().join(name)).expect(name);
    let (build, image, sent) = (text("build.rs"), text("Dockerfile"), text(".dockerignore"));
    let watched = build.lines().filter_map(|line| {
        let name = line.split_once("rerun-if-changed=")?.1.split_once('"')?.0;
        (!name.starts_with('{')).then_some(name)
    });
    let read: Vec<&str> = watched.collect();
    assert!(read.contains(&"openapi"), "{read:?}");
    for name in read {
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

    /// A diagram of the table, and a row for each module with the first sentence of its file.
    fn picture() -> String {
        let mut text = "\n```mermaid\nflowchart BT\n".to_owned();
        for package in &PACKAGES {
            let name = package.name;
            let prefix = name.replace('-', "_");
            let _ = writeln!(text, "  subgraph {name}");
            for (module, uses) in package.modules {
                let _ = writeln!(text, "    {prefix}_{module}[{module}]");
                for used in *uses {
                    let _ = writeln!(text, "    {prefix}_{module} --> {prefix}_{used}");
                }
            }
            text.push_str("  end\n");
        }
        text.push_str("  unroof --> unroof-core\n  unroof-dev --> unroof-core\n```\n\n");
        text.push_str("| module | uses | content |\n|---|---|---|\n");
        for package in &PACKAGES {
            let files = package.files();
            for (module, uses) in package.modules {
                let own = |file: &&File| file.module == [*module];
                let file = files.iter().find(own).expect("a module has a file");
                let uses: Vec<String> = uses.iter().map(|used| format!("`{used}`")).collect();
                let path = file.path.trim_end_matches("mod.rs");
                let _ = writeln!(
                    text,
                    "| `{path}` | {} | {} |",
                    uses.join(", "),
                    first_sentence(&file.text)
                );
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
