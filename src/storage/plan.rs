//! The plan of a recording: its effect on the tables, computed before anything is written.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, ToSpan};
use serde_json::Value;
use sqlx::FromRow;
use uuid::Uuid;

use super::StoreError;
use super::names::ChangeKind;
use super::recording::{Listing, Recording};
use super::rows::Rows;
use unroof_core::input::json;
use unroof_core::sheet::compare::difference::{
    PriceDifference, contradiction_words, contradictions, first_words, in_words,
};
use unroof_core::sheet::compare::timeline::{Edit, Period, Statement, admit, withdrawn_at};
use unroof_core::sheet::{MOST_SOURCES, PriceSheet, SheetId, canonical};

/// The stored rows that matter to some recordings.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    /// The version of the store at which all of this was read.
    pub(super) version: i64,
    /// Documents of the sheets that are recorded, and of those that they are compared with.
    pub(super) sheets: HashMap<Uuid, String>,
    /// Estimates that are stored.
    pub(super) estimates: Vec<Uuid>,
    /// Sheet, and the estimate that was last listed for it without assumptions.
    pub(super) listings: HashMap<Uuid, Uuid>,
    /// (offer, catalog, start) to sheet: those of the same start, and those in force.
    pub(super) statements: BTreeMap<(Uuid, String, Timestamp), Uuid>,
    /// By offer, in the order of their starts: those that end after something may change.
    pub(super) periods: HashMap<Uuid, Vec<StoredPeriod>>,
    /// Open disagreements by (offer, other catalog).
    pub(super) disagreements: HashMap<(Uuid, String), OpenDisagreement>,
}

/// A period and its place in the table.
#[derive(Debug, Clone)]
pub(super) struct StoredPeriod {
    pub(super) key: (i64, i64),
    pub(super) period: Period,
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
    /// Whether the period had already ended; the end of any other period is announced when it is due.
    pub(super) has_ended: bool,
    pub(super) observed_at: Timestamp,
}

/// A disagreement that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub(super) struct OpenDisagreement {
    pub(super) id: Uuid,
    pub(super) sheet_id: Uuid,
    pub(super) other_sheet_id: Uuid,
}

/// Effect of one recording on its sheet.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum SheetStep {
    #[default]
    Nothing,
    Insert,
    AddSources,
}

/// Effect of one recording.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Number of the recording.
    pub(super) number: i64,
    pub(super) sheet: SheetStep,
    pub(super) inserts_estimate: bool,
    pub(super) inserts_listing: bool,
    /// The start of the statement, if it is new or belonged to another sheet.
    pub(super) statement: Option<Timestamp>,
    pub(super) change: Option<Change>,
}

impl Step {
    pub(super) fn is_empty(&self) -> bool {
        self.sheet == SheetStep::Nothing
            && !self.inserts_estimate
            && !self.inserts_listing
            && self.statement.is_none()
    }
}

/// A row of the change feed.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: ChangeKind,
    pub(super) summary: String,
}

/// The first period that a recording opened.
#[derive(Debug, Clone, Copy)]
struct Opened {
    starts_at: Timestamp,
    is_to_come: bool,
    /// Whether the sheet was withdrawn and is seen later than that.
    is_back: bool,
}

/// All rows to write.
#[derive(Debug)]
pub(super) struct Plan {
    /// The number below that of the first recording.
    pub(super) base: i64,
    pub(super) steps: Vec<Step>,
    /// Periods that are new or have a new end, with their offer.
    pub(super) periods: Vec<(Uuid, StoredPeriod)>,
    /// Rows for the statements that end disagreements and add them.
    pub(super) ended_disagreements: Rows<'static>,
    pub(super) new_disagreements: Rows<'static>,
    /// Documents of the sheets that are recorded, and of others.
    pub(super) sheets: HashMap<Uuid, String>,
}

