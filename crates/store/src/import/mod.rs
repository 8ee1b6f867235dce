//! Import of whole catalogs: parses every entry, finds duplicates of one pricing decision, estimates each decision once,
//! records everything, and reports one line per entry.

pub(crate) mod entry;
mod error;
mod held;
mod importer;
mod models;
mod options;
mod priority;
pub mod progress;
mod run;
mod turn;
pub(crate) mod workers;

pub use crate::import::entry::entries::{CatalogError, CatalogFormat};
pub use crate::import::entry::parts::{DOCUMENT_SEPARATOR, published_format};
pub use crate::import::entry::refusals::Refusal;
pub use crate::import::progress::lines::{LineReceiver, LineSender, lines};
pub use crate::import::progress::report::{Imported, Line, Outcome, Summary};
pub use error::ImportError;
pub use held::{HeldImport, MOST_BYTES};
pub use importer::{BegunImport, Importer, NotAccepted, Version};
pub(crate) use models::Drawn;
pub use models::ModelEstimator;
pub use options::Options;
pub use priority::Priority;
pub use run::Import;
pub use turn::Turn;
