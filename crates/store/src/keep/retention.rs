//! Rows that are kept for a time, and their deletion in small batches. What is not in this table is kept for ever.

use jiff::{SignedDuration, Timestamp};

use super::questions::QuestionPlace;
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};

/// Questions of a batch: each takes a dozen statements, during which other writers wait.
const QUESTIONS: u32 = 20;
/// Rows of another batch.
const ROWS: u32 = 500;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Rows that expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiring {
    /// Answers to questions, which are no prices.
    Questions,
    /// The audit log.
    Audit,
    /// Keys that were revoked or have expired, and their sessions.
    Keys,
    /// Runs of imports, but for the last ones of every source.
    Imports,
}

/// Time for which rows are kept; for ever where none is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Answers to questions, since they were stored.
    pub questions: Option<SignedDuration>,
    /// The audit log.
    pub audit: Option<SignedDuration>,
    /// Keys, since they were revoked or have expired.
    pub keys: Option<SignedDuration>,
    /// Runs of imports, since they began.
    pub imports: Option<SignedDuration>,
}

impl Default for Retention {
    /// A question is asked again in a second. Who did what is of use for a year, and a month more to look back on it.
    fn default() -> Self {
        let year = Some(DAY * 400);
        Self {
            questions: Some(DAY * 30),
            audit: year,
            keys: year,
            imports: year,
        }
    }
}

impl Retention {
    /// All rows that expire, each with the time before which they have.
    #[must_use]
    pub fn table(&self, now: Timestamp) -> Vec<(Expiring, DbTime)> {
        let kept = [
            (Expiring::Questions, self.questions),
            (Expiring::Audit, self.audit),
            (Expiring::Keys, self.keys),
            (Expiring::Imports, self.imports),
        ];
        let before = |(what, time): (Expiring, Option<SignedDuration>)| {
            Some((what, now.checked_sub(time?).ok()?.into()))
        };
        kept.into_iter().filter_map(before).collect()
    }
}

/// Outcome of the deletion of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Number of deleted rows.
    pub deleted: u64,
    /// Place after which the next batch begins; none after the last one.
    pub next: Option<NextBatch>,
}

/// Place after which a batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextBatch(Option<QuestionPlace>);

/// The oldest rows of the log. A row is deleted after all that were written before it.
const OLDEST_AUDIT: &str = "SELECT sequence, at FROM audit ORDER BY sequence LIMIT ";
const DELETE_AUDIT: &str = "DELETE FROM audit WHERE sequence <= $1";
/// The chain of the log begins after the last deleted row.
const BEGIN_AUDIT: &str = "
    UPDATE store_version SET audit_begin = (SELECT coalesce(link, audit_begin) FROM audit WHERE sequence = $1)
    WHERE id = 1";

// A session ends with its key.
const DELETE_SESSIONS: &str = "
    DELETE FROM api_keys WHERE made_from IS NOT NULL AND (expires_at < $1 OR made_from IN (
        SELECT id FROM api_keys WHERE revoked_at < $1 OR expires_at < $1))";
// The file of an admin key may be there still: without the row, the key would be taken for a new one.
const DELETE_KEYS: &str = "
    DELETE FROM api_keys AS own
    WHERE made_from IS NULL AND (revoked_at < $1 OR expires_at < $1) AND name NOT LIKE 'admin key file %'
      AND NOT EXISTS (SELECT 1 FROM api_keys AS session WHERE session.made_from = own.id)";

// The last run of a source and a catalog says when it was read, and the last that was done which version is known.
const DELETE_IMPORTS: &str = "
    DELETE FROM imports WHERE id IN (
        SELECT id FROM imports AS old
        WHERE started_at < $1 AND outcome IN ('done', 'not_modified', 'failed') AND refusals IS NULL AND EXISTS (
            SELECT 1 FROM imports AS newer
            WHERE newer.source = old.source AND coalesce(newer.catalog, '') = coalesce(old.catalog, '')
              AND newer.started_at > old.started_at AND (newer.outcome = 'done' OR old.outcome <> 'done'))
        ORDER BY started_at LIMIT $2)";

impl Store {
    /// Deletes a batch of rows that have expired: the first one, or the one after another.
    ///
    /// # Errors
    /// The query fails; then nothing of the batch is deleted.
    pub async fn delete_expired(
        &self,
        what: Expiring,
        before: DbTime,
        from: Option<NextBatch>,
    ) -> Result<Batch, StoreError> {
        match what {
            Expiring::Questions => self.delete_old_questions(before, from).await,
            Expiring::Audit => self.delete_old_audit(before).await,
            Expiring::Keys => self.delete_old_keys(before).await.map(last_of),
            Expiring::Imports => {
                let delete = Query::new(DELETE_IMPORTS).bind(before);
                let deleted = self.write(delete.bind(i64::from(ROWS))).await?;
                Ok(batch_of(deleted))
            }
        }
    }

    async fn delete_old_questions(
        &self,
        before: DbTime,
        from: Option<NextBatch>,
    ) -> Result<Batch, StoreError> {
        let after = from.and_then(|NextBatch(place)| place);
        let old = self.old_questions(before, after, QUESTIONS).await?;
        let Some(last) = old.last().map(|question| question.place) else {
            return Ok(last_of(0));
        };
        let is_full = old.len() == QUESTIONS as usize;
        let ids = old.iter().map(|question| question.estimate_id).collect();
        Ok(Batch {
            deleted: self.delete_questions(&ids).await?,
            next: is_full.then_some(NextBatch(Some(last))),
        })
    }

    async fn delete_old_audit(&self, before: DbTime) -> Result<Batch, StoreError> {
        let oldest = Query::new(OLDEST_AUDIT).value(i64::from(ROWS));
        let oldest: Vec<(i64, DbTime)> = self.rows(oldest).await?;
        let old = oldest.iter().take_while(|(_, at)| *at < before);
        let Some((last, _)) = old.last() else {
            return Ok(last_of(0));
        };
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        tx.execute(Query::new(BEGIN_AUDIT).bind(*last)).await?;
        let deleted = tx.execute(Query::new(DELETE_AUDIT).bind(*last)).await?;
        tx.commit().await?;
        Ok(batch_of(deleted))
    }

    async fn delete_old_keys(&self, before: DbTime) -> Result<u64, StoreError> {
        self.write(Query::new(DELETE_SESSIONS).bind(before)).await?;
        self.write(Query::new(DELETE_KEYS).bind(before)).await
    }
}

/// A batch after which there are no more.
fn last_of(deleted: u64) -> Batch {
    Batch {
        deleted,
        next: None,
    }
}

/// A batch after which there may be more, if it is full.
fn batch_of(deleted: u64) -> Batch {
    Batch {
        deleted,
        next: (deleted >= u64::from(ROWS)).then_some(NextBatch(None)),
    }
}