impl Plan {
    /// Computes the writes that record the recordings. The number of recording `i` is `base + 1 + i`.
    ///
    /// # Errors
    /// A stored document is damaged.
    pub(super) fn make(
        recordings: &[Recording],
        mut known: Known,
        base: i64,
    ) -> Result<Self, StoreError> {
        let mut plan = Self {
            base,
            steps: Vec::with_capacity(recordings.len()),
            periods: Vec::new(),
            ended_disagreements: Vec::new(),
            new_disagreements: Vec::new(),
            sheets: HashMap::new(),
        };
        // The last recording of every offer that changed.
        let mut touched: BTreeMap<Uuid, usize> = BTreeMap::new();
        for (index, recording) in recordings.iter().enumerate() {
            let step = known.step(recording, plan.number(index))?;
            if step.statement.is_some() {
                touched.insert(recording.offer_id(), index);
            }
            plan.steps.push(step);
        }
        for (offer, index) in touched {
            plan.compare_catalogs(&known, offer, recordings, index)?;
        }
        for (offer, periods) in known.periods {
            let changed = periods
                .into_iter()
                .filter(|period| period.is_new || period.is_changed);
            plan.periods.extend(changed.map(|period| (offer, period)));
        }
        plan.sheets = known.sheets;
        Ok(plan)
    }

    /// The number of a recording.
    pub(super) fn number(&self, index: usize) -> i64 {
        self.base + 1 + i64::try_from(index).unwrap_or(i64::MAX - self.base - 1)
    }

    /// The recording with a number.
    pub(super) fn index(&self, number: i64) -> usize {
        usize::try_from(number - self.base - 1).unwrap_or(usize::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.iter().all(Step::is_empty) && self.periods.is_empty()
    }

    /// Compares the other catalogs' statements with the sheet in force; finds new and settled disagreements.
    fn compare_catalogs(
        &mut self,
        known: &Known,
        offer: Uuid,
        recordings: &[Recording],
        index: usize,
    ) -> Result<(), StoreError> {
        let recording = &recordings[index];
        let now = known.time(recording, offer);
        let in_force = known.in_force(offer, now).map(|stored| &stored.period);
        let end = |open: &OpenDisagreement| vec![open.id.into(), recording.observed_at.into()];
        let mut found: Vec<String> = Vec::new();
        if let Some(in_force) = in_force {
            let sheet = known.sheet(in_force.sheet_id, recordings)?;
            for (catalog, sheet_id) in known.statements_in_force(offer, now) {
                if catalog == in_force.catalog || sheet_id == in_force.sheet_id {
                    continue;
                }
                let other = known.sheet(sheet_id, recordings)?;
                let is_over = other.valid_to.is_some_and(|end| end <= now);
                let contradictions = contradictions(&sheet, &other);
                if is_over || contradictions.is_empty() {
                    continue;
                }
                found.push(catalog.to_owned());
                let open = known.disagreements.get(&(offer, catalog.to_owned()));
                if open.is_some_and(|open| {
                    open.sheet_id == in_force.sheet_id && open.other_sheet_id == sheet_id
                }) {
                    continue;
                }
                self.ended_disagreements.extend(open.map(end));
                let factors = contradictions.iter().filter_map(PriceDifference::factor);
                self.new_disagreements.push(vec![
                    disagreement_id(offer, catalog, self.number(index)).into(),
                    offer.into(),
                    recording.sheet.provider.clone().into(),
                    recording.sheet.model.clone().into(),
                    recording.sheet.region.clone().into(),
                    in_force.catalog.clone().into(),
                    in_force.sheet_id.into(),
                    catalog.to_owned().into(),
                    sheet_id.into(),
                    contradiction_words(&contradictions, &sheet).into(),
                    factors.reduce(f64::max).into(),
                    recording.observed_at.into(),
                ]);
            }
        }
        let settled = known
            .disagreements
            .iter()
            .filter(|((of, catalog), _)| *of == offer && !found.contains(catalog));
        self.ended_disagreements
            .extend(settled.map(|(_, open)| end(open)));
        Ok(())
    }
}

impl Known {
    /// Writes that a recording needs. From then on the recording is known.
    fn step(&mut self, recording: &Recording, number: i64) -> Result<Step, StoreError> {
        let mut step = Step {
            number,
            ..Step::default()
        };
        let sheet_id = recording.sheet_id;
        match self.sheets.get(&sheet_id) {
            None => {
                step.sheet = SheetStep::Insert;
                let document = serde_json::to_string(&recording.sheet)
                    .expect("a sheet of texts and numbers serialises");
                self.sheets.insert(sheet_id, document);
            }
            Some(stored) => {
                if let Some(document) = with_new_sources(stored, &recording.sheet, sheet_id)? {
                    step.sheet = SheetStep::AddSources;
                    self.sheets.insert(sheet_id, document);
                }
            }
        }
        if recording.estimate.is_some() && !self.estimates.contains(&recording.estimate_id) {
            step.inserts_estimate = true;
            self.estimates.push(recording.estimate_id);
        }
        let offer = recording.offer_id();
        let seen_at = self.time(recording, offer);
        let before = self.in_force(offer, seen_at);
        let before = before.map(|stored| stored.period.sheet_id);
        let withdrawn_at = withdrawn_at(&periods_of(self.stored(offer)), sheet_id);
        let is_back = withdrawn_at.is_some_and(|at| at < seen_at);
        let opened = if step.sheet == SheetStep::Insert || recording.counts_again || is_back {
            self.admit(recording, seen_at, &mut step)
        } else {
            None
        };
        step.inserts_listing = match recording.listing {
            Listing::Unlisted => false,
            Listing::Stated | Listing::Pooled { .. } => step.inserts_estimate,
            Listing::Offer { .. } => {
                let last = self.listings.insert(sheet_id, recording.estimate_id);
                opened.is_some() || last != Some(recording.estimate_id)
            }
        };
        let opened = opened.map(|starts_at| Opened {
            starts_at,
            is_to_come: starts_at > seen_at,
            is_back,
        });
        step.change = self.change(recording, before, opened, &step)?;
        Ok(step)
    }

