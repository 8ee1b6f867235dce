//! Imports a catalog: reads it, estimates new prices, records them, and reports the outcome of each entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use uuid::Uuid;

use super::error::ImportError;
use super::options::Options;
use super::priority::Priority;
use super::turn::Turn;
use crate::import::entry::copies::{Checks, DuplicateSheet};
use crate::import::entry::duplicates::SheetKind;
use crate::import::entry::entries::{CatalogError, Contents, read};
use crate::import::entry::estimated::{Estimated, known, why_not};
use crate::import::entry::found::{Found, begin_snapshot, lock_catalog};
use crate::import::entry::leaders::{Sorted, Sorter};
use crate::import::entry::listed::Listed;
use crate::import::entry::names::CanonicalModels;
use crate::import::progress::lines::LineSender;
use crate::import::progress::refusals::Refusal;
use crate::import::progress::report::{Imported, Line, Outcome, Summary};
use crate::import::progress::reporter::ProgressReporter;
use crate::{EstimateRecord, Listing, ListingRow, ObservedBy, Recording, Store};
use unroof_infer::estimate::{CancelToken, Estimator, Request};
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_price_sheet::sheet::SheetId;

/// Sheets recorded per transaction: enough to be fast, few enough not to delay other writers.
const ESTIMATES_AT_ONCE: usize = 64;
const COPIES_AT_ONCE: usize = 200;

/// A parsed catalog, ready to be imported.
#[derive(Debug)]
pub struct Import {
    contents: Contents,
    options: Options,
    store: Store,
    turn: Turn,
}

impl Import {
    /// Parses a catalog without storing anything. The text is dropped once it is parsed.
    ///
    /// # Errors
    /// The text is not a catalog, or the import was cancelled.
    pub fn read(
        text: impl AsRef<[u8]>,
        options: Options,
        store: Store,
        turn: Turn,
    ) -> Result<Self, CatalogError> {
        let contents = read(
            text,
            options.format,
            options.provider.as_deref(),
            options.observed_at,
            turn.wanted(),
        )?;
        Ok(Self {
            contents,
            options,
            store,
            turn,
        })
    }

    /// Name of the catalog's format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.contents.format.name()
    }

    /// The first refused entries with their reasons, as JSON; none if every entry can be used.
    #[must_use]
    pub fn refusals(&self) -> Option<String> {
        Refusal::stored(&self.contents.refused)
    }

    /// Whether this is a dry run, which stores nothing.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.options.dry_run
    }

    /// Runs the import and reports a line per entry, after that entry is stored. The caller sends the last line, how the
    /// import ended.
    ///
    /// # Errors
    /// The database fails, or the client disconnects or reads too slowly. Everything reported is stored.
    pub async fn run(self, lines: &mut LineSender) -> Result<Summary, ImportError> {
        let Self {
            contents,
            options,
            store,
            turn,
        } = self;
        let summary = Summary {
            entries: contents.entries,
            sheets: contents.sheets.len(),
            ..Summary::default()
        };
        let mut reporter = ProgressReporter {
            lines,
            summary,
            done: 0,
            only_changed: options.only_changed,
        };
        reporter
            .say(Line::Started {
                format: contents.format.name().into(),
                entries: contents.entries,
                sheets: contents.sheets.len(),
            })
            .await?;
        for refused in &contents.refused {
            let imported = Imported {
                reason: Some(refused.reason.clone()),
                ..Imported::new(refused.entry.clone(), Outcome::Refused)
            };
            reporter.entry(imported).await?;
        }
        let names = canonical_models(&store, &contents.sheets).await?;
        reporter.names(&contents.sheets, &names).await?;
        // Held to the end: what a catalog listed before must be known as of its newest snapshot.
        let catalog_lock = lock_catalog(&store, contents.format, &options, &turn).await?;
        let snapshot = begin_snapshot(&store, contents.format, &options, &contents.refused).await?;
        let found = Found::of(snapshot.as_ref(), &contents.sheets, &store).await?;
        let fresh = set_known_aside(
            &store,
            contents.sheets,
            found.as_ref(),
            &names,
            &options,
            &mut reporter,
        )
        .await?;
        let copies = Sorter {
            store: &store,
            estimator: &options.estimator,
            turn: &turn,
        };
        let sorted = match found {
            Some(_) => copies.sort(fresh).await?,
            None => copies.sort_posted(fresh).await?,
        };
        let recorder = Recorder {
            store,
            names,
            options,
            is_posted: found.is_none(),
            turn,
        };
        recorder.record(sorted, &mut reporter).await?;
        if let Some(found) = found.filter(|_| !recorder.options.dry_run) {
            found
                .record(
                    catalog_lock.as_ref(),
                    &recorder.store,
                    recorder.options.recorded_at,
                )
                .await?;
        }
        Ok(reporter.summary)
    }
}

