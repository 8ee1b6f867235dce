//! The keys in memory, so that a request need not ask the database for them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Mutex;

use unroof_store::access::KeyRing;
use unroof_store::{Store, StoreError};

/// Time for which the keys in memory count as current: a revoked key is refused on every replica within this time.
const KEYS_FRESH_FOR: Duration = Duration::from_millis(500);

/// Time for which a request waits for the keys to be read again, before it is answered with those in memory.
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// The keys in memory.
#[derive(Debug, Default)]
pub struct Keys {
    known: RwLock<Known>,
    /// Held while they are read, so that the requests that wait share the outcome.
    turn: Arc<Mutex<()>>,
}

#[derive(Debug, Default)]
struct Known {
    ring: Option<Arc<KeyRing>>,
    asked_at: Option<Instant>,
}

impl Keys {
    /// The keys that are not revoked, at most half a second old. While the database is unreachable or slow, those that were
    /// known last: no request waits long for it.
    ///
    /// # Errors
    /// The database was never reached.
    pub async fn ring(
        self: &Arc<Self>,
        store: &Store,
        now: Timestamp,
    ) -> Result<Arc<KeyRing>, StoreError> {
        if let Some(ring) = self.current() {
            return ring;
        }
        let reading = self.read_again(store, now);
        let Some(last) = self.last() else {
            return reading.await;
        };
        if let Ok(ring) = tokio::time::timeout(LONGEST_WAIT, reading).await {
            return ring;
        }
        // The next requests need not wait as well.
        self.note(Instant::now());
        Ok(last)
    }

    /// Reads the keys in a task of its own, so that a request that waits no longer does not end it.
    async fn read_again(
        self: &Arc<Self>,
        store: &Store,
        now: Timestamp,
    ) -> Result<Arc<KeyRing>, StoreError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(ring) = self.current() {
            return ring;
        }
        let (keys, store) = (Arc::clone(self), store.clone());
        let reading = tokio::spawn(async move {
            let _turn = turn;
            let asked_at = Instant::now();
            let ring = store.key_ring(now).await;
            keys.keep(ring, asked_at)
        });
        reading.await.unwrap_or(Err(StoreError::Away))
    }

    fn last(&self) -> Option<Arc<KeyRing>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.ring.clone()
    }

    fn note(&self, asked_at: Instant) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.asked_at = Some(asked_at);
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
        match ring {
            Ok(ring) => {
                let ring = Arc::new(ring);
                known.asked_at = Some(asked_at);
                known.ring = Some(Arc::clone(&ring));
                Ok(ring)
            }
            Err(error) => {
                // A failure may take long: those that waited must not each wait for the database in turn.
                known.asked_at = Some(Instant::now());
                known.ring.clone().ok_or(error)
            }
        }
    }

    /// Makes the next request read the keys again.
    pub fn forget(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.asked_at = None;
    }
}