    /// Time at which a sheet was seen. A sheet that is seen now is later than all that is recorded of its offer, also
    /// where a clock was ahead when that was recorded.
    fn time(&self, recording: &Recording, offer: Uuid) -> Timestamp {
        let seen_at = recording.observed_at;
        let stored = self.stored(offer);
        if !recording.seen_now || stored.is_empty() {
            return seen_at;
        }
        let last = stored.iter().map(|stored| stored.observed_at).max();
        let withdrawn_at = withdrawn_at(&periods_of(stored), recording.sheet_id);
        let after = withdrawn_at.and_then(|at| at.checked_add(1.microsecond()).ok());
        let last = last.max(after);
        last.map_or(seen_at, |last| last.max(seen_at))
    }

    fn stored(&self, offer: Uuid) -> &[StoredPeriod] {
        self.periods.get(&offer).map_or(&[], Vec::as_slice)
    }

    /// The price in force.
    fn in_force(&self, offer: Uuid, at: Timestamp) -> Option<&StoredPeriod> {
        let mut last_first = self.stored(offer).iter().rev();
        last_first.find(|stored| stored.period.covers(at))
    }

    /// Adds the statement to the timeline, and returns the start of the first period that it opened.
    fn admit(
        &mut self,
        recording: &Recording,
        seen_at: Timestamp,
        step: &mut Step,
    ) -> Option<Timestamp> {
        let offer = recording.offer_id();
        let catalog = recording.catalog();
        let key = recording.statement_start();
        let place = (offer, catalog.to_owned(), key);
        let stated = self.statements.insert(place, recording.sheet_id);
        if stated != Some(recording.sheet_id) {
            step.statement = Some(key);
        }
        let stored = self.periods.entry(offer).or_default();
        let periods = periods_of(stored);
        let statement = Statement {
            observed_at: seen_at,
            ..recording.statement()
        };
        // A catalog that repeats its statement changes nothing, even if others stated another price meanwhile, unless it was
        // withdrawn.
        let is_withdrawn = withdrawn_at(&periods, recording.sheet_id).is_some();
        if step.statement.is_none() && !is_withdrawn {
            return None;
        }
        let is_over = |end: Option<Timestamp>| end.is_some_and(|end| end <= seen_at);
        let mut opened = None;
        let mut part = 0;
        for edit in admit(&periods, &statement) {
            match edit {
                Edit::End(index, end) => {
                    stored[index].period.ends_at = end;
                    stored[index].is_changed = true;
                    stored[index].has_ended = is_over(end);
                }
                Edit::Open(period) => {
                    if period.sheet_id == recording.sheet_id {
                        opened = opened.or(Some(period.starts_at));
                    }
                    stored.push(StoredPeriod {
                        has_ended: is_over(period.ends_at),
                        key: (step.number, part),
                        period,
                        is_new: true,
                        is_changed: false,
                        observed_at: seen_at,
                    });
                    part += 1;
                }
            }
        }
        stored.sort_by_key(|stored| (stored.period.starts_at, stored.key));
        // Stated again, so that it is compared with the other catalogs' statements.
        step.statement = step.statement.or(opened.map(|_| key));
        opened
    }

