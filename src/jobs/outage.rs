//! An outage of the database in the log: a line when it begins, one for every other cause, and one when it is over, however
//! many requests fail meanwhile.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Jobs;
use crate::storage::StoreError;

/// How long nothing may have failed before an outage is over.
const QUIET: Duration = Duration::from_secs(1);
/// How often it is looked whether one is over.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Causes of one outage that are logged.
const MOST_CAUSES: usize = 16;

/// The outage of this process. It serves one database.
static OUTAGE: Mutex<Option<Outage>> = Mutex::new(None);

/// An outage that goes on.
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

    /// Counts a failure. Whether its cause is to be logged.
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

/// Logs that an operation failed: every fault that will not pass by itself, and of an outage its causes.
pub(crate) fn note(error: &StoreError) {
    let cause = error.with_causes();
    if !error.is_temporary() {
        tracing::error!(error = cause, "the database failed");
        return;
    }
    let is_news = OUTAGE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_with(Outage::beginning)
        .count(&cause, error.is_repeated());
    if is_news {
        tracing::error!(
            error = cause,
            "the database fails; what else fails for this reason is counted until it works again"
        );
    }
}

/// The outage, if nothing has failed for a while.
fn is_quiet() -> bool {
    let outage = OUTAGE.lock().unwrap_or_else(PoisonError::into_inner);
    outage
        .as_ref()
        .is_some_and(|outage| outage.failed_at.elapsed() >= QUIET)
}

impl Jobs {
    /// Logs when an outage is over.
    pub(super) async fn log_outages(&self) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            if !is_quiet()
                || self.store.probe_writing().await.is_err()
                || self.store.version().await.is_err()
            {
                continue;
            }
            let over = OUTAGE
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take_if(|outage| outage.failed_at.elapsed() >= QUIET);
            if let Some(outage) = over {
                let seconds = (outage.began_at.elapsed().as_secs_f64() * 10.0).round() / 10.0;
                tracing::info!(
                    seconds,
                    failures = outage.failures,
                    "the database works again"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_news_once_and_what_repeats_another_is_none() {
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
    fn an_outage_may_begin_with_what_repeats_another() {
        assert!(Outage::beginning().count("it did not answer a moment ago", true));
    }
}
