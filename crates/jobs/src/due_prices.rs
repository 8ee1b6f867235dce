//! Announces prices when they come into force or run out.

use std::time::Duration;

use jiff::Timestamp;

use super::{Jobs, PAUSE_WITHOUT_DATABASE};
use unroof_store::StoreError;

/// Longest pause between two checks for due prices.
const LONGEST_REST: Duration = Duration::from_mins(1);
/// Shortest pause between two checks for due prices.
const SHORTEST_REST: Duration = Duration::from_millis(500);

impl Jobs {
    /// Announces due prices until it is dropped.
    pub(super) async fn announce_due_prices(self) {
        let mut newest = self.store.watch_newest();
        loop {
            newest.mark_unchanged();
            let rest = match self.announce_due().await {
                Ok(None) => LONGEST_REST,
                Ok(Some(next)) => {
                    let until = self.clock.now().duration_until(next);
                    Duration::try_from(until).unwrap_or(SHORTEST_REST)
                }
                Err(error) => {
                    let error = error.with_causes();
                    tracing::debug!(error, "cannot read which prices are due");
                    PAUSE_WITHOUT_DATABASE
                }
            };
            tokio::select! {
                // A price that was scheduled in between may be due before the rest ends.
                _ = newest.changed() => tokio::time::sleep(SHORTEST_REST).await,
                () = tokio::time::sleep(rest.clamp(SHORTEST_REST, LONGEST_REST)) => {}
            }
        }
    }

    /// Announces due prices, and returns the time of the next one.
    async fn announce_due(&self) -> Result<Option<Timestamp>, StoreError> {
        // Also reads the database's time.
        self.store.version().await?;
        let now = self.store.time_to_record(self.clock.now()).await;
        self.store.announce_due_prices(now).await?;
        self.store.next_due().await
    }
}
