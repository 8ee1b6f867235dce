//! Records facts and the content that they are about: new content is stored, the periods of the offers are derived again,
//! and what changed is added to the feed. All of a batch, or nothing.

use std::ops::Range;

use crate::connect::loan::Loan;
use crate::connect::version::{ADVANCE_VERSION, take_numbers};
use crate::record::plan::{Plan, Step};
use crate::record::ready::Ready;
use crate::record::recording::{EstimateRecord, Listing, NewEstimate, Recording, Saved};
use crate::record::snapshots::import_facts::ImportFacts;
use crate::record::tables;
use crate::record::work::Work;
use crate::{Store, StoreError};

/// Times that a plan is made without the lock, while other writers commit.
const MOST_TRIES: usize = 3;

impl Store {
    /// Stores an estimate and its sheets in one transaction. Stored content is unchanged, but a new source of a known
    /// sheet is added.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn save(&self, new: NewEstimate<'_>) -> Result<Saved, StoreError> {
        let is_stated = !new.answer.assumptions.is_empty();
        let is_pool = new.sheets.len() > 1;
        let mut recordings: Vec<Recording> = new
            .sheets
            .iter()
            .map(|sheet| {
                let mut recording = Recording::new(sheet.clone(), new.observed_at, new.answer.id);
                recording.listing = Listing::Unlisted;
                recording.recorded_at = new.recorded_at;
                recording.observed_by.clone_from(&new.observed_by);
                recording.is_observed = new.observed_by.is_some();
                recording
            })
            .collect();
        if let Some(last) = recordings.last_mut() {
            last.listing = match (is_pool, is_stated) {
                (true, is_stated) => Listing::Pooled { is_stated },
                (false, true) => Listing::Stated,
                (false, false) => Listing::Offer { duplicate_of: None },
            };
            last.estimate = Some(EstimateRecord::new(new.answer, new.document.to_owned()));
        }
        self.record_all(recordings, new.waits_for_others).await
    }

    /// Records sheets with their estimates in one transaction, in their order.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record(&self, recordings: &[Recording]) -> Result<Saved, StoreError> {
        self.record_all(recordings.to_vec(), false).await
    }

    /// Records sheets of an import with their estimates in a transaction of its own, in their order.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record_import(
        &self,
        import: &ImportFacts,
        recordings: &[Recording],
    ) -> Result<(), StoreError> {
        let work = Work {
            import: Some(import.clone()),
            ..Work::of(recordings.to_vec())
        };
        let _writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await.map(drop)
    }

    async fn record_all(
        &self,
        recordings: Vec<Recording>,
        waits_for_others: bool,
    ) -> Result<Saved, StoreError> {
        // Read without a lock first: what is known needs none. An import knows what is new, and those that are stored
        // together are read together.
        let is_read_later =
            recordings.len() > 1 || (waits_for_others && self.require_writable().is_ok());
        if is_read_later {
            return self
                .record_in_group(recordings, None, waits_for_others)
                .await;
        }
        let work = Work::of(recordings);
        let ready = read_ready(&mut self.connection().await?, &work).await?;
        if ready.plan.is_empty() {
            return Ok(Recorded::new(None, ready.plan).saved(0..1));
        }
        self.record_in_group(work.recordings, Some(ready), waits_for_others)
            .await
    }

    /// Records in one transaction. What is known is read before it, if it was not, and read again where another
    /// writer has committed since.
    pub(crate) async fn record_at_once(
        &self,
        work: &Work,
        ready: Option<Ready>,
    ) -> Result<Recorded, StoreError> {
        let mut loan = self.connection_for_many().await?;
        if loan.prepares() {
            let mut tx = loan.statements().await?;
            tables::prepare(&mut tx).await?;
            tx.prepare(ADVANCE_VERSION.to_owned()).await?;
        }
        let mut ready = match ready {
            Some(ready) if ready.version == self.newest() => ready,
            _ => read_ready(&mut loan, work).await?,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let is_empty = ready.plan.is_empty();
            if is_empty && !work.completes {
                return Ok(Recorded::new(None, ready.plan));
            }
            let mut tx = loan.writing().await?;
            // The version is the lock of the writers: from here to the end there are two round trips, and a few more where the
            // estimates are many. A snapshot that found what was there before is not a new version.
            let count = if is_empty { 0 } else { ready.count };
            let mut numbers = take_numbers(&mut tx, count).await?;
            let mut base = numbers.last - count;
            if ready.version != base && tries < MOST_TRIES {
                // What another writer has committed is read without the lock.
                drop(tx);
                ready = read_ready(&mut loan, work).await?;
                continue;
            }
            if ready.version != base {
                ready = Ready::make(&mut tx, work).await?;
                base = numbers.last;
                numbers = take_numbers(&mut tx, ready.count).await?;
            }
            tables::write(&mut tx, work, ready.parts(), (base, numbers.heads)).await?;
            tables::journal::keep(&mut tx, work, &ready.plan).await?;
            tx.commit().await?;
            self.note_recorded(work.newest());
            self.advance_version(numbers.last);
            return Ok(Recorded::new(Some(numbers.last), ready.plan));
        }
    }
}

/// Reads what is known without a lock, and plans.
async fn read_ready(loan: &mut Loan, work: &Work) -> Result<Ready, StoreError> {
    let mut tx = loan.reading().await?;
    // A transaction that is dropped is rolled back when its connection is used again, or returned: the write need not wait.
    Ready::make(&mut tx, work).await
}

/// Result of a transaction.
#[derive(Debug)]
pub(crate) struct Recorded {
    version: Option<i64>,
    pub(crate) plan: Plan,
}

impl Recorded {
    fn new(version: Option<i64>, plan: Plan) -> Self {
        Self { version, plan }
    }

    /// The result for some of the recordings.
    pub(crate) fn saved(&self, members: Range<usize>) -> Saved {
        let steps = &self.plan.steps[members];
        let is_known = steps.iter().all(Step::is_empty);
        Saved {
            is_new: steps.iter().any(|step| step.inserts_estimate),
            version: self.version.filter(|_| !is_known),
            effects: steps
                .iter()
                .filter_map(|step| step.effect.clone())
                .collect(),
        }
    }
}
