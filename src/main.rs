//! Entry point: runs a command and exits with its code.

mod calculators;
mod cli;
mod estimates;
mod record;
mod service;
mod shell;

use std::process::ExitCode;

#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;

/// Returns memory to the system after a burst of large answers; the C library's allocator keeps it, for each thread. SQLite
/// allocates by it too: its feature `unprefixed_malloc_on_supported_platforms` replaces `malloc`.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::run()
}
