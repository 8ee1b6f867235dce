//! Opens a database and runs operations on it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, PgConnection, PgPool, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard, SetOnce, watch};

use super::database_url::DatabaseUrl;
use super::group::Queue;
use super::imports::Importing;
use super::reporting::replace_views;
use super::writing::{FileIdentity, Writing};
use super::{DbTime, StoreError};

static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Pause between retries, and number of retries, where SQLite returns "busy" without waiting.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const BUSY_PAUSES: u32 = 250;

/// Limits of the database, beyond which a request is refused as temporary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Connections at once.
    pub connections: u32,
    /// Longest time for which a request waits for a free connection.
    pub connection_wait: Duration,
    /// Longest time for which a statement runs or waits for a lock.
    pub statement: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            connections: 16,
            connection_wait: Duration::from_secs(1),
            statement: Duration::from_secs(2),
        }
    }
}

impl StoreLimits {
    /// Limits of commands, which wait for the database without a timeout.
    #[must_use]
    pub fn without_timeouts() -> Self {
        Self {
            connections: 4,
            connection_wait: Duration::from_secs(30),
            statement: Duration::from_mins(1),
        }
    }

    /// Timeout for all statements of one operation. PostgreSQL itself ends a statement that runs too long; this ends
    /// the wait for a server that has stopped answering.
    fn operation(self) -> Duration {
        self.statement + self.connection_wait
    }
}

/// Connections to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreConnections {
    /// In use.
    pub used: usize,
    /// Open and free.
    pub idle: usize,
    /// Most connections that may be open.
    pub limit: usize,
}

/// Stored sheets and estimates.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) pool: Pool,
    pub(super) limits: StoreLimits,
    /// Set once the tables are up to date.
    migrated: Arc<SetOnce<()>>,
    /// The newest version that this process knows of.
    pub(super) newest: watch::Sender<i64>,
    pub(super) writing: Arc<Writing>,
    /// Requests waiting to be recorded.
    pub(super) queue: Arc<Queue>,
    /// The last reading of the database's clock.
    clock: Arc<std::sync::Mutex<Option<Read>>>,
    /// The imports that this process makes.
    pub(super) importing: Importing,
}

/// A reading of the database's clock, with the local time of the query.
#[derive(Debug)]
struct Read {
    asked_at: Instant,
    time: DbTime,
}

/// Connections to either database.
#[derive(Debug, Clone)]
pub(super) enum Pool {
    Postgres {
        pool: PgPool,
        /// Options of a connection without timeouts, for migrations.
        without_timeouts: Box<PgConnectOptions>,
    },
    Sqlite {
        pool: SqlitePool,
        /// Held while writing. SQLite lets one connection write at a time and has the others try again and again, each on
        /// a connection that readers could use.
        writer: Arc<Mutex<()>>,
        path: PathBuf,
        /// The file that was opened.
        file: FileIdentity,
    },
}

/// Runs the same statements on a connection of either pool, within the time that one operation has. After an error the
/// connection is closed.
macro_rules! on_connection {
    ($store:expr, $connection:ident => $body:expr) => {
        $crate::storage::database::on_connection!($store, in_time, $connection => $body)
    };
    ($store:expr, $in_time:ident, $connection:ident => $body:expr) => {
        match &$store.pool {
            $crate::storage::database::Pool::Postgres { pool, .. } => {
                $crate::storage::database::on_connection!(@ $store, $in_time, pool, $connection => $body)
            }
            $crate::storage::database::Pool::Sqlite { pool, .. } => {
                $crate::storage::database::on_connection!(@ $store, $in_time, pool, $connection => $body)
            }
        }
    };
    (@ $store:expr, $in_time:ident, $pool:ident, $connection:ident => $body:expr) => {{
        $store.wait_for_tables().await?;
        let mut lease = $crate::storage::lease::Lease::take($pool, &$store).await?;
        let outcome = {
            let $connection = &mut *lease.connection;
            $store.$in_time(Box::pin(async { $body })).await
        };
        lease.note(&outcome);
        outcome
    }};
}
pub(super) use on_connection;

