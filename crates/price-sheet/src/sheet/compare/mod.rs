//! Comparison of sheets: identity by content, pricing decisions, and differences.
//!
//! ```
//! use unroof_price_sheet::sheet::compare::Cells;
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let cells = |input: &str, output: Option<&str>| {
//!     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//!     (cell.input, cell.output) = (input.parse().ok(), output.and_then(|price| price.parse().ok()));
//!     Cells::of(&PriceSheet::new("acme", "m-1", vec![cell]))
//! };
//! assert!(cells("3", Some("15")).agree(&cells("3.0", None)));
//! assert!(!cells("3", Some("15")).agree(&cells("2", Some("15"))));
//! ```

mod cells;
mod content;
pub mod decision;
pub mod difference;
pub mod new_source;
mod united;
mod whole;

pub use cells::{CellName, Cells};
pub use content::SheetId;
pub use united::{Contradiction, united};
pub use whole::whole_sheets;
