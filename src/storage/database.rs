//! Opens a database: its connections, and what all operations share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use log::LevelFilter;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, SqlitePool};
use tokio::sync::{OwnedMutexGuard, SetOnce, watch};
use uuid::Uuid;

use super::connection::pool_options;
use super::database_url::DatabaseUrl;
use super::file::{FileIdentity, make_private_file};
use super::queue::Queue;
use super::refusal::Writing;
use super::secrets_key::SecretsKey;
use super::{DbTime, StoreError};

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
    /// Time beyond which a statement is logged; never if zero.
    pub slow_statement: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            connections: 16,
            connection_wait: Duration::from_secs(1),
            statement: Duration::from_secs(2),
            slow_statement: Duration::from_millis(250),
        }
    }
}

impl StoreLimits {
    /// Limits of commands, which wait for the database without a timeout, and say nothing about slow statements.
    #[must_use]
    pub fn without_timeouts() -> Self {
        Self {
            connections: 4,
            connection_wait: Duration::from_secs(30),
            statement: Duration::from_mins(1),
            slow_statement: Duration::ZERO,
        }
    }

    /// Timeout for all statements of one operation. PostgreSQL itself ends a statement that runs too long; this ends
    /// the wait for a server that has stopped answering.
    fn operation(self) -> Duration {
        self.statement + self.connection_wait
    }

    /// The options of a connection that logs slow statements: their text, without values.
    fn logging<Options: ConnectOptions>(self, options: Options) -> Options {
        let is_off = self.slow_statement.is_zero();
        let slow = if is_off {
            Duration::MAX
        } else {
            self.slow_statement
        };
        options.log_slow_statements(LevelFilter::Warn, slow)
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

/// The runs that a process makes.
pub(super) type Importing = Arc<Mutex<BTreeSet<Uuid>>>;

/// Stored sheets and estimates.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) pool: Pool,
    pub(super) limits: StoreLimits,
    /// Set once the tables are up to date.
    pub(super) migrated: Arc<SetOnce<()>>,
    /// The newest version that this process knows of.
    pub(super) newest: watch::Sender<i64>,
    pub(super) writing: Arc<Writing>,
    /// Requests waiting to be recorded.
    pub(super) queue: Arc<Queue>,
    /// The last reading of the database's clock, after the local time of the query.
    pub(super) clock: Arc<Mutex<Option<(Instant, DbTime)>>>,
    /// The imports that this process makes.
    pub(super) importing: Importing,
    /// The key that secrets of webhooks are encrypted with, if there is one.
    pub(super) secrets_key: Option<Arc<SecretsKey>>,
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
        /// Held while writing. SQLite lets one connection write at a time and has the others try again and again,
        /// each on a connection that readers could use.
        writer: Arc<tokio::sync::Mutex<()>>,
        path: PathBuf,
        /// The file that was opened.
        file: FileIdentity,
    },
}

/// Evaluates the same expression with the pool of either database.
macro_rules! on_pool {
    ($store:expr, $pool:ident => $body:expr) => {
        match &$store.pool {
            $crate::storage::database::Pool::Postgres { pool: $pool, .. } => $body,
            $crate::storage::database::Pool::Sqlite { pool: $pool, .. } => $body,
        }
    };
}
pub(super) use on_pool;

impl Store {
    /// Opens the store; tables are brought up to date by [`Store::migrate`]. A PostgreSQL server is not contacted yet.
    ///
    /// # Errors
    /// The file cannot be created, or the address is invalid.
    pub async fn open(url: &DatabaseUrl, limits: StoreLimits) -> Result<Self, StoreError> {
        Self::open_for(Access::Write, url, limits).await
    }

    /// Opens the store only to read from it: nothing is created, and the tables must be those of this program.
    ///
    /// # Errors
    /// There is no database, its tables are of another version, or it is unreachable.
    pub async fn open_to_read(url: &DatabaseUrl, limits: StoreLimits) -> Result<Self, StoreError> {
        if let DatabaseUrl::Sqlite(path) = url
            && !path.exists()
        {
            return Err(StoreError::NoDatabase(path.display().to_string()));
        }
        let store = Self::open_for(Access::Read, url, limits).await?;
        store.require_tables().await?;
        Ok(store)
    }

