//! Records sheets and their estimates: new content is stored, the price before it ends, and the change is added to
//! the feed. A batch is recorded in full or not at all.

use std::ops::Range;

use sqlx::{Connection, Executor, SqlSafeStr};

use super::connection::on_connection;
use super::plan::{Known, Plan, Step};
use super::recording::{EstimateRecord, Listing, NewEstimate, Recording, Saved};
use super::{Store, StoreError, known, tables};

/// Takes the writers' lock and reserves this many sequence numbers.
pub(super) const ADVANCE_VERSION: &str =
    "UPDATE store_version SET version = version + $1 WHERE id = 1 RETURNING version";

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
                recording.counts_again = new.counts_again;
                recording.seen_now = !new.counts_again;
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
        self.record_all(recordings).await
    }

    /// Records sheets with their estimates in one transaction, in their order.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record(&self, recordings: &[Recording]) -> Result<Saved, StoreError> {
        self.record_all(recordings.to_vec()).await
    }

    async fn record_all(&self, recordings: Vec<Recording>) -> Result<Saved, StoreError> {
        // Read without a lock first: what is known needs none. An import knows what is new.
        if recordings.len() > 1 {
            return self.record_in_group(recordings, None).await;
        }
        let known = on_connection!(self, connection => known::load(connection, &recordings).await)?;
        if Plan::make(&recordings, known.clone(), 0)?.is_empty() {
            return Ok(Saved::KNOWN);
        }
        self.record_in_group(recordings, Some(known)).await
    }

    /// Records in one transaction. What is known is read before it, if it was not, and read again where another
    /// writer has committed since.
    pub(super) async fn record_at_once(
        &self,
        recordings: &[Recording],
        known: Option<Known>,
    ) -> Result<Recorded, StoreError> {
        on_connection!(self, within_write_timeout, connection => {
            tables::prepare(connection).await?;
            connection.prepare(ADVANCE_VERSION.into_sql_str()).await?;
            let known = match known {
                Some(known) if known.version == self.newest() => known,
                _ => known::load(connection, recordings).await?,
            };
            let mut transaction = connection.begin_with(self.begin()).await?;
            let count = i64::try_from(recordings.len()).unwrap_or(i64::MAX);
            // The version is the lock of the writers: from here to the end there are two round trips.
            let version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(count).fetch_one(&mut *transaction).await?;
            let known = if known.version == version - count {
                known
            } else {
                known::load(&mut *transaction, recordings).await?
            };
            let plan = Plan::make(recordings, known, version - count)?;
            if plan.is_empty() {
                transaction.rollback().await?;
            } else {
                tables::write(&mut *transaction, recordings, &plan).await?;
                transaction.commit().await?;
                self.advance_version(version);
            }
            Ok(Recorded { version, steps: plan.steps })
        })
    }
}

/// Result of a transaction.
#[derive(Debug)]
pub(super) struct Recorded {
    version: i64,
    steps: Vec<Step>,
}

impl Recorded {
    /// The result for some of the recordings.
    pub(super) fn saved(&self, members: Range<usize>) -> Saved {
        let steps = &self.steps[members];
        if steps.iter().all(Step::is_empty) {
            return Saved::KNOWN;
        }
        Saved {
            is_new: steps.iter().any(|step| step.inserts_estimate),
            version: Some(self.version),
        }
    }
}
