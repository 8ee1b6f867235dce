//! The blocks with the fence `console nightly`: they install, build, download or start containers, so `scripts/nightly`
//! alone runs them, with `UNROOF_TEST_NIGHTLY=1`.
//!
//! - The commands of a page run in order in a clone of this repository, which keeps its target folder for the next night.
//! - `export NAME=…` holds for the commands below it.
//! - A command that serves runs until it listens, on a free port and an empty database, and is stopped.
//! - Output is compared where the page shows some; what a build prints differs every night.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{Page, link, pages};
use crate::server::{Server, run_with};
use crate::support::{repository, say};

const FENCE: &str = "```console nightly";

/// A clone of this repository, and the environment of a page.
struct Clone {
    folder: TempDir,
    exports: Vec<String>,
}

impl Clone {
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
            folder,
            exports: Vec::new(),
        }
    }

    fn sources(&self) -> PathBuf {
        self.folder.path().join("unroof")
    }

    /// A shell with the settings of the caller, but those of the tests.
    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        let exports = self.exports.join("\n");
        shell.args(["-c", &format!("{exports}\n{command}")]);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            // What cargo sets for the tests themselves would reach the builds.
            if name.starts_with("UNROOF_") || name.starts_with("CARGO_PKG_") {
                shell.env_remove(&*name);
            }
        }
        shell
            .env_remove("CARGO_MANIFEST_DIR")
            .env("UNROOF_LISTEN", "127.0.0.1:0")
            .env("XDG_DATA_HOME", self.folder.path())
            .current_dir(self.sources());
        shell
    }

    /// What a command prints, or how it failed.
    fn run(&mut self, command: &str) -> Result<String, String> {
        say(&format!("$ {command}"));
        if command.starts_with("export ") {
            self.exports.push(command.to_owned());
            return Ok(String::new());
        }
        if command.split(' ').any(|word| word == "serve") {
            let server = Server::spawn(self.shell(&format!("exec {command}")));
            let (status, log) = server.stop();
            return match status.success() {
                true => Ok(String::new()),
                false => Err(format!("$ {command}\nends with {status}:\n{log}")),
            };
        }
        let ended = run_with(&mut self.shell(&format!("exec 2>&1\n{command}")), "");
        match ended.code {
            Some(0) => Ok(ended.out),
            code => Err(format!("$ {command}\nends with {code:?}:\n{}", ended.out)),
        }
    }
}

#[test]
fn every_nightly_command_of_the_guides_succeeds() {
    if std::env::var_os("UNROOF_TEST_NIGHTLY").is_none_or(|value| value != "1") {
        say("skipped: blocks of the guides that install and build, without UNROOF_TEST_NIGHTLY=1");
        return;
    }
    let mut wrong = Vec::new();
    for file in pages() {
        let mut page = Page::read(file, FENCE);
        if page.commands() == 0 {
            continue;
        }
        let mut clone = Clone::new();
        let differences = page.run(|command, expected| match clone.run(command) {
            Ok(_) if expected.is_empty() => String::new(),
            Ok(output) => output,
            Err(failure) => failure,
        });
        wrong.extend(differences);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nightly_commands_are_found() {
    let pages = pages().into_iter();
    let found: usize = pages.map(|file| Page::read(file, FENCE).commands()).sum();
    assert!(found > 0);
}
