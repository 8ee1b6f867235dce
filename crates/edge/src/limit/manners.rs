//! Behaviour of connections after refusals: those that wait before they ask again, and those that do not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use unroof_store::access::Client;

/// Value of the header `Retry-After`.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Time for which a connection stays classified as hasty or patient.
const REMEMBERED: Duration = Duration::from_mins(1);
/// Behaviour of a connection after refusals.
#[derive(Debug, Default)]
pub struct Manners(Mutex<Seen>);

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// Time of the last refusal.
    refused: Option<Instant>,
    /// Time of the last retry before `Retry-After`.
    hasty: Option<Instant>,
    /// Time of the last test.
    tested: Option<Instant>,
}

tokio::task_local! {
    /// Retry behaviour of the connection served by this task.
    pub static MANNERS: Arc<Manners>;
    /// Client of the request that this task works on, where clients are limited.
    pub static CLIENT: Client;
}

fn is_recent(at: Option<Instant>, time: Duration) -> bool {
    at.is_some_and(|at| at.elapsed() < time)
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a refusal for the connection of this task.
pub fn note_refusal() {
    // Tests call the router without a connection.
    let _ = MANNERS.try_with(|manners| locked(&manners.0).refused = Some(Instant::now()));
}

impl Manners {
    /// Records another request; returns the rest of its `Retry-After` time.
    pub fn note_request(&self) -> Duration {
        let mut seen = locked(&self.0);
        let waited = seen.refused.map_or(RETRY_AFTER, |at| at.elapsed());
        let left = RETRY_AFTER.saturating_sub(waited);
        // Tolerance for clocks and networks.
        if left > RETRY_AFTER / 10 {
            seen.hasty = Some(Instant::now());
        }
        left
    }

    pub fn is_hasty(&self) -> bool {
        is_recent(locked(&self.0).hasty, REMEMBERED)
    }

    /// Marks the connection as tested; true if it was not yet classified.
    pub fn begin_test(&self) -> bool {
        let mut seen = locked(&self.0);
        let is_new = !is_recent(seen.tested, REMEMBERED) && !is_recent(seen.refused, REMEMBERED);
        seen.tested = Some(Instant::now());
        is_new
    }
}

/// Holds a request until the `Retry-After` time of its connection is over.
pub async fn hold_hasty() {
    let left = MANNERS.try_with(|manners| manners.note_request());
    // A sleep of no time lasts until the next tick of the timer, a millisecond or two.
    if let Some(left) = left.ok().filter(|left| !left.is_zero()) {
        tokio::time::sleep(left).await;
    }
}

/// Whether the connection of this task is hasty.
pub fn is_hasty() -> bool {
    MANNERS
        .try_with(|manners| manners.is_hasty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn only_a_request_that_comes_too_soon_is_held() {
        let manners = Arc::<Manners>::default();
        let hold = || MANNERS.scope(Arc::clone(&manners), hold_hasty());
        assert!(hold().now_or_never().is_some());
        MANNERS.sync_scope(Arc::clone(&manners), note_refusal);
        assert!(hold().now_or_never().is_none());
    }
}
