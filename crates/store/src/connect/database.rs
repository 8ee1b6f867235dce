//! Opens a database: its connections, and what all operations share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{PgPool, SqlitePool};
use tokio::sync::{OwnedMutexGuard, SetOnce, watch};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::database_url::DatabaseUrl;
use super::databases::Databases;
use super::file::{FileIdentity, make_private_file};
use super::limits::{StoreLimits, pool_options};
use super::standby::Standby;
use crate::keep::secrets_key::SecretsKey;
use crate::record::recorded_times::RecordedTimes;
use crate::record::refusal::Writing;
use crate::record::writer::queue::Queue;
use crate::{DbTime, StoreError};

/// Pause between retries, and number of retries, where SQLite returns "busy" without waiting.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const BUSY_PAUSES: u32 = 250;

/// Prepared statements that a connection to SQLite keeps, and its cache of pages in negative KiB, as SQLite has it.
const SQLITE_STATEMENTS: usize = 48;
const SQLITE_PAGES: &str = "-512";

/// Longest time for which a store that is closed waits for its locks to be released.
const RELEASE_TIME: Duration = Duration::from_secs(1);

/// Connections to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreConnections {
    /// Connections that are in use.
    pub used: usize,
    /// Connections that are open and free.
    pub idle: usize,
    /// Most connections that may be open.
    pub limit: usize,
}

/// The runs that a process makes.
pub(crate) type Importing = Arc<Mutex<BTreeSet<Uuid>>>;

/// Stored sheets and estimates.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) pool: Pool,
    /// Behind a pooler in transaction mode, the settings that each transaction begins with.
    pub(crate) pooled_settings: Option<Arc<str>>,
    pub(crate) standby: Option<Arc<Standby>>,
    /// The locks that this process holds.
    pub(crate) renewals: TaskTracker,
    pub(crate) limits: StoreLimits,
    /// Set once the tables are up to date.
    pub(crate) migrated: Arc<SetOnce<()>>,
    /// The newest version that this process knows of.
    pub(crate) newest: watch::Sender<i64>,
    pub(crate) writing: Arc<Writing>,
    /// Requests waiting to be recorded.
    pub(crate) queue: Arc<Queue>,
    /// The last reading of the database's clock, after the local time of the query.
    pub(crate) clock: Arc<Mutex<Option<(Instant, DbTime)>>>,
    /// The times that are recorded, compared with the clock before a write.
    pub(crate) recorded: Arc<Mutex<RecordedTimes>>,
    /// The last time at which no connection was free within the time for one.
    pub(crate) lacked_connection_at: Arc<Mutex<Option<Instant>>>,
    /// The imports that this process makes.
    pub(crate) importing: Importing,
    /// The key that secrets of webhooks are encrypted with, if there is one.
    pub(crate) secrets_key: Option<Arc<SecretsKey>>,
}

