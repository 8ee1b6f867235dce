//! Figures other than prices of tokens that one vendor sets for several open-weight models.
//!
//! ```
//! use unroof_roofline::reference::{FigureKind, vendor_figures};
//!
//! let mut fees = vendor_figures().iter().filter(|row| row.kind == FigureKind::StorageFee);
//! // One vendor asks the same fee for the caches of all of its models.
//! let first = fees.next().unwrap();
//! assert!(fees.filter(|row| row.vendor == first.vendor).all(|row| row.value.total_cmp(&first.value).is_eq()));
//! ```

use serde::Deserialize;

embedded_tables! {
    /// Published figures of vendors, one per model.
    vendor_figures: VendorFigure = "vendor_figures.csv";
}

/// Kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Price of keeping a cached token for an hour, in proportion to the bytes stored per token where a byte costs the same.
    StorageFee,
    /// Input tokens per second of one provisioned unit, in inverse proportion to `N_a` where arithmetic is all that counts.
    UnitThroughput,
    /// Input tokens that one output token counts as on a provisioned unit: a vendor's own ratio of costs, without a margin.
    OutputWeight,
    /// Price of a training token, 6·`N_a`·R/(η·F) at a rent R and F FLOP per second: in proportion to `N_a`, without cache and batch.
    TrainingPrice,
}

/// Figure of a vendor for a model.
#[derive(Debug, Clone, Deserialize)]
pub struct VendorFigure {
    /// Kind of the figure.
    pub kind: FigureKind,
    /// Vendor that sets it.
    pub vendor: String,
    /// Name of the model, as in the data on open-weight models.
    pub model: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// Unit of the figure.
    pub unit: String,
    /// Day on which it was seen or stated.
    pub date: String,
    /// Source of the row.
    pub source: String,
}
