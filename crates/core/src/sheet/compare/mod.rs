//! Comparison of sheets: identity by content, pricing decisions, and differences.

mod content;
pub mod decision;
pub mod difference;

pub use content::SheetId;
