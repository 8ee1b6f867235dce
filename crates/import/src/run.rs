//! Imports a catalog: reads it, estimates new prices, records them, and reports the outcome of each entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::error::ImportError;
use super::held::{HeldOptions, compressed};
use super::options::Options;
use super::priority::Priority;
use super::turn::Turn;
use super::workers::work_on;
use crate::entry::copies::{Checks, DuplicateSheet};
use crate::entry::duplicates::SheetKind;
use crate::entry::entries::{CatalogError, CatalogFormat, Contents};
use crate::entry::estimated::{Estimated, known};
use crate::entry::found::Found;
use crate::entry::leaders::{Sorted, Sorter};
use crate::entry::listed::Listed;
use crate::entry::names::CanonicalModels;
use crate::entry::parts::read_parts;
use crate::entry::refusals::Refusal;
use crate::progress::lines::LineSender;
use crate::progress::report::{Imported, Line, Outcome, Summary};
use crate::progress::reporter::ProgressReporter;
use unroof_infer::estimate::{CancelToken, Cancelled, Estimator, Request};
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_price_sheet::sheet::SheetId;
use unroof_store::{
    EstimateRecord, HeldImport, ImportFacts, Listing, ListingRow, ObservedBy, Recording, Store,
};

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
    /// The catalog, compressed, where it may be held.
    document: Vec<u8>,
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
        let may_be_held = !options.dry_run && options.accepted.is_none();
        let document = may_be_held.then(|| compressed(text.as_ref()));
        let contents = read_parts(
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
            document: document.unwrap_or_default(),
        })
    }

    /// Difference to what is recorded, in words; none for sheets that stand for themselves.
    ///
    /// # Errors
    /// The database fails.
    pub(crate) async fn difference(&self) -> Result<Option<String>, ImportError> {
        let (contents, options, turn) = (&self.contents, &self.options, &self.turn);
        let found = Found::begin(contents, options, &self.store, turn, false).await?;
        let Some(found) = found else { return Ok(None) };
        let difference = found.difference(&contents.sheets, &self.store).await?;
        Ok(Some(difference.words()))
    }

    /// Name of the catalog's format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.contents.format.name()
    }

    /// Refused entries with their reasons, if no entry states a sheet: then the document is not a catalog.
    #[must_use]
    pub fn without_sheet(&self) -> Option<&[Refusal]> {
        let contents = &self.contents;
        contents.sheets.is_empty().then_some(&contents.refused)
    }

    /// Providers whose offers it may change: the one that it is restricted to, and those of its sheets.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        let sheets = self.contents.sheets.iter();
        let sheets = sheets.map(|listed| listed.sheet.provider.as_str());
        self.options.provider.as_deref().into_iter().chain(sheets)
    }

    /// Whether it says which offers of every provider there are: those that it leaves out end.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_published = matches!(self.contents.format, CatalogFormat::Published(_));
        is_published && self.options.provider.is_none()
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

    /// Runs the import of an id and reports a line per entry, after that entry is stored. The caller sends the last line, how
    /// the import ended.
    ///
    /// # Errors
    /// The import is held, the database fails, or the client disconnects or reads too slowly. Everything reported is stored.
    pub async fn run(
        mut self,
        id: Option<Uuid>,
        lines: &mut LineSender,
    ) -> Result<Summary, ImportError> {
        let found = self.find().await?;
        let difference = self.check(found.as_ref()).await?;
        // Frees memory for the estimates.
        self.document = Vec::new();
        let Self {
            contents,
            options,
            store,
            turn,
            ..
        } = self;
        let summary = Summary {
            entries: contents.entries,
            sheets: contents.sheets.len(),
            difference,
            ..Summary::default()
        };
        let mut reporter = ProgressReporter {
            lines,
            summary,
            done: 0,
            only_changed: options.only_changed,
        };
        reporter
            .lines
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
        let catalog = match contents.format {
            CatalogFormat::Published(catalog) => Some(catalog.name()),
            CatalogFormat::Canonical => None,
        };
        let recorder = Recorder {
            import: id.map(|id| ImportFacts::new(id, catalog)),
            store,
            names,
            options,
            is_posted: found.is_none(),
            turn,
        };
        let fresh = recorder
            .set_known_aside(contents.sheets, found.as_ref(), &mut reporter)
            .await?;
        let copies = Sorter {
            store: &recorder.store,
            estimator: &recorder.options.estimator,
            turn: &recorder.turn,
        };
        let sorted = match found {
            Some(_) => copies.sort(fresh).await?,
            None => copies.sort_posted(fresh).await?,
        };
        recorder.record(sorted, &mut reporter).await?;
        if let Some(found) = found.filter(|_| !recorder.options.dry_run) {
            let recorded_at = recorder.options.recorded_at;
            let import = recorder.import.as_ref();
            found.record(&recorder.store, recorded_at, import).await?;
        }
        Ok(reporter.summary)
    }

    /// Begins the snapshot of a whole catalog.
    async fn find(&self) -> Result<Option<Found>, ImportError> {
        let (contents, options) = (&self.contents, &self.options);
        let is_locked = !options.dry_run;
        Found::begin(contents, options, &self.store, &self.turn, is_locked).await
    }

    /// Difference to what is recorded, in words, unless the import is held because of it.
    async fn check(&mut self, found: Option<&Found>) -> Result<Option<String>, ImportError> {
        let Some(found) = found else { return Ok(None) };
        let difference = found.difference(&self.contents.sheets, &self.store).await?;
        let words = difference.words();
        let is_held = match &self.options.accepted {
            Some(accepted) => *accepted != words,
            None => difference.is_held() && !self.options.dry_run,
        };
        if !is_held {
            return Ok(Some(words));
        }
        Err(ImportError::Held(Box::new(HeldImport {
            difference: words,
            entries: self.contents.entries,
            options: HeldOptions {
                format: self.format().to_owned(),
                provider: self.options.provider.clone(),
                partial: self.options.partial,
                observed_at: found.at(),
            }
            .kept(),
            document: std::mem::take(&mut self.document),
        })))
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

/// Records and reports the sheets of a catalog.
struct Recorder {
    store: Store,
    names: CanonicalModels,
    options: Options,
    /// Whether each sheet stands for itself.
    is_posted: bool,
    turn: Turn,
    /// The import, unless it is a dry run.
    import: Option<ImportFacts>,
}

impl Recorder {
    /// Reports the sheets that are listed as before, each with its estimate by this engine, and returns the others.
    async fn set_known_aside(
        &self,
        sheets: Vec<Listed>,
        found: Option<&Found>,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<Vec<Listed>, ImportError> {
        let ids: Vec<Uuid> = sheets.iter().map(|listed| listed.sheet_id).collect();
        let mut known: HashMap<Uuid, ListingRow> = HashMap::new();
        for row in self.store.listings_of(&ids).await? {
            if row.estimate_id == self.estimate_of(row.duplicate_of.unwrap_or(row.sheet_id)) {
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
            if self.is_posted {
                let recording = Recording {
                    listing: Listing::Offer {
                        duplicate_of: row.duplicate_of,
                    },
                    ..self.recording(&listed, row.estimate_id)
                };
                self.store(&[recording]).await?;
            }
            let unchanged = Imported {
                estimate_id: Some(row.estimate_id),
                duplicate_of: row.duplicate_of,
                ..Imported::of(&listed, &self.names, outcome)
            };
            reporter.entry(unchanged).await?;
        }
        Ok(fresh)
    }

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
                    estimate_id: Some(self.estimate_of(copy.of)),
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
        let (known, unknown) = known(&self.store, &self.options.estimator, leaders).await?;
        for leaders in known.chunks(COPIES_AT_ONCE) {
            let recordings = leaders.iter().map(|listed| self.original(listed));
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
        let (known, unknown) = known(&self.store, &self.options.estimator, originals).await?;
        for sheets in known.chunks(COPIES_AT_ONCE) {
            let (mut recordings, mut said) = (Vec::new(), Vec::new());
            for listed in sheets {
                let recording = self.original(listed);
                let estimated = Estimated::read(&self.store, recording.estimate_id).await?;
                checks.add(&listed.sheet, estimated.is_misfit);
                recordings.push(Recording {
                    is_misfit: Some(estimated.is_misfit),
                    ..recording
                });
                said.push(self.estimated(listed, estimated, reporter));
            }
            self.store(&recordings).await?;
            reporter.entries(said).await?;
        }
        Ok(unknown)
    }

    /// Line for an original that is estimated.
    fn estimated(
        &self,
        listed: &Listed,
        estimated: Estimated,
        reporter: &mut ProgressReporter<'_>,
    ) -> Imported {
        reporter.summary.identified_quantities += estimated.identified;
        let outcome = if estimated.identified == 0 {
            Outcome::NotIdentifiable
        } else {
            Outcome::Estimated
        };
        Imported {
            estimate_id: Some(self.estimate_of(listed.sheet_id)),
            reason: estimated.why_not(&listed.sheet),
            ..Imported::of(listed, &self.names, outcome)
        }
    }

    /// Id of the estimate of a sheet.
    fn estimate_of(&self, sheet: Uuid) -> Uuid {
        self.options.estimator.estimate_id(SheetId(sheet))
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
        let (turn, estimator) = (self.turn.clone(), self.options.estimator.clone());
        let estimate = move |listed: &Listed| {
            // The permit is held until all threads have ended.
            let _turn = &turn;
            estimate(listed, &estimator, &wanted).ok()
        };
        let worked = work_on(&originals, self.options.threads, Priority::Batch, estimate);
        let mut worked = worked.map_err(ImportError::Thread)?;
        let mut recorded = 0;
        let mut batch = Vec::with_capacity(ESTIMATES_AT_ONCE);
        // The threads finish in any order; what is recorded and reported has the order of the catalog.
        let mut waiting = BTreeMap::new();
        while worked.recv_many(&mut batch, ESTIMATES_AT_ONCE).await > 0 {
            waiting.extend(batch.drain(..));
            let (mut recordings, mut said) = (Vec::new(), Vec::new());
            while let Some((record, estimated)) = waiting.remove(&recorded) {
                let listed = &originals[recorded];
                checks.add(&listed.sheet, estimated.is_misfit);
                if recorded < listed_count {
                    said.push(self.estimated(listed, estimated, reporter));
                }
                recordings.push(Recording {
                    estimate: Some(record),
                    ..self.original(listed)
                });
                recorded += 1;
            }
            if !recordings.is_empty() {
                self.store(&recordings).await?;
                reporter.entries(said).await?;
            }
        }
        // Workers that stop early have panicked.
        if recorded < originals.len() {
            return Err(ImportError::Crashed);
        }
        Ok(())
    }

    /// An original with its own estimate, to be recorded.
    fn original(&self, listed: &Listed) -> Recording {
        self.recording(listed, self.estimate_of(listed.sheet_id))
    }

    fn copied(&self, copy: &DuplicateSheet, is_misfit: Option<bool>) -> Recording {
        Recording {
            listing: Listing::Offer {
                duplicate_of: Some(copy.of),
            },
            is_misfit,
            ..self.recording(&copy.listed, self.estimate_of(copy.of))
        }
    }

    /// A sheet with its estimate, to be recorded. What stands for itself counts as posted; what a whole catalog lists is
    /// counted by its snapshot.
    fn recording(&self, listed: &Listed, estimate_id: Uuid) -> Recording {
        let options = &self.options;
        let recording = Recording::new(listed.sheet.clone(), options.observed_at, estimate_id);
        Recording {
            recorded_at: options.recorded_at,
            observed_by: self.is_posted.then(|| ObservedBy::post(options.seen_now)),
            canonical_model: self.names.of(&listed.sheet).or(recording.canonical_model),
            ..recording
        }
    }

    async fn store(&self, recordings: &[Recording]) -> Result<(), ImportError> {
        if let Some(import) = self.import.as_ref().filter(|_| !self.options.dry_run) {
            self.store.record_import(import, recordings).await?;
        }
        Ok(())
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

/// The estimate of a sheet. A stored estimate is of the pricing content: measured speeds change with every snapshot, and are
/// not stored.
fn estimate(
    listed: &Listed,
    estimator: &Estimator,
    wanted: &CancelToken,
) -> Result<(EstimateRecord, Estimated), Cancelled> {
    let request = Request {
        sheets: vec![listed.sheet.pricing_content()],
        assumptions: Assumptions::default(),
    };
    let answer = estimator.infer(&request, wanted)?;
    let document =
        serde_json::to_string(&answer).expect("an answer of texts and numbers serialises");
    let record = EstimateRecord::new(&answer, document);
    Ok((record, Estimated::of(&answer)))
}
