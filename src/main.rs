//! Runs a command and turns its outcome into messages and an exit code.

use std::process::ExitCode;

#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;

/// Gives memory back to the system that a burst of large answers took, which that of the C library keeps.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    unroof::cli::run()
}
