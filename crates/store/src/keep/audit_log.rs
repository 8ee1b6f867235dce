//! The audit log. Its rows are written in the transactions of the changes that they record.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry, CallerKind, PIECE};
use super::chain::{HEADS, Link};
use crate::access::Actor;
use crate::connect::query::Query;
use crate::connect::rows::Rows;
use crate::connect::tx::Tx;
use crate::connect::version::take_numbers;
use crate::{DbTime, Store, StoreError};
use jiff::Timestamp;

const AUDIT: &str = "
    SELECT sequence, at, caller, key_id, name, action, subject_id, subject, request_id, address, requests, link
    FROM audit
    WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2";

/// A row of the audit log.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct AuditRow {
    /// Sequence number of the row.
    #[schema(example = 17)]
    pub sequence: i64,
    /// Time of the change.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub at: DbTime,
    /// Kind of the caller.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "key")]
    pub caller: CallerKind,
    /// Id of the caller's key; null without one.
    #[schema(example = "3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
    pub key_id: Option<Uuid>,
    /// Name of the key or the user; null for others.
    #[schema(example = "price desk")]
    pub name: Option<String>,
    /// Action that was taken.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "sheet.withdrawn")]
    pub action: AuditAction,
    /// Id of what was changed; of refused requests, an id of the client, which is the same in all of its rows.
    #[schema(example = "4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11")]
    pub subject_id: Uuid,
    /// Name of what was changed; of refused requests, the reason.
    #[schema(example = "openai/gpt-5.4")]
    pub subject: String,
    /// Id of the request; null for a change without one.
    #[schema(example = "7c1f0f6e-6f0a-4a53-9a39-0b1f5c1f8a11")]
    pub request_id: Option<String>,
    /// Address of the client; null for a change without a request, and for refused requests of several clients.
    #[schema(example = "192.0.2.7")]
    pub address: Option<String>,
    /// Number of requests: refused ones of a client are counted for about a minute. Else 1.
    #[schema(example = 1)]
    pub requests: i64,
    /// Link of the row in the chain of the log, in hexadecimal: that of the newest row is the head of the chain. Null for rows
    /// that are older than the chain.
    #[sqlx(try_from = "Option<Vec<u8>>")]
    #[schema(value_type = Option<String>, example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub link: Link,
}

/// Adds rows to the log in a transaction. The lock of the version puts them in order.
pub(crate) async fn write_entries(tx: &mut Tx<'_>, rows: Rows<'_>) -> Result<(), StoreError> {
    let before = take_numbers(tx, 0).await?.heads;
    let mut heads = before.clone();
    let rows = heads.link_audit(rows);
    let pieces = [PIECE, HEADS];
    tx.write_rows(&pieces, &[rows, heads.row_after(&before)])
        .await
}

impl Store {
    /// Writes in its turn, and records it in the same transaction if it changes a row; how many rows were written.
    pub(crate) async fn write_audited(
        &self,
        query: Query<'_>,
        entry: AuditEntry<'_>,
    ) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        let written = tx.execute(query).await?;
        if written > 0 {
            write_entries(&mut tx, vec![entry.values()]).await?;
        }
        tx.commit().await?;
        Ok(written)
    }

    /// Notes in the audit log that damaged rows were derived again.
    ///
    /// # Errors
    /// The query fails.
    pub async fn note_repair(&self, now: Timestamp, outcome: String) -> Result<(), StoreError> {
        let action = AuditAction::StoreRepaired;
        let entry = AuditEntry::new(&Actor::COMMAND_LINE, now, action, Uuid::nil(), outcome);
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        write_entries(&mut tx, vec![entry.values()]).await?;
        tx.commit().await
    }

    /// Rows of the audit log before a sequence number, the last first.
    ///
    /// # Errors
    /// The query fails.
    pub async fn audit(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        self.rows(Query::new(AUDIT).bind(before).bind(i64::from(limit)))
            .await
    }
}
