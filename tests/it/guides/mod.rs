//! The console blocks of `README.md` and `docs/guide`, run as they are written and compared with their output.
//!
//! - A line `$ command` is run with `sh`; lines that begin with `> ` continue it. The lines below are its output and errors.
//! - The commands of a page run in order, in a temporary folder with `examples` and `data`.
//! - `unroof serve` starts a server on a free port, until the end of the page or the next server. Pages call it
//!   `127.0.0.1:8080`.
//! - Pages call a time of the run `[TIME]` and a random id `[ID]`.
//! - A block with the fence `console build` installs, builds, downloads or starts containers: see `building`.
//!
//! `UNROOF_BLESS=1` writes the output into the pages instead.

mod building;
mod facts;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

use crate::generated::is_blessing;
use crate::server::{Server, run_with, unroof};
use crate::support::{repository, say};

/// The first line of a block that is run by every test.
const FENCE: &str = "```console";
/// The address of the service as pages have it.
const ADDRESS: &str = "127.0.0.1:8080";

/// A part of a page.
enum Part {
    /// A line that is not run.
    Line(String),
    /// A command, a line each, and its output.
    Command(Vec<String>, String),
}

/// A page with its parts in order.
struct Page {
    file: PathBuf,
    parts: Vec<Part>,
}

impl Page {
    /// Reads a page; commands are those of the blocks with this fence.
    fn read(file: PathBuf, fence: &str) -> Self {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut parts = Vec::new();
        let mut is_in_block = false;
        for line in text.lines() {
            let last = parts.last_mut();
            if !is_in_block || line == "```" {
                is_in_block = line == fence;
                parts.push(Part::Line(line.to_owned()));
            } else if let Some(command) = line.strip_prefix("$ ") {
                parts.push(Part::Command(vec![command.to_owned()], String::new()));
            } else if let Some(Part::Command(command, output)) = last {
                match line.strip_prefix("> ") {
                    Some(more) if output.is_empty() => command.push(more.to_owned()),
                    _ => writeln!(output, "{line}").unwrap(),
                }
            } else {
                panic!("{}: a block begins with `{line}`", file.display());
            }
        }
        Self { file, parts }
    }

    /// Runs the commands by a function of command and expected output; each output that differs is replaced and described.
    fn run(&mut self, mut run: impl FnMut(&str, &str) -> String) -> Vec<String> {
        let mut differences = Vec::new();
        for part in &mut self.parts {
            let Part::Command(lines, expected) = part else {
                continue;
            };
            let command = lines.join("\n");
            let output = redact(&run(&command, expected));
            if output != *expected {
                let page = self.file.display();
                differences.push(format!(
                    "{page}: $ {command}\n--- the page has\n{expected}--- the program prints\n{output}"
                ));
                *expected = output;
            }
        }
        differences
    }

    fn commands(&self) -> usize {
        let commands = self.parts.iter();
        commands
            .filter(|part| matches!(part, Part::Command(..)))
            .count()
    }

    fn write(&self) {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Line(line) => writeln!(text, "{line}").unwrap(),
                Part::Command(lines, output) => {
                    let command = lines.join("\n> ");
                    write!(text, "$ {command}\n{output}").unwrap();
                }
            }
        }
        std::fs::write(&self.file, text).unwrap();
    }
}

/// Folder in which the commands of a page run.
struct Shell {
    folder: TempDir,
    path: String,
    server: Option<Server>,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["examples", "data"] {
            link(&repository().join(name), &folder.path().join(name));
        }
        Self {
            path: path_with_program(folder.path()),
            folder,
            server: None,
        }
    }

    /// Output of a command, with normalised addresses and without trailing empty lines.
    fn run(&mut self, command: &str) -> String {
        let output = match command.strip_prefix("unroof serve") {
            Some(arguments) => self.serve(arguments),
            None => self.shell(command),
        };
        let output = output.replace("\r\n", "\n");
        let output = match &self.server {
            Some(server) => output.replace(host(server), ADDRESS),
            None => output,
        };
        match output.trim_end_matches('\n') {
            "" => String::new(),
            output => format!("{output}\n"),
        }
    }

    fn serve(&mut self, arguments: &str) -> String {
        // The one before holds the database.
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let mut command = unroof(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--pool-timeout", "20s", "--statement-timeout", "20s"]);
        command.args(arguments.split_whitespace());
        command.env("HOME", self.folder.path());
        command.current_dir(self.folder.path());
        let server = Server::spawn(command);
        let greeting = server.greeting.clone();
        self.server = Some(server);
        greeting
    }

    fn shell(&self, command: &str) -> String {
        let command = if let Some(server) = &self.server {
            command.replace(ADDRESS, host(server))
        } else {
            assert!(!command.contains(ADDRESS), "no server for: {command}");
            command.to_owned()
        };
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.folder.path());
        run_with(&mut shell, "").out
    }
}

