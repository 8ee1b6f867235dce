//! Requests read and answers written: problem documents, codings, caches.

pub mod coding;
pub mod csv;
pub mod described;
pub mod names;
pub mod problem;
pub mod response_cache;
pub mod since;

use axum::http::{HeaderMap, header};

/// Media type of a body, without its parameters.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> Option<&str> {
    let stated = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    stated.split(';').next().map(str::trim)
}

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
