//! CPU time of the current thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that the current thread has used since a moment.
#[derive(Debug)]
pub struct ThreadTime(Duration);

impl ThreadTime {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self(now())
    }

    /// The time used since then, on the thread that began.
    #[must_use]
    pub fn used(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
