//! `unroof search`: names of providers and models by their beginning.

use std::io::{self, Write};

use clap::Args;

use super::names::FoundName;
use super::source::{Page, SourceArguments};
use crate::estimates::report::write_rows;
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};

/// Arguments of `unroof search`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof search gpt-5
  unroof search claude --limit 50 --json")]
pub(crate) struct SearchArguments {
    /// Beginning of a name, or of what is behind its last `/`, in any case
    #[arg(value_name = "TEXT")]
    text: String,
    /// Names of each kind
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Print the answer of GET /search
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

pub(crate) fn run(arguments: &SearchArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    let limit = arguments.limit.to_string();
    let query = [("q", arguments.text.as_str()), ("limit", limit.as_str())];
    let document = source.get(&["search"], &query)?;
    document.print(arguments.json, |out, found: &Page<FoundName>| {
        write_names(out, &arguments.text, &found.data)
    })
}

fn write_names(out: &mut impl Write, text: &str, names: &[FoundName]) -> io::Result<()> {
    if names.is_empty() {
        let text = terminal::quoted(text);
        return writeln!(
            out,
            "No name begins with `{text}`.\n`unroof models` lists all models."
        );
    }
    let row = |found: &FoundName| {
        let name = terminal::quoted(&found.name);
        vec![found.kind.replace('_', " "), name]
    };
    write_rows(out, &["kind", "name"], names.iter().map(row))
}
