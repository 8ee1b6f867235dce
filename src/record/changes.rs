//! `unroof changes`: what changed, as a list or in numbers.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::Args;
use jiff::Timestamp;
use serde::Deserialize;
use unroof_base::units::readable;

use super::names::offer_name;
use super::source::{Document, Source, SourceArguments, stated};
use crate::estimates::report::{day, joined, paragraph, write_rows};
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity, label};

/// Arguments of `unroof changes`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof changes
  unroof changes --since 7d
  unroof changes --since 1200 --limit 500 --json
  unroof changes --kind price.changed --provider openai")]
pub(crate) struct ChangesArguments {
    /// A window such as 7d or 24h, whose summary is shown; or a position after which the list begins
    ///
    /// The newest changes if left out.
    #[arg(long, value_name = "WINDOW|POSITION", value_parser = read_since)]
    since: Option<Since>,
    /// Most changes; of a window, most rises and most falls, up to 100
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: u32,
    /// Only changes of this kind, such as price.changed; several separated by commas
    #[arg(long)]
    kind: Option<String>,
    /// Only changes of this provider; several separated by commas
    #[arg(long)]
    provider: Option<String>,
    /// Only changes of this canonical model, author/model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print the answer of GET /changes, or of GET /changes/summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArguments,
}

/// The begin of the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Since {
    /// Begin at a time before now, such as `30d`.
    Window(String),
    /// Begin after a change, by its sequence number.
    Position(u64),
}

fn read_since(text: &str) -> Result<Since, String> {
    if let Ok(position) = text.parse() {
        return Ok(Since::Position(position));
    }
    let number = text.strip_suffix(['d', 'h']);
    let is_number = |number: &str| number.parse::<u16>().is_ok_and(|number| number > 0);
    if number.is_some_and(is_number) {
        return Ok(Since::Window(text.to_owned()));
    }
    Err("write a window, such as 7d or 24h, or the position of a change, such as 1200".to_owned())
}

pub(crate) fn run(arguments: &ChangesArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let source = arguments.source.open(verbosity)?;
    if let Some(Since::Window(window)) = &arguments.since {
        return summary(&source, arguments, window)?.print(arguments.json, write_summary);
    }
    list(&source, arguments)?.print(arguments.json, write_list)
}

fn filters(arguments: &ChangesArguments) -> Vec<(&str, &str)> {
    stated([
        ("kind", arguments.kind.as_deref()),
        ("provider", arguments.provider.as_deref()),
        ("canonical_model", arguments.model.as_deref()),
    ])
}

fn summary(
    source: &Source,
    arguments: &ChangesArguments,
    window: &str,
) -> Result<Document, Failure> {
    if arguments.kind.is_some() {
        let error = anyhow!("--kind does not go with a window");
        let hint = "a summary counts every kind; leave --kind out, or name a position";
        return Err(Failure::Usage(error).with_hint(hint));
    }
    let limit = arguments.limit.min(100).to_string();
    let mut query = filters(arguments);
    query.extend([("window", window), ("limit", limit.as_str())]);
    source.get(&["changes", "summary"], &query)
}

/// The changes after a position, or the newest.
fn list(source: &Source, arguments: &ChangesArguments) -> Result<Document, Failure> {
    let limit = arguments.limit.to_string();
    let mut query = filters(arguments);
    query.push(("limit", limit.as_str()));
    let position = match &arguments.since {
        Some(Since::Position(position)) => *position,
        _ => before_newest(source, &query)?,
    };
    let since = position.to_string();
    query.push(("since", since.as_str()));
    source.get(&["changes"], &query)
}

/// The position before the newest changes: the feed for readers lists these first, and its link to the next page has the
/// position of the last of them.
fn before_newest(source: &Source, query: &[(&str, &str)]) -> Result<u64, Failure> {
    let feed = source.get(&["changes.atom"], query)?;
    Ok(feed
        .link
        .as_deref()
        .and_then(position_of)
        .map_or(0, |last| last.saturating_sub(1)))
}

