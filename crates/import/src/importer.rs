//! The importer of a process: one catalog at a time, each with a run on record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use uuid::Uuid;

use super::error::ImportError;
use super::held::{HeldOptions, decompressed};
use super::options::Options;
use super::priority::Priority;
use super::run::Import;
use super::turn::Turn;
use crate::entry::entries::CatalogError;
use crate::entry::found::lock_name;
use crate::progress::lines::LineSender;
use crate::progress::report::{Line, Summary};
use unroof_store::access::Actor;
use unroof_store::clock::Clock;
use unroof_store::{DbTime, ImportOutcome, ImportRow, RunningImport, Store, StoreError, Undone};

/// Pause before the end of a run is recorded again, after the first failure; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Time for which undoing waits for the lock of a catalog.
const LOCK_TIME: Duration = Duration::from_secs(5);

/// Validators of a fetched catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// Value of the header `ETag`.
    pub etag: Option<String>,
    /// Value of the header `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Imports catalogs into a store.
#[derive(Debug, Clone)]
pub struct Importer {
    store: Store,
    clock: Clock,
    /// The permit to import, one per process.
    place: Arc<Semaphore>,
}

/// A catalog that was read, with the record of its import unless it is a dry run.
#[derive(Debug)]
pub struct BegunImport {
    source: String,
    import: Import,
    running: Option<RunningImport>,
    /// Whether the import was held, and is so again where it fails.
    was_held: bool,
}

