//! Whether the database takes writes. After a refused write, all further writes are refused at once until a probe of
//! ordinary size succeeds; reads continue.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{ConnectOptions, Connection};

use super::database::{Pool, on_connection};
use super::{Store, StoreError};

/// Interval between probes of a database that refuses writes.
const BETWEEN_PROBES: Duration = Duration::from_millis(500);
/// Bytes of a probe after a refusal: a single page may fit on a disk on which no estimate fits.
const FILLER_BYTES: usize = 256 * 1024;

/// Reason why the database takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its disk is full or failing.
    Disk,
    /// Its file or server is read-only.
    ReadOnly,
    /// Its file was replaced after it was opened.
    Replaced,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Disk => "its disk is full, or writing to it fails",
            Self::ReadOnly => "it may only be read",
            Self::Replaced => {
                "its file was deleted or replaced after it was opened, so writes would be lost; put the file back, or restart the service"
            }
        })
    }
}

/// State of the writability of a database.
#[derive(Debug, Default)]
pub(super) struct Writing {
    refused: Mutex<Option<Refusal>>,
    /// Connections of an older generation are not used again: they were opened while the database could only be read.
    generation: AtomicU64,
}

impl Writing {
    fn refusal(&self) -> Option<Refusal> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the previous state.
    fn set(&self, refusal: Option<Refusal>) -> Option<Refusal> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *refused, refusal)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}

/// Identity of a file: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Identity of the file at a path; constant on systems without inodes.
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Ok(Self(metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Ok(Self(0, 0))
        }
    }
}

/// Whether the process may write to a file. Opening and closing it would take the locks that SQLite has on it.
fn may_write(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Access, AtFlags, CWD, accessat};
        accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.permissions().readonly())
}

const PROBE: &str = "UPDATE readiness SET probes = probes + 1 WHERE id = 1";
const FILL: &str = "UPDATE readiness SET filler = $1 WHERE id = 1";

impl Store {
    /// Whether the path of an embedded database leads to another file than the one that was opened, or to none.
    pub(super) fn is_file_gone(&self) -> bool {
        match &self.pool {
            Pool::Postgres { .. } => false,
            Pool::Sqlite { path, file, .. } => {
                FileIdentity::of(path).map_or(true, |found| found != *file)
            }
        }
    }

    /// Tests the file without writing to it.
    fn look_at_file(&self) -> Option<Refusal> {
        let Pool::Sqlite { path, .. } = &self.pool else {
            return None;
        };
        if self.is_file_gone() {
            return Some(Refusal::Replaced);
        }
        (!may_write(path)).then_some(Refusal::ReadOnly)
    }

    /// Refuses if the database is known to take no writes.
    ///
    /// # Errors
    /// It is.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        if let Some(refusal) = self.look_at_file() {
            self.refuse(refusal);
        }
        self.writing
            .refusal()
            .map_or(Ok(()), |refusal| Err(StoreError::Refused(refusal)))
    }

    /// Records from an operation's error whether the database takes writes.
    pub(super) fn note_failure(&self, error: &StoreError) {
        if let Some(refusal) = error.refusal() {
            self.refuse(refusal);
        }
    }

    fn refuse(&self, refusal: Refusal) {
        if self.writing.set(Some(refusal)).is_none() {
            tokio::spawn(self.clone().await_writes());
        }
    }

    /// Probes the database until it takes writes.
    async fn await_writes(self) {
        while !self.is_closed() {
            match self.probe_on_new_connection().await {
                Ok(()) => {
                    self.renew_connections();
                    self.writing.set(None);
                    return;
                }
                Err(error) => {
                    if let Some(refusal) = error.refusal() {
                        self.writing.set(Some(refusal));
                    }
                }
            }
            tokio::time::sleep(BETWEEN_PROBES).await;
        }
    }

    /// Writes as much as a request does, on a new connection: one that was opened while the database could only be read
    /// would not learn that this is over.
    async fn probe_on_new_connection(&self) -> Result<(), StoreError> {
        if let Some(refusal) = self.look_at_file() {
            return Err(StoreError::Refused(refusal));
        }
        let _writer = self.wait_for_turn().await?;
        macro_rules! probe {
            ($pool:ident) => {{
                let mut connection = $pool.connect_options().connect().await?;
                for filler in [Some("x".repeat(FILLER_BYTES)), None] {
                    sqlx::query(FILL)
                        .bind(filler)
                        .execute(&mut connection)
                        .await?;
                }
                Ok(connection.close().await?)
            }};
        }
        let probing = async {
            match &self.pool {
                Pool::Postgres { pool, .. } => probe!(pool),
                Pool::Sqlite { pool, .. } => probe!(pool),
            }
        };
        self.in_time(Box::pin(probing)).await
    }

    /// Closes all open connections; those in use close when they are returned.
    fn renew_connections(&self) {
        self.writing.generation.fetch_add(1, Ordering::AcqRel);
        macro_rules! close_idle {
            ($pool:ident) => {
                while let Some(mut connection) = $pool.try_acquire() {
                    connection.close_on_drop();
                }
            };
        }
        match &self.pool {
            Pool::Postgres { pool, .. } => close_idle!(pool),
            Pool::Sqlite { pool, .. } => close_idle!(pool),
        }
    }

    /// Checks with a small write whether the database takes writes. Does not wait for a running write, whose outcome is
    /// recorded anyway.
    ///
    /// # Errors
    /// It takes no writes, or is unreachable.
    pub async fn probe_writing(&self) -> Result<(), StoreError> {
        self.require_writable()?;
        let _writer = match &self.pool {
            Pool::Sqlite { writer, .. } => match Arc::clone(writer).try_lock_owned() {
                Ok(writer) => Some(writer),
                Err(_) => return Ok(()),
            },
            Pool::Postgres { .. } => None,
        };
        on_connection!(self, connection => {
            sqlx::query(PROBE).execute(connection).await?;
            Ok(())
        })
    }
}
