//! The audit log: who changed what. Its rows are written in the transactions of the changes that they record.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::{AssertSqlSafe, Connection, FromRow};
use utoipa::ToSchema;
use uuid::Uuid;

use super::connection::on_connection;
use super::names::stored_names;
use super::query::{Query, bound};
use super::recording::Recording;
use super::rows::Piece;
use super::value::Kind::{Id, Text, Time};
use super::value::Value;
use super::work::Act;
use super::{DbTime, Store, StoreError};
use crate::access::{Actor, Identity};

stored_names! {
    /// What was done.
    AuditAction {
        /// A price sheet entered the record.
        SheetObserved = "sheet.observed",
        /// A price was withdrawn.
        SheetWithdrawn = "sheet.withdrawn",
        /// A withdrawal was undone.
        SheetReinstated = "sheet.reinstated",
        /// The import of a catalog began.
        CatalogImported = "catalog.imported",
        /// A webhook was added.
        WebhookAdded = "webhook.added",
        /// A webhook was removed.
        WebhookRemoved = "webhook.removed",
        /// A key was created.
        KeyCreated = "key.created",
        /// A key was revoked.
        KeyRevoked = "key.revoked",
        /// A browser was signed in with a key.
        SessionBegun = "session.begun",
        /// A browser was signed out.
        SessionEnded = "session.ended",
    }
}

stored_names! {
    /// Kind of a caller.
    CallerKind {
        /// The holder of a key.
        Key = "key",
        /// A user whom a trusted proxy has signed in.
        User = "user",
        /// A caller without a key.
        Anonymous = "anonymous",
        /// The command line.
        CommandLine = "command_line",
        /// The service itself, such as a refresh.
        Service = "service",
    }
}

impl CallerKind {
    fn of(identity: &Identity) -> Self {
        match identity {
            Identity::Key { .. } => Self::Key,
            Identity::User(_) => Self::User,
            Identity::Anonymous => Self::Anonymous,
            Identity::CommandLine => Self::CommandLine,
            Identity::Service => Self::Service,
        }
    }
}

/// A change for the audit log.
#[derive(Debug, Clone)]
pub(super) struct AuditEntry<'a> {
    pub(super) at: Timestamp,
    pub(super) actor: &'a Actor,
    pub(super) action: AuditAction,
    /// Id of what was changed.
    pub(super) subject_id: Uuid,
    /// Its name for people.
    pub(super) subject: String,
}

impl<'a> AuditEntry<'a> {
    /// The columns of its row, in the order of [`INSERT`].
    pub(super) fn values(&self) -> Vec<Value<'a>> {
        let identity = &self.actor.identity;
        vec![
            self.at.into(),
            CallerKind::of(identity).name().into(),
            identity.key_id().into(),
            identity.name().into(),
            self.action.name().into(),
            self.subject_id.into(),
            self.subject.clone().into(),
            self.actor.request_id.as_deref().into(),
        ]
    }

    fn insert(&self) -> Query<'a> {
        let insert = Query::new(INSERT);
        self.values().into_iter().fold(insert, Query::bind)
    }
}

/// The statement that writes rows of the log with a recording.
pub(super) const PIECE: Piece = Piece {
    sql: "
            INSERT INTO audit (at, caller, key_id, name, action, subject_id, subject, request_id)
            SELECT * FROM given",
    columns: &[Time, Text, Id, Text, Text, Id, Text, Text],
};

/// The observation of a sheet; none where nobody sent it.
pub(super) fn observed(recording: &Recording) -> Option<AuditEntry<'_>> {
    let sheet = &recording.sheet;
    Some(AuditEntry {
        at: recording.recorded_at,
        actor: recording.sighted_by.as_ref()?.actor.as_deref()?,
        action: AuditAction::SheetObserved,
        subject_id: recording.sheet_id,
        subject: format!("{}/{}", sheet.provider, sheet.model),
    })
}

/// A withdrawal, or that one was undone.
pub(super) fn acted(act: &Act, now: Timestamp) -> AuditEntry<'_> {
    let (action, subject) = match &act.because {
        Some(because) => (AuditAction::SheetWithdrawn, because.clone()),
        None => (AuditAction::SheetReinstated, String::new()),
    };
    AuditEntry {
        at: now,
        actor: &act.actor,
        action,
        subject_id: act.sheet_id,
        subject,
    }
}

const INSERT: &str = "
    INSERT INTO audit (at, caller, key_id, name, action, subject_id, subject, request_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const AUDIT: &str = "
    SELECT sequence, at, caller, key_id, name, action, subject_id, subject, request_id FROM audit
    WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2";

/// A row of the audit log.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct AuditRow {
    /// Sequence number.
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
    /// What was done.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "sheet.withdrawn")]
    pub action: AuditAction,
    /// Id of what was changed.
    #[schema(example = "4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11")]
    pub subject_id: Uuid,
    /// Its name.
    #[schema(example = "openai/gpt-5.4")]
    pub subject: String,
    /// Id of the request; null for a change without one.
    #[schema(example = "7c1f0f6e-6f0a-4a53-9a39-0b1f5c1f8a11")]
    pub request_id: Option<String>,
}

impl Store {
    /// Writes in its turn, and records it in the same transaction if it changes a row; how many rows were written.
    pub(super) async fn write_audited(
        &self,
        query: Query<'_>,
        entry: AuditEntry<'_>,
    ) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        on_connection!(self, connection => {
            let mut transaction = connection.begin_with(self.begin()).await?;
            let written = bound!(query, query).execute(&mut *transaction).await?.rows_affected();
            if written > 0 {
                bound!(query, entry.insert()).execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
            Ok(written)
        })
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
