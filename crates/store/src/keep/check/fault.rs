//! A fault that a check found.

use std::fmt;

use uuid::Uuid;

/// Subject of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The file of an embedded database.
    File,
    /// A price sheet, by its id.
    Sheet(Uuid),
    /// An estimate, by its id.
    Estimate(Uuid),
    /// The history of an offer.
    Offer(Uuid),
    /// A row of a table, by its number.
    Row(&'static str, i64),
    /// A table.
    Table(&'static str),
    /// The version of the store.
    Version,
}

impl Subject {
    /// Id of the offer, if it is one.
    #[must_use]
    pub fn offer(self) -> Option<Uuid> {
        match self {
            Self::Offer(id) => Some(id),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(to, "file"),
            Self::Sheet(id) => write!(to, "price sheet {id}"),
            Self::Estimate(id) => write!(to, "estimate {id}"),
            Self::Offer(id) => write!(to, "offer {id}"),
            Self::Row(table, number) => write!(to, "row {number} of {table}"),
            Self::Table(table) => write!(to, "{table}"),
            Self::Version => write!(to, "version"),
        }
    }
}

/// A fault, as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Subject of the fault.
    pub subject: Subject,
    /// Difference between what is stored and what should be, in words.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.subject, self.detail)
    }
}