/// Connections to either database.
#[derive(Debug, Clone)]
pub(crate) enum Pool {
    Postgres {
        pool: PgPool,
        /// Options of a connection to the server itself, without timeouts: for migrations, and for LISTEN.
        direct: Box<PgConnectOptions>,
        /// Whether changes are polled.
        polls: bool,
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

impl Store {
    /// Opens the store; tables are brought up to date by [`Store::migrate`]. A PostgreSQL server is not contacted yet.
    ///
    /// # Errors
    /// The file cannot be created, or the address is invalid.
    pub async fn open(url: &DatabaseUrl, limits: StoreLimits) -> Result<Self, StoreError> {
        Self::open_on(&Databases::at(url.clone()), limits).await
    }

    /// Opens the store on a database at several addresses.
    ///
    /// # Errors
    /// The file cannot be created, or an address is invalid.
    pub async fn open_on(databases: &Databases, limits: StoreLimits) -> Result<Self, StoreError> {
        Self::open_for(Access::Write, databases, limits).await
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
        let databases = Databases::at(url.clone());
        let store = Self::open_for(Access::Read, &databases, limits).await?;
        store.require_tables().await?;
        Ok(store)
    }

    async fn open_for(
        access: Access,
        databases: &Databases,
        limits: StoreLimits,
    ) -> Result<Self, StoreError> {
        let is_pooled = databases.direct.is_some();
        let limits = match &databases.main {
            DatabaseUrl::Postgres(_) => limits,
            DatabaseUrl::Sqlite(_) => limits.of_a_file(),
        };
        let pool = match &databases.main {
            DatabaseUrl::Postgres(text) => {
                let direct = match &databases.direct {
                    Some(DatabaseUrl::Postgres(direct)) => direct,
                    _ => text,
                };
                let direct = access.of_connection(PgConnectOptions::from_str(direct)?);
                let options = access.of_connection(PgConnectOptions::from_str(text)?);
                Pool::Postgres {
                    pool: limits.pool(options, is_pooled, limits.connection_wait),
                    direct: Box::new(direct),
                    polls: databases.polls,
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
        let standby = match &databases.standby {
            Some(DatabaseUrl::Postgres(text)) => {
                let options = PgConnectOptions::from_str(text)?;
                let pool = limits.pool(options, is_pooled, Standby::WAIT);
                Some(Arc::new(Standby::new(pool)))
            }
            _ => None,
        };
        Ok(Self {
            pool,
            pooled_settings: is_pooled.then(|| limits.of_each_transaction().into()),
            standby,
            renewals: TaskTracker::new(),
            limits,
            migrated: Arc::default(),
            newest: watch::Sender::default(),
            writing: Arc::default(),
            queue: Arc::default(),
            clock: Arc::default(),
            recorded: Arc::default(),
            lacked_connection_at: Arc::default(),
            importing: Importing::default(),
            secrets_key: None,
        })
    }

    /// Waits for [`Store::migrate`], at most for the connection timeout.
    pub(crate) async fn wait_for_tables(&self) -> Result<(), StoreError> {
        let waiting = async {
            self.migrated.wait().await;
            Ok(())
        };
        within(self.limits.connection_wait, waiting).await
    }

    /// Runs one operation, within the time that it has.
    pub(crate) fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        within(self.limits.operation(), operation)
    }

    /// The write lock of SQLite; PostgreSQL has locks of its own. Refused while the database takes no writes.
    pub(crate) async fn wait_to_write(&self) -> Result<Option<OwnedMutexGuard<()>>, StoreError> {
        self.require_writable()?;
        let turn = self.wait_for_turn().await?;
        // Another writer may have failed meanwhile.
        self.require_writable()?;
        Ok(turn)
    }

    /// The write lock of SQLite, without the check that the database takes writes.
    pub(crate) async fn wait_for_turn(&self) -> Result<Option<OwnedMutexGuard<()>>, StoreError> {
        let Pool::Sqlite { writer, .. } = &self.pool else {
            return Ok(None);
        };
        let waiting = async { Ok(Some(Arc::clone(writer).lock_owned().await)) };
        within(self.limits.statement, waiting).await
    }

    /// Name of the database system, as OpenTelemetry spells it.
    pub(crate) fn system(&self) -> &'static str {
        match self.pool {
            Pool::Postgres { .. } => "postgresql",
            Pool::Sqlite { .. } => "sqlite",
        }
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
    #[must_use]
    pub fn is_closed(&self) -> bool {
        match &self.pool {
            Pool::Postgres { pool, .. } => pool.is_closed(),
            Pool::Sqlite { pool, .. } => pool.is_closed(),
        }
    }

    /// Closes all connections, once the locks that were dropped are released.
    pub async fn close(&self) {
        self.renewals.close();
        // A lock that is held still, or cannot be released in time, expires.
        let released = async {
            self.renewals.wait().await;
            Ok(())
        };
        let _ = within(RELEASE_TIME, released).await;
        if let Some(standby) = &self.standby {
            standby.pool.close().await;
        }
        match &self.pool {
            Pool::Postgres { pool, .. } => pool.close().await,
            Pool::Sqlite { pool, .. } => pool.close().await,
        }
    }
}

/// Runs one operation within a time, after which the database is unreachable.
pub(crate) async fn within<T>(
    limit: Duration,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answered = tokio::time::timeout(limit, operation).await;
    answered.unwrap_or(Err(StoreError::Away))
}

/// Purpose for which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The store is opened to read and to write.
    Write,
    /// The store is opened to read alone.
    Read,
}

impl Access {
    /// Options of a connection to PostgreSQL for this purpose. A pooler takes no connection with others, not even with none.
    fn of_connection(self, options: PgConnectOptions) -> PgConnectOptions {
        match self {
            Self::Write => options,
            Self::Read => options.options([("default_transaction_read_only", "on")]),
        }
    }
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
    // A connection keeps both as long as it is open: the file's pages are in the memory of the system already.
    let options = limits
        .logging(options)
        .statement_cache_capacity(SQLITE_STATEMENTS)
        .pragma("cache_size", SQLITE_PAGES);
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
