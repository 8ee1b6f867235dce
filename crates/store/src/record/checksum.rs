//! Checksums of stored documents: a document that does not match is not sent.

use sha2::{Digest, Sha256};
use sqlx::FromRow;
use uuid::Uuid;

use crate::StoreError;
use unroof_base::input::json;
use unroof_price_sheet::sheet::{PriceSheet, canonical};

/// The first half of the SHA-256.
pub(crate) fn checksum(document: &str) -> Vec<u8> {
    Sha256::digest(document.as_bytes())[..16].to_vec()
}

/// Parses the document of a stored sheet.
///
/// # Errors
/// The document is not that of a sheet.
pub fn read_sheet(id: Uuid, document: &str) -> Result<PriceSheet, StoreError> {
    let tree = json::parse(document.as_bytes()).ok();
    let sheet = tree.and_then(|tree| canonical::read(&tree).ok());
    sheet.ok_or(StoreError::Damaged(id))
}

/// A document with the checksum that was stored next to it.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct StoredDocument {
    pub(crate) document: String,
    pub(crate) checksum: Vec<u8>,
}

/// A document with its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Text of the document.
    pub text: String,
    /// The first half of its SHA-256.
    pub checksum: Vec<u8>,
}

impl Document {
    /// A text with its checksum.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self {
            checksum: checksum(&text),
            text,
        }
    }
}

impl StoredDocument {
    /// The document of a sheet or estimate.
    ///
    /// # Errors
    /// The document does not match its checksum.
    pub(crate) fn checked(self, id: Uuid) -> Result<String, StoreError> {
        Ok(self.with_checksum(id)?.text)
    }

    /// The sheet of which this is the document.
    ///
    /// # Errors
    /// The document does not match its checksum, or is not that of a sheet.
    pub(crate) fn sheet(&self, id: Uuid) -> Result<PriceSheet, StoreError> {
        read_sheet(id, &self.clone().checked(id)?)
    }

    /// The document of a sheet or estimate, with its checksum.
    ///
    /// # Errors
    /// The document does not match its checksum.
    pub(crate) fn with_checksum(self, id: Uuid) -> Result<Document, StoreError> {
        if checksum(&self.document) != self.checksum {
            return Err(StoreError::Damaged(id));
        }
        Ok(Document {
            text: self.document,
            checksum: self.checksum,
        })
    }
}