/// The `PATH` of a page: this program, as a link in a folder, before all others.
fn path_with_program(folder: &Path) -> String {
    let programs = folder.join(".bin");
    std::fs::create_dir(&programs).unwrap();
    let program = std::fs::canonicalize(unroof(&[]).get_program()).unwrap();
    link(&program, &programs.join("unroof"));
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", programs.display())
}

/// Host and port of a server.
fn host(server: &Server) -> &str {
    server.address.trim_start_matches("http://")
}

#[cfg(unix)]
fn link(target: &Path, name: &Path) {
    std::os::unix::fs::symlink(target, name).unwrap();
}

/// The text without what differs between two runs: times with fractions of a second, and random ids. Ids made of
/// content stay; they are of another version.
fn redact(text: &str) -> String {
    let is_separator = |c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c);
    let mut redacted = String::new();
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let is_time = word.contains('.') && word.parse::<Timestamp>().is_ok();
        let is_random_id =
            word.len() == 36 && Uuid::try_parse(word).is_ok_and(|id| id.get_version_num() == 4);
        redacted.push_str(match word {
            _ if is_time => "[TIME]",
            _ if is_random_id => "[ID]",
            word => word,
        });
        redacted.push_str(&piece[word.len()..]);
    }
    redacted
}

#[test]
fn times_and_random_ids_are_redacted_and_ids_made_of_content_are_not() {
    assert_eq!(
        redact(
            "{\"id\":\"6df03233-4221-48d4-9964-8b5d39dc4788\",\"at\":\"2026-11-22T12:52:00.96798Z\"}\n\
             1.25, 2026-11-22T00:00:00Z, 3388d89a-76f8-8676-97ce-837942833804\n"
        ),
        "{\"id\":\"[ID]\",\"at\":\"[TIME]\"}\n\
         1.25, 2026-11-22T00:00:00Z, 3388d89a-76f8-8676-97ce-837942833804\n"
    );
}

/// `README.md` and the pages under `docs/guide`.
fn pages() -> Vec<PathBuf> {
    let guides = std::fs::read_dir(repository().join("docs/guide")).unwrap();
    let mut pages: Vec<PathBuf> = guides.map(|entry| entry.unwrap().path()).collect();
    pages.push(repository().join("README.md"));
    pages.sort();
    pages
}

#[test]
fn every_command_of_the_guides_prints_what_is_written_below_it() {
    for program in ["curl", "awk"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        assert!(
            found.unwrap().status.success(),
            "the guides use {program}: apt-get install {program}"
        );
    }
    let differences: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = pages()
            .into_iter()
            .map(|file| {
                scope.spawn(move || {
                    let mut page = Page::read(file, FENCE);
                    let mut shell = Shell::new();
                    let differences = page.run(|command, _| shell.run(command));
                    if is_blessing() && !differences.is_empty() {
                        page.write();
                    }
                    differences
                })
            })
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().unwrap())
            .collect()
    });
    let text = differences.join("\n");
    if is_blessing() {
        say(&text);
    } else {
        assert!(
            differences.is_empty(),
            "{text}\nRun `just bless` to write the output into the pages."
        );
    }
}

#[test]
fn every_page_has_commands_that_are_run() {
    for file in pages() {
        let page = Page::read(file, FENCE);
        assert!(page.commands() > 0, "{}", page.file.display());
    }
}
