//! Import of whole catalogs: parses every entry, finds duplicates of one pricing decision, estimates each decision once,
//! records everything, and reports one line per entry.

pub(crate) mod entry;
mod error;
mod held;
mod importer;
pub mod integrity;
mod models;
mod options;
mod priority;
pub mod progress;
mod run;
mod turn;
pub(crate) mod workers;

pub use crate::entry::entries::{CatalogError, CatalogFormat};
pub use crate::entry::parts::{DOCUMENT_SEPARATOR, published_format};
pub use crate::entry::refusals::Refusal;
pub use crate::progress::lines::{LineReceiver, LineSender, lines};
pub use crate::progress::report::{Imported, Line, Outcome, Summary};
pub use error::ImportError;
pub use held::MOST_BYTES;
pub use importer::{BegunImport, Importer, NotAccepted, Version, row_without_entries};
use models::Drawn;
pub use models::ModelEstimator;
pub use options::Options;
pub use priority::Priority;
pub use run::Import;
pub use turn::Turn;
