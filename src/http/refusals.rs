//! Refusals at a pace: a few clients are refused at once, and clients that ask again at once wait for each refusal, so that
//! refusing them takes little from the requests that are worked on.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Refusals of a second that are sent at once.
const AT_ONCE: u32 = 50;
/// How long the others wait: what `Retry-After` names.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// A flood of refusals is no flood of log lines.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// What was refused lately.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Lately>);

#[derive(Debug, Default)]
struct Lately {
    second: Option<Instant>,
    in_second: u32,
    warned: Option<Instant>,
    since_warned: u64,
}

impl Refusals {
    /// Counts a refusal. Whether it may be sent at once.
    pub(super) fn count(&self) -> bool {
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_over = |since: Option<Instant>, time| since.is_none_or(|since| now - since >= time);
        lately.since_warned += 1;
        if is_over(lately.warned, BETWEEN_WARNINGS) {
            let refused = std::mem::take(&mut lately.since_warned);
            lately.warned = Some(now);
            tracing::warn!(refused, "busy: refusing requests");
        }
        if is_over(lately.second, PAUSE) {
            lately.second = Some(now);
            lately.in_second = 0;
        }
        lately.in_second = lately.in_second.saturating_add(1);
        lately.in_second <= AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_second_are_sent_at_once() {
        let refusals = Refusals::default();
        let began = Instant::now();
        let at_once = (0..1000).filter(|_| refusals.count()).count();
        assert!(at_once == AT_ONCE as usize || began.elapsed() >= PAUSE);
        std::thread::sleep(PAUSE);
        assert!(refusals.count());
    }
}
