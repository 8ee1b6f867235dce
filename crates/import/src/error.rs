//! Reasons for an import to end early.

use unroof_infer::estimate::Cancelled;

use crate::entry::entries::CatalogError;
use unroof_store::{HeldImport, StoreError};

/// Reason why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The query to the database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No thread could be started.
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
    /// The import would end or change too many offers, and is held until it is accepted.
    #[error("the import is held: {}", .0.difference)]
    Held(Box<HeldImport>),
    /// The client disconnected.
    #[error("the client disconnected before the import was done")]
    Unwanted,
    /// The client reads the lines too slowly.
    #[error("the client reads too slowly")]
    SlowReader,
    /// A worker panicked.
    #[error("the import failed with an internal error; see the log")]
    Crashed,
}

impl From<Cancelled> for ImportError {
    fn from(_: Cancelled) -> Self {
        Self::Unwanted
    }
}
