//! How runs of imports end on record, whatever becomes of the database or of the process that makes them.

use std::time::Duration;

use super::app::App;
use crate::storage::{ImportRow, RunningImport};

/// Rest before a run that ended is noted again, after the first failure; then each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Rest between two looks for runs whose process is gone.
const REST: Duration = Duration::from_secs(10);
/// Where the database could not say which runs there are.
const PAUSE_WITHOUT_DATABASE: Duration = Duration::from_secs(1);

impl App {
    /// Notes how a run ended; where the database refuses, as soon as it no longer does.
    pub(super) async fn end_import(&self, running: RunningImport, run: ImportRow) {
        let Err(error) = self.store.end_import(&run).await else {
            return;
        };
        let error = error.with_causes();
        tracing::warn!(import = %run.id, error, "cannot note how an import ended; trying again until that is noted");
        let store = self.store.clone();
        tokio::spawn(async move {
            // Nobody else closes it meanwhile.
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

/// Closes the runs of processes that are gone, at the start and whenever another replica ends. Never ends.
pub async fn keep_imports_closed(app: App) {
    loop {
        let pause = match app.store.close_lost_imports(app.now().into()).await {
            Ok(0) => REST,
            Ok(closed) => {
                tracing::warn!(closed, "closed imports whose process ended before they did");
                REST
            }
            Err(error) => {
                let error = error.with_causes();
                tracing::debug!(error, "cannot tell which imports are running");
                PAUSE_WITHOUT_DATABASE
            }
        };
        tokio::time::sleep(pause).await;
    }
}
