//! Named locks that outlive a transaction: rows with an expiry, which their holder renews. They need no connection of their
//! own, pass through poolers, and are still held after a failover.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::database::Pool;
use super::query::Query;
use crate::{Store, StoreError};

/// Time after which a lock that is not renewed is free. The statements state it too.
const EXPIRY: Duration = Duration::from_secs(15);
/// Pause between two renewals.
const BETWEEN_RENEWALS: Duration = Duration::from_secs(4);
/// Pause after a renewal that failed.
const PAUSE: Duration = Duration::from_secs(1);

const TAKE: &str = "
    INSERT INTO locks (name, holder, expires_at)
    VALUES ($1, $2, clock_timestamp() + interval '15 seconds')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
    WHERE locks.expires_at <= clock_timestamp()";

const RENEW: &str = "
    UPDATE locks SET expires_at = clock_timestamp() + interval '15 seconds' WHERE name = $1 AND holder = $2";

// Also those that their holders left behind.
const RELEASE: &str = "
    DELETE FROM locks
    WHERE (name = $1 AND holder = $2) OR expires_at < clock_timestamp() - interval '1 day'";

/// A named lock, held until it is dropped. An embedded database, which one process serves, has none.
#[derive(Debug)]
pub struct StoreLock {
    name: String,
    /// Lock that is held; none where one process serves the database.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    /// Time until which no other process can take it.
    until: watch::Receiver<Instant>,
    _released: DropGuard,
}

impl StoreLock {
    /// Checks that no other process can have taken the lock meanwhile.
    ///
    /// # Errors
    /// It was not renewed in time.
    pub fn check(&self) -> Result<(), StoreError> {
        let is_over = |held: &Held| *held.until.borrow() <= Instant::now();
        if self.held.as_ref().is_some_and(is_over) {
            return Err(StoreError::LostLock(self.name.clone()));
        }
        Ok(())
    }
}

impl Store {
    /// Takes the named lock, unless another process holds it. An embedded database, which one process serves, always gives
    /// it.
    ///
    /// # Errors
    /// The database is unreachable or takes no writes.
    pub async fn try_lock(&self, name: &str) -> Result<Option<StoreLock>, StoreError> {
        let name = name.to_owned();
        if let Pool::Sqlite { .. } = self.pool {
            return Ok(Some(StoreLock { name, held: None }));
        }
        let (holder, asked_at) = (Uuid::new_v4(), Instant::now());
        let take = Query::new(TAKE).bind(&name).bind(holder);
        if self.write(take).await? == 0 {
            return Ok(None);
        }
        let (renewed, until) = watch::channel(asked_at + EXPIRY);
        let released = CancellationToken::new();
        let renewal = self
            .clone()
            .renew(name.clone(), holder, renewed, released.clone());
        self.renewals.spawn(renewal);
        let held = Held {
            until,
            _released: released.drop_guard(),
        };
        Ok(Some(StoreLock {
            name,
            held: Some(held),
        }))
    }

    /// Renews a lock until it is released, or lost.
    async fn renew(
        self,
        name: String,
        holder: Uuid,
        renewed: watch::Sender<Instant>,
        released: CancellationToken,
    ) {
        let mut pause = BETWEEN_RENEWALS;
        while released
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_some()
        {
            let asked_at = Instant::now();
            let renew = Query::new(RENEW).bind(&name).bind(holder);
            match self.write(renew).await {
                Ok(0) => {
                    renewed.send_replace(asked_at);
                    tracing::warn!(lock = name, "another process has taken over");
                    return;
                }
                Ok(_) => {
                    renewed.send_replace(asked_at + EXPIRY);
                    pause = BETWEEN_RENEWALS;
                }
                Err(_) => pause = PAUSE,
            }
        }
        let release = Query::new(RELEASE).bind(&name).bind(holder);
        if let Err(error) = self.write(release).await {
            let error = error.with_causes();
            tracing::debug!(lock = name, error, "not released; it expires");
        }
    }
}