impl Imported {
    fn new(entry: String, outcome: Outcome) -> Self {
        Self {
            entry,
            outcome,
            reason: None,
            provider: None,
            model: None,
            region: None,
            canonical_model: None,
            sheet_id: None,
            estimate_id: None,
            duplicate_of: None,
            unmapped: 0,
        }
    }

    pub(super) fn of(listed: &Listed, names: &CanonicalModels, outcome: Outcome) -> Self {
        let sheet = &listed.sheet;
        Self {
            provider: Some(sheet.provider.clone()),
            model: Some(sheet.model.clone()),
            region: Some(sheet.region.clone()),
            canonical_model: names.of(sheet),
            sheet_id: Some(listed.sheet_id),
            unmapped: sheet.unmapped.len(),
            ..Self::new(listed.entry.clone(), outcome)
        }
    }
}

/// Canonical model names from the store and from the catalog itself.
async fn canonical_models(
    store: &Store,
    sheets: &[Listed],
) -> Result<CanonicalModels, ImportError> {
    let mut names = CanonicalModels::default();
    for model in store.canonical_models().await? {
        names.add(&model);
    }
    for listed in sheets {
        if let Some(model) = &listed.sheet.canonical_model {
            names.add(model);
        }
    }
    Ok(names)
}

/// Reports the sheets that are listed as before, each with its estimate by this engine, and returns the others.
async fn set_known_aside(
    store: &Store,
    sheets: Vec<Listed>,
    found: Option<&Found>,
    names: &CanonicalModels,
    options: &Options,
    reporter: &mut ProgressReporter<'_>,
) -> Result<Vec<Listed>, ImportError> {
    let ids: Vec<Uuid> = sheets.iter().map(|listed| listed.sheet_id).collect();
    let mut known: HashMap<Uuid, ListingRow> = HashMap::new();
    for row in store.listings_of(&ids).await? {
        let original = row.duplicate_of.unwrap_or(row.sheet_id);
        if row.estimate_id == options.estimator.estimate_id(SheetId(original)) {
            known.insert(row.sheet_id, row);
        }
    }
    let before = found.map(Found::before);
    let mut fresh = Vec::new();
    for listed in sheets {
        tokio::task::consume_budget().await;
        let is_listed = before.as_ref().is_none_or(|before| {
            let sheets = before.get(&listed.offer_id());
            sheets.is_some_and(|sheets| sheets.contains(&listed.sheet_id))
        });
        let Some(row) = known.get(&listed.sheet_id).filter(|_| is_listed) else {
            fresh.push(listed);
            continue;
        };
        let is_back = found.is_some_and(|found| found.withdrawn.contains(&listed.sheet_id));
        let outcome = if is_back {
            Outcome::Reinstated
        } else {
            Outcome::Unchanged
        };
        let unchanged = Imported {
            estimate_id: Some(row.estimate_id),
            duplicate_of: row.duplicate_of,
            ..Imported::of(&listed, names, outcome)
        };
        if found.is_none() && !options.dry_run {
            let recording = Recording {
                listing: Listing::Offer {
                    duplicate_of: row.duplicate_of,
                },
                ..recording_of(&listed, row.estimate_id, names, options, true)
            };
            store.record(&[recording]).await?;
        }
        reporter.entry(unchanged).await?;
    }
    Ok(fresh)
}

/// A sheet with its estimate, to be recorded. What stands for itself counts as posted; what a whole catalog lists is
/// counted by its snapshot.
fn recording_of(
    listed: &Listed,
    estimate_id: Uuid,
    names: &CanonicalModels,
    options: &Options,
    is_posted: bool,
) -> Recording {
    let recording = Recording {
        recorded_at: options.recorded_at,
        observed_by: is_posted.then(|| ObservedBy::post(options.seen_now)),
        ..Recording::new(listed.sheet.clone(), options.observed_at, estimate_id)
    };
    Recording {
        canonical_model: names.of(&listed.sheet).or(recording.canonical_model),
        ..recording
    }
}

/// A finished estimate of a sheet.
struct Worked {
    index: usize,
    record: EstimateRecord,
    identified: usize,
    reason: Option<String>,
}

struct Recorder {
    store: Store,
    names: CanonicalModels,
    options: Options,
    /// Whether each sheet stands for itself.
    is_posted: bool,
    turn: Turn,
}