/// Reason for which a held import is not imported.
#[derive(Debug, thiserror::Error)]
pub enum NotAccepted {
    /// There is no such import.
    #[error("there is no such import")]
    Unknown,
    /// The import is not held.
    #[error("the import is not held: its outcome is `{}`", .0.name())]
    NotHeld(ImportOutcome),
    /// The record has moved on, so that the difference is another one now.
    #[error(
        "the record has changed since the import was held; it would now make the difference {0}"
    )]
    Moved(String),
    /// The stored catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Importer {
    /// The time, never ahead of that of the database.
    fn now(&self) -> Timestamp {
        self.store.not_ahead(self.clock.now())
    }

    /// An importer into a store.
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        let place = Arc::new(Semaphore::new(1));
        Self {
            store,
            clock,
            place,
        }
    }

    /// The permit to import; none while another catalog is being imported.
    #[must_use]
    pub fn try_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.place).try_acquire_owned().ok()
    }

    /// The permit to import, after any running import.
    pub async fn place(&self) -> OwnedSemaphorePermit {
        let place = Arc::clone(&self.place).acquire_owned().await;
        place.expect("the semaphore is never closed")
    }

    /// Reads a catalog on a thread of this priority; nothing is stored yet.
    ///
    /// # Errors
    /// The text is not a catalog, or the client has left.
    pub async fn read(
        &self,
        text: impl AsRef<[u8]> + Send + 'static,
        options: Options,
        turn: Turn,
        priority: Priority,
    ) -> Result<Import, CatalogError> {
        let store = self.store.clone();
        let (sender, receiver) = oneshot::channel();
        let span = tracing::Span::current();
        let read = move || {
            priority.take();
            // The client may have left.
            let _ = sender.send(span.in_scope(|| Import::read(text, options, store, turn)));
        };
        // A thread of its own: a priority that was lowered cannot be raised again.
        let thread = std::thread::Builder::new().name("reading".to_owned());
        thread.spawn(read).map_err(|_| CatalogError::Crashed)?;
        receiver.await.unwrap_or(Err(CatalogError::Crashed))
    }

    /// Records the start of an import, so that a database that takes no writes refuses it before it answers. A dry run has
    /// no record.
    ///
    /// # Errors
    /// The database is unreachable or takes no writes.
    pub async fn begin(
        &self,
        source: &str,
        import: Import,
        actor: &Actor,
    ) -> Result<BegunImport, StoreError> {
        let (id, started_at) = (Uuid::new_v4(), DbTime::from(self.now()));
        let running = if import.is_dry_run() {
            None
        } else {
            let format = Some(import.format());
            let begun = self
                .store
                .begin_import(id, source, format, started_at, actor);
            Some(begun.await?)
        };
        let source = source.to_owned();
        Ok(BegunImport {
            source,
            import,
            running,
            was_held: false,
        })
    }

    /// Reads the catalog of a held import again, compares it with what is recorded now, and records that it is imported. The
    /// options are those of its estimates. Gives the version of the catalog, too.
    ///
    /// # Errors
    /// The import is not held, the record has moved on since, or the database fails.
    pub async fn accept(
        &self,
        id: Uuid,
        options: Options,
        turn: Turn,
        priority: Priority,
        actor: &Actor,
    ) -> Result<(BegunImport, Version), NotAccepted> {
        let held = self.store.held_import(id).await?;
        let held = held.ok_or(NotAccepted::Unknown)?;
        let not_held = || NotAccepted::NotHeld(held.outcome);
        if held.outcome != ImportOutcome::Held {
            return Err(not_held());
        }
        let (kept, document) = held.options.zip(held.document).ok_or_else(not_held)?;
        let kept: Option<HeldOptions> = serde_json::from_str(&kept).ok();
        let accepted = held.difference.unwrap_or_default();
        let options = kept.and_then(|kept| kept.of(options, accepted.clone()));
        let options = options.ok_or(CatalogError::Damaged)?;
        let import = self
            .read(decompressed(&document)?, options, turn, priority)
            .await?;
        let difference = import.difference().await.map_err(NotAccepted::of)?;
        let difference = difference.unwrap_or_default();
        if difference != accepted {
            self.store.note_difference(id, &difference).await?;
            return Err(NotAccepted::Moved(difference));
        }
        let now = self.now();
        let resumed = self.store.resume_import(id, &held.source, now, actor);
        let running = resumed
            .await?
            .ok_or(NotAccepted::NotHeld(ImportOutcome::Running))?;
        let version = Version {
            etag: held.etag,
            last_modified: held.last_modified,
        };
        let begun = BegunImport {
            source: held.source,
            import,
            running: Some(running),
            was_held: true,
        };
        Ok((begun, version))
    }

    /// Undoes an import as a whole. None while another process imports the same catalog.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn undo(
        &self,
        id: Uuid,
        _place: OwnedSemaphorePermit,
        actor: &Actor,
    ) -> Result<Option<Undone>, StoreError> {
        let mut lock = None;
        if let Some(source) = self.store.source_of_facts(id).await? {
            // The lock of an import that has just ended is released a moment later.
            let began = Instant::now();
            while lock.is_none() {
                lock = self.store.try_lock(&lock_name(&source)).await?;
                if lock.is_none() && began.elapsed() > LOCK_TIME {
                    return Ok(None);
                }
                if lock.is_none() {
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
            }
        }
        let undone = self.store.undo_import(id, self.clock.now(), actor).await;
        drop(lock);
        undone.map(Some)
    }

    /// Imports a catalog and records how it ended. The last line says so: `done` once that is recorded.
    ///
    /// # Errors
    /// The database fails, or the client has left or reads too slowly.
    pub async fn import(
        &self,
        begun: BegunImport,
        version: Version,
        mut lines: LineSender,
    ) -> Result<Summary, ImportError> {
        let id = begun.running.as_ref().map(|running| running.id);
        let outcome = match id {
            None => begun.import.run(None, &mut lines).await,
            Some(_) => self.import_recorded(begun, version, &mut lines).await,
        };
        lines.end(match &outcome {
            Ok(summary) => Line::Done(summary.clone()),
            Err(ImportError::Held(held)) => Line::Held {
                id: id.unwrap_or_default(),
                difference: held.difference.clone(),
            },
            Err(error) => Line::Failed {
                reason: error.public_reason(),
            },
        });
        outcome
    }

    /// Imports a catalog whose import is on record.
    async fn import_recorded(
        &self,
        begun: BegunImport,
        version: Version,
        lines: &mut LineSender,
    ) -> Result<Summary, ImportError> {
        let (source, format) = (begun.source, begun.import.format());
        let Some(running) = begun.running else {
            return Err(ImportError::Crashed);
        };
        let refusals = begun.import.refusals();
        let mut outcome = begun.import.run(Some(running.id), lines).await;
        if let Err(ImportError::Held(held)) = &outcome
            && let Err(error) = self.store.hold_import(running.id, held).await
        {
            outcome = Err(error.into());
        }
        let ended_at = self.now().into();
        let mut run = ImportRow {
            refusals,
            ..ended_row(running.id, format, ended_at, &outcome, version)
        };
        if begun.was_held && run.outcome == ImportOutcome::Failed {
            run.outcome = ImportOutcome::Held;
        }
        self.end(running, run).await;
        match &outcome {
            Ok(summary) => tracing::info!(source, format, ?summary, "imported"),
            Err(held @ ImportError::Held(_)) => tracing::info!(source, format, "{held}"),
            Err(error) => tracing::warn!(source, format, %error, "the import ended early"),
        }
        outcome
    }

    /// Records how a run ended; where the database fails, again until it is recorded.
    pub async fn end(&self, running: RunningImport, run: ImportRow) {
        let Err(error) = self.store.end_import(&run).await else {
            return;
        };
        let error = error.with_causes();
        tracing::warn!(import = %run.id, error, "cannot record how an import ended; retrying");
        let store = self.store.clone();
        tokio::spawn(async move {
            // Keeps other processes from closing the run meanwhile.
            let _running = running;
            let mut pause = FIRST_PAUSE;
            loop {
                tokio::time::sleep(pause).await;
                if store.end_import(&run).await.is_ok() {
                    return;
                }
                pause = LONGEST_PAUSE.min(2 * pause);
            }
        });
    }
}

