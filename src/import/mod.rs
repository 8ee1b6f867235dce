//! Import of whole catalogs: parses every entry, finds duplicates of one pricing decision, estimates each decision once,
//! records everything, and reports one line per entry.

mod copies;
mod duplicates;
mod entries;
mod error;
mod estimated;
mod fetch;
mod found;
mod hosts;
mod importer;
mod leaders;
mod lines;
mod listed;
mod models;
mod names;
mod options;
mod priority;
mod refusals;
mod report;
mod reporter;
mod run;
mod turn;
mod weight;

pub use entries::{CatalogError, CatalogFormat};
pub use error::ImportError;
pub use fetch::{
    FetchError, Fetched, MOST_BYTES, Version, client_error, fetch, without_credentials,
    without_secrets,
};
pub use importer::Importer;
pub use lines::{LineReceiver, LineSender, lines};
pub(crate) use models::Drawn;
pub use models::ModelEstimator;
pub use options::Options;
pub(crate) use priority::Priority;
pub use refusals::Refusal;
pub use report::{Imported, Line, Outcome, Summary};
pub use run::Import;
pub use turn::Turn;
