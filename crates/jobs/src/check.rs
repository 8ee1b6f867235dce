//! Checks the integrity of the database at an interval.

use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;

use super::{Jobs, PAUSE_WITHOUT_DATABASE};
use unroof_import::integrity::{CheckError, Checked, Checker, Fault, Part, Watch};
use unroof_store::locked;

/// The last check that ended.
#[derive(Debug, Default)]
pub struct LastCheck(Mutex<Option<(Timestamp, usize)>>);

impl LastCheck {
    /// End of the last check and its number of faults; none before the first.
    pub fn read(&self) -> Option<(Timestamp, usize)> {
        *locked(&self.0)
    }

    fn write(&self, ended_at: Timestamp, faults: usize) {
        *locked(&self.0) = Some((ended_at, faults));
    }
}

/// Faults as lines of the log.
struct Log;

impl Watch for Log {
    fn begin(&mut self, part: Part) {
        tracing::debug!(?part, "checking the database");
    }

    fn advance(&mut self, _rows: usize) {}

    fn fault(&mut self, fault: &Fault) {
        tracing::error!(subject = %fault.subject, detail = fault.detail, "the database has a fault");
    }
}

impl Jobs {
    /// Checks the database until it is dropped: at the start, and after each period.
    pub(super) async fn check_at_intervals(self, period: Duration) {
        loop {
            let rest = match self.check().await {
                Ok(checked) => {
                    tracing::info!(
                        sheets = checked.sheets,
                        estimates = checked.estimates,
                        repeated = checked.repeated,
                        offers = checked.offers,
                        faults = checked.faults,
                        "checked the database"
                    );
                    period
                }
                Err(error) => {
                    tracing::warn!(%error, "the check of the database ended early");
                    PAUSE_WITHOUT_DATABASE
                }
            };
            tokio::time::sleep(rest).await;
        }
    }

    async fn check(&self) -> Result<Checked, CheckError> {
        let checker = Checker {
            store: self.store.clone(),
            estimator: self.estimator.clone(),
            clock: self.clock.clone(),
            threads: 1,
            is_in_background: true,
            sample: None,
            expected_link: Vec::new(),
        };
        let ended = checker.check(&mut Log).await?;
        self.last_check.write(self.clock.now(), ended.faults);
        Ok(ended)
    }
}
