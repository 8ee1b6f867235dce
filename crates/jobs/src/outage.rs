//! Logging of database outages: one line at the start, one per further cause, and one at the end, however many requests
//! fail in between.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Jobs;
use unroof_store::{StoreError, locked};

/// Time without failures after which an outage is over.
const QUIET: Duration = Duration::from_secs(1);
/// Interval between checks for the end of an outage.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Limit of logged causes per outage.
const MOST_CAUSES: usize = 16;

/// The current outage; a process has one database.
static OUTAGE: Mutex<Option<Outage>> = Mutex::new(None);

/// An outage in progress.
#[derive(Debug)]
struct Outage {
    began_at: Instant,
    failed_at: Instant,
    failures: u64,
    causes: Vec<String>,
}

impl Outage {
    fn beginning() -> Self {
        Self {
            began_at: Instant::now(),
            failed_at: Instant::now(),
            failures: 0,
            causes: Vec::new(),
        }
    }

    fn is_quiet(&self) -> bool {
        self.failed_at.elapsed() >= QUIET
    }

    /// Counts a failure; true if its cause must be logged.
    fn count(&mut self, cause: &str, is_repeated: bool) -> bool {
        self.failed_at = Instant::now();
        self.failures += 1;
        let is_known = self.causes.iter().any(|known| known == cause)
            || (is_repeated && !self.causes.is_empty())
            || self.causes.len() >= MOST_CAUSES;
        if !is_known {
            self.causes.push(cause.to_owned());
        }
        !is_known
    }
}

/// Logs a failed operation: every permanent fault, and the causes of an outage once each.
pub fn note(error: &StoreError) {
    let cause = error.with_causes();
    if !error.is_temporary() {
        tracing::error!(error = cause, "database error");
        return;
    }
    let is_news = locked(&OUTAGE)
        .get_or_insert_with(Outage::beginning)
        .count(&cause, error.is_repeated());
    if is_news {
        tracing::error!(
            error = cause,
            "database outage; further failures with this cause are counted, not logged"
        );
    }
}

/// True if nothing has failed for [`QUIET`].
fn is_quiet() -> bool {
    locked(&OUTAGE).as_ref().is_some_and(Outage::is_quiet)
}

impl Jobs {
    /// Logs the end of an outage.
    pub(super) async fn log_outages(&self) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            if !is_quiet()
                || self.store.probe_writing().await.is_err()
                || self.store.version().await.is_err()
            {
                continue;
            }
            let over = locked(&OUTAGE).take_if(|outage| outage.is_quiet());
            if let Some(outage) = over {
                let seconds = (outage.began_at.elapsed().as_secs_f64() * 10.0).round() / 10.0;
                tracing::info!(seconds, failures = outage.failures, "database outage over");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_logged_once_and_a_repeated_failure_never() {
        let mut outage = Outage::beginning();
        assert!(outage.count("refused", false));
        assert!(!outage.count("refused", false));
        assert!(!outage.count("it did not answer a moment ago", true));
        assert!(outage.count("starting up", false));
        for number in 0..100 {
            outage.count(&format!("process {number} is in the way"), false);
        }
        assert_eq!((outage.failures, outage.causes.len()), (104, MOST_CAUSES));
    }

    #[test]
    fn an_outage_may_begin_with_a_repeated_failure() {
        assert!(Outage::beginning().count("it did not answer a moment ago", true));
    }
}
