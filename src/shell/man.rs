//! `unroof man`: the manual page of the program, or of one of its commands.

use std::io::Write;

use anyhow::anyhow;
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::{CommandLine, Failure};

/// Arguments of `unroof man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof man | man -l -
  unroof man infer > unroof-infer.1")]
pub(crate) struct ManArguments {
    /// A command; the whole program if left out
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(crate) fn run(arguments: &ManArguments) -> Result<(), Failure> {
    let mut command = CommandLine::command();
    // Names the commands by the program's name and their own.
    command.build();
    let page = match &arguments.command {
        None => Man::new(command),
        Some(name) => {
            let found = command.find_subcommand(name).cloned();
            let unknown = || {
                let error = anyhow!("there is no command `{name}`");
                Failure::Usage(error).with_hint("`unroof --help` lists the commands")
            };
            Man::new(found.ok_or_else(unknown)?)
        }
    };
    let mut text = Vec::new();
    page.render(&mut text)?;
    // A page for a formatter, and no text for a person: it is written as it is.
    Ok(std::io::stdout().write_all(&text)?)
}
