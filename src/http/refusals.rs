//! Rate limit of refusals: a number of each second are sent at once, and all others after a pause, so that refusing
//! clients that ask again at once takes little from the requests that are worked on.

use std::num::NonZero;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Refusals per second that are logged, and that are sent without delay to clients beyond their budgets.
pub(super) const FEW: u32 = 50;
/// Refusals per second for overload that are sent without delay: 250 for each core.
pub(super) static MANY: LazyLock<u32> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(250 * cores).unwrap_or(u32::MAX)
});
/// Delay of the other refusals, and the value of `Retry-After`.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two warnings, so that a flood of refusals does not flood the log.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// Pace of a refusal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Without delay.
    pub(super) is_prompt: bool,
    /// With a line of its own in the log.
    pub(super) is_logged: bool,
}

impl Pace {
    /// The pace of all other answers.
    pub(super) const USUAL: Self = Self {
        is_prompt: true,
        is_logged: true,
    };
}

/// Recent refusals.
#[derive(Debug)]
pub(super) struct Refusals {
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
    /// None yet; the message is that of the log.
    pub(super) fn counting(message: &'static str) -> Self {
        Self {
            message,
            lately: Mutex::default(),
        }
    }

    /// Counts a refusal, of which so many in a second are sent without delay.
    pub(super) fn count(&self, most: u32) -> Pace {
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
        Pace {
            is_prompt: lately.in_second <= most,
            is_logged: lately.in_second <= FEW,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_second_are_sent_at_once() {
        let refusals = Refusals::counting("refusing");
        let began = Instant::now();
        let paces: Vec<Pace> = (0..1000).map(|_| refusals.count(2 * FEW)).collect();
        if began.elapsed() < PAUSE {
            let count = |is: fn(&Pace) -> bool| paces.iter().filter(|pace| is(pace)).count();
            assert_eq!(count(|pace| pace.is_prompt), 2 * FEW as usize);
            assert_eq!(count(|pace| pace.is_logged), FEW as usize);
        }
        std::thread::sleep(PAUSE);
        assert!(refusals.count(1).is_prompt);
    }
}
