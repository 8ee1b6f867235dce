//! The chains of hashes over the logs: the link of a row is made of the link before it and of what the row says.

use std::fmt::Write;

use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Bytes, Number};
use crate::connect::value::Value;

/// Newest links of both logs. A writer with the lock of the version may add to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub(crate) struct Heads {
    #[sqlx(rename = "changes_link")]
    pub(crate) changes: Vec<u8>,
    #[sqlx(rename = "audit_link")]
    pub(crate) audit: Vec<u8>,
    /// Number of the newest row of the audit log.
    #[sqlx(rename = "audit_sequence")]
    pub(crate) entries: i64,
}

/// The statement that keeps the newest links.
pub(crate) const HEADS: Piece = Piece {
    sql: "
        UPDATE store_version
        SET changes_link = given.column1, audit_link = given.column2, audit_sequence = given.column3
        FROM given WHERE store_version.id = 1",
    columns: &[Bytes, Bytes, Number],
};

impl Heads {
    /// Rows of changes, each with its link at the end. Their times, which are put back after a clock that was ahead, are not in it.
    pub(crate) fn link_changes<'a>(&mut self, mut rows: Rows<'a>) -> Rows<'a> {
        for row in &mut rows {
            let lasting = row.iter().filter(|value| !matches!(value, Value::Time(_)));
            self.changes = link(&self.changes, lasting);
            row.push(self.changes.clone().into());
        }
        rows
    }

    /// Rows of the audit log, each with its number before it and its link at the end.
    pub(crate) fn link_audit<'a>(&mut self, mut rows: Rows<'a>) -> Rows<'a> {
        for row in &mut rows {
            self.entries += 1;
            row.insert(0, self.entries.into());
            self.audit = link(&self.audit, &*row);
            row.push(self.audit.clone().into());
        }
        rows
    }

    /// The row for [`HEADS`]; none where nothing was added to those before.
    pub(crate) fn row_after<'a>(&self, before: &Self) -> Rows<'a> {
        let row = || {
            let (changes, audit) = (self.changes.clone(), self.audit.clone());
            vec![changes.into(), audit.into(), self.entries.into()]
        };
        (self != before).then(row).into_iter().collect()
    }
}

/// Link of a row; none where the row is older than the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Link(Option<String>);

impl From<Option<Vec<u8>>> for Link {
    fn from(link: Option<Vec<u8>>) -> Self {
        Self(link.as_deref().map(link_text))
    }
}

/// A link as people note it: in hexadecimal.
#[must_use]
pub fn link_text(link: &[u8]) -> String {
    link.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The link of a row after another one.
pub(crate) fn link<'v>(
    before: &[u8],
    contents: impl IntoIterator<Item = &'v Value<'v>>,
) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(before);
    for value in contents {
        add(&mut hash, value);
    }
    hash.finalize().to_vec()
}

/// Adds a value with its length, so that no two rows read alike.
fn add(hash: &mut Sha256, value: &Value<'_>) {
    let mut add = |bytes: Option<&[u8]>| {
        let length = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(bytes.unwrap_or_default());
    };
    match value {
        Value::Id(id) => add(id.as_ref().map(|id| id.as_bytes().as_slice())),
        Value::Number(number) => add(number
            .map(i64::to_be_bytes)
            .as_ref()
            .map(<[u8; 8]>::as_slice)),
        Value::Text(text) => add(text.as_deref().map(str::as_bytes)),
        Value::Real(real) => {
            let bits = real.map(|real| real.to_bits().to_be_bytes());
            add(bits.as_ref().map(<[u8; 8]>::as_slice));
        }
        Value::Time(time) => {
            let time = time.map(|time| jiff::Timestamp::from(time).as_microsecond().to_be_bytes());
            add(time.as_ref().map(<[u8; 8]>::as_slice));
        }
        Value::Flag(flag) => add(flag
            .map(|flag| [u8::from(flag)])
            .as_ref()
            .map(<[u8; 1]>::as_slice)),
        Value::Bytes(bytes) => add(bytes.as_deref()),
    }
}