    fn change(
        &self,
        recording: &Recording,
        before: Option<Uuid>,
        opened: Option<Opened>,
        step: &Step,
    ) -> Result<Option<Change>, StoreError> {
        let sheet = &recording.sheet;
        let Some(opened) = opened else {
            let summary = match recording.listing {
                Listing::Pooled { .. } => "estimate of several hosts' sheets stored",
                Listing::Stated => "estimate with stated assumptions stored",
                _ => "estimate stored",
            };
            return Ok(step.inserts_listing.then(|| Change {
                kind: ChangeKind::EstimateUpdated,
                summary: summary.to_owned(),
            }));
        };
        let is_to_come = opened.is_to_come;
        let (mut kind, mut summary) = match before.filter(|before| *before != recording.sheet_id) {
            None if is_to_come => (ChangeKind::SheetAnnounced, first_words(sheet)),
            None => (ChangeKind::SheetAdded, first_words(sheet)),
            Some(before) => {
                let before = read_sheet(before, self.sheets.get(&before))?;
                let kind = if is_to_come {
                    ChangeKind::SheetAnnounced
                } else {
                    ChangeKind::SheetChanged
                };
                (kind, in_words(&before, sheet))
            }
        };
        if is_to_come {
            summary = format!("from {}: {summary}", opened.starts_at);
        }
        if opened.is_back {
            kind = ChangeKind::SheetReinstated;
            summary = format!("seen again after it was withdrawn: {summary}");
        }
        Ok(Some(Change { kind, summary }))
    }

    /// The current sheet of each catalog.
    fn statements_in_force(&self, offer: Uuid, now: Timestamp) -> BTreeMap<&str, Uuid> {
        self.statements
            .iter()
            .filter(|((of, _, starts_at), _)| *of == offer && *starts_at <= now)
            .map(|((_, catalog, _), sheet_id)| (catalog.as_str(), *sheet_id))
            .collect()
    }

    fn sheet(&self, id: Uuid, recordings: &[Recording]) -> Result<PriceSheet, StoreError> {
        match recordings.iter().find(|recording| recording.sheet_id == id) {
            Some(recording) => Ok(recording.sheet.clone()),
            None => read_sheet(id, self.sheets.get(&id)),
        }
    }
}

fn periods_of(stored: &[StoredPeriod]) -> Vec<Period> {
    stored.iter().map(|stored| stored.period.clone()).collect()
}

/// A unique id without randomness, from the number of the recording.
fn disagreement_id(offer: Uuid, catalog: &str, number: i64) -> Uuid {
    SheetId::digest(format!("{offer}\n{catalog}\n{number}").as_bytes())
}

/// A stored sheet.
pub(super) fn read_sheet(id: Uuid, document: Option<&String>) -> Result<PriceSheet, StoreError> {
    document
        .and_then(|document| json::parse(document.as_bytes()).ok())
        .and_then(|tree| canonical::read(&tree).ok())
        .ok_or(StoreError::Damaged(id))
}

/// The stored document with the sources of a sheet of the same content; none if it has them all. The time at which a
/// place was read does not make it another source.
fn with_new_sources(
    document: &str,
    sheet: &PriceSheet,
    id: Uuid,
) -> Result<Option<String>, StoreError> {
    let damaged = || StoreError::Damaged(id);
    let mut stored: Value = serde_json::from_str(document).map_err(|_| damaged())?;
    let known = stored["sources"].as_array_mut().ok_or_else(damaged)?;
    let before = known.len();
    for source in &sheet.sources {
        let source = serde_json::to_value(source).map_err(|_| damaged())?;
        let is_same_place = |other: &Value| {
            ["url", "format", "locator"]
                .iter()
                .all(|part| other.get(part) == source.get(part))
        };
        if known.len() < MOST_SOURCES && !known.iter().any(is_same_place) {
            known.push(source);
        }
    }
    let is_more = known.len() > before;
    Ok(is_more.then(|| stored.to_string()))
}
