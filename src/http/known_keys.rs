//! The keys in memory, so that a request need not ask the database for them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::access::KeyRing;
use crate::storage::{Store, StoreError};

/// Time for which the keys in memory count as current: a revoked key is refused on every replica within this time.
const KEYS_FRESH_FOR: Duration = Duration::from_millis(500);

/// The keys in memory.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: RwLock<Known>,
    /// Held while they are read, so that the requests that wait share the outcome.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    ring: Option<Arc<KeyRing>>,
    asked_at: Option<Instant>,
}

impl Keys {
    /// The keys that are not revoked, at most half a second old. While the database is unreachable, those that were known
    /// last: no key can be revoked meanwhile.
    ///
    /// # Errors
    /// The database was never reached.
    pub(super) async fn ring(
        &self,
        store: &Store,
        now: Timestamp,
    ) -> Result<Arc<KeyRing>, StoreError> {
        if let Some(ring) = self.current() {
            return ring;
        }
        let _turn = self.turn.lock().await;
        if let Some(ring) = self.current() {
            return ring;
        }
        let asked_at = Instant::now();
        let ring = store.key_ring(now).await;
        self.keep(ring, asked_at)
    }

    /// The keys, if they were asked for a moment ago; an error if there was no answer then, and never before.
    fn current(&self) -> Option<Result<Arc<KeyRing>, StoreError>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known
            .asked_at
            .filter(|at| at.elapsed() < KEYS_FRESH_FOR)
            .map(|_| known.ring.clone().ok_or(StoreError::Away))
    }

    fn keep(
        &self,
        ring: Result<KeyRing, StoreError>,
        asked_at: Instant,
    ) -> Result<Arc<KeyRing>, StoreError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.asked_at = Some(asked_at);
        match ring {
            Ok(ring) => {
                let ring = Arc::new(ring);
                known.ring = Some(Arc::clone(&ring));
                Ok(ring)
            }
            Err(error) => known.ring.clone().ok_or(error),
        }
    }

    /// Makes the next request read the keys again.
    pub(super) fn forget(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.asked_at = None;
    }
}
