//! `unroof import`: imports whole catalogs into the database, or sends them to the service that runs on it.

pub(super) mod progress;
pub(super) mod remote;
pub(super) mod report;
mod sources;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;

use super::migrate::open_store;
use crate::estimates::evidence::EstimatorArguments;
use crate::estimates::report::paragraph;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use progress::Progress;
use remote::Service;
use report::{Held, LinePrinter};
use sources::{Snapshot, read_all};
use unroof_base::shell::word;
use unroof_import::lines;
use unroof_import::{
    BegunImport, CatalogError, CatalogFormat, ImportError, Importer, LineReceiver, ModelEstimator,
    Options, Priority, Summary, Turn, Version,
};
use unroof_infer::estimate::CancelToken;
use unroof_store::access::Actor;
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, ServingLock, Store, StoreError, StoreLimits};
use unroof_telemetry::secrets::without_secrets;

/// Arguments of `unroof import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof import model_prices_and_context_window.json
  unroof import https://models.dev/api.json --only-changed
  unroof import portkey/openai.json portkey/anthropic.json
  unroof import catalog.json --server http://127.0.0.1:8080
  curl -s https://example.com/litellm.json | unroof import - --dry-run --provider openai")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ImportArguments {
    /// Catalogs: files, addresses (http or https), or `-` for standard input
    ///
    /// Those of one format are one snapshot of that catalog, such as the files of its sellers.
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
    /// The catalog is a part of a larger one: what it does not list does not end
    #[arg(long)]
    partial: bool,
    /// Omit unchanged prices from the output
    #[arg(long)]
    only_changed: bool,
    /// Time at which the catalog was seen, such as 2026-11-21T00:00:00Z; now if left out
    #[arg(long, value_name = "TIME")]
    observed_at: Option<Timestamp>,
    /// Allow private addresses of catalogs, such as this machine and its network
    #[arg(long)]
    allow_private: bool,
    /// Print one JSON object per line, as POST /catalogs does
    #[arg(long)]
    json: bool,
    /// Send the catalogs to this running service instead of writing to a database
    ///
    /// A service that runs on the SQLite file of `--database-url` is found without it.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    estimator: EstimatorArguments,
    #[command(flatten)]
    database: DatabaseArguments,
}

pub(crate) fn run(arguments: &ImportArguments, verbosity: Verbosity) -> Result<(), Failure> {
    arguments.database.start_logging(verbosity.of_reader())?;
    let progress = Progress::new(arguments.json || verbosity.is_quiet());
    progress.end_on_interrupt(arguments.dry_run)?;
    let ended = run_with(arguments, &progress);
    progress.clear();
    ended?;
    if arguments.json || verbosity.is_quiet() {
        return Ok(());
    }
    Ok(write_next_step(&mut terminal::stdout(), arguments)?)
}

