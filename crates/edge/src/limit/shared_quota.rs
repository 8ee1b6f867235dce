//! Budgets that all replicas share, in the database. They come after this replica's own, which refuses most of a flood.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::quota::{Exhausted, Quotas, Rest};
use unroof_store::access::Client;
use unroof_store::{ClientCharge, Store, StoreError};

/// Time for which a database that did not answer is not asked again.
const REST: Duration = Duration::from_secs(1);
/// Charges after which idle clients are forgotten.
const BETWEEN_SWEEPS: u32 = 1024;

/// The budgets in the database.
#[derive(Debug)]
pub struct SharedQuotas {
    store: Store,
    failed_at: Mutex<Option<Instant>>,
    charges: AtomicU32,
}

impl SharedQuotas {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            failed_at: Mutex::default(),
            charges: AtomicU32::new(0),
        }
    }

    /// Charges a client. While the database is unreachable, nothing is charged, and the rest is that of this replica.
    ///
    /// # Errors
    /// The client has too little left.
    pub async fn charge(
        &self,
        quotas: &Quotas,
        client: &Client,
        points: usize,
        now: Timestamp,
        own: Rest,
    ) -> Result<Rest, Exhausted> {
        if self.has_failed() {
            return Ok(own);
        }
        let cost = quotas.time_of(points);
        let charge = ClientCharge {
            client: &client.to_string(),
            at: self.store.not_ahead(now),
            cost,
            whole: quotas.time_of(usize::MAX),
        };
        let charged = self.store.charge_client(charge).await;
        self.sweep(now).await;
        match charged {
            Ok(Some(time)) => Ok(quotas.rest_at(time).min(own)),
            // The rest is unknown, but it is not less than nothing.
            Ok(None) => Err(Exhausted(cost)),
            Err(error) => {
                self.note(&error);
                Ok(own)
            }
        }
    }

    fn has_failed(&self) -> bool {
        let failed_at = self.failed_at.lock();
        let failed_at = failed_at.unwrap_or_else(PoisonError::into_inner);
        failed_at.is_some_and(|at| at.elapsed() < REST)
    }

    fn note(&self, error: &StoreError) {
        tracing::warn!(
            error = error.with_causes(),
            "the limits of this replica alone apply"
        );
        let failed_at = self.failed_at.lock();
        *failed_at.unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Forgets idle clients now and then.
    async fn sweep(&self, now: Timestamp) {
        let charges = self.charges.fetch_add(1, Ordering::Relaxed);
        if charges % BETWEEN_SWEEPS == BETWEEN_SWEEPS - 1
            && let Err(error) = self.store.forget_clients(now).await
        {
            self.note(&error);
        }
    }
}
