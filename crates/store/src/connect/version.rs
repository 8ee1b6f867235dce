//! The newest version of the store: from this process's writes, and on PostgreSQL from notifications of other processes.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use sqlx::FromRow;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::watch;

use super::database::{Pool, within};
use super::query::Query;
use super::tx::Tx;
use crate::keep::chain::Heads;
use crate::{DbTime, Store, StoreError, locked};

/// The channel on which a trigger notifies of new versions.
const CHANNEL: &str = "unroof_version";

/// Silence after which the connection is checked.
const SILENCE: Duration = Duration::from_secs(1);

/// Pause between two readings of the version where LISTEN is not used.
const BETWEEN_POLLS: Duration = Duration::from_millis(250);

/// Takes the writers' lock, and reserves this many sequence numbers.
pub(crate) const ADVANCE_VERSION: &str = "
    UPDATE store_version SET version = version + $1 WHERE id = 1
    RETURNING version, changes_link, audit_link, audit_sequence";

/// The numbers that a writer has reserved, and the ends of the chains that it may add to.
#[derive(Debug, FromRow)]
pub(crate) struct Numbers {
    /// The last of them.
    #[sqlx(rename = "version")]
    pub(crate) last: i64,
    #[sqlx(flatten)]
    pub(crate) heads: Heads,
}

/// Takes the writers' lock in a transaction, and reserves this many sequence numbers.
///
/// # Errors
/// The query fails.
pub(crate) async fn take_numbers(tx: &mut Tx<'_>, count: i64) -> Result<Numbers, StoreError> {
    tx.one(Query::new(ADVANCE_VERSION).bind(count)).await
}

/// Listens for the versions that any process commits.
#[derive(Debug)]
pub struct Listener {
    store: Store,
    /// Connection that is notified of other processes' versions; PostgreSQL only, and only if it is not polled.
    link: Option<PgListener>,
    /// Silence after which the connection is checked, or the version is read.
    silence: Duration,
}

impl Store {
    /// The newest version that this process has committed, read or been notified of.
    #[must_use]
    pub fn newest(&self) -> i64 {
        *self.newest.borrow()
    }

    /// A channel of newer versions.
    #[must_use]
    pub fn watch_newest(&self) -> watch::Receiver<i64> {
        self.newest.subscribe()
    }

    /// Records a version. Versions may arrive out of order; an older one is ignored.
    pub(crate) fn advance_version(&self, version: i64) {
        self.newest.send_if_modified(|newest| {
            let is_newer = version > *newest;
            *newest = version.max(*newest);
            is_newer
        });
    }

    /// The number of the last transaction that wrote; later reads include it.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn version(&self) -> Result<i64, StoreError> {
        // An embedded database has no clock of its own.
        let sql = match self.pool {
            Pool::Postgres { .. } => {
                "SELECT version, clock_timestamp() FROM store_version WHERE id = 1"
            }
            Pool::Sqlite { .. } => "SELECT version, NULL FROM store_version WHERE id = 1",
        };
        let (version, time): (i64, Option<DbTime>) = self.one(Query::new(sql)).await?;
        if let Some(time) = time {
            // Taken after the answer: the database read its clock before, so that this time never runs ahead of it.
            let mut clock = locked(&self.clock);
            *clock = Some((Instant::now(), time));
        }
        self.advance_version(version);
        Ok(version)
    }

    /// The earlier of the local time and the database's time, so that a replica with a fast clock records nothing in
    /// the future.
    #[must_use]
    pub fn not_ahead(&self, now: Timestamp) -> Timestamp {
        self.database_time().map_or(now, |time| time.min(now))
    }

    /// The time of the database, as far as it is known. An embedded one has none.
    pub(crate) fn database_time(&self) -> Option<Timestamp> {
        let (answered_at, time) = (*locked(&self.clock))?;
        let time = Timestamp::from(time).checked_add(answered_at.elapsed());
        time.ok()
    }

    /// Whether new versions come by notification.
    #[must_use]
    pub fn listens(&self) -> bool {
        matches!(self.pool, Pool::Postgres { polls: false, .. })
    }

    /// Listens from now on, on a connection of its own; what was committed before is known when this returns.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn listener(&self) -> Result<Listener, StoreError> {
        let (link, silence) = match &self.pool {
            Pool::Postgres { polls: true, .. } => (None, BETWEEN_POLLS),
            Pool::Postgres { direct, .. } => (Some(self.in_time(listen(direct)).await?), SILENCE),
            Pool::Sqlite { .. } => (None, SILENCE),
        };
        // Read after the listening has begun, so that nothing falls between.
        self.version().await?;
        Ok(Listener {
            store: self.clone(),
            link,
            silence,
        })
    }
}

async fn listen(options: &PgConnectOptions) -> Result<PgListener, StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_lazy_with(options.clone());
    let mut link = PgListener::connect_with(&pool).await?;
    link.eager_reconnect(false);
    link.listen(CHANNEL).await?;
    Ok(link)
}

impl Listener {
    /// Waits for a notification or for the end of the silence. On return, the newest version is known.
    ///
    /// # Errors
    /// The connection is broken or silent. Later versions need a new listener.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        let Some(link) = &mut self.link else {
            tokio::time::sleep(self.silence).await;
            return self.store.version().await.map(drop);
        };
        match tokio::time::timeout(self.silence, link.try_recv()).await {
            Ok(Ok(Some(notification))) => {
                // Other programs may use this channel: what is not a number is ignored.
                if let Ok(version) = notification.payload().parse() {
                    self.store.advance_version(version);
                }
                Ok(())
            }
            Ok(Ok(None)) => Err(StoreError::Away),
            Ok(Err(error)) => Err(error.into()),
            Err(_silence) => {
                let asked = async { Ok(sqlx::query("SELECT 1").execute(link).await?) };
                let limit = self.store.limits.connection_wait;
                within(limit, asked).await.map(drop)
            }
        }
    }
}
