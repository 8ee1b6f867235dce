//! Output of `unroof import`: the lines as JSON, or a progress bar and tables.

use std::io::Write;

use anyhow::{Context, anyhow};
use uuid::Uuid;

use super::progress::Progress;
use crate::Failure;
use crate::estimates::report::{joined, number, paragraph, table, write_table};
use crate::shell::terminal;
use unroof_base::input::text::printable;
use unroof_import::{Imported, Line, Outcome, Summary};

/// Prints the lines of one import, of this process or of a service.
pub(crate) struct LinePrinter {
    as_json: bool,
    progress: Progress,
    report: Report,
}

impl LinePrinter {
    pub(super) fn new(as_json: bool, progress: &Progress) -> Self {
        Self {
            as_json,
            progress: progress.clone(),
            report: Report::default(),
        }
    }

    /// Prints a line, or keeps it for the tables.
    pub(super) fn add(&mut self, line: Line) -> Result<(), Failure> {
        if self.as_json {
            let text = serde_json::to_string(&line).context("a line could not be serialised")?;
            writeln!(terminal::stdout(), "{text}")?;
            return Ok(());
        }
        match line {
            Line::Started { format, sheets, .. } => {
                self.progress.count(format!("{format} entries"), sheets);
            }
            Line::Progress { done, .. } => self.progress.reach(done),
            Line::Entry(imported) => {
                if imported.sheet_id.is_some() {
                    self.progress.step();
                }
                self.report.add(imported);
            }
            Line::UnmatchedNames { names } => self.report.unmatched = names,
            Line::Done(summary) => self.report.summary = Some(summary),
            // The command fails with it.
            Line::Held { .. } => self.report.is_held = true,
            Line::Failed { reason } => self.report.failure = Some(reason),
        }
        Ok(())
    }

    /// Prints the tables after the last line.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.progress.clear();
        if self.as_json {
            return Ok(());
        }
        Ok(self.report.write(&mut terminal::stdout())?)
    }
}

/// An import that is held.
pub(crate) struct Held {
    id: Uuid,
    difference: String,
}

impl Held {
    /// The import that a last line is about, if it is held.
    pub(crate) fn of(line: &Line) -> Option<Self> {
        match line {
            Line::Held { id, difference } => Some(Self {
                id: *id,
                difference: difference.clone(),
            }),
            _ => None,
        }
    }

    /// The failure of the command: nothing was imported.
    pub(crate) fn failure(&self, name: &str) -> Failure {
        let Self { id, difference } = self;
        let difference = printable(difference);
        let held = anyhow!("{name} is held, and nothing of it is recorded: {difference}");
        Failure::Other(held).with_hint(format!(
            "`unroof imports accept {id}` imports it; if it is a part of the catalog, discard it and import it with --partial"
        ))
    }
}

/// The report for the terminal.
#[derive(Default)]
struct Report {
    /// Changed entries, up to [`Self::MOST_ENTRIES`].
    entries: Vec<Imported>,
    /// Number of entries by outcome and reason.
    reasons: std::collections::BTreeMap<(Outcome, String), usize>,
    unmatched: Vec<String>,
    summary: Option<Summary>,
    failure: Option<String>,
    is_held: bool,
}

impl Report {
    /// Most entries, reasons and names shown.
    const MOST_ENTRIES: usize = 50;
    const MOST_REASONS: usize = 12;
    const MOST_NAMES: usize = 8;

    fn add(&mut self, imported: Imported) {
        if let Some(reason) = imported
            .reason
            .as_ref()
            .filter(|_| imported.outcome != Outcome::Duplicate)
        {
            // The part after the semicolon is specific to the entry.
            let general = reason.split(';').next().unwrap_or(reason).to_owned();
            *self.reasons.entry((imported.outcome, general)).or_default() += 1;
        }
        if imported.outcome != Outcome::Unchanged && self.entries.len() <= Self::MOST_ENTRIES {
            self.entries.push(imported);
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        if self.is_held {
            return Ok(());
        }
        let Some(summary) = &self.summary else {
            let reason = self.failure.as_deref().unwrap_or("the import ended early");
            return writeln!(out, "{}", printable(reason));
        };
        let are_listed = self.entries.len() <= Self::MOST_ENTRIES;
        if !self.entries.is_empty() && are_listed {
            let rows = self.entries.iter().map(|imported| {
                let reason = imported.reason.as_deref().unwrap_or_default();
                vec![
                    printable(&imported.entry).into_owned(),
                    imported.outcome.words().to_owned(),
                    printable(reason).into_owned(),
                ]
            });
            write_table(out, &table(&["entry", "outcome", "why"], rows))?;
        }
        let counts = summary.by_outcome().into_iter();
        let counts =
            counts.map(|(outcome, count)| vec![outcome.words().to_owned(), count.to_string()]);
        write_table(out, &table(&["outcome", "count"], counts))?;
        let sum = format!(
            "{}, {}; {} identified in new estimates; {} kept under `unmapped`.",
            number(summary.entries, "entry"),
            number(summary.sheets, "sheet"),
            number(summary.identified_quantities, "quantity"),
            number(summary.unmapped, "field")
        );
        paragraph(out, &sum, 0)?;
        // A list of all entries already has the reasons.
        let has_reasons = !self.reasons.is_empty() && !are_listed;
        if has_reasons || !self.unmatched.is_empty() {
            writeln!(out)?;
        }
        if has_reasons {
            let mut reasons: Vec<_> = self.reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let rows = reasons.into_iter().take(Self::MOST_REASONS);
            let rows = rows.map(|((outcome, reason), count)| {
                vec![
                    count.to_string(),
                    outcome.words().to_owned(),
                    printable(reason).into_owned(),
                ]
            });
            write_table(out, &table(&["count", "outcome", "why"], rows))?;
        }
        if !self.unmatched.is_empty() {
            let names = format!(
                "{} with a canonical model name; {} without a match, such as {}. --json lists all.",
                number(summary.joined_names, "sheet"),
                number(summary.unmatched_names, "name"),
                joined(self.unmatched.iter().take(Self::MOST_NAMES), ", ")
            );
            paragraph(out, &printable(&names), 0)?;
        }
        Ok(())
    }
}
