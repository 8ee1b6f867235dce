//! Comparison of sheets: identity by content, pricing decisions, and differences.

mod cells;
mod content;
pub mod decision;
pub mod difference;
pub mod new_source;
mod whole;

pub use cells::{CellName, Cells};
pub use content::SheetId;
pub use whole::whole_sheets;
