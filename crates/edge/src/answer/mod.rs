//! Requests read and answers written: problem documents, codings, caches.

pub(crate) mod coding;
pub(crate) mod csv;
pub(crate) mod described;
pub(crate) mod names;
pub(crate) mod problem;
pub(crate) mod response_cache;
pub(crate) mod since;

use axum::http::{HeaderMap, header};

/// Media type of a list: a JSON object per line.
pub const NDJSON: &str = "application/x-ndjson";

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
