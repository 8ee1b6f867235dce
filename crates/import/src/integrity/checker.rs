//! The check of a whole database, part by part and page by page: it only reads, unless it repairs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::repeated::SoundEstimate;
use super::{CheckError, Fault, Subject};
use crate::Priority;
use crate::workers::work_on;
use unroof_infer::estimate::{CancelToken, Estimator};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::clock::Clock;
use unroof_store::{
    CheckedEstimate, CheckedSheet, RULES, RowCounts, Store, StoreError, columns_at, windows,
};

/// Rows with documents that are read at once.
const PAGE: u32 = 64;
/// Offers whose histories are compared at once.
const OFFERS: u32 = 200;
/// Passes of a repair.
const MOST_PASSES: usize = 3;
/// Pause before an offer with a fault is looked at again: an import derives histories after it has recorded what it saw.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Checks every row of a database.
#[derive(Debug, Clone)]
pub struct Checker {
    /// Database that is checked.
    pub store: Store,
    /// The engine with its calibration.
    pub estimator: Estimator,
    /// Clock of the check.
    pub clock: Clock,
    /// Number of threads that compute estimates again.
    pub threads: usize,
    /// Whether other work on this machine comes first.
    pub is_in_background: bool,
    /// The estimates that are computed again; all where it is none.
    pub sample: Option<Sample>,
    /// A link of the chains that was noted elsewhere; empty where none was.
    pub expected_link: Vec<u8>,
}

/// Some of the estimates, by the order of their ids, which are as good as random.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Number of estimates in the sample.
    pub count: usize,
    /// The id after which they begin.
    pub after: Uuid,
}

/// A part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The part that checks price sheets.
    Sheets,
    /// The part that checks estimates.
    Estimates,
    /// The part that checks histories of offers.
    Histories,
    /// The part that checks that rows follow from each other, by the numbers of the rows.
    Rows,
    /// The part that follows the chains of the logs.
    Chains,
}

/// Receiver of the progress and the faults of a running check.
pub trait Watch: Send {
    /// Called when a part begins.
    fn begin(&mut self, part: Part);
    /// Rows of the part are done.
    fn advance(&mut self, rows: usize);
    /// A fault was found.
    fn fault(&mut self, fault: &Fault);
}

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Price sheets that were checked.
    pub sheets: usize,
    /// Estimates that were checked.
    pub estimates: usize,
    /// Estimates that were computed again.
    pub repeated: usize,
    /// Estimates by another engine or calibration, of which only the checksum was checked.
    pub by_others: usize,
    /// Offers whose histories were compared.
    pub offers: usize,
    /// Offers with a difference that were not compared, since an import runs that is about to derive them.
    pub unsettled: usize,
    /// Faults that were found.
    pub faults: usize,
    /// Rows of the logs whose links were followed.
    pub links: usize,
    /// Links of the newest rows of the changes and of the audit log.
    pub heads: [Vec<u8>; 2],
    /// Whether the expected link is in a chain.
    pub has_expected: bool,
}

/// A check that runs.
struct Run<'a, W> {
    checker: &'a Checker,
    /// Whether rows that do not follow from documents and facts are derived again.
    repairs: bool,
    watch: &'a mut W,
    checked: Checked,
}

impl Checker {
    /// Number of rows to check.
    ///
    /// # Errors
    /// The query fails.
    pub async fn rows(&self) -> Result<RowCounts, StoreError> {
        self.store.rows_to_check().await
    }

    fn priority(&self) -> Priority {
        if self.is_in_background {
            Priority::Batch
        } else {
            Priority::Normal
        }
    }

    /// Checks everything.
    ///
    /// # Errors
    /// The database fails, or a thread cannot be started.
    pub async fn check(&self, watch: &mut impl Watch) -> Result<Checked, CheckError> {
        self.pass(watch, false).await
    }

    /// Derives again what does not follow from documents and facts; the number of faults that were found. What is derived
    /// from a repaired row is repaired in the next pass.
    ///
    /// # Errors
    /// As those of a check. What was repaired before stays.
    pub async fn repair(&self, watch: &mut impl Watch) -> Result<usize, CheckError> {
        let found = self.pass(watch, true).await?.faults;
        let mut faults = found;
        for _ in 1..MOST_PASSES {
            if faults == 0 {
                break;
            }
            faults = self.pass(watch, true).await?.faults;
        }
        Ok(found)
    }

    async fn pass(&self, watch: &mut impl Watch, repairs: bool) -> Result<Checked, CheckError> {
        let mut run = Run {
            checker: self,
            repairs,
            watch,
            checked: Checked::default(),
        };
        for detail in self.store.structure_faults().await? {
            run.fault(Subject::File, detail);
        }
        run.check_sheets().await?;
        run.check_estimates().await?;
        run.check_rows().await?;
        run.check_histories().await?;
        run.check_chains().await?;
        Ok(run.checked)
    }
}

fn row_of_listing(sequence: i64) -> Subject {
    Subject::Row("estimate_listings", sequence)
}

