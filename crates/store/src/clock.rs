//! The clock: the current time as an argument, fixed in tests.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that calls a function.
    #[must_use]
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Clock of the system.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "every other part asks this clock"
    )]
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// Time of the clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}
