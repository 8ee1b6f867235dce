//! Entries of the audit log: who changed what.

use jiff::Timestamp;
use uuid::Uuid;

use crate::access::{Actor, Identity};
use crate::connect::rows::Piece;
use crate::connect::value::Kind::{Bytes, Id, Number, Text, Time};
use crate::connect::value::Value;
use crate::record::names::stored_names;
use crate::record::recording::Recording;
use crate::record::work::Act;

stored_names! {
    /// Action that the audit log records.
    AuditAction {
        /// A price sheet entered the record.
        SheetObserved = "sheet.observed",
        /// A price was withdrawn.
        SheetWithdrawn = "sheet.withdrawn",
        /// A withdrawal was undone.
        SheetReinstated = "sheet.reinstated",
        /// The answer to a question was deleted.
        EstimateDeleted = "estimate.deleted",
        /// The import of a catalog began.
        CatalogImported = "catalog.imported",
        /// A held import was accepted.
        ImportAccepted = "import.accepted",
        /// A held import was discarded.
        ImportDiscarded = "import.discarded",
        /// An import was undone.
        ImportUndone = "import.undone",
        /// A webhook was added.
        WebhookAdded = "webhook.added",
        /// A webhook was removed.
        WebhookRemoved = "webhook.removed",
        /// A key was created.
        KeyCreated = "key.created",
        /// A key was revoked.
        KeyRevoked = "key.revoked",
        /// Damaged rows were derived again.
        StoreRepaired = "store.repaired",
        /// A browser was signed in with a key.
        SessionBegun = "session.begun",
        /// A browser was signed out.
        SessionEnded = "session.ended",
        /// Requests were refused: without a key, with one that is not taken, or for what the caller may not do.
        AccessRefused = "access.refused",
    }
}

stored_names! {
    /// Kind of a caller.
    CallerKind {
        /// The holder of a key.
        Key = "key",
        /// A user signed in by a trusted proxy.
        User = "user",
        /// A caller without a key.
        Anonymous = "anonymous",
        /// The command line of the service.
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
pub(crate) struct AuditEntry<'a> {
    pub(crate) at: Timestamp,
    pub(crate) actor: &'a Actor,
    pub(crate) action: AuditAction,
    /// Id of what was changed.
    pub(crate) subject_id: Uuid,
    /// Name of what was changed, for people.
    pub(crate) subject: String,
    /// More than one only for refused requests.
    pub(crate) requests: i64,
}

impl<'a> AuditEntry<'a> {
    /// A change by an actor at a time.
    pub(crate) fn new(
        actor: &'a Actor,
        at: Timestamp,
        action: AuditAction,
        subject_id: Uuid,
        subject: String,
    ) -> Self {
        Self {
            at,
            actor,
            action,
            subject_id,
            subject,
            requests: 1,
        }
    }

    /// The columns of its row, in the order of [`PIECE`], without its number and its link.
    pub(crate) fn values(&self) -> Vec<Value<'a>> {
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
            self.actor.address.map(|address| address.to_string()).into(),
            self.requests.into(),
        ]
    }
}

/// The statement that writes rows of the log.
pub(crate) const PIECE: Piece = Piece {
    sql: "
        INSERT INTO audit (sequence, at, caller, key_id, name, action, subject_id, subject, request_id, address, requests, link)
        SELECT * FROM given",
    columns: &[Number, Time, Text, Id, Text, Text, Id, Text, Text, Text, Number, Bytes],
};

/// The observation of a sheet; none where no caller sent it.
pub(crate) fn observed(recording: &Recording) -> Option<AuditEntry<'_>> {
    let actor = recording.observed_by.as_ref()?.actor.as_deref()?;
    let name = format!("{}/{}", recording.sheet.provider, recording.sheet.model);
    let (at, id) = (recording.recorded_at, recording.sheet_id);
    Some(AuditEntry::new(
        actor,
        at,
        AuditAction::SheetObserved,
        id,
        name,
    ))
}

/// A withdrawal, or that one was undone.
pub(crate) fn acted(act: &Act, now: Timestamp) -> AuditEntry<'_> {
    let (action, subject) = match &act.because {
        Some(because) => (AuditAction::SheetWithdrawn, because.clone()),
        None => (AuditAction::SheetReinstated, String::new()),
    };
    AuditEntry::new(&act.actor, now, action, act.sheet_id, subject)
}
