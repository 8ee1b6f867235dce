//! Checksums beside stored documents: a document that is not what was stored is not sent.

use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use sqlx::FromRow;
use uuid::Uuid;

use super::database::on_connection;
use super::rows::{Connected, Kind, Piece, Pieces, Rows};
use super::{Store, StoreError};

/// The first half of the SHA-256.
pub(super) fn checksum(document: &str) -> Vec<u8> {
    Sha256::digest(document.as_bytes())[..16].to_vec()
}

/// A document with the checksum that was stored beside it.
#[derive(Debug, Clone, FromRow)]
pub(super) struct StoredDocument {
    document: String,
    checksum: Option<Vec<u8>>,
}

impl StoredDocument {
    pub(super) fn new(document: String, checksum: Option<Vec<u8>>) -> Self {
        Self { document, checksum }
    }

    /// The document of a sheet or estimate, if it is what was stored. One without a checksum is at least whole JSON: it
    /// is long, and an older program stored it.
    pub(super) fn checked(self, id: Uuid) -> Result<String, StoreError> {
        let is_whole = match &self.checksum {
            Some(stored) => checksum(&self.document) == *stored,
            None => is_json(&self.document),
        };
        is_whole
            .then_some(self.document)
            .ok_or(StoreError::Damaged(id))
    }
}

fn is_json(document: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(document).is_ok()
}

// A long document goes without: so many of them at once would fill the memory.
const WITHOUT_CHECKSUM: [&str; 2] = [
    "SELECT id, sequence, document FROM estimates
     WHERE checksum IS NULL AND sequence > $1 AND length(document) < 1000000 ORDER BY sequence LIMIT 32",
    "SELECT id, sequence, document FROM price_sheets
     WHERE checksum IS NULL AND sequence > $1 AND length(document) < 1000000 ORDER BY sequence LIMIT 32",
];

// What was changed meanwhile has its checksum.
static ADD_CHECKSUMS: [Pieces; 2] = [
    Pieces::writing(&[Piece {
        before: "UPDATE estimates SET checksum = given.column2 FROM",
        columns: &[Kind::Id, Kind::Bytes],
        after: "WHERE estimates.id = given.column1 AND checksum IS NULL",
    }]),
    Pieces::writing(&[Piece {
        before: "UPDATE price_sheets SET checksum = given.column2 FROM",
        columns: &[Kind::Id, Kind::Bytes],
        after: "WHERE price_sheets.id = given.column1 AND checksum IS NULL",
    }]),
];

impl Store {
    /// Gives the documents of an older program their checksums. Those that are damaged by now get none.
    pub(super) async fn add_missing_checksums(&self) -> Result<(), StoreError> {
        for (select, update) in WITHOUT_CHECKSUM.into_iter().zip(&ADD_CHECKSUMS) {
            let mut last = i64::MIN;
            loop {
                let found: Vec<(Uuid, i64, String)> = on_connection!(self, connection => {
                    Ok(sqlx::query_as(select).bind(last).fetch_all(connection).await?)
                })?;
                let Some((_, sequence, _)) = found.last() else {
                    break;
                };
                last = *sequence;
                let whole = found.iter().filter(|(_, _, document)| is_json(document));
                let rows: Rows<'_> = whole
                    .map(|(id, _, document)| vec![(*id).into(), checksum(document).into()])
                    .collect();
                let _writer = self.wait_to_write().await?;
                on_connection!(self, connection => connection.write_rows(update, &[rows]).await)?;
            }
        }
        Ok(())
    }
}