impl Store {
    /// Opens the store; tables are brought up to date by [`Store::migrate`]. A PostgreSQL server is not contacted yet.
    ///
    /// # Errors
    /// The file cannot be created, or the address is invalid.
    pub async fn open(url: &DatabaseUrl, limits: StoreLimits) -> Result<Self, StoreError> {
        let pool = match url {
            DatabaseUrl::Postgres(text) => {
                let milliseconds = limits.statement.as_millis().to_string();
                let without_timeouts = PgConnectOptions::from_str(text)?;
                // A plan is made for the values that are asked for, also after five executions, and for tables in memory
                // or on flash.
                let options = without_timeouts.clone().options([
                    ("statement_timeout", milliseconds.as_str()),
                    ("lock_timeout", &milliseconds),
                    ("plan_cache_mode", "force_custom_plan"),
                    ("random_page_cost", "1.1"),
                ]);
                let pool = PgPoolOptions::new()
                    .max_connections(limits.connections)
                    .acquire_timeout(limits.connection_wait);
                Pool::Postgres {
                    pool: pool.connect_lazy_with(options),
                    without_timeouts: Box::new(without_timeouts),
                }
            }
            DatabaseUrl::Sqlite(path) => {
                let pool = open_file(path, limits).await?;
                Pool::Sqlite {
                    pool,
                    writer: Arc::default(),
                    path: path.clone(),
                    file: FileIdentity::of(path).map_err(|source| StoreError::File {
                        path: path.display().to_string(),
                        source,
                    })?,
                }
            }
        };
        Ok(Self {
            pool,
            limits,
            migrated: Arc::default(),
            newest: watch::Sender::default(),
            writing: Arc::default(),
            queue: Arc::default(),
            clock: Arc::default(),
            importing: Importing::default(),
        })
    }

