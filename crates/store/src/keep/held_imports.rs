//! Imports that are held: kept with their documents until they are accepted or discarded.

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry};
use super::audit_log::write_entries;
use crate::access::Actor;
use crate::connect::query::Query;
use crate::connect::value::Value;
use crate::list::imports::{FORGET_DOCUMENTS, ImportOutcome, RunningImport};
use crate::{Store, StoreError};

/// An import that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldImport {
    /// Difference to what is recorded, in words.
    pub difference: String,
    /// Number of entries in the catalog.
    pub entries: usize,
    /// Options with which it is imported, as JSON.
    pub options: String,
    /// The catalog, compressed.
    pub document: Vec<u8>,
}

/// An import that is held, with its document.
#[derive(Debug, FromRow)]
pub struct HeldRow {
    /// Source of the import.
    pub source: String,
    /// Outcome of the import.
    #[sqlx(try_from = "String")]
    pub outcome: ImportOutcome,
    /// Difference to what is recorded, in words; null where it is not held.
    pub difference: Option<String>,
    /// Tag of the document at its source.
    pub etag: Option<String>,
    /// Time of the last change of the document, as its source states it.
    pub last_modified: Option<String>,
    /// Options with which it is imported, as JSON.
    pub options: Option<String>,
    /// The catalog, compressed.
    pub document: Option<Vec<u8>>,
}

/// Outcome of discarding an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discarded {
    /// The import is discarded, now or since an earlier request.
    Done,
    /// There is no such import.
    Unknown,
    /// The import is not held.
    NotHeld(ImportOutcome),
}

const REPLACE: &str = "
    UPDATE imports SET outcome = 'discarded', error = 'a later import of the catalog is held'
    WHERE outcome = 'held' AND id <> $1
      AND catalog = (SELECT catalog FROM imports AS own WHERE own.id = $1)";

const HOLD: &str = "
    INSERT INTO held_imports (import_id, options, document) VALUES ($1, $2, $3)
    ON CONFLICT (import_id) DO NOTHING";

const NOTE_DIFFERENCE: &str = "UPDATE imports SET difference = $2 WHERE id = $1";

const HELD: &str = "
    SELECT run.source, run.outcome, run.difference, run.etag, run.last_modified, held.options, held.document
    FROM imports AS run LEFT JOIN held_imports AS held ON held.import_id = run.id
    WHERE run.id = $1";

const RESUME: &str =
    "UPDATE imports SET outcome = 'running', error = NULL WHERE id = $1 AND outcome = 'held'";

const DISCARD: &str = "UPDATE imports SET outcome = 'discarded' WHERE id = $1 AND outcome = 'held'";

const SOURCE_OF_FACTS: &str = "SELECT source FROM recorded_imports WHERE import_id = $1";

impl Store {
    /// Keeps the document of an import that is to be held, in place of an earlier one of its catalog.
    ///
    /// # Errors
    /// The query fails; then nothing is kept.
    pub async fn hold_import(&self, id: Uuid, held: &HeldImport) -> Result<(), StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        tx.execute(Query::new(REPLACE).bind(id)).await?;
        tx.execute(Query::new(FORGET_DOCUMENTS)).await?;
        let keep = Query::new(HOLD).bind(id).bind(held.options.as_str());
        tx.execute(keep.bind(Value::Bytes(Some(held.document.clone()))))
            .await?;
        let note = Query::new(NOTE_DIFFERENCE).bind(id).bind(&held.difference);
        tx.execute(note).await?;
        tx.commit().await
    }

    /// Notes the difference that an import makes now.
    ///
    /// # Errors
    /// The query fails.
    pub async fn note_difference(&self, id: Uuid, words: &str) -> Result<(), StoreError> {
        let note = Query::new(NOTE_DIFFERENCE).bind(id).bind(words);
        self.write(note).await.map(drop)
    }

    /// An import with its document, if it is held.
    ///
    /// # Errors
    /// The query fails.
    pub async fn held_import(&self, id: Uuid) -> Result<Option<HeldRow>, StoreError> {
        self.row(Query::new(HELD).bind(id)).await
    }

    /// Begins to import what is held. None if it is held no longer, or another process does so.
    ///
    /// # Errors
    /// The query fails.
    pub async fn resume_import(
        &self,
        id: Uuid,
        source: &str,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<Option<RunningImport>, StoreError> {
        let Some(running) = self.lock_import(id).await? else {
            return Ok(None);
        };
        let action = AuditAction::ImportAccepted;
        let entry = AuditEntry::new(actor, now, action, id, source.to_owned());
        let resumed = self
            .write_audited(Query::new(RESUME).bind(id), entry)
            .await?;
        Ok((resumed > 0).then_some(running))
    }

    /// Discards an import that is held.
    ///
    /// # Errors
    /// The query fails.
    pub async fn discard_import(
        &self,
        id: Uuid,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<Discarded, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        let held: Option<HeldRow> = tx.row(Query::new(HELD).bind(id)).await?;
        let Some(held) = held else {
            return Ok(Discarded::Unknown);
        };
        if tx.execute(Query::new(DISCARD).bind(id)).await? == 0 {
            return Ok(match held.outcome {
                ImportOutcome::Discarded => Discarded::Done,
                outcome => Discarded::NotHeld(outcome),
            });
        }
        tx.execute(Query::new(FORGET_DOCUMENTS)).await?;
        let action = AuditAction::ImportDiscarded;
        let entry = AuditEntry::new(actor, now, action, id, held.source);
        write_entries(&mut tx, vec![entry.values()]).await?;
        tx.commit().await?;
        Ok(Discarded::Done)
    }

    /// The source of the observations of an import, if it has recorded any.
    ///
    /// # Errors
    /// The query fails.
    pub async fn source_of_facts(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        let row: Option<(String,)> = self.row(Query::new(SOURCE_OF_FACTS).bind(id)).await?;
        Ok(row.map(|(source,)| source))
    }
}
