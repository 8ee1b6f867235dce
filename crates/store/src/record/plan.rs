//! The plan of a transaction: its effect on the tables, computed before anything is written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use serde_json::Value;
use sqlx::FromRow;
use uuid::Uuid;

use super::derive::{Derived, StoredPeriod};
use super::effect::Effect;
use super::offers::{Offer, SheetFacts, WithdrawnSheet, after};
use super::recording::{Listing, Recording};
use super::snapshots::among::SnapshotAmong;
use super::snapshots::import_facts::CompletedSnapshot;
use super::work::{Act, Work};
use crate::StoreError;
use unroof_price_sheet::sheet::{MOST_SOURCES, PriceSheet};

/// The stored rows that matter to some work.
#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    /// The version of the store before all of this was read.
    pub(crate) version: i64,
    /// Documents of the sheets that are recorded.
    pub(crate) sheets: HashMap<Uuid, String>,
    /// Sheets of questions, which no source stated so far.
    pub(crate) questions: HashSet<Uuid>,
    /// Estimates that are stored.
    pub(crate) estimates: HashSet<Uuid>,
    /// Sheet, and the estimate that was last listed for it without assumptions.
    pub(crate) listings: HashMap<Uuid, Uuid>,
    pub(crate) offers: HashMap<Uuid, Offer>,
    /// Offers of which nothing new is stated: their facts are not read.
    pub(crate) unchanged: BTreeSet<Uuid>,
    /// Stored periods by offer, in the order of their starts.
    pub(crate) periods: HashMap<Uuid, Vec<StoredPeriod>>,
    pub(crate) disagreements: HashMap<Uuid, Vec<OpenDisagreement>>,
    pub(crate) snapshot: Option<SnapshotAmong>,
    /// Stored sheets whose estimates fit no machine.
    pub(crate) misfits: HashSet<Uuid>,
    /// Entries that a snapshot at the same time could not read.
    pub(crate) unparsed: BTreeSet<String>,
    /// The facts as they are put back, where an import is undone.
    pub(crate) restored: Option<HashMap<Uuid, Offer>>,
}

/// A disagreement that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub(crate) struct OpenDisagreement {
    pub(crate) id: Uuid,
    pub(crate) sheet_id: Uuid,
    pub(crate) other_catalog: String,
    pub(crate) other_sheet_id: Uuid,
    pub(crate) is_flagged: bool,
}

/// Effect of one recording on its sheet.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SheetStep {
    #[default]
    Nothing,
    Insert,
    AddSources,
}

/// Effect of one recording.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one row is written"
)]
pub(crate) struct Step {
    pub(crate) sheet: SheetStep,
    pub(crate) inserts_estimate: bool,
    pub(crate) inserts_listing: bool,
    /// Whether it adds to what is known of its offer.
    pub(crate) is_observation: bool,
    /// Whether the sheet of a question is stated now.
    pub(crate) reveals: bool,
    /// Whether a known sheet fits a machine, or none, other than was known.
    pub(crate) is_other_fit: bool,
    /// Whether the listed estimate of a known price is another one.
    pub(crate) is_update: bool,
    /// Whether that price is in force.
    pub(crate) is_in_force: bool,
    /// Effect of a seen sheet on the price of its offer.
    pub(crate) effect: Option<Effect>,
}

impl Step {
    pub(crate) fn is_empty(&self) -> bool {
        self.sheet == SheetStep::Nothing
            && !self.inserts_estimate
            && !self.inserts_listing
            && !self.reveals
            && !self.is_other_fit
            && !self.is_observation
    }
}

/// Effect on an offer.
#[derive(Debug)]
pub(crate) struct OfferPlan {
    pub(crate) id: Uuid,
    pub(crate) before: Offer,
    pub(crate) after: Offer,
    pub(crate) derived: Derived,
    pub(crate) disagreements: Vec<OpenDisagreement>,
    /// Time at which the change was seen.
    pub(crate) seen_at: Timestamp,
}

