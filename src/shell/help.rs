//! `--help`: the commands in groups, and examples that can be pasted.

use std::io::Write;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::terminal;
use crate::{CommandLine, Failure};

/// The commands by what they are for. Every command is in one group, which a test checks.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Ask",
        &[
            "infer", "models", "show", "margins", "compare", "history", "changes", "search",
            "cost", "simulate", "layout", "plan", "training",
        ],
    ),
    (
        "Store",
        &[
            "import",
            "imports",
            "estimates",
            "backup",
            "check",
            "migrate",
        ],
    ),
    ("Serve", &["serve", "keys", "healthcheck"]),
    (
        "Develop",
        &["validate", "openapi", "schema", "completions", "man"],
    ),
];

/// Greatest width of the help, in columns.
const MOST_WIDTH: usize = 100;
/// Blanks before the description of a command.
const INDENT: usize = 15;
/// A blank at which no line ends.
const NO_BREAK: &str = "\u{a0}";

/// The command line with its help.
pub(crate) fn command() -> Command {
    let command = CommandLine::command().mut_subcommands(unbroken);
    let groups = groups(&command, terminal::width().min(MOST_WIDTH));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    );
    unbroken(command).help_template(template)
}

/// Command with examples without broken lines at any width: a broken example cannot be pasted.
fn unbroken(command: Command) -> Command {
    let Some(examples) = command.get_after_help() else {
        return command;
    };
    let examples = examples.to_string().replace(' ', NO_BREAK);
    command.after_help(examples)
}

/// The commands, each with its description.
fn groups(command: &Command, width: usize) -> String {
    let line = |name: &&str| {
        let of_name = command.find_subcommand(name);
        let about = of_name.and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let first = format!("  {name:<width$}", width = INDENT - 2);
        let blank = " ".repeat(INDENT);
        let options = textwrap::Options::new(width)
            .initial_indent(&first)
            .subsequent_indent(&blank);
        format!("{}\n", textwrap::fill(&about, options))
    };
    let group = |(heading, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(line).collect();
        format!("{heading}:\n{lines}\n")
    };
    GROUPS.iter().map(group).collect()
}

/// Whether the help was asked for.
pub(crate) fn is_help(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelp
}

/// Prints the help of a command.
pub(crate) fn print(help: &clap::Error) -> Result<(), Failure> {
    let text = help.render().ansi().to_string().replace(NO_BREAK, " ");
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = CommandLine::command();
        let mut commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(commands, grouped);
    }

    #[test]
    fn the_groups_have_no_braces_which_a_template_would_take() {
        let text = groups(&CommandLine::command(), 80);
        assert!(!text.contains(['{', '}']), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn every_example_is_on_one_line_at_any_width() {
        let original = CommandLine::command();
        for command in command().get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let examples = original.find_subcommand(&name).unwrap().get_after_help();
            let Some(examples) = examples.map(ToString::to_string) else {
                continue;
            };
            let help = command.clone().term_width(40).render_help().to_string();
            let help = help.replace(NO_BREAK, " ");
            for line in examples.lines() {
                assert!(help.contains(line), "{name}: no `{line}` in {help}");
            }
        }
    }
}
