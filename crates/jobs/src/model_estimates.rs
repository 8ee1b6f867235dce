//! Estimates models whose sheets have changed.

use std::time::Duration;

use super::{Jobs, PAUSE_WITHOUT_DATABASE};
use unroof_import::{ImportError, ModelEstimator};

/// Longest pause between two checks for models that are due.
const LONGEST_REST: Duration = Duration::from_mins(1);
/// Time for which sheets that come one after the other are gathered.
const GATHERING: Duration = Duration::from_millis(500);
/// Name of the lock: one replica estimates models at a time.
const LOCK: &str = "models";

impl Jobs {
    /// Estimates models as their sheets change, until it is dropped.
    pub(super) async fn keep_models_estimated(self) {
        let models = ModelEstimator {
            store: self.store.clone(),
            estimator: self.estimator.clone(),
            threads: self.settings.threads,
        };
        let mut newest = self.store.watch_newest();
        let mut are_others_marked = false;
        loop {
            newest.mark_unchanged();
            let rest = match self.estimate_models(&models, &mut are_others_marked).await {
                Ok(()) => LONGEST_REST,
                Err(error) => {
                    tracing::debug!(%error, "cannot estimate the models that are due");
                    PAUSE_WITHOUT_DATABASE
                }
            };
            tokio::select! {
                _ = newest.changed() => tokio::time::sleep(GATHERING).await,
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Estimates the models that are due, unless another replica does.
    async fn estimate_models(
        &self,
        models: &ModelEstimator,
        are_others_marked: &mut bool,
    ) -> Result<(), ImportError> {
        let Some(_lock) = self.store.try_lock(LOCK).await? else {
            return Ok(());
        };
        if !*are_others_marked {
            models.mark_models().await?;
            *are_others_marked = true;
        }
        let count = models.estimate_due().await?;
        if count > 0 {
            tracing::info!(count, "estimated models whose sheets have changed");
        }
        Ok(())
    }
}
