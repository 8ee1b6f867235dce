//! Lock of an SQLite file: one process serves it, since others would not be notified of its writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

#[cfg(target_os = "linux")]
use super::file::is_of_network;

use super::file::{make_private_file, with_ending};
use crate::{DatabaseUrl, StoreError};

/// A lock held while a process serves an SQLite database or runs an import on it. The system releases it when the
/// process ends for any reason.
#[derive(Debug)]
pub struct ServingLock {
    /// The file next to the database, which earlier versions lock too.
    _beside: File,
    /// The database itself: the same file by any name, also while nothing is next to it.
    _database: Option<File>,
}

impl ServingLock {
    /// Takes the lock of a database: on a file next to that of an embedded one. PostgreSQL needs none.
    ///
    /// # Errors
    /// Another process holds it, or the file cannot be created.
    pub fn take(url: &DatabaseUrl) -> Result<Option<Self>, StoreError> {
        match url {
            DatabaseUrl::Postgres(_) => Ok(None),
            DatabaseUrl::Sqlite(path) => Self::next_to(path).map(Some),
        }
    }

    fn next_to(database: &Path) -> Result<Self, StoreError> {
        make_private_file(database)?;
        // The same file by another name has the same lock.
        let database = &database
            .canonicalize()
            .map_err(StoreError::of_file(database))?;
        let path = &with_ending(database, ".lock");
        make_private_file(path)?;
        let beside = locked_file(path, OpenOptions::new().write(true), database)?;
        Ok(Self {
            _beside: beside,
            _database: lock_itself(database)?,
        })
    }
}

/// Locks the file of the database. On Linux such a lock has nothing to do with the ranges of bytes that SQLite locks. To close the
/// file would release those: it is opened before SQLite opens it, and closed after. Where a network keeps the file, both would be
/// one.
#[cfg(target_os = "linux")]
fn lock_itself(database: &Path) -> Result<Option<File>, StoreError> {
    if is_of_network(database) {
        return Ok(None);
    }
    locked_file(database, OpenOptions::new().read(true), database).map(Some)
}

/// Elsewhere a lock on the whole file would keep SQLite out of it.
#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "locking fails where it is possible"
)]
fn lock_itself(_database: &Path) -> Result<Option<File>, StoreError> {
    Ok(None)
}

/// A file that this process alone has locked.
fn locked_file(path: &Path, options: &OpenOptions, database: &Path) -> Result<File, StoreError> {
    let file = options.open(path).map_err(StoreError::of_file(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Served(database.display().to_string())),
        Err(TryLockError::Error(source)) => Err(StoreError::of_file(path)(source)),
    }
}
