//! The standby that lists are read from, and whether it answers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::{StoreError, locked};

/// Time for which a standby that failed is not asked.
const REST: Duration = Duration::from_secs(2);

/// A standby that lists are read from.
#[derive(Debug)]
pub(crate) struct Standby {
    pub(crate) pool: PgPool,
    /// Time before which it is not asked again.
    rests_until: Mutex<Option<Instant>>,
    is_unreachable: AtomicBool,
    pub(crate) reads: AtomicU64,
    pub(crate) passed: AtomicU64,
}

/// Lists that were read from the standby, and from the primary in its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StandbyReads {
    /// Read from the standby.
    pub standby: u64,
    /// Read from the primary, because the standby was behind or away.
    pub primary: u64,
}

impl Standby {
    /// Longest wait for a connection, and for the version.
    pub(crate) const WAIT: Duration = Duration::from_millis(250);

    pub(crate) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            rests_until: Mutex::default(),
            is_unreachable: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Whether it is to be asked. After a failure, one request at a time finds out whether it is back.
    pub(crate) fn may_be_asked(&self) -> bool {
        let mut rests_until = locked(&self.rests_until);
        let now = Instant::now();
        match *rests_until {
            Some(until) if now < until => false,
            Some(_) => {
                *rests_until = Some(now + REST);
                true
            }
            None => true,
        }
    }

    pub(crate) fn note(&self, failure: Option<&StoreError>) {
        let is_unreachable = failure.is_some();
        *locked(&self.rests_until) = is_unreachable.then(|| Instant::now() + REST);
        if self.is_unreachable.swap(is_unreachable, Ordering::Relaxed) == is_unreachable {
            return;
        }
        if let Some(error) = failure {
            let error = error.with_causes();
            tracing::warn!(
                error,
                "the standby does not answer; lists are read from the primary"
            );
        } else {
            tracing::info!("the standby answers again");
        }
    }
}
