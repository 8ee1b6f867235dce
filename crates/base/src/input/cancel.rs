//! A cancellation token for long work, cancelled when the client disconnects.
//!
//! ```
//! use unroof_base::input::cancel::CancelToken;
//!
//! let (token, guard) = CancelToken::while_waiting();
//! assert!(token.check().is_ok());
//! drop(guard);
//! assert!(token.check().is_err());
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cancellation token: whether some work is cancelled.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// The work is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has disconnected")]
pub struct Cancelled;

/// A guard: dropping it cancels the token.
#[derive(Debug)]
pub struct CancelGuard(CancelToken);

impl CancelToken {
    /// A token and its guard. Dropping the guard cancels the token.
    #[must_use]
    pub fn while_waiting() -> (Self, CancelGuard) {
        let token = Self::default();
        (token.clone(), CancelGuard(token))
    }

    /// Checked between the steps of long work.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
