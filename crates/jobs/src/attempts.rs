//! Counts of the attempts to deliver changes to webhooks.

use std::sync::atomic::{AtomicU64, Ordering};

use unroof_store::Outcome;

/// Attempts of this process, by outcome.
#[derive(Debug, Default)]
pub struct AttemptCounts([AtomicU64; OUTCOMES.len()]);

const OUTCOMES: [&str; 4] = ["delivered", "retried", "failed", "unwanted"];

impl AttemptCounts {
    pub(super) fn count(&self, outcome: Outcome) {
        let place = match outcome {
            Outcome::Delivered => 0,
            Outcome::Again(_) => 1,
            Outcome::Failed => 2,
            Outcome::Unwanted => 3,
        };
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    /// The name of every outcome with its count.
    pub fn by_outcome(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        OUTCOMES.into_iter().zip(counts)
    }
}
