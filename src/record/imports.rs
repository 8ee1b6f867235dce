//! `unroof imports`: lists imports, accepts and discards those that are held, and undoes one as a whole.

use std::io::{self, Write};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::import::progress::Progress;
use super::import::remote::Service;
use super::import::{Started, estimate_models, print_answer, run_import, service_on, threads};
use super::migrate::open_store;
use super::source::{Page, SourceArguments, stated};
use crate::estimates::evidence::EstimatorArguments;
use crate::estimates::report::{day, paragraph};
use crate::shell::terminal;
pub(crate) use crate::{Failure, Verbosity};
use unroof_base::input::text::printable;
use unroof_import::{Importer, Options, Priority, Turn};
use unroof_infer::estimate::CancelToken;
use unroof_store::access::Actor;
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, Discarded, ServingLock, Store, StoreError, StoreLimits, Undone};

/// Arguments of `unroof imports`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof imports list --outcome held
  unroof imports accept 3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7
  unroof imports discard 3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7
  unroof imports undo 3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
pub(crate) struct ImportsArguments {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    source: SourceArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List imports, the newest first, with the offers that each adds, ends and changes
    List {
        /// Only imports of this outcome, such as held; several separated by commas
        #[arg(long)]
        outcome: Option<String>,
        /// Most imports
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=2000))]
        limit: u32,
        /// Print the answer of GET /imports
        #[arg(long)]
        json: bool,
    },
    /// Import a catalog that is held
    Accept {
        /// Id of the import
        id: Uuid,
        #[command(flatten)]
        estimator: EstimatorArguments,
    },
    /// Forget a catalog that is held
    Discard {
        /// Id of the import
        id: Uuid,
    },
    /// Undo an import as a whole: offers, prices in force and listings are again those before it
    Undo {
        /// Id of the import
        id: Uuid,
    },
}

/// A row of the list of imports.
#[derive(Debug, Deserialize)]
struct Row {
    id: Uuid,
    source: String,
    catalog: Option<String>,
    started_at: Timestamp,
    outcome: String,
    error: Option<String>,
    difference: Option<String>,
}

pub(crate) fn run(arguments: &ImportsArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let ImportsArguments { action, source } = arguments;
    match action {
        Action::List {
            outcome,
            limit,
            json,
        } => {
            let limit = limit.to_string();
            let query = stated([("outcome", outcome.as_deref()), ("limit", Some(&limit))]);
            let list = source.open(verbosity)?.get(&["imports"], &query)?;
            list.print(*json, write_list)
        }
        action => act(action, source, verbosity),
    }
}

fn write_list(out: &mut impl Write, page: &Page<Row>) -> io::Result<()> {
    if page.data.is_empty() {
        return writeln!(out, "There is no such import.");
    }
    for row in &page.data {
        let (start, source) = (day(row.started_at), printable(&row.source));
        let catalog = row.catalog.as_deref().unwrap_or("unknown format");
        writeln!(out, "{}  {start}  {catalog}  {}", row.id, row.outcome)?;
        paragraph(out, &source, 2)?;
        for said in [&row.difference, &row.error].into_iter().flatten() {
            paragraph(out, &printable(said), 2)?;
        }
    }
    Ok(())
}