    async fn open_for(
        access: Access,
        url: &DatabaseUrl,
        limits: StoreLimits,
    ) -> Result<Self, StoreError> {
        let pool = match url {
            DatabaseUrl::Postgres(text) => {
                let milliseconds = limits.statement.as_millis().to_string();
                let is_read_only =
                    (access == Access::Read).then_some(("default_transaction_read_only", "on"));
                let without_timeouts = PgConnectOptions::from_str(text)?.options(is_read_only);
                // A plan is made for the values that are asked for, also after five executions, and for tables in
                // memory or on flash.
                let options = without_timeouts.clone().options([
                    ("statement_timeout", milliseconds.as_str()),
                    ("lock_timeout", &milliseconds),
                    ("plan_cache_mode", "force_custom_plan"),
                    ("random_page_cost", "1.1"),
                ]);
                Pool::Postgres {
                    pool: pool_options(limits).connect_lazy_with(limits.logging(options)),
                    without_timeouts: Box::new(without_timeouts),
                }
            }
            DatabaseUrl::Sqlite(path) => {
                let pool = open_file(path, limits, access).await?;
                Pool::Sqlite {
                    pool,
                    writer: Arc::default(),
                    path: path.clone(),
                    file: FileIdentity::of(path).map_err(StoreError::of_file(path))?,
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
            secrets_key: None,
        })
    }

    /// Waits for [`Store::migrate`], at most for the connection timeout.
    pub(super) async fn wait_for_tables(&self) -> Result<(), StoreError> {
        let waiting = async {
            self.migrated.wait().await;
            Ok(())
        };
        within(self.limits.connection_wait, waiting).await
    }

    /// Runs one operation, within the time that it has.
    pub(super) fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        within(self.limits.operation(), operation)
    }

    /// The same with the timeout of an operation of a dozen statements.
    pub(super) fn within_write_timeout<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        const TIMES: u32 = 3;
        within(TIMES * self.limits.operation(), operation)
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
        let waiting = async { Ok(Some(Arc::clone(writer).lock_owned().await)) };
        within(self.limits.statement, waiting).await
    }

    /// Name of the database system, as OpenTelemetry spells it.
    pub(super) fn system(&self) -> &'static str {
        match self.pool {
            Pool::Postgres { .. } => "postgresql",
            Pool::Sqlite { .. } => "sqlite",
        }
    }

    /// Begins a transaction that writes. SQLite takes its write lock at the start: a transaction that begins with a
    /// read cannot acquire it while another process writes.
    pub(super) fn begin(&self) -> &'static str {
        match self.pool {
            Pool::Postgres { .. } => "BEGIN",
            Pool::Sqlite { .. } => "BEGIN IMMEDIATE",
        }
    }

    /// Tries to take the named advisory lock. An embedded database, which one process serves, always gives it.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn try_lock(&self, name: &str) -> Result<Option<StoreLock>, StoreError> {
        let mut lock = self.lock_of(name).await?;
        Ok(lock.try_take().await?.then_some(lock))
    }

    /// The lock of a catalog's imports, which is still to be taken.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn lock_of_catalog(&self, catalog: &str) -> Result<StoreLock, StoreError> {
        self.lock_of(&format!("catalog {catalog}")).await
    }

    async fn lock_of(&self, name: &str) -> Result<StoreLock, StoreError> {
        let mut lock = StoreLock {
            name: name.to_owned(),
            limits: self.limits,
            connection: None,
        };
        let Pool::Postgres {
            without_timeouts, ..
        } = &self.pool
        else {
            return Ok(lock);
        };
        // PostgreSQL gives the lock back when the connection ends, however it ends: at once where the process does,
        // and in half a minute where its machine is gone.
        let watched = without_timeouts.as_ref().clone().options([
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_interval", "10"),
            ("tcp_keepalives_count", "2"),
        ]);
        let connect = async { Ok(PgConnection::connect_with(&watched).await?) };
        lock.connection = Some(self.in_time(connect).await?);
        Ok(lock)
    }

    /// Numbers of connections, for metrics.
    #[must_use]
    pub fn connections(&self) -> StoreConnections {
        let (open, idle) = on_pool!(self, pool => (pool.size(), pool.num_idle()));
        StoreConnections {
            used: (open as usize).saturating_sub(idle),
            idle,
            limit: self.limits.connections as usize,
        }
    }

    /// Whether it was closed.
    pub(super) fn is_closed(&self) -> bool {
        on_pool!(self, pool => pool.is_closed())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        on_pool!(self, pool => pool.close().await);
    }
}

/// Runs one operation within a time, after which the database is unreachable.
pub(super) async fn within<T>(
    limit: Duration,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answered = tokio::time::timeout(limit, operation).await;
    answered.unwrap_or(Err(StoreError::Away))
}

/// A named advisory lock, held until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    name: String,
    limits: StoreLimits,
    /// None where one process serves the database.
    connection: Option<PgConnection>,
}

impl StoreLock {
    /// Takes the lock, unless another process holds it.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn try_take(&mut self) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT pg_try_advisory_lock(hashtext('unroof'), hashtext($1))";
        let Some(connection) = &mut self.connection else {
            return Ok(true);
        };
        let attempt = sqlx::query_scalar(SQL).bind(&self.name);
        let attempt = async { Ok(attempt.fetch_one(connection).await?) };
        within(self.limits.operation(), attempt).await
    }
}

/// Purpose for which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// To read and to write.
    Write,
    /// To read alone.
    Read,
}

/// Opens the file of an embedded database.
async fn open_file(
    path: &Path,
    limits: StoreLimits,
    access: Access,
) -> Result<SqlitePool, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(limits.statement);
    let options = limits.logging(options);
    let options = match access {
        Access::Read => options.read_only(true),
        Access::Write => {
            make_private_file(path)?;
            options
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
        }
    };
    let pool = pool_options(limits);
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
