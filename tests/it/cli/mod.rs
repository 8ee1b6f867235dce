//! The command line: the real binary, in an environment of its own.

mod calibration;
mod commands;
mod infer;
mod layout;
mod plan;
mod report;
mod simulate;
mod stored;
mod usage;

use crate::server::{Ended, run_with, unroof};

/// A file with a text, and the folder that it goes with.
fn file_with(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input.json");
    std::fs::write(&file, text).unwrap();
    (folder, file.to_str().unwrap().to_owned())
}

/// Runs `unroof infer -`.
fn infer(input: &str, arguments: &[&str]) -> Ended {
    run_with(unroof(&["infer", "-"]).args(arguments), input)
}