/// Carries an action out in the database, or has the service do so that runs on it.
fn act(action: &Action, source: &SourceArguments, verbosity: Verbosity) -> Result<(), Failure> {
    source.database.start_logging(verbosity.of_reader())?;
    if let Some(server) = source.server.as_deref().filter(|server| !server.is_empty()) {
        return send(action, &Service::at(server)?);
    }
    let url = source.database.database_url()?;
    let _lock = match ServingLock::take(&url) {
        Ok(lock) => lock,
        Err(served @ StoreError::Served(_)) => return send(action, &service_on(&url, &served)?),
        Err(error) => {
            let error = anyhow!(error).context(format!("cannot write to {url}"));
            return Err(Failure::Other(error));
        }
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(carry_out(action, &url))
}

/// Has a service carry an action out.
fn send(action: &Action, service: &Service) -> Result<(), Failure> {
    match action {
        Action::List { .. } => Ok(()),
        Action::Accept { id, .. } => {
            let answer = service.act(*id, "accept")?;
            print_answer(answer, false, &Progress::new(false)).map(drop)
        }
        Action::Discard { id } => {
            service.act(*id, "discard")?;
            say_done(*id, "discarded")
        }
        Action::Undo { id } => {
            service.act(*id, "undo")?;
            say_done(*id, "undone")
        }
    }
}

fn say_done(id: Uuid, done: &str) -> Result<(), Failure> {
    Ok(writeln!(terminal::stdout(), "The import {id} is {done}.")?)
}

async fn carry_out(action: &Action, url: &DatabaseUrl) -> Result<(), Failure> {
    let store = open_store(url, StoreLimits::without_timeouts()).await?;
    let clock = Clock::system();
    let closed = store.close_lost_imports(clock.now().into()).await;
    closed.context("cannot close the imports of dead processes")?;
    let outcome = match action {
        Action::List { .. } => Ok(()),
        Action::Accept { id, estimator } => accept(&store, &clock, *id, estimator).await,
        Action::Discard { id } => discard(&store, &clock, *id).await,
        Action::Undo { id } => undo(&store, &clock, *id).await,
    };
    store.close().await;
    outcome
}

async fn accept(
    store: &Store,
    clock: &Clock,
    id: Uuid,
    estimator: &EstimatorArguments,
) -> Result<(), Failure> {
    let importer = Importer::new(store.clone(), clock.clone());
    let progress = Progress::new(false);
    let now = clock.now();
    let options = Options {
        format: None,
        provider: None,
        partial: false,
        accepted: None,
        only_changed: false,
        dry_run: false,
        observed_at: now,
        seen_now: false,
        recorded_at: now,
        estimator: estimator.estimator()?,
        threads: threads(),
    };
    let turn = Turn::new(importer.place().await, CancelToken::default());
    let accepted = importer.accept(id, options, turn, Priority::Normal, &Actor::COMMAND_LINE);
    let (begun, version) = accepted.await.map_err(|error| {
        Failure::Other(error.into()).with_hint("`unroof imports list` shows every import")
    })?;
    let name = format!("import {id}");
    let ended = run_import(
        &importer,
        Started { begun, version },
        &name,
        false,
        &progress,
    )
    .await;
    progress.clear();
    ended?;
    estimate_models(estimator, store, &progress).await
}

async fn discard(store: &Store, clock: &Clock, id: Uuid) -> Result<(), Failure> {
    let discarded = store.discard_import(id, clock.now(), &Actor::COMMAND_LINE);
    match discarded.await.context("the import cannot be discarded")? {
        Discarded::Done => say_done(id, "discarded"),
        Discarded::Unknown => Err(unknown(id)),
        Discarded::NotHeld(outcome) => Err(Failure::Other(anyhow!(
            "the import is not held: its outcome is `{}`",
            outcome.name()
        ))),
    }
}

async fn undo(store: &Store, clock: &Clock, id: Uuid) -> Result<(), Failure> {
    let importer = Importer::new(store.clone(), clock.clone());
    let undone = importer.undo(id, importer.place().await, &Actor::COMMAND_LINE);
    let refused = match undone.await.context("the import cannot be undone")? {
        Some(Undone::Done) => return say_done(id, "undone"),
        Some(Undone::Unknown) => return Err(unknown(id)),
        Some(Undone::Nothing(outcome)) => anyhow!(
            "the import has the outcome `{}`, and has recorded nothing that can be undone",
            outcome.name()
        ),
        Some(Undone::PostedSince(offers)) => {
            anyhow!("sheets of offers of the import were posted since: {offers}")
        }
        Some(Undone::Later(later)) => {
            let later: Vec<String> = later.iter().map(Uuid::to_string).collect();
            anyhow!(
                "later imports of the catalog depend on it; undo these first, in this order: {}",
                later.join(", ")
            )
        }
        None => anyhow!("another process imports the catalog at the moment"),
    };
    Err(Failure::Other(refused))
}

fn unknown(id: Uuid) -> Failure {
    Failure::Other(anyhow!("there is no import {id}"))
        .with_hint("`unroof imports list` shows every import")
}
