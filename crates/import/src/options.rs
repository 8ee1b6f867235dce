//! Options of an import.

use jiff::Timestamp;

use crate::entry::entries::CatalogFormat;
use unroof_infer::estimate::Estimator;

/// Options of an import.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of a request")]
#[derive(Debug, Clone)]
pub struct Options {
    /// Format of the catalog; detected if `None`.
    pub format: Option<CatalogFormat>,
    /// Restricts the import to this provider.
    pub provider: Option<String>,
    /// The catalog is a part of a larger one: what it does not list does not end.
    pub partial: bool,
    /// The difference that was accepted, where the catalog was held; else it may be held.
    pub accepted: Option<String>,
    /// Omits unchanged prices from the report.
    pub only_changed: bool,
    /// Reports the outcome of each entry without storing anything.
    pub dry_run: bool,
    /// Time at which the catalog was seen.
    pub observed_at: Timestamp,
    /// Whether that is the current time, not a stated one.
    pub seen_now: bool,
    /// Time at which it is recorded.
    pub recorded_at: Timestamp,
    /// The estimator of new sheets.
    pub estimator: Estimator,
    /// Number of estimating threads.
    pub threads: usize,
}
