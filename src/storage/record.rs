//! Records facts and the content that they are about: new content is stored, the periods of the offers are derived again,
//! and what changed is added to the feed. All of a batch, or nothing.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use sqlx::{Connection, Executor, SqlSafeStr};
use uuid::Uuid;

use super::connection::on_connection;
use super::plan::{Acted, Known, Plan, SheetText, Step};
use super::recording::{EstimateRecord, Listing, NewEstimate, Recording, Saved};
use super::rows::Connected;
use super::told::Told;
use super::work::Work;
use super::{Store, StoreError, known, tables};

/// Takes the writers' lock alone.
const LOCK_VERSION: &str =
    "UPDATE store_version SET version = version WHERE id = 1 RETURNING version";

/// Takes the writers' lock and reserves this many sequence numbers.
pub(super) const ADVANCE_VERSION: &str =
    "UPDATE store_version SET version = version + $1 WHERE id = 1 RETURNING version";

impl Store {
    /// Stores an estimate and its sheets in one transaction. What is stored already stays as it is, but a source
    /// that a known sheet does not have yet is added to it.
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
                recording.sighted_by.clone_from(&new.sighted_by);
                recording.is_observed = new.sighted_by.is_some();
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
        let work = Work::of(recordings);
        let ready = on_connection!(self, connection => Ready::make(connection, &work).await)?;
        if ready.plan.is_empty() {
            return Ok(Saved::KNOWN);
        }
        self.record_in_group(work.recordings, Some(ready)).await
    }

    /// Records in one transaction. What is known is read before it, if it was not, and read again where another
    /// writer has committed since.
    pub(super) async fn record_at_once(
        &self,
        work: &Work,
        ready: Option<Ready>,
    ) -> Result<Recorded, StoreError> {
        on_connection!(self, within_write_timeout, connection => {
            tables::prepare(connection).await?;
            connection.prepare(ADVANCE_VERSION.into_sql_str()).await?;
            let mut ready = match ready {
                Some(ready) if ready.version == self.newest() => ready,
                _ => Ready::make(connection, work).await?,
            };
            let mut transaction = connection.begin_with(self.begin()).await?;
            if work.completes && ready.plan.is_empty() {
                // A look that found what was there before is no new version.
                let version: i64 =
                    sqlx::query_scalar(LOCK_VERSION).fetch_one(&mut *transaction).await?;
                if version == ready.version {
                    tables::write(&mut *transaction, work, &ready.plan, &ready.told, version).await?;
                    transaction.commit().await?;
                    return Ok(Recorded::NOTHING);
                }
            }
            let mut count = ready.count;
            // The version is the lock of the writers: from here to the end there are two round trips.
            let mut version: i64 =
                sqlx::query_scalar(ADVANCE_VERSION).bind(count).fetch_one(&mut *transaction).await?;
            if ready.version != version - count {
                ready = Ready::make(&mut *transaction, work).await?;
                count = ready.count;
                version = sqlx::query_scalar(ADVANCE_VERSION)
                    .bind(count)
                    .fetch_one(&mut *transaction)
                    .await?;
            }
            let is_written = !ready.plan.is_empty() || work.completes;
            if is_written {
                let base = version - count;
                tables::write(&mut *transaction, work, &ready.plan, &ready.told, base).await?;
                transaction.commit().await?;
                self.advance_version(version);
            } else {
                transaction.rollback().await?;
            }
            Ok(Recorded {
                version: is_written.then_some(version),
                steps: ready.plan.steps,
                acted: ready.plan.acted,
            })
        })
    }
}

/// All that is to be written, as of a version of the store.
#[derive(Debug)]
pub(super) struct Ready {
    version: i64,
    plan: Plan,
    told: Told,
    /// How many numbers its rows take.
    count: i64,
}

impl Ready {
    /// Reads what is known, and plans.
    async fn make(connection: &mut impl Connected, work: &Work) -> Result<Self, StoreError> {
        let known: Known = known::load(connection, work).await?;
        let version = known.version;
        let plan = Plan::make(work, known)?;
        let recorded: BTreeSet<Uuid> = work
            .recordings
            .iter()
            .map(|recording| recording.sheet_id)
            .collect();
        let mut wanted = plan.wanted_sheets();
        wanted.extend(work.act.iter().map(|act| act.sheet_id));
        wanted.retain(|id| !recorded.contains(id));
        let texts: HashMap<Uuid, SheetText> = known::load_sheets(connection, &wanted).await?;
        let told = Told::of(work, &plan, &texts)?;
        let count = tables::numbers(work, &plan, &told);
        Ok(Self {
            version,
            plan,
            told,
            count,
        })
    }
}

/// Result of a transaction.
#[derive(Debug)]
pub(super) struct Recorded {
    version: Option<i64>,
    steps: Vec<Step>,
    pub(super) acted: Option<Acted>,
}

impl Recorded {
    const NOTHING: Self = Self {
        version: None,
        steps: Vec::new(),
        acted: None,
    };

    /// The result for some of the recordings.
    pub(super) fn saved(&self, members: Range<usize>) -> Saved {
        let steps = &self.steps[members];
        Saved {
            is_new: steps.iter().any(|step| step.inserts_estimate),
            version: self.version,
        }
    }
}
