//! Pages of lists, and lists as text.

pub(crate) mod list_text;
pub(crate) mod page;
