//! Integrity of a database: estimates are computed again and compared, documents match their checksums, ids their content, and
//! the stored periods of prices follow from what was seen.

mod checker;
mod repeated;

pub use checker::{Checked, Checker, Part, Sample, Watch};
pub use unroof_store::{Fault, Subject};

use unroof_store::StoreError;

/// Reason why a check ended early.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The query to the database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No thread could be started.
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
    /// A thread that computes panicked.
    #[error("the check failed with an internal error")]
    Crashed,
}
