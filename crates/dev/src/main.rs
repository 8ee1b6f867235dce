//! Runs a maintainer's command.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(error) = unroof_dev::run(std::env::args_os(), &mut anstream::stdout()) else {
        return ExitCode::SUCCESS;
    };
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        usage.exit();
    }
    anstream::eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
