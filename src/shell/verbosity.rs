//! `-q` and `-v`: how much a command prints besides its result.

use clap::{ArgAction, Args};

/// Amount of what a command prints besides its result.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Verbosity {
    /// Say nothing but errors: no progress, no warnings in the log
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Log more, with -vv everything; `--log` states the levels exactly
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

impl Verbosity {
    /// Whether only errors are said.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Level of the log of a service.
    pub(crate) fn of_service(self) -> &'static str {
        self.or("info,sqlx=warn")
    }

    /// Level of the log of a command that ends.
    pub(crate) fn of_reader(self) -> &'static str {
        self.or("warn")
    }

    fn or(self, usual: &'static str) -> &'static str {
        match (self.quiet, self.verbose) {
            (true, _) => "error",
            (false, 0) => usual,
            (false, 1) => "debug,sqlx=info,hyper=info",
            (false, _) => "trace",
        }
    }
}
