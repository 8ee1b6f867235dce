//! Long work for someone who may leave before it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells work whether anybody still wants its result.
#[derive(Debug, Clone, Default)]
pub struct Wanted(Arc<AtomicBool>);

/// Nobody wants the result any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody waits for the result any more")]
pub struct Unwanted;

/// Dropped by whoever leaves.
#[derive(Debug)]
pub struct Waiting(Wanted);

impl Wanted {
    /// Whoever drops the second part wants the result no more.
    #[must_use]
    pub fn while_waiting() -> (Self, Waiting) {
        let wanted = Self::default();
        (wanted.clone(), Waiting(wanted))
    }

    /// Asked between the steps of long work.
    ///
    /// # Errors
    /// The result is not wanted.
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
