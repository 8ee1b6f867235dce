//! Which database, and how to open it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, PgConnection, PgPool, SqlitePool};

use super::StoreError;

static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

const CONNECTIONS: u32 = 16;
/// How long a request waits for a free connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(2);
/// How long a writer waits for another on SQLite.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// How long, and how often, it waits and tries again where SQLite itself does not wait.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const BUSY_PAUSES: u32 = 250;

/// Where the store is: `postgres://…` or `sqlite:path`.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A PostgreSQL server, 13 or newer.
    Postgres(String),
    /// A file, made where it does not exist.
    Sqlite(PathBuf),
}

/// Why a text names no database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `postgres://user@host/database` or `sqlite:path/to/file.db`")]
pub struct DatabaseUrlError;

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            PgConnectOptions::from_str(text).map_err(|_| DatabaseUrlError)?;
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = text
            .strip_prefix("sqlite:")
            .map(|path| path.strip_prefix("//").unwrap_or(path));
        path.filter(|path| !path.is_empty())
            .map(|path| Self::Sqlite(path.into()))
            .ok_or(DatabaseUrlError)
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(text) => match url::Url::parse(text) {
                Ok(mut url) => {
                    // Only a URL that cannot have a password refuses to lose it.
                    let _ = url.set_password(None);
                    url.set_query(None);
                    write!(formatter, "{url}")
                }
                Err(_) => write!(formatter, "postgres"),
            },
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// Stored sheets and estimates.
#[derive(Debug, Clone)]
pub enum Store {
    /// On PostgreSQL.
    Postgres(PgPool),
    /// In a file.
    Sqlite(SqlitePool),
}

/// Runs the same code on either pool.
macro_rules! on_pool {
    ($store:expr, $pool:ident => $body:expr) => {
        match $store {
            $crate::storage::Store::Postgres($pool) => $body,
            $crate::storage::Store::Sqlite($pool) => $body,
        }
    };
}
pub(super) use on_pool;

/// Runs the same code in a write transaction on either database. SQLite takes its write lock at the start: a
/// transaction that begins by reading could not become a writer while another is at work.
macro_rules! in_transaction {
    ($store:expr, $transaction:ident => $body:expr) => {
        match $store {
            $crate::storage::Store::Postgres(pool) => {
                let mut $transaction = pool.begin().await?;
                $body
            }
            $crate::storage::Store::Sqlite(pool) => {
                let mut $transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                $body
            }
        }
    };
}
pub(super) use in_transaction;

impl Store {
    /// Opens the store; tables are brought up to date by [`Store::migrate`].
    ///
    /// # Errors
    /// The file cannot be made, or the server cannot be reached.
    pub async fn open(url: &DatabaseUrl) -> Result<Self, StoreError> {
        match url {
            DatabaseUrl::Postgres(text) => {
                // The pool would wait and say only that it did; a connection of its own says what is wrong.
                PgConnection::connect(text).await?.close().await?;
                let pool = PgPoolOptions::new()
                    .max_connections(CONNECTIONS)
                    .acquire_timeout(CONNECTION_WAIT);
                Ok(Self::Postgres(pool.connect(text).await?))
            }
            DatabaseUrl::Sqlite(path) => {
                make_private_file(path)?;
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full)
                    .foreign_keys(true)
                    .busy_timeout(BUSY_WAIT);
                let pool = SqlitePoolOptions::new()
                    .max_connections(CONNECTIONS)
                    .acquire_timeout(CONNECTION_WAIT);
                let mut pauses = 0;
                loop {
                    let opened = pool.clone().connect_with(options.clone()).await;
                    match opened.map_err(StoreError::from) {
                        // Where several processes begin with an empty file, SQLite refuses all but one of them the
                        // switch to its write-ahead log, without waiting.
                        Err(error) if error.is_temporary() && pauses < BUSY_PAUSES => {
                            pauses += 1;
                            tokio::time::sleep(BUSY_PAUSE).await;
                        }
                        opened => return Ok(Self::Sqlite(opened?)),
                    }
                }
            }
        }
    }

    /// Brings the tables up to date. Replicas may do so at once.
    ///
    /// # Errors
    /// The tables are newer than this program, or the database refuses.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match self {
            // The migrator holds an advisory lock, so that one replica migrates and the others wait.
            Self::Postgres(pool) => POSTGRES_MIGRATIONS.run(pool).await?,
            // The write lock of a transaction around all migrations does the same.
            Self::Sqlite(pool) => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                SQLITE_MIGRATIONS
                    .run_direct(None, &mut *transaction, false)
                    .await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }

    /// The number of the last transaction that wrote: whatever is read after it is at least that new.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn version(&self) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT version FROM store_version WHERE id = 1";
        Ok(on_pool!(self, pool => sqlx::query_scalar(SQL).fetch_one(pool).await)?)
    }

    /// Closes all connections.
    pub async fn close(&self) {
        on_pool!(self, pool => pool.close().await);
    }
}

/// Makes the file, readable by its owner alone; missing folders likewise.
fn make_private_file(path: &Path) -> Result<(), StoreError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_picks_the_database_and_the_password_is_not_shown() {
        let postgres: DatabaseUrl = "postgres://ann:secret@db/unroof".parse().unwrap();
        assert_eq!(postgres.to_string(), "postgres://ann@db/unroof");
        assert_eq!(format!("{postgres:?}"), "postgres://ann@db/unroof");
        assert_eq!(
            "sqlite:a/b.db".parse(),
            Ok(DatabaseUrl::Sqlite("a/b.db".into()))
        );
        assert_eq!(
            "sqlite:///a/b.db".parse(),
            Ok(DatabaseUrl::Sqlite("/a/b.db".into()))
        );
        for text in ["", "mysql://db", "sqlite:", "a.db"] {
            assert_eq!(text.parse::<DatabaseUrl>(), Err(DatabaseUrlError), "{text}");
        }
    }
}
