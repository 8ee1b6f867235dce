//! Runs operations on a connection on loan from its pool. The connection goes back only while it is sound.

use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;

use super::limits::StoreLimits;
use crate::record::refusal::Refusal;
use super::session::Session;
use crate::{Store, StoreError, locked};

/// A pooled connection whose return to the pool has a timeout: the pool pings it first, and a server that has stopped
/// answering would otherwise keep its slot.
pub(crate) struct Lease<Database: sqlx::Database> {
    connection: PoolConnection<Database>,
    /// Generation of the connection: see `writing`.
    generation: u64,
    store: Store,
    is_spoiled: bool,
}

impl<Database: sqlx::Database> Lease<Database> {
    pub(crate) async fn take(
        pool: &sqlx::Pool<Database>,
        store: &Store,
    ) -> Result<Self, StoreError> {
        let generation = store.writing.generation();
        let connection = if store.is_file_gone() {
            open_connection(pool, store.limits).await?
        } else {
            // What opens a connection is large, and every caller up to the request's would hold room for it.
            Box::pin(pool.acquire()).await?
        };
        Ok(Self {
            connection,
            generation,
            store: store.clone(),
            is_spoiled: false,
        })
    }

    /// The connection for an operation.
    pub(crate) fn session(&mut self) -> Session<'_, Database> {
        Session::new(&mut *self.connection, &self.store, &mut self.is_spoiled)
    }

    /// Records the outcome of an operation, also for the writes of others.
    pub(crate) fn note<T>(&mut self, outcome: &Result<T, StoreError>) {
        self.spoil_after(outcome);
        if let Err(error) = outcome {
            self.store.note_failure(error);
        }
    }

    /// Records the outcome of an operation. After an error SQLite may have rolled back the transaction, and a
    /// PostgreSQL connection may be in the middle of a response: such a connection is closed.
    pub(crate) fn spoil_after<T>(&mut self, outcome: &Result<T, StoreError>) {
        if let Err(error) = outcome {
            self.is_spoiled |= error.spoils_connection();
        }
    }
}

impl Store {
    /// Records that no connection was free in time, if that is the error.
    pub(crate) fn note_lack(&self, error: &StoreError) {
        if matches!(error, StoreError::Query(sqlx::Error::PoolTimedOut)) {
            *locked(&self.lacked_connection_at) = Some(Instant::now());
        }
    }

    /// Whether no connection is free, and a request has waited for one in vain since then.
    #[must_use]
    pub fn has_lacked_connection_since(&self, came_at: Instant) -> bool {
        locked(&self.lacked_connection_at).is_some_and(|at| at >= came_at)
            && self.connections().idle == 0
    }
}

/// An open connection from the pool. A new one would open another file.
async fn open_connection<Database: sqlx::Database>(
    pool: &sqlx::Pool<Database>,
    limits: StoreLimits,
) -> Result<PoolConnection<Database>, StoreError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let waiting = async {
        loop {
            match pool.try_acquire() {
                Some(connection) => return connection,
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    };
    tokio::time::timeout(limits.connection_wait, waiting)
        .await
        .map_err(|_| StoreError::Refused(Refusal::Replaced))
}

impl<Database: sqlx::Database> Drop for Lease<Database> {
    fn drop(&mut self) {
        // Outside a runtime nothing can wait for the connection: it is closed as it is.
        let Ok(runtime) = Handle::try_current() else {
            return drop(self.connection.return_to_pool());
        };
        // Also where a client left in the middle of a transaction, and the rollback has not succeeded yet.
        let is_spoiled = self.is_spoiled || self.connection.is_in_transaction();
        if is_spoiled || self.generation != self.store.writing.generation() {
            self.connection.close_on_drop();
            return;
        }
        let back = self.connection.return_to_pool();
        let limit = self.store.limits.statement;
        runtime.spawn(async move { tokio::time::timeout(limit, back).await });
    }
}
