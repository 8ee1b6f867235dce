//! Recorded times that a process knows, so that it compares them with the clock only where that may matter.

use std::time::Instant;

use jiff::Timestamp;

/// Recorded times that this process knows.
#[derive(Debug, Default)]
pub(crate) struct RecordedTimes {
    /// Nothing later is recorded; none where that is not known.
    pub(crate) newest: Option<Timestamp>,
    /// Before this, the clock is not compared again.
    pub(crate) rests_until: Option<Instant>,
}

impl RecordedTimes {
    /// Whether something may be recorded that is later than a time.
    pub(crate) fn may_be_after(&self, time: Timestamp) -> bool {
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        !rests && self.newest.is_none_or(|newest| newest > time)
    }
}