impl OfferPlan {
    fn is_empty(&self) -> bool {
        self.before.seen == self.after.seen
            && self.before.withdrawals == self.after.withdrawals
            && self.derived.is_empty()
    }
}

/// Outcome of a withdrawal, or of undoing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// The price is withdrawn, now or since an earlier request; or no longer withdrawn.
    Done(Option<(Timestamp, String)>),
    /// The price is neither in force nor announced.
    Over,
}

/// All that is to be written.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) offers: Vec<OfferPlan>,
    /// Documents of the sheets that are recorded.
    pub(crate) sheets: HashMap<Uuid, String>,
    /// Ids of recorded sheets known only as questions.
    pub(crate) questions: HashSet<Uuid>,
    /// Ids of recorded sheets whose estimate fits no accelerator.
    pub(crate) misfits: HashSet<Uuid>,
    /// Entries that a snapshot at the same time could not read, and this one could.
    pub(crate) now_read: BTreeSet<String>,
    /// The snapshot that is completed, with what is new of it.
    pub(crate) completed: Option<CompletedSnapshot>,
    pub(crate) acted: Option<Acted>,
    /// Whether the act changed anything.
    pub(crate) has_acted: bool,
}

impl Plan {
    /// Computes the effect of some work.
    ///
    /// # Errors
    /// A stored document is damaged.
    pub(crate) fn make(work: &Work, mut known: Known) -> Result<Self, StoreError> {
        let mut plan = Self::default();
        for recording in &work.recordings {
            let step = known.step(recording, work.now)?;
            plan.steps.push(step);
        }
        let facts = |sheet: &SheetFacts| SheetFacts {
            is_misfit: known.misfits.contains(&sheet.sheet_id),
            ..sheet.clone()
        };
        let restored = known.restored.take();
        let mut after = restored.unwrap_or_else(|| known.offers.clone());
        let mut touched = work.touched();
        let steps = work.recordings.iter().zip(&plan.steps);
        for (recording, _) in steps.filter(|(_, step)| step.is_other_fit) {
            let offer_id = recording.offer_id;
            let seen = after.entry(offer_id).or_default().seen.iter_mut();
            for seen in seen.filter(|seen| seen.sheet.sheet_id == recording.sheet_id) {
                seen.sheet = facts(&seen.sheet);
            }
            if !touched.contains(&offer_id) {
                touched.push(offer_id);
            }
        }
        for (recording, step) in work.recordings.iter().zip(&mut plan.steps) {
            if let Some(by) = &recording.observed_by
                && !known.unchanged.contains(&recording.offer_id)
            {
                let offer = after.entry(recording.offer_id).or_default();
                let before = offer.seen.clone();
                offer.post(&facts(&recording.facts()), by, recording.observed_at);
                step.is_observation = before != offer.seen;
            }
        }
        if let Some(among) = &known.snapshot {
            for listed in &work.listed {
                let offer = after.entry(listed.offer_id).or_default();
                let sheets: Vec<SheetFacts> = listed.sheets.iter().map(facts).collect();
                offer.add_snapshot(among, &sheets);
            }
            if work.completes {
                plan.now_read = &known.unparsed - &among.snapshot.unparsed;
                plan.completed = Some(CompletedSnapshot {
                    at: among.snapshot.at,
                    scopes: among.new_scopes(),
                    unparsed: (&*among.snapshot.unparsed - &known.unparsed)
                        .into_iter()
                        .collect(),
                    read: plan.now_read.iter().cloned().collect(),
                });
                for offer in after.values_mut() {
                    offer.complete(&among.snapshot);
                }
            }
        }
        if let Some(act) = &work.act {
            let offer = after.entry(act.offer_id).or_default();
            let periods = known.periods.get(&act.offer_id);
            let before = offer.withdrawals.clone();
            plan.acted = Some(offer.act(act, periods.map_or(&[], Vec::as_slice), work.now));
            plan.has_acted = before != offer.withdrawals;
        }
        let mut seen_at = BTreeMap::new();
        for recording in &work.recordings {
            seen_at.insert(recording.offer_id, recording.observed_at);
        }
        let touched = touched.into_iter();
        for id in touched.filter(|offer| !known.unchanged.contains(offer)) {
            let before = known.offers.remove(&id).unwrap_or_default();
            let after = after.remove(&id).unwrap_or_default();
            let stored = known.periods.remove(&id).unwrap_or_default();
            let snapshot_at = work.snapshot.as_ref().map(|snapshot| snapshot.at);
            // What is undone was recorded before that.
            let undone = before.newest().filter(|_| work.undoes);
            let recorded = [after.newest(), snapshot_at, undone];
            let recorded = recorded.into_iter().flatten().max();
            let now = recorded.map_or(work.now, |recorded| recorded.max(work.now));
            let seen_at = seen_at.get(&id).copied().or(snapshot_at).unwrap_or(now);
            let offer = OfferPlan {
                id,
                derived: Derived::new(&stored, &before, &after, now),
                before,
                after,
                disagreements: known.disagreements.remove(&id).unwrap_or_default(),
                seen_at,
            };
            let periods = &offer.derived.periods;
            let effect = |sheet: &Recording| Effect::of(&sheet.facts(), &offer.after, periods, now);
            plan.add_effects(&work.recordings, |of| of == id, effect);
            if !offer.is_empty() {
                plan.offers.push(offer);
            }
        }
        // A sheet that is stated again, and is in force, is so still.
        let is_repeated = |offer| known.unchanged.contains(&offer);
        plan.add_effects(&work.recordings, is_repeated, |_| Effect::InForce);
        plan.sheets = known.sheets;
        plan.misfits = known.misfits;
        plan.questions = known.questions;
        Ok(plan)
    }

