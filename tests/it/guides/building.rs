//! The blocks with the fence `console build`: they install, build, download or start containers, so `scripts/check-all`
//! alone runs them, with `UNROOF_TEST_BUILDING_GUIDES=1`.
//!
//! - The commands of a page run in order in a clone of this repository, whose target folder is kept for the next run.
//!   `unroof` is this program, until a page exports another `PATH`.
//! - `export NAME=…` holds for the commands below it.
//! - A command that serves runs until it listens, on a free port and an empty database, and is stopped.
//! - Output is compared where the page shows some; what a build prints differs every time.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::{Page, link, pages, path_with_program};
use crate::server::{Server, run_with};
use crate::support::{repository, say};

const FENCE: &str = "```console build";

/// A clone of this repository, and the environment of a page.
struct Sources {
    folder: TempDir,
    path: String,
    exports: Vec<String>,
}

impl Sources {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = folder.path().join("unroof");
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"])
            .arg(repository())
            .arg(&sources);
        let cloned = run_with(&mut git, "");
        assert_eq!(cloned.code, Some(0), "{}", cloned.err);
        let kept = repository().join("target/guides");
        fs::create_dir_all(&kept).unwrap();
        link(&kept, &sources.join("target"));
        Self {
            path: path_with_program(folder.path()),
            folder,
            exports: Vec::new(),
        }
    }

    /// A shell with the settings of the caller, but those of the tests.
    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        let exports = self.exports.join("\n");
        shell.args(["-c", &format!("{exports}\n{command}")]);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            // What cargo sets for the tests themselves would reach the builds.
            let of_tests = ["UNROOF_", "CARGO_PKG_", "CARGO_MANIFEST_"];
            if of_tests.iter().any(|prefix| name.starts_with(prefix)) {
                shell.env_remove(&*name);
            }
        }
        shell.env("PATH", &self.path);
        shell.current_dir(self.folder.path().join("unroof"));
        shell
    }

    /// Output of a command, or the reason that it failed.
    fn run(&mut self, command: &str) -> Result<String, String> {
        say(&format!("$ {command}"));
        if command.starts_with("export ") {
            self.exports.push(command.to_owned());
            return Ok(String::new());
        }
        let (succeeds, output) = if command.split(' ').any(|word| word == "serve") {
            let mut serving = self.shell(&format!("exec {command}"));
            serving.env("UNROOF_LISTEN", "127.0.0.1:0");
            serving.env("XDG_DATA_HOME", self.folder.path());
            let server = Server::spawn(serving);
            let greeting = server.greeting.clone();
            (server.stop().0.success(), greeting)
        } else {
            let ended = run_with(&mut self.shell(&format!("exec 2>&1\n{command}")), "");
            (ended.code == Some(0), ended.out)
        };
        if succeeds {
            Ok(output)
        } else {
            Err(format!("$ {command}\nfailed:\n{output}"))
        }
    }
}

#[test]
fn every_building_command_of_the_guides_succeeds() {
    if std::env::var_os("UNROOF_TEST_BUILDING_GUIDES").is_none_or(|value| value != "1") {
        say(
            "skipped: blocks of the guides that install and build, without UNROOF_TEST_BUILDING_GUIDES=1",
        );
        return;
    }
    let mut wrong = Vec::new();
    for file in pages() {
        let mut page = Page::read(file, FENCE);
        if page.commands() == 0 {
            continue;
        }
        let mut sources = Sources::new();
        let differences = page.run(|command, expected| match sources.run(command) {
            Ok(_) if expected.is_empty() => String::new(),
            Ok(output) => output,
            Err(failure) => failure,
        });
        wrong.extend(differences);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn building_commands_are_found() {
    let pages = pages().into_iter();
    let found: usize = pages.map(|file| Page::read(file, FENCE).commands()).sum();
    assert!(found > 0);
}
