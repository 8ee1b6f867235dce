//! An import that is held: its document, how it is imported, and the difference that a person reads before it is accepted.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::options::Options;
use crate::entry::entries::CatalogError;

/// Size limit of a catalog, in bytes: that of a request by default.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Options with which a held catalog is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldOptions {
    pub(crate) format: String,
    pub(crate) provider: Option<String>,
    pub(crate) partial: bool,
    pub(crate) observed_at: Timestamp,
}

impl HeldOptions {
    /// The options as they are kept.
    pub(crate) fn kept(&self) -> String {
        serde_json::to_string(self).expect("texts and times serialise")
    }

    /// The options of an import of it, with those of its estimates.
    pub(crate) fn of(self, other: Options, difference: String) -> Option<Options> {
        Some(Options {
            format: Some(self.format.parse().ok()?),
            provider: self.provider,
            partial: self.partial,
            // The catalog was seen when it was sent: what was recorded since is later.
            observed_at: self.observed_at,
            seen_now: false,
            accepted: Some(difference),
            ..other
        })
    }
}

/// Compresses a document. Writing to memory does not fail.
pub(crate) fn compressed(document: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(document);
    encoder.finish().unwrap_or_default()
}

/// The document that was compressed.
///
/// # Errors
/// It is damaged.
pub(crate) fn decompressed(compressed: &[u8]) -> Result<Vec<u8>, CatalogError> {
    let mut document = Vec::new();
    let mut decoder = GzDecoder::new(compressed).take(MOST_BYTES);
    let read = decoder.read_to_end(&mut document);
    read.map_err(|_| CatalogError::Damaged)?;
    Ok(document)
}