/// The position in a link to older changes, `<…before=17>; rel="next"`.
fn position_of(link: &str) -> Option<u64> {
    let (_, place) = link.split_once("before=")?;
    let digits = place
        .split(|letter: char| !letter.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

/// A page of changes.
#[derive(Deserialize)]
struct Page {
    data: Vec<Change>,
    next_since: u64,
    has_more: bool,
}

/// A change as it is printed.
#[derive(Deserialize)]
struct Change {
    kind: String,
    observed_at: Timestamp,
    provider: String,
    model: String,
    region: String,
    summary: String,
}

fn write_list(out: &mut impl Write, page: &Page) -> io::Result<()> {
    if page.data.is_empty() {
        return paragraph(out, "Nothing changed.", 0);
    }
    let row = |change: &Change| {
        vec![
            day(change.observed_at),
            change.kind.clone(),
            offer_name(&change.provider, &change.model, &change.region),
            terminal::quoted(&change.summary),
        ]
    };
    let header = ["seen", "kind", "offer", "what"];
    write_rows(out, &header, page.data.iter().map(row))?;
    let more = if page.has_more {
        "more"
    } else {
        "those to come"
    };
    let next = format!(
        "`unroof changes --since {}` shows {more}; `--since 7d` sums up a week.",
        page.next_since
    );
    paragraph(out, &next, 0)
}

/// The changes of a window in numbers.
#[derive(Deserialize)]
struct Summary {
    window: String,
    kinds: Vec<Count>,
    days: Vec<Count>,
    rises: Vec<Move>,
    falls: Vec<Move>,
}

/// Number of changes of a kind, on a day or in all.
#[derive(Deserialize)]
struct Count {
    day: Option<String>,
    kind: String,
    changes: u64,
    /// Offers that they are about, of a window.
    offers: Option<u64>,
}

/// A price that moved.
#[derive(Deserialize)]
struct Move {
    provider: String,
    model: String,
    cell: String,
    old_value: f64,
    new_value: f64,
    factor: Option<f64>,
}

fn write_summary(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let counts = joined(summary.kinds.iter().map(count_in_words), ", ");
    if counts.is_empty() {
        let nothing = format!("Nothing changed within {}.", summary.window);
        return paragraph(out, &nothing, 0);
    }
    let within = label(&format!("Within {}", summary.window));
    paragraph(out, &format!("{within}: {counts}."), 0)?;
    writeln!(out)?;
    for (title, moves) in [("rises", &summary.rises), ("falls", &summary.falls)] {
        if !moves.is_empty() {
            let header = [title, "price", "from", "to", "factor"];
            write_rows(out, &header, moves.iter().map(move_row))?;
        }
    }
    let row = |count: &Count| {
        let day = count.day.clone().unwrap_or_default();
        vec![day, count.kind.clone(), readable_count(count.changes)]
    };
    write_rows(
        out,
        &["day", "kind", "changes"],
        summary.days.iter().map(row),
    )
}

/// `12 price.changed of 3 offers`, where an offer has several.
fn count_in_words(count: &Count) -> String {
    let words = format!("{} {}", readable_count(count.changes), count.kind);
    match count.offers.filter(|offers| *offers < count.changes) {
        Some(1) => format!("{words} of 1 offer"),
        Some(offers) => format!("{words} of {} offers", readable_count(offers)),
        None => words,
    }
}

fn move_row(row: &Move) -> Vec<String> {
    vec![
        terminal::quoted(&format!("{}/{}", row.provider, row.model)),
        terminal::quoted(&row.cell),
        row.old_value.to_string(),
        row.new_value.to_string(),
        row.factor.map_or("–".to_owned(), readable),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn readable_count(count: u64) -> String {
    readable(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_begin_at_a_position_or_a_window() {
        assert_eq!(read_since("0"), Ok(Since::Position(0)));
        assert_eq!(read_since("1200"), Ok(Since::Position(1200)));
        assert_eq!(read_since("7d"), Ok(Since::Window("7d".to_owned())));
        assert_eq!(read_since("24h"), Ok(Since::Window("24h".to_owned())));
        for text in ["", "d", "-1", "0d", "2026-11-01", "7 d", "1w"] {
            assert!(read_since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn changes_of_several_prices_are_counted_with_their_offers() {
        let count = |changes, offers| {
            let (day, kind) = (None, "price.changed".to_owned());
            count_in_words(&Count {
                day,
                kind,
                changes,
                offers,
            })
        };
        assert_eq!(count(1200, Some(30)), "1,200 price.changed of 30 offers");
        assert_eq!(count(2, Some(1)), "2 price.changed of 1 offer");
        assert_eq!(count(2, Some(2)), "2 price.changed");
        assert_eq!(count(2, None), "2 price.changed");
    }

    #[test]
    fn the_position_is_read_from_the_link_to_older_changes() {
        let link = "</changes.atom?limit=20&before=1731>; rel=\"next\"";
        assert_eq!(position_of(link), Some(1731));
        assert_eq!(position_of("</changes.atom>; rel=\"next\""), None);
    }
}
