//! Runs a command and turns its outcome into messages and an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    unroof::cli::run()
}
