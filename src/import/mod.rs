//! Import of whole catalogs: parses every entry, finds duplicates of one pricing decision, estimates each decision once,
//! records everything, and reports one line per entry.

mod duplicates;
mod entries;
mod fetch;
mod names;
mod priority;
mod report;
mod run;
mod turn;
mod weight;
mod withdrawn;

pub use entries::{CatalogError, CatalogFormat};
pub use fetch::{FetchError, Fetched, MOST_BYTES, Version, client_error, fetch, without_secrets};
pub(crate) use priority::Priority;
pub use report::{Imported, Line, Lines, Outcome, Summary};
pub use run::{Import, ImportError, Options};
pub use turn::Turn;
