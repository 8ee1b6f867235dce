//! Whole catalogs: every entry read, copies of one pricing decision found, each decision estimated once, all of it
//! recorded, and one line said about each.

mod copies;
mod entries;
mod fetch;
mod names;
mod report;
mod run;
mod weight;
mod withdrawn;

pub use entries::{CatalogError, CatalogFormat};
pub use fetch::{FetchError, Fetched, MOST_BYTES, Version, client_error, fetch, without_secrets};
pub use report::{Imported, Line, Lines, Outcome, Summary};
pub(crate) use run::give_way;
pub use run::{Import, ImportError, Options, Turn};
