//! `/audit`: who changed what.

use crate::list::{List, Piece, Rows, list};
use unroof_store::{AuditRow, Store};

list! {
    /// List the audit log, newest first
    ///
    /// The callers who observed, withdrew or imported prices, deleted answers, added or removed webhooks, created or revoked keys:
    /// when, from where, and in which request. A row is stored in the transaction of its change. Questions change nothing of the
    /// record and are not listed. `access.refused` counts the requests of a client that were refused with 401 or 403 for one reason,
    /// in about a minute.
    list_audit: "/audit" in "access",
    "A page of the audit log" of AuditRow,
    /// Fields and page of the audit log.
    AuditQuery {}
}

impl List for AuditQuery {
    const NAME: &'static str = "audit";
    const IS_KEPT: bool = false;
    type Row = AuditRow;
    type Key = i64;

    fn key(&self, row: &AuditRow) -> i64 {
        row.sequence
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, i64>) -> Rows<AuditRow> {
        Ok(store.audit(piece.after, piece.limit).await?)
    }
}
