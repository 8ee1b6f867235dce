//! Lock of an SQLite file: one process serves it, since others would not be notified of its writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::file::{make_private_file, with_ending};
use crate::{DatabaseUrl, StoreError};

/// A lock held while a process serves an SQLite database or runs an import on it. The system releases it when the
/// process ends for any reason.
#[derive(Debug)]
pub struct ServingLock {
    _file: File,
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
        let database = database
            .canonicalize()
            .map_err(StoreError::of_file(database))?;
        let path = &with_ending(&database, ".lock");
        make_private_file(path)?;
        let opened = OpenOptions::new().write(true).open(path);
        let file = opened.map_err(StoreError::of_file(path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::Served(database.display().to_string()))
            }
            Err(TryLockError::Error(source)) => Err(StoreError::of_file(path)(source)),
        }
    }
}
