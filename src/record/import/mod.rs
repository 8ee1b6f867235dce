//! `unroof import`: imports whole catalogs into the database, or sends them to the service that runs on it.

mod progress;
mod remote;
mod report;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;

use super::migrate::open_store;
use crate::estimates::calibration::CalibrationArguments;
use crate::estimates::report::paragraph;
use crate::shell::input::read_input;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use progress::Progress;
use remote::Service;
use report::LinePrinter;
use unroof_base::shell::word;
use unroof_infer::estimate::{CancelToken, ENGINE_VERSION};
use unroof_jobs::egress::{FetchError, Fetched, fetch};
use unroof_store::access::Actor;
use unroof_store::clock::Clock;
use unroof_store::import::lines;
use unroof_store::import::{
    CatalogError, CatalogFormat, Importer, LineReceiver, ModelEstimator, Options, Priority,
    Summary, Turn, Version,
};
use unroof_store::{DatabaseUrl, ServingLock, Store, StoreError, StoreLimits};
use unroof_telemetry::secrets::without_secrets;

/// Arguments of `unroof import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof import model_prices_and_context_window.json
  unroof import https://models.dev/api.json --only-changed
  unroof import catalog.json --server http://127.0.0.1:8080
  curl -s https://example.com/litellm.json | unroof import - --dry-run --provider openai")]
pub(crate) struct ImportArguments {
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
    calibration: CalibrationArguments,
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
fn service_on(url: &DatabaseUrl, served: &StoreError) -> Result<Service, Failure> {
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
    if arguments.calibration.is_given() {
        tracing::warn!(
            "the service estimates with its own calibration, not with that of --calibration"
        );
    }
    let now = Clock::system().now();
    for source in &arguments.sources {
        let name = name_of(source);
        let (text, _) = read_source(source, &name, arguments.allow_private)?;
        check_observed_at(arguments, now)?;
        progress.wait(format!("reading {name}"));
        let answer = service.send(&name, &text, arguments)?;
        let mut printer = LinePrinter::new(arguments.json, progress);
        let ended = answer.read(|line| printer.add(line));
        printer.finish()?;
        check_summary(&name, arguments, &ended?)?;
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
    for source in &arguments.sources {
        let now = store.time_to_record(clock.now()).await;
        import(arguments, &importer, now, source, progress).await?;
    }
    if !arguments.dry_run {
        estimate_models(arguments, &store, progress).await?;
    }
    store.close().await;
    Ok(())
}

/// Estimates the models whose sheets the imports have changed.
async fn estimate_models(
    arguments: &ImportArguments,
    store: &Store,
    progress: &Progress,
) -> Result<(), Failure> {
    let estimator = arguments.calibration.estimator()?;
    let marked = store.mark_models_of_others(estimator.calibration_id(), ENGINE_VERSION);
    marked
        .await
        .context("cannot mark the models of another calibration")?;
    let models = ModelEstimator {
        store: store.clone(),
        estimator,
        threads: threads(),
    };
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
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Imports one catalog into a database.
async fn import(
    arguments: &ImportArguments,
    importer: &Importer,
    now: Timestamp,
    source: &str,
    progress: &Progress,
) -> Result<(), Failure> {
    let name = name_of(source);
    progress.wait(format!("reading {name}"));
    let (text, version) = read_source(source, &name, arguments.allow_private)?;
    check_observed_at(arguments, now)?;
    let options = Options {
        format: arguments.format,
        provider: arguments.provider.clone(),
        only_changed: arguments.only_changed,
        dry_run: arguments.dry_run,
        observed_at: arguments.observed_at.unwrap_or(now),
        seen_now: arguments.observed_at.is_none(),
        recorded_at: now,
        estimator: arguments.calibration.estimator()?,
        threads: threads(),
    };
    let turn = Turn::new(importer.place().await, CancelToken::default());
    let catalog = match importer.read(text, options, turn, Priority::Normal).await {
        Ok(catalog) => catalog,
        Err(CatalogError::Wrong(error)) => return Err(Failure::Refused(error)),
        Err(unknown) => return Err(Failure::Other(anyhow!("{name}: {unknown}"))),
    };
    let not_done = || format!("{name} was not fully imported; run it again to continue");
    let begun = importer.begin(&name, catalog, &Actor::COMMAND_LINE).await;
    let begun = begun.with_context(not_done)?;
    let (sender, receiver) = lines(Duration::MAX);
    let (ended, printed) = tokio::join!(
        importer.import(begun, version, sender),
        print_lines(receiver, arguments.json, progress)
    );
    let summary = ended.with_context(not_done)?;
    printed?;
    check_summary(&name, arguments, &summary)
}

/// Name of a source in messages, without secrets.
fn name_of(source: &str) -> String {
    if source.contains("://") {
        without_secrets(source)
    } else {
        source.to_owned()
    }
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

/// Reads a file or fetches an address; `name` is its name in messages, without secrets.
fn read_source(
    source: &str,
    name: &str,
    allows_private: bool,
) -> Result<(Vec<u8>, Version), Failure> {
    let Some((scheme, _)) = source.split_once("://") else {
        return Ok((read_input(Path::new(source))?, Version::default()));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        let refusal = anyhow!(
            "{name} is neither a file nor an http or https address: download it, and import the file"
        );
        return Err(Failure::Usage(refusal));
    }
    match fetch(source, &Version::default(), allows_private).map_err(not_fetched)? {
        Fetched::Catalog(text, version) => Ok((text, version)),
        Fetched::NotModified => Err(Failure::Other(anyhow!("{name} sent no catalog"))),
    }
}

fn not_fetched(error: FetchError) -> Failure {
    let is_not_public = error.is_not_public();
    let failure = Failure::Other(error.into());
    if is_not_public {
        return failure.with_hint("allow private addresses with `--allow-private`");
    }
    failure
}

/// Prints the lines until the last.
async fn print_lines(
    mut lines: LineReceiver,
    as_json: bool,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut printer = LinePrinter::new(as_json, progress);
    while let Some(line) = lines.next().await {
        printer.add(line)?;
    }
    printer.finish()
}
