//! Rate limit of refusals: a number of each second are sent at once, and all others after a pause, so that refusing
//! clients that ask again at once takes little from the requests that are worked on.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Refusals per second that are logged, and that are sent without delay.
pub(crate) const FEW: u32 = 50;
/// Delay of the other refusals, and the value of `Retry-After`.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two warnings, so that a flood of refusals does not flood the log.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// Recent refusals.
#[derive(Debug)]
pub struct Refusals {
    /// Text of the log line about them.
    message: &'static str,
    lately: Mutex<Lately>,
}

#[derive(Debug, Default)]
struct Lately {
    second: Option<Instant>,
    in_second: u32,
    warned: Option<Instant>,
    since_warned: u64,
}

impl Refusals {
    /// Counter without a refusal yet; the message is that of the log.
    #[must_use]
    pub fn counting(message: &'static str) -> Self {
        Self {
            message,
            lately: Mutex::default(),
        }
    }

    /// Counts a refusal. True if it is sent without delay, and has a line of its own in the log.
    pub fn count(&self) -> bool {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_over = |since: Option<Instant>, time| since.is_none_or(|since| now - since >= time);
        lately.since_warned += 1;
        if is_over(lately.warned, BETWEEN_WARNINGS) {
            let refused = std::mem::take(&mut lately.since_warned);
            lately.warned = Some(now);
            tracing::warn!(refused, "{}", self.message);
        }
        if is_over(lately.second, PAUSE) {
            lately.second = Some(now);
            lately.in_second = 0;
        }
        lately.in_second = lately.in_second.saturating_add(1);
        lately.in_second <= FEW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_second_are_sent_at_once() {
        let refusals = Refusals::counting("refusing");
        let began = Instant::now();
        let prompt = (0..1000).filter(|_| refusals.count()).count();
        if began.elapsed() < PAUSE {
            assert_eq!(prompt, FEW as usize);
        }
        std::thread::sleep(PAUSE);
        assert!(refusals.count());
    }
}