    /// Brings the tables up to date. Replicas may do so concurrently.
    ///
    /// # Errors
    /// The database is unreachable or returns an error, or its tables are newer than this program.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.pool {
            // The migrator holds an advisory lock, so that one replica migrates and the others wait. A connection of its
            // own has no limits in time, and says what is wrong where the pool says only that it waited.
            Pool::Postgres {
                without_timeouts, ..
            } => {
                let connecting = async { Ok(PgConnection::connect_with(without_timeouts).await?) };
                let mut connection = self.in_time(connecting).await?;
                POSTGRES_MIGRATIONS
                    .run_direct(None, &mut connection, false)
                    .await?;
                replace_views(&mut connection).await?;
                connection.close().await?;
            }
            // The write lock of a transaction around all migrations does the same.
            Pool::Sqlite { pool, .. } => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                SQLITE_MIGRATIONS
                    .run_direct(None, &mut *transaction, false)
                    .await?;
                transaction.commit().await?;
            }
        }
        // Set already where it was called before.
        let _ = self.migrated.set(());
        // Learns the database's time.
        self.version().await.map(drop)
    }

    /// Waits for [`Store::migrate`], at most for the connection timeout.
    pub(super) async fn wait_for_tables(&self) -> Result<(), StoreError> {
        tokio::time::timeout(self.limits.connection_wait, self.migrated.wait())
            .await
            .map(drop)
            .map_err(|_| StoreError::Away)
    }

    /// Runs one operation, within the time that it has.
    pub(super) async fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tokio::time::timeout(self.limits.operation(), operation)
            .await
            .map_err(|_| StoreError::Away)?
    }

    /// The same with the timeout of an operation of a dozen statements.
    pub(super) async fn within_write_timeout<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        const TIMES: u32 = 3;
        tokio::time::timeout(TIMES * self.limits.operation(), operation)
            .await
            .map_err(|_| StoreError::Away)?
    }

    /// The write lock of SQLite; PostgreSQL has locks of its own. Refused while the database takes no writes.
    pub(super) async fn wait_to_write(&self) -> Result<Option<OwnedMutexGuard<()>>, StoreError> {
        self.require_writable()?;
        let turn = self.wait_for_turn().await?;
        // Another writer may have failed meanwhile.
        self.require_writable()?;
        Ok(turn)
    }

    /// The same without the check that the database takes writes.
    pub(super) async fn wait_for_turn(&self) -> Result<Option<OwnedMutexGuard<()>>, StoreError> {
        let Pool::Sqlite { writer, .. } = &self.pool else {
            return Ok(None);
        };
        tokio::time::timeout(self.limits.statement, Arc::clone(writer).lock_owned())
            .await
            .map(Some)
            .map_err(|_| StoreError::Away)
    }

    /// Begins a transaction that writes. SQLite takes its write lock at the start: a transaction that begins with a
    /// read cannot acquire it while another process writes.
    pub(super) fn begin(&self) -> &'static str {
        match self.pool {
            Pool::Postgres { .. } => "BEGIN",
            Pool::Sqlite { .. } => "BEGIN IMMEDIATE",
        }
    }

    /// The number of the last transaction that wrote: whatever is read after it is at least that new.
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
        let asked_at = Instant::now();
        let (version, time): (i64, Option<DbTime>) = on_connection!(self, connection => {
            Ok(sqlx::query_as(sql).fetch_one(connection).await?)
        })?;
        if let Some(time) = time {
            let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
            *clock = Some(Read { asked_at, time });
        }
        self.advance_version(version);
        Ok(version)
    }

    /// The earlier of the local time and the database's time, so that a replica with a fast clock records nothing in
    /// the future.
    #[must_use]
    pub fn not_ahead(&self, now: Timestamp) -> Timestamp {
        let clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(read) = &*clock else { return now };
        let time = Timestamp::from(read.time).checked_add(read.asked_at.elapsed());
        time.map_or(now, |time| time.min(now))
    }

    /// Tries to take the named advisory lock. An embedded database, which one process serves, always gives it.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn try_lock(&self, name: &str) -> Result<Option<StoreLock>, StoreError> {
        const SQL: &str = "SELECT pg_try_advisory_lock(hashtext('unroof'), hashtext($1))";
        let Pool::Postgres {
            without_timeouts, ..
        } = &self.pool
        else {
            return Ok(Some(StoreLock { _connection: None }));
        };
        // PostgreSQL gives the lock back when the connection ends, however it ends: at once where the process does, and in
        // half a minute where its machine is gone.
        let watched = without_timeouts.as_ref().clone().options([
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_interval", "10"),
            ("tcp_keepalives_count", "2"),
        ]);
        self.in_time(async {
            let mut connection = PgConnection::connect_with(&watched).await?;
            let is_ours: bool = sqlx::query_scalar(SQL)
                .bind(name)
                .fetch_one(&mut connection)
                .await?;
            Ok(is_ours.then_some(StoreLock {
                _connection: Some(connection),
            }))
        })
        .await
    }

    /// Numbers of connections, for metrics.
    #[must_use]
    pub fn connections(&self) -> StoreConnections {
        let (open, idle) = match &self.pool {
            Pool::Postgres { pool, .. } => (pool.size(), pool.num_idle()),
            Pool::Sqlite { pool, .. } => (pool.size(), pool.num_idle()),
        };
        StoreConnections {
            used: (open as usize).saturating_sub(idle),
            idle,
            limit: self.limits.connections as usize,
        }
    }

    /// Whether it was closed.
    pub(super) fn is_closed(&self) -> bool {
        match &self.pool {
            Pool::Postgres { pool, .. } => pool.is_closed(),
            Pool::Sqlite { pool, .. } => pool.is_closed(),
        }
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match &self.pool {
            Pool::Postgres { pool, .. } => pool.close().await,
            Pool::Sqlite { pool, .. } => pool.close().await,
        }
    }
}

/// A named advisory lock, held until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    _connection: Option<PgConnection>,
}

/// Opens the file of an embedded database.
async fn open_file(path: &Path, limits: StoreLimits) -> Result<SqlitePool, StoreError> {
    make_private_file(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(limits.statement);
    let pool = SqlitePoolOptions::new()
        .max_connections(limits.connections)
        .acquire_timeout(limits.connection_wait);
    let mut pauses = 0;
    loop {
        let opened = pool.clone().connect_with(options.clone()).await;
        match opened.map_err(StoreError::from) {
            // Where several processes begin with an empty file, SQLite refuses all but one of them the switch to its
            // write-ahead log, without waiting.
            Err(error) if error.is_busy() && pauses < BUSY_PAUSES => {
                pauses += 1;
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            opened => return opened,
        }
    }
}

/// Creates the file, readable by its owner alone, and missing folders.
pub(super) fn make_private_file(path: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path, source| StoreError::File {
        path: path.display().to_string(),
        source,
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
    {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(folder)
            .map_err(|source| failed(folder, source))?;
    }
    // A file that is there is left alone: to close it would take the locks from it that this process may have.
    let mut options = std::fs::OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(failed(path, source))
        }
        _ => Ok(()),
    }
}
