//! `unroof completions`: what a shell needs to complete the command line.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{CommandLine, Failure};

/// Arguments of `unroof completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof completions bash > ~/.local/share/bash-completion/completions/unroof
  unroof completions zsh > ~/.zfunc/_unroof
  unroof completions fish > ~/.config/fish/completions/unroof.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut command = CommandLine::command();
    clap_complete::generate(arguments.shell, &mut command, "unroof", &mut text);
    // A script for a shell, and no text for a person: it is written as it is.
    Ok(std::io::stdout().write_all(&text)?)
}