    /// Names the effects of the sheets that were seen of some offers.
    fn add_effects(
        &mut self,
        recordings: &[Recording],
        is_meant: impl Fn(Uuid) -> bool,
        effect: impl Fn(&Recording) -> Effect,
    ) {
        for (recording, step) in recordings.iter().zip(&mut self.steps) {
            if recording.observed_by.is_some() && is_meant(recording.offer_id) {
                step.effect = Some(effect(recording));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(Step::is_empty) && self.offers.is_empty()
    }

    /// The sheets that its news and comparisons name.
    pub(crate) fn wanted_sheets(&self, work: &Work) -> BTreeSet<Uuid> {
        let mut wanted: BTreeSet<Uuid> = work.act.iter().map(|act| act.sheet_id).collect();
        for offer in &self.offers {
            for news in &offer.derived.news {
                wanted.insert(news.sheet_id);
                wanted.extend(news.previous_sheet_id);
            }
            let retirements = offer.derived.retirements.iter();
            wanted.extend(retirements.map(|news| news.sheet_id));
            // Rows of periods have the names of their offer.
            wanted.extend(offer.derived.written.iter().map(|row| row.period.sheet_id));
            if let Some(stated) = &offer.derived.stated {
                wanted.extend(stated.in_force);
                wanted.extend(stated.others.iter().map(|other| other.sheet_id));
            }
            let open = offer.disagreements.iter();
            wanted.extend(open.map(|open| open.sheet_id));
        }
        wanted
    }
}

impl Offer {
    /// Withdraws a sheet, or undoes that.
    fn act(&mut self, act: &Act, periods: &[StoredPeriod], now: Timestamp) -> Acted {
        let withdrawals = self.withdrawals();
        let in_force = self
            .withdrawals
            .iter()
            .zip(&withdrawals)
            .filter(|(stored, withdrawal)| {
                stored.sheet_id == act.sheet_id && withdrawal.seen_again_at.is_none()
            });
        let holds = in_force
            .map(|(stored, _)| stored.clone())
            .max_by_key(|stored| stored.at);
        let Some(because) = &act.because else {
            if let Some(holds) = &holds {
                self.withdrawals.retain(|withdrawal| withdrawal != holds);
            }
            return Acted::Done(None);
        };
        if let Some(withdrawal) = holds {
            return Acted::Done(Some((withdrawal.at, withdrawal.because)));
        }
        let at = after(self.newest(), now);
        let mut own = self
            .seen
            .iter()
            .filter(|seen| seen.sheet.sheet_id == act.sheet_id);
        let price_id = own.next().map(|seen| seen.sheet.price_id);
        let is_price = periods.iter().any(|stored| {
            Some(stored.period.price_id) == price_id
                && stored.period.ends_at().is_none_or(|end| end > at)
        });
        if !is_price {
            return Acted::Over;
        }
        self.withdrawals.push(WithdrawnSheet {
            sheet_id: act.sheet_id,
            at,
            because: because.clone(),
            seen_at: None,
        });
        Acted::Done(Some((at, because.clone())))
    }
}

impl Known {
    /// Writes that a recording needs. From then on the recording is known.
    fn step(&mut self, recording: &Recording, now: Timestamp) -> Result<Step, StoreError> {
        let mut step = Step::default();
        let sheet_id = recording.sheet_id;
        match self.sheets.get(&sheet_id) {
            None => {
                step.sheet = SheetStep::Insert;
                let document = serde_json::to_string(&recording.sheet)
                    .expect("a sheet of texts and numbers serialises");
                self.sheets.insert(sheet_id, document);
                if !recording.is_observed {
                    self.questions.insert(sheet_id);
                }
            }
            Some(stored) => {
                if let Some(document) = with_new_sources(stored, &recording.sheet, sheet_id)?
                    && recording.is_observed
                {
                    step.sheet = SheetStep::AddSources;
                    self.sheets.insert(sheet_id, document);
                }
                step.reveals = recording.is_observed && self.questions.remove(&sheet_id);
            }
        }
        self.check_fit(recording, &mut step);
        if recording.estimate.is_some() && self.estimates.insert(recording.estimate_id) {
            step.inserts_estimate = true;
        }
        step.inserts_listing = match recording.listing {
            Listing::Unlisted => false,
            Listing::Stated | Listing::Pooled { .. } => step.inserts_estimate,
            Listing::Offer { .. } => {
                let last = self.listings.insert(sheet_id, recording.estimate_id);
                step.is_update = last.is_some_and(|last| last != recording.estimate_id);
                last != Some(recording.estimate_id)
            }
        };
        if let Listing::Pooled { is_stated: false } = recording.listing {
            step.is_update = step.inserts_listing && recording.is_observed;
        } else {
            step.is_update &= recording.is_observed;
            let recorded = self.offers.get(&recording.offer_id).and_then(Offer::newest);
            let now = recorded.map_or(now, |recorded| recorded.max(now));
            let periods = self.periods.get(&recording.offer_id);
            let mut periods = periods.into_iter().flatten();
            step.is_in_force = periods
                .any(|stored| stored.period.sheet_id == sheet_id && stored.period.covers(now));
        }
        Ok(step)
    }
}

impl Known {
    /// Notes whether the sheet of a recording fits no machine. What a question says of a known sheet does not count.
    fn check_fit(&mut self, recording: &Recording, step: &mut Step) {
        let (sheet_id, is_new) = (recording.sheet_id, step.sheet == SheetStep::Insert);
        let Some(is_misfit) = recording
            .is_misfit()
            .filter(|_| is_new || recording.is_observed)
        else {
            return;
        };
        let is_other = if is_misfit {
            self.misfits.insert(sheet_id)
        } else {
            self.misfits.remove(&sheet_id)
        };
        step.is_other_fit = is_other && !is_new;
    }
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
