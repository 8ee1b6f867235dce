//! Runs a command and turns its outcome into messages and an exit code.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Gives memory back to the system that a burst of large answers took, which that of the C library keeps.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    unroof::cli::run()
}
