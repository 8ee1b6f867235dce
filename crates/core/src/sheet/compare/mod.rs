//! Comparison of sheets: identity by content, pricing decisions, differences, and prices over time.

mod content;
pub mod decision;
pub mod difference;
pub mod timeline;

pub use content::SheetId;
