//! A cancellation token for long work, cancelled when the client disconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cancellation token: whether the result of some work is still wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted(Arc<AtomicBool>);

/// The work is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has disconnected")]
pub struct Unwanted;

/// A guard: dropping it cancels the token.
#[derive(Debug)]
pub struct Waiting(Wanted);

impl Wanted {
    /// A token and its guard. Dropping the guard cancels the token.
    #[must_use]
    pub fn while_waiting() -> (Self, Waiting) {
        let wanted = Self::default();
        (wanted.clone(), Waiting(wanted))
    }

    /// Checked between the steps of long work.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn check(&self) -> Result<(), Unwanted> {
        if self.0.load(Ordering::Relaxed) {
            Err(Unwanted)
        } else {
            Ok(())
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
