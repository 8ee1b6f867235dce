//! Reasons why a database takes no writes, and the one that holds now.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Reason why the database takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its disk is full, or fails.
    Disk,
    /// Its file, or the whole server, may only be read.
    ReadOnly,
    /// Its file is not the one that was opened.
    Replaced,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Disk => "its disk is full, or writing to it fails",
            Self::ReadOnly => "it may only be read",
            Self::Replaced => {
                "its file was deleted or replaced after it was opened, so that what is written would be lost; put the file back, or restart the service"
            }
        })
    }
}

/// State of the writability of a database.
#[derive(Debug, Default)]
pub(super) struct Writing {
    refused: Mutex<Option<Refusal>>,
    /// Connections of an older generation are not used again: they were opened while the database could only be read.
    pub(super) generation: AtomicU64,
}

impl Writing {
    pub(super) fn refusal(&self) -> Option<Refusal> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives what it was before.
    pub(super) fn set(&self, refusal: Option<Refusal>) -> Option<Refusal> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *refused, refusal)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