impl Recorder {
    /// Estimates and records original sheets, then records their duplicates.
    async fn record(
        &self,
        sorted: Sorted,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<(), ImportError> {
        let (mut originals, copies) = split(sorted.fresh.into_iter().zip(sorted.kinds));
        let (leaders, followers) = split(sorted.moved);
        let mut checks = Checks::new(&self.options, &self.turn);
        originals = self
            .record_estimated(originals, &mut checks, reporter)
            .await?;
        let listed_count = originals.len();
        originals.extend(self.record_leaders(leaders).await?);
        self.record_originals(Arc::new(originals), listed_count, &mut checks, reporter)
            .await?;
        for copies in followers.chunks(COPIES_AT_ONCE) {
            let recordings = copies.iter().map(|copy| self.copied(copy, None));
            let recordings: Vec<Recording> = recordings.collect();
            self.store(&recordings).await?;
        }
        self.record_copies(&copies, &mut checks, reporter).await
    }

    /// Records and reports copies; while some are stored, the next ones are checked.
    async fn record_copies(
        &self,
        copies: &[DuplicateSheet],
        checks: &mut Checks,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<(), ImportError> {
        let mut chunks = copies.chunks(COPIES_AT_ONCE);
        let mut next = chunks.next().unwrap_or_default();
        let mut misfits = checks.of(next).await?;
        while !next.is_empty() {
            let copies = std::mem::replace(&mut next, chunks.next().unwrap_or_default());
            let recordings = copies
                .iter()
                .zip(misfits)
                .map(|(copy, is_misfit)| self.copied(copy, Some(is_misfit)));
            let recordings: Vec<Recording> = recordings.collect();
            ((), misfits) = tokio::try_join!(self.store(&recordings), checks.of(next))?;
            for copy in copies {
                let duplicate = Imported {
                    reason: Some(format!("duplicate of {}", copy.original)),
                    estimate_id: Some(self.estimate_of(copy)),
                    duplicate_of: Some(copy.of),
                    ..Imported::of(&copy.listed, &self.names, Outcome::Duplicate)
                };
                reporter.entry(duplicate).await?;
            }
        }
        Ok(())
    }

    /// Records the stored sheets that lead now and have an estimate, and returns those without one.
    async fn record_leaders(&self, leaders: Vec<Listed>) -> Result<Vec<Listed>, ImportError> {
        if self.options.dry_run {
            return Ok(Vec::new());
        }
        let estimator = &self.options.estimator;
        let own = |listed: &Listed| estimator.estimate_id(SheetId(listed.sheet_id));
        let (known, unknown) = known(&self.store, estimator, leaders).await?;
        for leaders in known.chunks(COPIES_AT_ONCE) {
            let recordings = leaders
                .iter()
                .map(|listed| self.recording(listed, own(listed)));
            let recordings: Vec<Recording> = recordings.collect();
            self.store(&recordings).await?;
        }
        Ok(unknown)
    }

    /// Records and reports the originals whose estimates are stored, and returns the others.
    async fn record_estimated(
        &self,
        originals: Vec<Listed>,
        checks: &mut Checks,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<Vec<Listed>, ImportError> {
        let estimator = &self.options.estimator;
        let (known, unknown) = known(&self.store, estimator, originals).await?;
        for sheets in known.chunks(COPIES_AT_ONCE) {
            let (mut recordings, mut said) = (Vec::new(), Vec::new());
            for listed in sheets {
                let id = estimator.estimate_id(SheetId(listed.sheet_id));
                let estimated = Estimated::read(&self.store, id).await?;
                checks.add(&listed.sheet, estimated.is_misfit);
                recordings.push(Recording {
                    is_misfit: Some(estimated.is_misfit),
                    ..self.recording(listed, id)
                });
                let identified = estimated.identified;
                reporter.summary.identified_quantities += identified;
                said.push(Imported {
                    estimate_id: Some(id),
                    reason: estimated.why_not(&listed.sheet),
                    ..Imported::of(listed, &self.names, outcome_of(identified))
                });
            }
            self.store(&recordings).await?;
            for imported in said {
                reporter.entry(imported).await?;
            }
        }
        Ok(unknown)
    }

    fn copied(&self, copy: &DuplicateSheet, is_misfit: Option<bool>) -> Recording {
        Recording {
            listing: Listing::Offer {
                duplicate_of: Some(copy.of),
            },
            is_misfit,
            ..self.recording(&copy.listed, self.estimate_of(copy))
        }
    }

    fn estimate_of(&self, copy: &DuplicateSheet) -> Uuid {
        self.options.estimator.estimate_id(SheetId(copy.of))
    }

    /// Estimates and records originals, and reports the first ones: those of the catalog.
    async fn record_originals(
        &self,
        originals: Arc<Vec<Listed>>,
        listed_count: usize,
        checks: &mut Checks,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<(), ImportError> {
        // Stops the estimates if recording fails or the client disconnects.
        let (wanted, _waiting) = CancelToken::while_waiting();
        let (sender, mut worked) = mpsc::channel(2 * ESTIMATES_AT_ONCE);
        let next = Arc::new(AtomicUsize::new(0));
        for _ in 0..self.options.threads {
            let (originals, next) = (Arc::clone(&originals), Arc::clone(&next));
            let (wanted, sender) = (wanted.clone(), sender.clone());
            let (turn, estimator) = (self.turn.clone(), self.options.estimator.clone());
            // Dedicated threads, since a lowered priority cannot be raised again.
            let work = move || {
                let _turn = turn;
                Priority::Batch.take();
                estimate_all(&originals, &estimator, &next, &wanted, &sender);
            };
            let thread = std::thread::Builder::new().name("import".to_owned());
            thread.spawn(work).map_err(ImportError::Thread)?;
        }
        drop(sender);
        let mut recorded = 0;
        let mut batch = Vec::with_capacity(ESTIMATES_AT_ONCE);
        // The threads finish in any order; what is recorded and reported has the order of the catalog.
        let mut waiting: BTreeMap<usize, Worked> = BTreeMap::new();
        while worked.recv_many(&mut batch, ESTIMATES_AT_ONCE).await > 0 {
            waiting.extend(batch.drain(..).map(|one: Worked| (one.index, one)));
            let mut ready = Vec::with_capacity(waiting.len());
            while let Some(one) = waiting.remove(&(recorded + ready.len())) {
                ready.push(one);
            }
            if ready.is_empty() {
                continue;
            }
            let mut said = Vec::with_capacity(ready.len());
            let mut recordings = Vec::with_capacity(ready.len());
            for Worked {
                index,
                record,
                identified,
                reason,
            } in ready
            {
                let listed = &originals[index];
                checks.add(&listed.sheet, record.is_misfit);
                if index < listed_count {
                    reporter.summary.identified_quantities += identified;
                    said.push(Imported {
                        reason,
                        estimate_id: Some(record.id),
                        ..Imported::of(listed, &self.names, outcome_of(identified))
                    });
                }
                recordings.push(Recording {
                    estimate: Some(record),
                    ..self.recording(
                        listed,
                        self.options.estimator.estimate_id(SheetId(listed.sheet_id)),
                    )
                });
            }
            self.store(&recordings).await?;
            recorded += recordings.len();
            for imported in said {
                reporter.entry(imported).await?;
            }
        }
        // Workers that stop early have panicked.
        if recorded < originals.len() {
            return Err(ImportError::Crashed);
        }
        Ok(())
    }

    fn recording(&self, listed: &Listed, estimate_id: Uuid) -> Recording {
        recording_of(
            listed,
            estimate_id,
            &self.names,
            &self.options,
            self.is_posted,
        )
    }

    async fn store(&self, recordings: &[Recording]) -> Result<(), ImportError> {
        if !self.options.dry_run {
            self.store.record(recordings).await?;
        }
        Ok(())
    }
}

/// The outcome for a sheet with this many identified quantities.
fn outcome_of(identified: usize) -> Outcome {
    if identified == 0 {
        Outcome::NotIdentifiable
    } else {
        Outcome::Estimated
    }
}

/// The originals and the copies among some sheets.
fn split(
    sheets: impl IntoIterator<Item = (Listed, SheetKind)>,
) -> (Vec<Listed>, Vec<DuplicateSheet>) {
    let (mut originals, mut copies) = (Vec::new(), Vec::new());
    for (listed, kind) in sheets {
        match kind {
            SheetKind::Original => originals.push(listed),
            SheetKind::Duplicate(of, original) => copies.push(DuplicateSheet {
                listed,
                of,
                original,
            }),
        }
    }
    (originals, copies)
}

/// Estimates sheets until none are left or the import is cancelled.
fn estimate_all(
    sheets: &[Listed],
    estimator: &Estimator,
    next: &AtomicUsize,
    wanted: &CancelToken,
    sender: &mpsc::Sender<Worked>,
) {
    loop {
        let index = next.load(Ordering::Relaxed);
        let Some(listed) = sheets.get(index) else {
            return;
        };
        if next
            .compare_exchange(index, index + 1, Ordering::Relaxed, Ordering::Relaxed)
            .is_err()
        {
            continue;
        }
        // A stored estimate is of the pricing content: measured speeds change with every snapshot, and are not stored.
        let request = Request {
            sheets: vec![listed.sheet.pricing_content()],
            assumptions: Assumptions::default(),
        };
        let Ok(answer) = estimator.infer(&request, wanted) else {
            return;
        };
        let document =
            serde_json::to_string(&answer).expect("an answer of texts and numbers serialises");
        let identified = answer.joint.quantities.identified();
        let worked = Worked {
            index,
            identified,
            reason: (identified == 0)
                .then(|| why_not(answer.joint.quantities.first_reason(), &listed.sheet)),
            record: EstimateRecord::new(&answer, document),
        };
        if sender.blocking_send(worked).is_err() {
            return;
        }
    }
}
