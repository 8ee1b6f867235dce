//! Records the end of import runs, also after database failures and crashes.

use std::time::Duration;

use super::app::App;
use crate::storage::{ImportRow, RunningImport};

/// First delay before the end of a run is recorded again; doubled after every failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Interval between two searches for runs whose process has died.
const REST: Duration = Duration::from_secs(10);
/// Interval while the database is unreachable.
const PAUSE_WITHOUT_DATABASE: Duration = Duration::from_secs(1);

impl App {
    /// Records how a run ended; retries until the database accepts it.
    pub(super) async fn end_import(&self, running: RunningImport, run: ImportRow) {
        let Err(error) = self.store.end_import(&run).await else {
            return;
        };
        let error = error.with_causes();
        tracing::warn!(import = %run.id, error, "cannot record the end of an import; retrying");
        let store = self.store.clone();
        tokio::spawn(async move {
            // Keeps other replicas from closing it.
            let _running = running;
            let mut pause = FIRST_PAUSE;
            loop {
                tokio::time::sleep(pause).await;
                if store.end_import(&run).await.is_ok() {
                    return;
                }
                pause = LONGEST_PAUSE.min(2 * pause);
            }
        });
    }
}

/// Closes the runs of dead processes, at the start and whenever another replica ends. Never returns.
pub async fn keep_imports_closed(app: App) {
    loop {
        let pause = match app.store.close_lost_imports(app.now().into()).await {
            Ok(0) => REST,
            Ok(closed) => {
                tracing::warn!(closed, "closed the imports of dead processes");
                REST
            }
            Err(error) => {
                let error = error.with_causes();
                tracing::debug!(error, "cannot list the running imports");
                PAUSE_WITHOUT_DATABASE
            }
        };
        tokio::time::sleep(pause).await;
    }
}