impl<W: Watch> Run<'_, W> {
    fn fault(&mut self, subject: Subject, detail: String) {
        self.checked.faults += 1;
        self.watch.fault(&Fault { subject, detail });
    }

    async fn check_sheets(&mut self) -> Result<(), StoreError> {
        self.watch.begin(Part::Sheets);
        let mut after = Uuid::nil();
        loop {
            let rows = self.checker.store.sheets_to_check(after, PAGE).await?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = last.id;
            self.check_columns(&rows).await?;
            self.checked.sheets += rows.len();
            self.watch.advance(rows.len());
        }
    }

    /// Compares the columns of sheets, and of their listings, with what follows from their documents.
    async fn check_columns(&mut self, rows: &[CheckedSheet]) -> Result<(), StoreError> {
        let (mut sound, mut other) = (BTreeMap::new(), Vec::new());
        for row in rows {
            match row.sound() {
                Ok(sheet) => drop(sound.insert(row.id, (row, sheet))),
                Err(detail) => self.fault(Subject::Sheet(row.id), detail),
            }
        }
        for (id, (row, sheet)) in &sound {
            if let Some((columns, detail)) = row.other_columns(sheet) {
                self.fault(Subject::Sheet(*id), detail);
                other.push((*id, columns));
            }
        }
        if self.repairs && !other.is_empty() {
            self.checker.store.mend_sheets(other).await?;
        }
        let sheets: BTreeMap<Uuid, PriceSheet> = sound
            .into_iter()
            .map(|(id, (_, sheet))| (id, sheet))
            .collect();
        self.check_listings(&sheets).await
    }

    async fn check_listings(
        &mut self,
        sheets: &BTreeMap<Uuid, PriceSheet>,
    ) -> Result<(), StoreError> {
        let ids = sheets.keys().copied().collect::<Vec<_>>();
        let mut other = Vec::new();
        for listing in self.checker.store.listings_to_check(&ids).await? {
            let columns = columns_at(&sheets[&listing.sheet_id], listing.observed_at);
            let differing = listing.differing_columns(&columns);
            if !differing.is_empty() {
                let detail = format!("other than in its sheet: {}", differing.join(", "));
                self.fault(row_of_listing(listing.sequence), detail);
                other.push((listing.sequence, columns));
            }
        }
        if self.repairs && !other.is_empty() {
            self.checker.store.mend_listings(other).await?;
        }
        Ok(())
    }

    /// Compares the links of estimates to sheets, and the rows of models, with the documents.
    async fn check_links(&mut self, page: &[SoundEstimate]) -> Result<(), StoreError> {
        let ids: Vec<Uuid> = page.iter().map(SoundEstimate::id).collect();
        let store = &self.checker.store;
        let links = store.links_of(&ids).await?;
        let models = store.models_of(&ids).await?;
        for estimate in page {
            let derived = estimate.drawn_from();
            let stored = links.get(&estimate.id()).cloned().unwrap_or_default();
            if stored != derived {
                let detail = "it is linked to other sheets than in its document".to_owned();
                self.fault(Subject::Estimate(estimate.id()), detail);
                if self.repairs {
                    store.mend_links(estimate.id(), &stored, &derived).await?;
                }
            }
            let own = models.iter().filter(|row| row.estimate_id == estimate.id());
            if let Some(derived) = estimate.model()
                && own.clone().any(|row| *row != derived)
            {
                let detail =
                    "other than in the row of its model: name, author, calibration or counts";
                self.fault(Subject::Estimate(estimate.id()), detail.to_owned());
                if self.repairs {
                    store.mend_model(&derived).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks that rows follow from rows of other tables, and that no number is larger than the version.
    async fn check_rows(&mut self) -> Result<(), StoreError> {
        self.watch.begin(Part::Rows);
        let store = &self.checker.store;
        let numbers = store.numbers().await?;
        if numbers.version < numbers.largest {
            let detail = format!(
                "it is {}, below the number {}",
                numbers.version, numbers.largest
            );
            self.fault(Subject::Version, detail);
            if self.repairs {
                store.raise_version(numbers.largest).await?;
            }
        }
        for window in windows(numbers.largest) {
            for rule in RULES {
                let broken = store.broken(rule, window).await?;
                for number in &broken {
                    self.fault(Subject::Row(rule.table, *number), rule.detail.to_owned());
                }
                if self.repairs && !broken.is_empty() {
                    store.mend_rule(rule, window).await?;
                }
            }
        }
        Ok(())
    }

    /// Follows the chains; again where they are broken, since rows may be written or removed meanwhile.
    async fn check_chains(&mut self) -> Result<(), StoreError> {
        self.watch.begin(Part::Chains);
        let (store, expected) = (&self.checker.store, &self.checker.expected_link);
        let mut chains = store.check_chains(expected).await?;
        if !chains.faults.is_empty() {
            tokio::time::sleep(SECOND_LOOK).await;
            chains = store.check_chains(expected).await?;
        }
        for fault in chains.faults {
            self.fault(fault.subject, fault.detail);
        }
        self.checked.links = chains.links;
        self.checked.heads = chains.heads;
        self.checked.has_expected = chains.has_expected;
        Ok(())
    }

    /// From the start of the sample to the last id, and then from the first id to the start.
    async fn check_estimates(&mut self) -> Result<(), CheckError> {
        self.watch.begin(Part::Estimates);
        let start = self
            .checker
            .sample
            .map_or(Uuid::nil(), |sample| sample.after);
        let mut after = start;
        let mut is_second_half = false;
        loop {
            let store = &self.checker.store;
            let mut rows = store.estimates_to_check(after, PAGE).await?;
            if is_second_half {
                rows.retain(|row| row.id <= start);
            }
            match rows.last() {
                Some(last) => after = last.id,
                None if is_second_half || start.is_nil() => return Ok(()),
                None => {
                    is_second_half = true;
                    after = Uuid::nil();
                    continue;
                }
            }
            self.check_page(rows).await?;
        }
    }

    async fn check_page(&mut self, rows: Vec<CheckedEstimate>) -> Result<(), CheckError> {
        let count = rows.len();
        let mut page = Vec::new();
        for row in rows {
            let id = row.id;
            match SoundEstimate::read(row) {
                Ok(sound) => page.push(sound),
                Err(detail) => self.fault(Subject::Estimate(id), detail),
            }
        }
        self.checked.estimates += count;
        self.check_links(&page).await?;
        let sound = page.len();
        page.retain(|estimate| estimate.is_of(&self.checker.estimator));
        self.checked.by_others += sound - page.len();
        if let Some(sample) = self.checker.sample {
            page.truncate(sample.count.saturating_sub(self.checked.repeated));
        }
        self.checked.repeated += page.len();
        // Those that are not computed are done.
        self.watch.advance(count - page.len());
        self.repeat(page).await
    }

    /// Computes estimates again, on threads of their own.
    async fn repeat(&mut self, page: Vec<SoundEstimate>) -> Result<(), CheckError> {
        let ids: BTreeSet<Uuid> = page.iter().flat_map(SoundEstimate::sheet_ids).collect();
        let sheets = self.checker.store.sound_sheets(&ids).await?;
        let mut repeatable = Vec::with_capacity(page.len());
        for estimate in page {
            match estimate.obstacle(&sheets, &self.checker.estimator) {
                None => repeatable.push(estimate),
                Some(detail) => {
                    self.fault(Subject::Estimate(estimate.id()), detail);
                    self.watch.advance(1);
                }
            }
        }
        let page = repeatable;
        let (wanted, _waiting) = CancelToken::while_waiting();
        let (page, estimator) = (Arc::new(page), self.checker.estimator.clone());
        let sheets = Arc::new(sheets);
        let compare = move |estimate: &SoundEstimate| {
            let compared = estimate.compare(&sheets, &estimator, &wanted).ok()?;
            Some((estimate.id(), compared))
        };
        let checker = self.checker;
        let done = work_on(&page, checker.threads, checker.priority(), compare);
        let mut done = done.map_err(CheckError::Thread)?;
        let mut count = 0;
        while let Some((_, (id, differing))) = done.recv().await {
            count += 1;
            if let Some(differing) = differing {
                self.fault(Subject::Estimate(id), differing.detail);
                if self.repairs && differing.again.id == id {
                    self.checker.store.mend_estimate(&differing.again).await?;
                }
            }
            self.watch.advance(1);
        }
        if count < page.len() {
            return Err(CheckError::Crashed);
        }
        Ok(())
    }

    async fn check_histories(&mut self) -> Result<(), StoreError> {
        self.watch.begin(Part::Histories);
        let mut after = Uuid::nil();
        let mut doubtful = BTreeSet::new();
        loop {
            let (store, now) = (&self.checker.store, self.now());
            let page = store.check_histories(after, OFFERS, now).await?;
            doubtful.extend(page.faults.iter().filter_map(|fault| fault.subject.offer()));
            self.checked.offers += page.offers;
            self.watch.advance(page.offers);
            match page.last {
                Some(last) => after = last,
                None => break,
            }
        }
        if doubtful.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(SECOND_LOOK).await;
        self.look_again(&Vec::from_iter(doubtful)).await
    }

    /// Compares the histories of some offers again.
    async fn look_again(&mut self, offers: &[Uuid]) -> Result<(), StoreError> {
        for offers in offers.chunks(OFFERS as usize) {
            let (store, now) = (&self.checker.store, self.now());
            let faults = store.history_faults(offers, now).await?;
            if !faults.is_empty() && store.is_importing().await? {
                let offers = faults.iter().filter_map(|fault| fault.subject.offer());
                let offers: BTreeSet<Uuid> = offers.collect();
                self.checked.unsettled += offers.len();
                continue;
            }
            let damaged: BTreeSet<Uuid> = faults
                .iter()
                .filter_map(|fault| fault.subject.offer())
                .collect();
            for fault in faults {
                self.fault(fault.subject, fault.detail);
            }
            if self.repairs && !damaged.is_empty() {
                store.mend_histories(&Vec::from_iter(damaged), now).await?;
            }
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.checker.clock.now()
    }
}
