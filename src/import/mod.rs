//! Whole catalogs: every entry read, copies of one pricing decision found, each decision estimated once, all of it
//! recorded, and one line said about each.

mod copies;
mod entries;
mod error;
mod fetch;
mod importer;
mod lines;
mod listed;
mod names;
mod priority;
mod report;
mod run;
mod turn;
mod weight;
mod withdrawn;

pub use entries::{CatalogError, CatalogFormat};
pub use error::ImportError;
pub use fetch::{FetchError, Fetched, MOST_BYTES, Version, client_error, fetch, without_secrets};
pub use importer::Importer;
pub use lines::{LineReceiver, LineSender, lines};
pub(crate) use priority::Priority;
pub use report::{Imported, Line, Lines, Outcome, Summary};
pub use run::{Import, Options};
pub use turn::Turn;
