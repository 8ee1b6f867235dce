//! Reading requests: request bodies, each declared once (`body`); text to a JSON tree that keeps numbers as written
//! (`json`); a walk over the tree that records every fault with its place (`cursor`, `faults`) and its correction
//! (`mistakes`, `names`); from a pointer to its line
//! (`place`); schemas of names and texts (`schema`); cancellation (`cancel`); and escapes for unsafe characters
//! (`text`).
//!
//! ```
//! use unroof_base::input::{RequestError, read};
//!
//! let request = br#"{"price": 1.5, "colour": "red"}"#;
//! let refused = read(request, |root| {
//!     let fields = root.fields()?;
//!     let price = fields.required("price", "state a price")?.decimal();
//!     fields.refuse_unknown();
//!     price
//! });
//! let Err(RequestError::Wrong(faults)) = refused else { panic!("it was read") };
//! assert_eq!([&faults[0].pointer, &faults[1].pointer], ["/price", "/colour"]);
//! ```

pub mod body;
pub mod cancel;
pub mod cursor;
mod faults;
pub mod json;
mod mistakes;
mod names;
pub mod place;
pub mod schema;
pub mod text;

use cursor::{Cursor, Fault, Faults};
use json::JsonError;

/// Reason that a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The text is not valid JSON.
    #[error("the text cannot be read: {0}")]
    Unreadable(#[from] JsonError),
    /// The text is valid JSON, and its content is invalid.
    #[error("the request has {} fault{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Wrong(Vec<Fault>),
}

/// Reads one JSON document with `read_root`, which records its faults.
///
/// # Errors
/// [`RequestError`] with the place of the first fault of the text, or with every fault of its content.
pub fn read<T>(
    text: &[u8],
    read_root: impl FnOnce(&Cursor<'_>) -> Option<T>,
) -> Result<T, RequestError> {
    let tree = json::parse(text)?;
    let faults = Faults::default();
    let value = read_root(&Cursor::root(&tree, &faults));
    faults.result(value).map_err(RequestError::Wrong)
}