impl NotAccepted {
    fn of(error: ImportError) -> Self {
        match error {
            ImportError::Store(error) => Self::Store(error),
            ImportError::Catalog(error) => Self::Catalog(error),
            _ => Self::Catalog(CatalogError::Crashed),
        }
    }
}

impl ImportError {
    /// The reason for the failure, without internal details.
    fn public_reason(&self) -> String {
        match self {
            Self::Store(error) if let Some(refusal) = error.refusal() => {
                format!("the database takes no writes: {refusal}; send the catalog again to resume the import")
            }
            Self::Store(_) => {
                "the database cannot be reached at the moment; send the catalog again to resume the import".to_owned()
            }
            error => error.to_string(),
        }
    }
}

/// Row of a run that has ended.
fn ended_row(
    id: Uuid,
    format: &str,
    ended_at: DbTime,
    outcome: &Result<Summary, ImportError>,
    version: Version,
) -> ImportRow {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    match outcome {
        Ok(summary) => ImportRow {
            entries: count(summary.entries),
            estimated: count(summary.estimated),
            unchanged: count(summary.unchanged),
            duplicates: count(summary.duplicates),
            not_identifiable: count(summary.not_identifiable),
            refused: count(summary.refused),
            reinstated: count(summary.reinstated),
            difference: summary.difference.clone(),
            ..row_without_entries(id, format, ended_at, ImportOutcome::Done, None, version)
        },
        // A version that is held is not asked for again.
        Err(ImportError::Held(held)) => ImportRow {
            entries: count(held.entries),
            difference: Some(held.difference.clone()),
            ..row_without_entries(id, format, ended_at, ImportOutcome::Held, None, version)
        },
        // A version whose import failed is asked for again.
        Err(error) => {
            let error = Some(error.public_reason());
            row_without_entries(
                id,
                format,
                ended_at,
                ImportOutcome::Failed,
                error,
                Version::default(),
            )
        }
    }
}

/// Row of a run that has ended and imported nothing.
#[must_use]
pub fn row_without_entries(
    id: Uuid,
    format: &str,
    ended_at: DbTime,
    outcome: ImportOutcome,
    error: Option<String>,
    version: Version,
) -> ImportRow {
    ImportRow {
        id,
        source: String::new(),
        catalog: Some(format.to_owned()),
        started_at: ended_at,
        ended_at: Some(ended_at),
        outcome,
        error,
        difference: None,
        etag: version.etag,
        last_modified: version.last_modified,
        entries: 0,
        estimated: 0,
        unchanged: 0,
        duplicates: 0,
        not_identifiable: 0,
        refused: 0,
        reinstated: 0,
        refusals: None,
    }
}
