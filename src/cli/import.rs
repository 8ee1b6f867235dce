//! `unroof import`: imports whole catalogs into the database, without a server.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::calibration::CalibrationArguments;
use super::infer::read_input;
use super::report::{paragraph, table, write_table};
use super::{DatabaseArguments, Failure, terminal};
use crate::clock::Clock;
use crate::import::{
    CatalogError, CatalogFormat, Fetched, Imported, Importer, Line, LineReceiver, Options, Outcome,
    Priority, Summary, Turn, Version, fetch, lines, without_secrets,
};
use crate::storage::{ServingLock, Store, StoreLimits};
use unroof_core::estimate::CancelToken;
use unroof_core::input::text::printable;

/// Arguments of `unroof import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof import model_prices_and_context_window.json
  unroof import https://models.dev/api.json --only-changed
  curl -s https://example.com/litellm.json | unroof import - --dry-run --provider openai")]
pub(super) struct ImportArguments {
    /// Catalogs: files, addresses (http or https), or `-` for standard input
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
    /// Format of the catalogs; detected if left out
    #[arg(long, value_name = "FORMAT")]
    format: Option<CatalogFormat>,
    /// Report the outcome of each entry without storing anything
    #[arg(long)]
    dry_run: bool,
    /// Import only this provider's offers
    #[arg(long)]
    provider: Option<String>,
    /// Omit unchanged prices from the output
    #[arg(long)]
    only_changed: bool,
    /// Time at which the catalog was seen, such as 2026-11-21T00:00:00Z; now if left out
    #[arg(long, value_name = "TIME")]
    observed_at: Option<Timestamp>,
    /// Print one JSON object per line, as POST /catalogs does
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calibration: CalibrationArguments,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(super) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    arguments.database.start_logging()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(import_all(arguments))
}

async fn import_all(arguments: &ImportArguments) -> Result<(), Failure> {
    let url = arguments.database.database_url()?;
    // A process that serves this file would not see the changes; use its /catalogs.
    let taken = ServingLock::take(&url);
    let _lock = taken.with_context(|| {
        format!(
            "cannot write to {url}; send the catalog to the running service's /catalogs instead"
        )
    })?;
    let limits = StoreLimits::without_timeouts();
    let opened = Store::open(&url, limits).await;
    let store = opened.with_context(|| format!("cannot open the database {url}"))?;
    let migrated = store.migrate().await;
    migrated.with_context(|| format!("cannot bring the tables of {url} up to date"))?;
    let clock = Clock::system();
    let closed = store.close_lost_imports(clock.now().into()).await;
    closed.context("cannot close the imports of dead processes")?;
    let importer = Importer::new(store.clone(), clock.clone());
    for source in &arguments.sources {
        import(arguments, &importer, clock.now(), source).await?;
    }
    store.close().await;
    Ok(())
}

/// Imports one catalog.
async fn import(
    arguments: &ImportArguments,
    importer: &Importer,
    now: Timestamp,
    source: &str,
) -> Result<(), Failure> {
    let name = if source.contains("://") {
        without_secrets(source)
    } else {
        source.to_owned()
    };
    let (text, version) = read_source(source, &name)?;
    let observed_at = arguments.observed_at.unwrap_or(now);
    if observed_at > now {
        return Err(Failure::Usage(anyhow!("--observed-at is in the future")));
    }
    let options = Options {
        format: arguments.format,
        provider: arguments.provider.clone(),
        only_changed: arguments.only_changed,
        dry_run: arguments.dry_run,
        observed_at,
        seen_now: arguments.observed_at.is_none(),
        recorded_at: now,
        estimator: arguments.calibration.estimator()?,
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let turn = Turn::new(importer.place().await, CancelToken::default());
    let catalog = match importer.read(text, options, turn, Priority::Normal).await {
        Ok(catalog) => catalog,
        Err(CatalogError::Wrong(error)) => return Err(Failure::Refused(error)),
        Err(unknown) => return Err(Failure::Other(anyhow!("{name}: {unknown}"))),
    };
    let (sender, receiver) = lines(Duration::MAX);
    let (ended, printed) = tokio::join!(
        importer.import(&name, catalog, version, sender),
        print_lines(receiver, arguments.json)
    );
    let summary = ended
        .with_context(|| format!("{name} was not fully imported; run it again to continue"))?;
    printed?;
    // A filter that matches nothing is a mistake that should not pass for an import.
    if summary.sheets == 0 {
        return Err(Failure::Other(match &arguments.provider {
            Some(provider) => anyhow!("{name} has no usable offer of the provider `{provider}`"),
            None => anyhow!("{name} has no usable entry"),
        }));
    }
    Ok(())
}

/// Reads a file or fetches an address; `name` is its name in messages, without secrets.
fn read_source(source: &str, name: &str) -> Result<(Vec<u8>, Version), Failure> {
    let Some((scheme, _)) = source.split_once("://") else {
        return Ok((read_input(Path::new(source))?, Version::default()));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        let refusal = anyhow!("{name} is neither a file nor an http or https address");
        return Err(Failure::Usage(refusal));
    }
    match fetch(source, &Version::default()).map_err(anyhow::Error::from)? {
        Fetched::Catalog(text, version) => Ok((text, version)),
        Fetched::NotModified => Err(Failure::Other(anyhow!("{name} sent no catalog"))),
    }
}

/// Prints the lines as JSON, or as a progress bar and tables.
async fn print_lines(mut lines: LineReceiver, as_json: bool) -> Result<(), Failure> {
    let bar = progress_bar(as_json);
    let mut report = Report::default();
    while let Some(line) = lines.next().await {
        if as_json {
            let text = serde_json::to_string(&line).context("a line could not be serialised")?;
            writeln!(terminal::stdout(), "{text}")?;
            continue;
        }
        match line {
            Line::Started { format, sheets, .. } => {
                bar.set_length(sheets as u64);
                bar.set_message(format);
            }
            Line::Progress { done, .. } => bar.set_position(done as u64),
            Line::Entry(imported) => report.add(imported),
            Line::UnmatchedNames { names } => report.unmatched = names,
            Line::Done(summary) => report.summary = Some(summary),
            Line::Failed { reason } => report.failure = Some(reason),
        }
    }
    bar.finish_and_clear();
    if as_json {
        return Ok(());
    }
    Ok(report.write(&mut terminal::stdout())?)
}

fn progress_bar(as_json: bool) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} sheets, {eta} left")
        .map(|style| style.progress_chars("=> "));
    let bar =
        ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if as_json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
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
            "{} entries, {} sheets; {} quantities identified in new estimates; {} fields kept under `unmapped`.",
            summary.entries, summary.sheets, summary.identified_quantities, summary.unmapped
        );
        paragraph(out, &sum, 0)?;
        writeln!(out)?;
        // A list of all entries already has the reasons.
        if !self.reasons.is_empty() && !are_listed {
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
            let shown: Vec<&str> = self
                .unmatched
                .iter()
                .take(Self::MOST_NAMES)
                .map(String::as_str)
                .collect();
            let names = format!(
                "{} sheets have a canonical model name; {} names match no canonical model, such as {}. --json lists all.",
                summary.joined_names,
                summary.unmatched_names,
                shown.join(", ")
            );
            paragraph(out, &printable(&names), 0)?;
        }
        Ok(())
    }
}
