//! Reasons for an import to end early.

use unroof_core::estimate::Unwanted;

use super::entries::CatalogError;
use crate::storage::StoreError;

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gives no thread.
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
    /// The client has gone.
    #[error("the client left before the import was done")]
    Unwanted,
    /// The client takes the lines later than they come, for longer than it may.
    #[error("the client reads too slowly")]
    SlowReader,
    /// A worker panicked.
    #[error("the import failed inside; the log says more")]
    Crashed,
}

impl From<Unwanted> for ImportError {
    fn from(_: Unwanted) -> Self {
        Self::Unwanted
    }
}
