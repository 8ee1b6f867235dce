//! Writes when keys were used, and which requests were refused.

use unroof_price_sheet::sheet::SheetId;

use super::audit::{AuditAction, AuditEntry};
use super::audit_log::write_entries;
use crate::access::{Client, RefusedRequests, Unwritten};
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Id, Time};
use crate::connect::value::Value;
use crate::{Store, StoreError};

/// The clock of another replica may be ahead.
const USE_KEYS: Piece = Piece {
    sql: "
        UPDATE api_keys SET last_used_at = given.column2 FROM given
        WHERE api_keys.id = given.column1
          AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < given.column2)",
    columns: &[Id, Time],
};

impl Store {
    /// Writes the last uses of keys, and a row of the audit log for the refused requests of each client.
    ///
    /// # Errors
    /// The query fails.
    pub async fn write_visits(&self, unwritten: &Unwritten) -> Result<(), StoreError> {
        let used = unwritten.used.iter();
        let used = used.map(|(id, at)| vec![Value::from(*id), (*at).into()]);
        let refused = unwritten.refused.iter();
        let refused =
            refused.map(|((client, _), requests)| entry(client.as_ref(), requests).values());
        let (used, refused): (Rows<'_>, Rows<'_>) = (used.collect(), refused.collect());
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        tx.write_rows(&[USE_KEYS], &[used]).await?;
        if !refused.is_empty() {
            write_entries(&mut tx, refused).await?;
        }
        tx.commit().await
    }
}

/// The row of refused requests. The same client has the same id in all of them.
fn entry<'a>(client: Option<&Client>, refused: &'a RefusedRequests) -> AuditEntry<'a> {
    let (actor, reason) = (&refused.actor, refused.reason.name());
    let client = client.map_or_else(|| "others".to_owned(), ToString::to_string);
    let of_name = || SheetId::digest(client.as_bytes());
    let id = actor.identity.key_id().unwrap_or_else(of_name);
    AuditEntry {
        requests: refused.requests,
        ..AuditEntry::new(
            actor,
            refused.at,
            AuditAction::AccessRefused,
            id,
            reason.to_owned(),
        )
    }
}
