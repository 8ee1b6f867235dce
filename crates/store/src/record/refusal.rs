//! Reasons why a database takes no writes, and the one that holds now.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::connect::schema::program::NewerTables;
use crate::locked;

/// Reason why the database takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The disk of the database is full or failing.
    #[error("its disk is full, or writing to it fails")]
    Disk,
    /// The file or server of the database is read-only.
    #[error("it may only be read")]
    ReadOnly,
    /// The file of the database was replaced after it was opened.
    #[error(
        "its file was deleted or replaced after it was opened, so writes would be lost; put the file back, \
         or restart the service"
    )]
    Replaced,
    /// The tables are those of a newer program.
    #[error("{0}; use that version or a newer one")]
    NewerTables(NewerTables),
}

/// State of the writability of a database.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    refused: Mutex<Option<Refusal>>,
    /// Connections of an older generation are not used again: they were opened while the database could only be read.
    pub(crate) generation: AtomicU64,
}

impl Writing {
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        *locked(&self.refused)
    }

    /// Returns the previous state. Tables of a newer program are refused until the process ends.
    pub(crate) fn set(&self, refusal: Option<Refusal>) -> Option<Refusal> {
        let mut refused = locked(&self.refused);
        match *refused {
            Some(Refusal::NewerTables(_)) => *refused,
            _ => std::mem::replace(&mut *refused, refusal),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
