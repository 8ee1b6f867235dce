//! Deletes rows that have expired, a few at a time.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::{Jobs, PAUSE_WITHOUT_DATABASE};
use unroof_store::{DbTime, Expiring, StoreError};

/// Pause between two rounds.
const REST: Duration = Duration::from_mins(10);
/// Pause between two batches, in which other writers have their turn.
const BETWEEN_BATCHES: Duration = Duration::from_millis(100);
/// Largest difference of a clock that runs evenly from the time that has passed.
const LARGEST_JUMP: SignedDuration = SignedDuration::from_mins(1);
/// Name of the lock: one replica deletes at a time.
const LOCK: &str = "expiry";

/// A reading of the clock.
#[derive(Debug, Clone, Copy)]
struct Reading {
    read_at: Instant,
    time: Timestamp,
}

impl Reading {
    /// Whether the clock has run evenly from this reading to another one. After a jump, either may be wrong.
    fn is_even_with(&self, later: &Self) -> bool {
        let passed = SignedDuration::try_from(later.read_at - self.read_at).unwrap_or_default();
        (later.time.duration_since(self.time) - passed).abs() <= LARGEST_JUMP
    }
}

impl Jobs {
    /// Deletes what has expired until it is dropped. The first round follows a rest: what a clock that was ahead for a while
    /// would delete does not come back.
    pub(super) async fn keep_expiring(self) {
        let mut before = self.read_clock();
        loop {
            tokio::time::sleep(REST).await;
            let now = self.read_clock();
            if before.is_even_with(&now) {
                self.expire_as_of(before.time).await;
            } else {
                tracing::warn!("the clock has jumped; nothing expires until it runs evenly");
            }
            before = now;
        }
    }

    fn read_clock(&self) -> Reading {
        Reading {
            read_at: Instant::now(),
            time: self.clock.now(),
        }
    }

    /// A round, tried again while the database does not answer.
    async fn expire_as_of(&self, time: Timestamp) {
        while let Err(error) = self.expire(self.store.not_ahead(time)).await {
            let error = error.with_causes();
            tracing::debug!(error, "cannot delete what has expired");
            if self.store.is_closed() {
                return;
            }
            tokio::time::sleep(PAUSE_WITHOUT_DATABASE).await;
        }
    }

    /// Deletes all that has expired at a time, unless another replica does; the number of rows.
    ///
    /// # Errors
    /// A query fails; what was deleted before stays deleted.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        let Some(_lock) = self.store.try_lock(LOCK).await? else {
            return Ok(0);
        };
        let mut all = 0;
        for (what, before) in self.settings.retention.table(now) {
            let deleted = self.expire_rows(what, before).await?;
            if deleted > 0 {
                tracing::info!(?what, deleted, "deleted what has expired");
            }
            all += deleted;
        }
        Ok(all)
    }

    async fn expire_rows(&self, what: Expiring, before: DbTime) -> Result<u64, StoreError> {
        let (mut deleted, mut from) = (0, None);
        loop {
            let batch = self.store.delete_expired(what, before, from).await?;
            deleted += batch.deleted;
            from = batch.next;
            if from.is_none() {
                return Ok(deleted);
            }
            tokio::time::sleep(BETWEEN_BATCHES).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_drifts_is_followed() {
        let first = Reading {
            read_at: Instant::now(),
            time: "2026-11-21T12:00:00Z".parse().unwrap(),
        };
        let later = |time: &str| Reading {
            read_at: first.read_at + REST,
            time: time.parse().unwrap(),
        };
        assert!(first.is_even_with(&later("2026-11-21T12:10:00Z")));
        assert!(first.is_even_with(&later("2026-11-21T12:09:15Z")));
        assert!(!first.is_even_with(&later("2036-11-21T12:10:00Z")));
        assert!(!first.is_even_with(&later("2026-11-21T11:59:00Z")));
    }
}
