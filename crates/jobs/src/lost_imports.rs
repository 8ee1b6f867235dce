//! Closes the runs of imports whose process has ended.

use std::time::Duration;

use super::Jobs;

/// Pause between two checks.
const REST: Duration = Duration::from_secs(10);
/// Pause where the database does not answer.
const PAUSE_WITHOUT_DATABASE: Duration = Duration::from_secs(1);

impl Jobs {
    /// Closes lost runs at the start and whenever another replica ends.
    pub(super) async fn close_lost_imports(self) {
        loop {
            let pause = match self.store.close_lost_imports(self.clock.now().into()).await {
                Ok(0) => REST,
                Ok(closed) => {
                    tracing::warn!(
                        closed,
                        "marked unfinished imports of ended processes as failed"
                    );
                    REST
                }
                Err(error) => {
                    let error = error.with_causes();
                    tracing::debug!(error, "cannot read which imports are running");
                    PAUSE_WITHOUT_DATABASE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }
}
