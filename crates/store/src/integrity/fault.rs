//! A fault that a check found.

use std::fmt;

use uuid::Uuid;

use crate::OfferFault;

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
}

impl fmt::Display for Subject {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(to, "file"),
            Self::Sheet(id) => write!(to, "price sheet {id}"),
            Self::Estimate(id) => write!(to, "estimate {id}"),
            Self::Offer(id) => write!(to, "offer {id}"),
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

impl From<OfferFault> for Fault {
    fn from(fault: OfferFault) -> Self {
        Self {
            subject: Subject::Offer(fault.offer_id),
            detail: fault.detail,
        }
    }
}
