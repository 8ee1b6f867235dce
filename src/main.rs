//! Entry point: runs a command and exits with its code.

use std::process::ExitCode;

#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;

/// Returns memory to the system after a burst of large answers; the C library's allocator keeps it.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    unroof::cli::run()
}
