//! Requests read and answers written: problem documents, codings, caches.

pub mod coding;
pub mod csv;
pub mod described;
pub mod names;
pub mod problem;
pub mod response_cache;
pub mod since;

use axum::http::{HeaderMap, header};

/// Stated length of a body, bytes.
#[must_use]
pub fn stated_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}
