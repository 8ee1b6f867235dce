//! Writes when keys were used, and which requests were refused.

use std::time::Duration;

use super::Jobs;

/// Pause between two writes: a key, and a client that is refused for one reason, has at most one in this time.
const BETWEEN_WRITES: Duration = Duration::from_mins(1);

impl Jobs {
    /// Writes at an interval, until it is dropped.
    pub(super) async fn write_visits_at_intervals(self) {
        loop {
            tokio::time::sleep(BETWEEN_WRITES).await;
            self.write_visits().await;
        }
    }

    /// Writes what was noted since the last time, if there is something. What cannot be written is kept for the next time.
    pub async fn write_visits(&self) {
        let Some(unwritten) = self.visits.take() else {
            return;
        };
        if let Err(error) = self.store.write_visits(&unwritten).await {
            let error = error.with_causes();
            tracing::debug!(error, "cannot write when keys were used");
            self.visits.put_back(unwritten);
        }
    }
}