fn run_with(arguments: &ImportArguments, progress: &Progress) -> Result<(), Failure> {
    if let Some(server) = &arguments.server {
        return send_all(arguments, &Service::at(server)?, progress);
    }
    let url = arguments.database.database_url()?;
    // A process that serves this file would not see the changes; it imports the catalogs itself.
    let _lock = match ServingLock::take(&url) {
        Ok(lock) => lock,
        Err(served @ StoreError::Served(_)) => {
            return send_all(arguments, &service_on(&url, &served)?, progress);
        }
        Err(error) => {
            return Err(Failure::Other(
                anyhow!(error).context(format!("cannot write to {url}")),
            ));
        }
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(import_all(arguments, &url, progress))
}

/// Says what to do with what was imported.
fn write_next_step(out: &mut impl Write, arguments: &ImportArguments) -> io::Result<()> {
    if arguments.dry_run {
        return paragraph(
            out,
            "Nothing was stored: leave out --dry-run to store it.",
            0,
        );
    }
    let place = match (&arguments.server, &arguments.database.database_url) {
        (Some(server), _) => format!(" --server {}", word(&without_secrets(server))),
        // The environment names it for the next command too.
        (None, Some(url)) if std::env::var_os("UNROOF_DATABASE_URL").is_none() => {
            format!(" --database-url {}", word(&url.to_string()))
        }
        _ => String::new(),
    };
    writeln!(out, "\nNext:")?;
    // Commands are not wrapped, so that they can be pasted.
    for next in ["models", "show NAME", "changes --since 24h"] {
        writeln!(
            out,
            "  {}",
            terminal::quoted(&format!("unroof {next}{place}"))
        )?;
    }
    Ok(())
}

/// The service that runs on the file of a database whose lock another process holds.
pub(super) fn service_on(url: &DatabaseUrl, served: &StoreError) -> Result<Service, Failure> {
    Service::on(url).map_err(|reason| {
        let hint = "if a service runs on it, name its address with `--server URL`";
        Failure::Other(
            reason
                .context(format!("{served}"))
                .context(format!("cannot write to {url}; {hint}")),
        )
    })
}

/// Sends the catalogs to a running service.
fn send_all(
    arguments: &ImportArguments,
    service: &Service,
    progress: &Progress,
) -> Result<(), Failure> {
    if arguments.estimator.are_given() {
        tracing::warn!(
            "the service estimates with its own calibration and evidence, not with those that are named here"
        );
    }
    let now = Clock::system().now();
    check_observed_at(arguments, now)?;
    for Snapshot { name, text, .. } in read_all(arguments, progress)? {
        progress.wait(format!("reading {name}"));
        let answer = service.send(&name, &text, arguments)?;
        let summary = print_answer(answer, arguments.json, progress)?;
        check_summary(&name, arguments, &summary)?;
    }
    Ok(())
}

async fn import_all(
    arguments: &ImportArguments,
    url: &DatabaseUrl,
    progress: &Progress,
) -> Result<(), Failure> {
    let store = open_store(url, StoreLimits::without_timeouts()).await?;
    let clock = Clock::system();
    let closed = store.close_lost_imports(clock.now().into()).await;
    closed.context("cannot close the imports of dead processes")?;
    let importer = Importer::new(store.clone(), clock.clone());
    let outcome = import_each(arguments, (&store, &clock), &importer, progress).await;
    let outcome = match outcome {
        Ok(()) if !arguments.dry_run => {
            estimate_models(&arguments.estimator, &store, progress).await
        }
        outcome => outcome,
    };
    // Also where an import is held: it may be accepted at once.
    store.close().await;
    outcome
}

async fn import_each(
    arguments: &ImportArguments,
    (store, clock): (&Store, &Clock),
    importer: &Importer,
    progress: &Progress,
) -> Result<(), Failure> {
    check_observed_at(arguments, clock.now())?;
    for snapshot in read_all(arguments, progress)? {
        let now = store.time_to_record(clock.now()).await;
        import(arguments, importer, now, snapshot, progress).await?;
    }
    Ok(())
}

/// Estimates the models whose sheets the imports have changed.
pub(super) async fn estimate_models(
    estimator: &EstimatorArguments,
    store: &Store,
    progress: &Progress,
) -> Result<(), Failure> {
    let models = ModelEstimator {
        store: store.clone(),
        estimator: estimator.estimator()?,
        threads: threads(),
    };
    let marked = models.mark_models().await;
    marked.context("cannot mark the models to estimate again")?;
    let due = store.due_models(MOST_MODELS).await;
    let due = due.context("cannot read which models are due")?.len();
    if due > 0 {
        progress.count("estimating models", due);
    }
    let count = models.estimate_due_with(|| progress.step()).await;
    progress.clear();
    let count = count.context("not all models were estimated; run the import again to continue")?;
    tracing::info!(count, "estimated models whose sheets have changed");
    Ok(())
}

/// Most models that the progress counts.
const MOST_MODELS: u32 = 1_000_000;

/// Estimating threads: one per core.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Imports one catalog into a database.
async fn import(
    arguments: &ImportArguments,
    importer: &Importer,
    now: Timestamp,
    snapshot: Snapshot,
    progress: &Progress,
) -> Result<(), Failure> {
    let Snapshot {
        name,
        text,
        version,
    } = snapshot;
    progress.wait(format!("reading {name}"));
    let options = Options {
        format: arguments.format,
        provider: arguments.provider.clone(),
        partial: arguments.partial,
        accepted: None,
        only_changed: arguments.only_changed,
        dry_run: arguments.dry_run,
        observed_at: arguments.observed_at.unwrap_or(now),
        seen_now: arguments.observed_at.is_none(),
        recorded_at: now,
        estimator: arguments.estimator.estimator()?,
        threads: threads(),
    };
    let turn = Turn::new(importer.place().await, CancelToken::default());
    let catalog = match importer.read(text, options, turn, Priority::Normal).await {
        Ok(catalog) => catalog,
        Err(CatalogError::Wrong(error)) => return Err(Failure::Refused(error)),
        Err(unknown) => return Err(Failure::Other(anyhow!("{name}: {unknown}"))),
    };
    let not_done = || unfinished(&name);
    let begun = importer.begin(&name, catalog, &Actor::COMMAND_LINE).await;
    let begun = begun.with_context(not_done)?;
    let started = Started { begun, version };
    let summary = run_import(importer, started, &name, arguments.json, progress).await?;
    check_summary(&name, arguments, &summary)
}

/// An import that is on record, with the version of its catalog.
pub(super) struct Started {
    pub(super) begun: BegunImport,
    pub(super) version: Version,
}

/// Runs an import of this process and prints its lines.
pub(super) async fn run_import(
    importer: &Importer,
    started: Started,
    name: &str,
    as_json: bool,
    progress: &Progress,
) -> Result<Summary, Failure> {
    let (sender, receiver) = lines(Duration::MAX);
    let (ended, printed) = tokio::join!(
        importer.import(started.begun, started.version, sender),
        print_lines(receiver, as_json, progress)
    );
    let held = printed?;
    match (ended, held) {
        (Err(ImportError::Held(_)), Some(held)) => Err(held.failure(name)),
        (ended, _) => Ok(ended.with_context(|| unfinished(name))?),
    }
}

/// Prints the lines of an import of a service.
pub(super) fn print_answer(
    answer: remote::Answer,
    as_json: bool,
    progress: &Progress,
) -> Result<Summary, Failure> {
    let mut printer = LinePrinter::new(as_json, progress);
    let ended = answer.read(|line| printer.add(line));
    printer.finish()?;
    ended
}

fn unfinished(name: &str) -> String {
    format!("{name} was not fully imported; run it again to continue")
}

fn check_observed_at(arguments: &ImportArguments, now: Timestamp) -> Result<(), Failure> {
    if arguments.observed_at.is_some_and(|at| at > now) {
        return Err(Failure::Usage(anyhow!("--observed-at is in the future")));
    }
    Ok(())
}

/// Refuses an import without a sheet: a filter that matches nothing is a mistake that should not pass for an import.
fn check_summary(
    name: &str,
    arguments: &ImportArguments,
    summary: &Summary,
) -> Result<(), Failure> {
    if summary.sheets > 0 {
        return Ok(());
    }
    Err(Failure::Other(match &arguments.provider {
        Some(provider) => anyhow!("{name} has no usable offer of the provider `{provider}`"),
        None => anyhow!("{name} has no usable entry"),
    }))
}

/// Prints the lines until the last. Gives the import that is held, if it is.
async fn print_lines(
    mut lines: LineReceiver,
    as_json: bool,
    progress: &Progress,
) -> Result<Option<Held>, Failure> {
    let mut printer = LinePrinter::new(as_json, progress);
    let mut held = None;
    while let Some(line) = lines.next().await {
        held = Held::of(&line);
        printer.add(line)?;
    }
    printer.finish()?;
    Ok(held)
}
