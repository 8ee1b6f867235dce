//! The check of a whole database, part by part and page by page: it only reads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::repeated::SoundEstimate;
use super::{CheckError, Fault, Subject};
use crate::clock::Clock;
use crate::import::Priority;
use crate::import::workers::work_on;
use crate::{CheckedEstimate, RowCounts, Store, StoreError};
use unroof_infer::estimate::{CancelToken, Estimator};

/// Rows with documents that are read at once.
const PAGE: u32 = 64;
/// Offers whose histories are compared at once.
const OFFERS: u32 = 200;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
}

/// A check that runs.
struct Run<'a, W> {
    checker: &'a Checker,
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
        let mut run = Run {
            checker: self,
            watch,
            checked: Checked::default(),
        };
        for detail in self.store.structure_faults().await? {
            run.fault(Subject::File, detail);
        }
        run.check_sheets().await?;
        run.check_estimates().await?;
        run.check_histories().await?;
        Ok(run.checked)
    }
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
            for row in &rows {
                for detail in row.faults() {
                    self.fault(Subject::Sheet(row.id), detail);
                }
            }
            self.checked.sheets += rows.len();
            self.watch.advance(rows.len());
        }
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
        while let Some((_, (id, detail))) = done.recv().await {
            count += 1;
            if let Some(detail) = detail {
                self.fault(Subject::Estimate(id), detail);
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
            for fault in faults {
                self.fault(fault.subject, fault.detail);
            }
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.checker.clock.now()
    }
}
