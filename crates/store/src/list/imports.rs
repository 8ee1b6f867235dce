//! Queries of an import before it records anything, and the records of import runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::access::Actor;
use crate::connect::database::{Importing, Pool};
use crate::connect::lock::StoreLock;
use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::{Kind, Value};
use crate::keep::audit::{AuditAction, AuditEntry};
use crate::record::names::stored_names;
use crate::{DbTime, Store, StoreError, locked};

/// A stored sheet with its listing.
#[derive(Debug, Clone, FromRow)]
pub struct ListingRow {
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// The estimate that was last listed for it.
    pub estimate_id: Uuid,
    /// The sheet that it is a copy of.
    pub duplicate_of: Option<Uuid>,
}

/// A stored sheet with its listing, as one of the copies of a pricing decision.
#[derive(Debug, Clone, FromRow)]
pub struct LeaderRow {
    /// Id of the sheet.
    pub id: Uuid,
    /// Id of the listed estimate.
    pub estimate_id: Uuid,
    /// The sheet that it is a copy of.
    pub duplicate_of: Option<Uuid>,
    /// Document of the sheet.
    pub document: String,
}

/// An offer that a catalog has listed.
#[derive(Debug, Clone, FromRow)]
pub struct OfferRow {
    /// Id of the offer.
    pub offer_id: Uuid,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Key of its model's name.
    pub model_key: String,
}

/// The prices of a stored sheet.
#[derive(Debug, Clone, FromRow)]
pub struct StoredPrices {
    /// Id of the offer.
    pub offer_id: Uuid,
    /// Inclusive start of validity, if stated.
    pub valid_from: Option<DbTime>,
    /// Identity of the prices.
    pub price_id: Uuid,
    /// Priced cells, as they are stored.
    pub cells: String,
}

stored_names! {
    /// Outcome of a run of an import.
    ImportOutcome {
        /// The run has not ended.
        Running = "running",
        /// Every entry was read.
        Done = "done",
        /// The catalog has not changed.
        NotModified = "not_modified",
        /// The run failed.
        Failed = "failed",
        /// The import would end or change so many offers that it waits until it is accepted; nothing of it is recorded.
        Held = "held",
        /// The import was held, and is not wanted.
        Discarded = "discarded",
        /// The import was undone.
        Undone = "undone",
    }
}

/// Restricts the list of imports: of every list of names one, or any name where the list is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportSelection {
    /// Addresses, files, or `request`.
    pub source: Vec<String>,
    /// Formats of the catalogs.
    pub catalog: Vec<String>,
    /// Names of outcomes; all where it is empty.
    pub outcome: Vec<String>,
}

/// Order of the list of imports. Runs of one source are in the order of their starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportOrder {
    /// Whether it is by source; else by start.
    pub is_by_source: bool,
    /// Whether the last one comes first.
    pub is_descending: bool,
}

impl ImportOrder {
    /// The last started first.
    pub const NEWEST: Self = Self {
        is_by_source: false,
        is_descending: true,
    };

    fn columns(self) -> &'static str {
        match (self.is_by_source, self.is_descending) {
            (false, false) => " ORDER BY started_at, id",
            (false, true) => " ORDER BY started_at DESC, id DESC",
            (true, false) => " ORDER BY source, started_at, id",
            (true, true) => " ORDER BY source DESC, started_at DESC, id DESC",
        }
    }

    /// The condition on the columns of a place, before its values.
    fn is_after(self) -> &'static str {
        match (self.is_by_source, self.is_descending) {
            (false, false) => "(started_at, id) > ",
            (false, true) => "(started_at, id) < ",
            (true, false) => "(source, started_at, id) > ",
            (true, true) => "(source, started_at, id) < ",
        }
    }
}

/// Place in the list of imports: the values that it is sorted by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ImportPlace {
    /// Start and id of the run.
    Started(Timestamp, Uuid),
    /// Source, start and id.
    Sourced(String, Timestamp, Uuid),
}

impl ImportPlace {
    /// Whether it is a place in this order.
    #[must_use]
    pub fn is_in(&self, order: ImportOrder) -> bool {
        matches!(self, Self::Sourced(..)) == order.is_by_source
    }

    fn values(&self) -> Vec<Value<'_>> {
        match self {
            Self::Started(started_at, id) => vec![DbTime::from(*started_at).into(), (*id).into()],
            Self::Sourced(source, started_at, id) => {
                vec![
                    source.into(),
                    DbTime::from(*started_at).into(),
                    (*id).into(),
                ]
            }
        }
    }
}

/// A run of an import, as a flat row.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct ImportRow {
    /// Id of the run.
    pub id: Uuid,
    /// An address, a file, or `request`.
    pub source: String,
    /// Format of the catalog.
    pub catalog: Option<String>,
    /// Start of the run.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: DbTime,
    /// End of the run, or the time at which its process was found to have ended; null while it runs.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<DbTime>,
    /// Outcome of the run.
    #[sqlx(try_from = "String")]
    #[schema(inline)]
    pub outcome: ImportOutcome,
    /// Reason for the failure.
    pub error: Option<String>,
    /// Offers that the import adds, ends and changes, with the first of each by name, such as `+12 −361 ~0; ends acme/m-1`; null for a list of sheets.
    pub difference: Option<String>,
    /// Entries in the catalog.
    pub entries: i64,
    /// Number of new estimates.
    pub estimated: i64,
    /// Sheets already in force.
    pub unchanged: i64,
    /// Duplicates of a pricing decision.
    pub duplicates: i64,
    /// Sheets with too little information.
    pub not_identifiable: i64,
    /// Entries without a usable sheet.
    pub refused: i64,
    /// Sheets that are in force again after they were withdrawn.
    pub reinstated: i64,
    /// The entity tag of the server's answer.
    #[serde(skip)]
    pub etag: Option<String>,
    /// The header `Last-Modified` of the server's answer.
    #[serde(skip)]
    pub last_modified: Option<String>,
    /// JSON: the refused entries with their reasons. It is written at the end of a run and read on its own.
    #[serde(skip)]
    #[sqlx(skip)]
    pub refusals: Option<String>,
}

/// The refused entries of an import.
#[derive(Debug, Clone, FromRow)]
pub struct RefusalsRow {
    /// Id of the import.
    pub id: Uuid,
    /// JSON: the entries with their reasons.
    pub refusals: String,
}

impl ImportRow {
    /// Place of the import in a list.
    #[must_use]
    pub fn place(&self, order: ImportOrder) -> ImportPlace {
        let started_at = self.started_at.into();
        if order.is_by_source {
            return ImportPlace::Sourced(self.source.clone(), started_at, self.id);
        }
        ImportPlace::Started(started_at, self.id)
    }
}

/// A lock that marks a run as active while it is held. It is released when its process ends.
#[derive(Debug)]
pub struct RunningImport {
    /// Id of the run.
    pub id: Uuid,
    importing: Importing,
    _lock: StoreLock,
}

impl Drop for RunningImport {
    fn drop(&mut self) {
        locked(&self.importing).remove(&self.id);
    }
}

const LISTINGS: Piece = Piece {
    sql: "
        SELECT listing.sheet_id, listing.estimate_id, listing.duplicate_of
        FROM given CROSS JOIN price_sheets AS sheet CROSS JOIN latest_listings AS listing
        WHERE sheet.id = given.column1 AND sheet.observed = TRUE AND listing.sheet_id = sheet.id",
    columns: &[Kind::Id],
};

const LEADERS: Piece = Piece {
    sql: "
        SELECT price_sheets.id, listing.estimate_id, listing.duplicate_of, price_sheets.document
        FROM given CROSS JOIN price_sheets CROSS JOIN latest_listings AS listing
        WHERE price_sheets.model_key = given.column1 AND listing.sheet_id = price_sheets.id
          AND listing.duplicate_of IS NULL",
    columns: &[Kind::Text],
};

const COPIES: Piece = Piece {
    sql: "
        SELECT price_sheets.id, listing.estimate_id, listing.duplicate_of, price_sheets.document
        FROM given CROSS JOIN price_sheets CROSS JOIN latest_listings AS listing
        WHERE price_sheets.model_key = given.column1 AND listing.sheet_id = price_sheets.id
          AND EXISTS (
              SELECT 1 FROM observations AS seen WHERE seen.sheet_id = price_sheets.id AND seen.source_rank = 1)",
    columns: &[Kind::Text],
};

const PRICES: Piece = Piece {
    sql: "
        SELECT sheet.offer_id, sheet.valid_from, sheet.price_id, sheet.cells
        FROM given JOIN price_sheets AS sheet ON sheet.id = given.column1",
    columns: &[Kind::Id],
};

const ESTIMATED: Piece = Piece {
    sql: "SELECT estimates.id FROM given JOIN estimates ON estimates.id = given.column1",
    columns: &[Kind::Id],
};

const LISTED_OFFERS: &str = "
    SELECT DISTINCT sheet.offer_id, sheet.provider, sheet.model_key
    FROM observations AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE seen.source_rank = 1";

const CANONICAL_MODELS: &str =
    "SELECT DISTINCT canonical_model FROM price_sheets WHERE canonical_model IS NOT NULL";

const IMPORTS: &str = "
    SELECT id, source, catalog, started_at, ended_at, outcome, error, difference, etag, last_modified, entries, estimated, unchanged,
           duplicates, not_identifiable, refused, reinstated
    FROM imports
    WHERE TRUE";

const BEGIN_IMPORT: &str = "
    INSERT INTO imports (id, source, catalog, started_at, outcome) VALUES ($1, $2, $3, $4, 'running')";

const END_IMPORT: &str = "
    UPDATE imports
    SET catalog = $2, ended_at = $3, outcome = $4, error = $5, etag = $6, last_modified = $7, entries = $8,
        estimated = $9, unchanged = $10, duplicates = $11, not_identifiable = $12, refused = $13,
        reinstated = $14, refusals = $15, difference = coalesce($16, difference)
    WHERE id = $1";

/// Documents of imports that are neither held nor being accepted.
pub(crate) const FORGET_DOCUMENTS: &str = "
    DELETE FROM held_imports
    WHERE import_id NOT IN (SELECT id FROM imports WHERE outcome IN ('held', 'running'))";

const FORGET_REFUSALS: &str = "
    UPDATE imports SET refusals = NULL
    WHERE id <> $1 AND refusals IS NOT NULL
      AND (source, catalog) = (SELECT source, catalog FROM imports AS ended WHERE ended.id = $1)";

const REFUSALS: &str = "SELECT id, refusals FROM imports WHERE refusals IS NOT NULL AND id IN (";

const RUNNING: &str = "SELECT id FROM imports WHERE outcome = 'running'";

const CLOSE_IMPORT: &str = "
    UPDATE imports
    SET outcome = CASE WHEN id IN (SELECT import_id FROM held_imports) THEN 'held' ELSE 'failed' END,
        error = 'the process ended before the import did', ended_at = $2
    WHERE id = $1 AND outcome = 'running'";

/// Whether no process has the lock of the run.
const AND_NOT_LOCKED: &str = "
    AND NOT EXISTS (SELECT 1 FROM locks WHERE name = $1::text AND expires_at > clock_timestamp())";

impl Store {
    /// The listings of those of some sheets that a source stated.
    ///
    /// # Errors
    /// The query fails.
    pub async fn listings_of(&self, sheets: &[Uuid]) -> Result<Vec<ListingRow>, StoreError> {
        let ids = sheets.iter().map(|id| vec![(*id).into()]).collect();
        self.read_rows(&LISTINGS, &ids).await
    }

    /// The sheets of some models that have an estimate of their own.
    ///
    /// # Errors
    /// The query fails.
    pub async fn leaders(&self, model_keys: &[String]) -> Result<Vec<LeaderRow>, StoreError> {
        let keys = model_keys.iter().map(|key| vec![key.into()]).collect();
        self.read_rows(&LEADERS, &keys).await
    }

    /// The sheets of some models that catalogs have listed.
    ///
    /// # Errors
    /// The query fails.
    pub async fn copies(&self, model_keys: &[String]) -> Result<Vec<LeaderRow>, StoreError> {
        let keys = model_keys.iter().map(|key| vec![key.into()]).collect();
        self.read_rows(&COPIES, &keys).await
    }

    /// The prices of some sheets.
    ///
    /// # Errors
    /// The query fails.
    pub async fn prices_of(&self, sheets: &[Uuid]) -> Result<Vec<StoredPrices>, StoreError> {
        let ids = sheets.iter().map(|id| vec![(*id).into()]).collect();
        self.read_rows(&PRICES, &ids).await
    }

    /// The offers that catalogs have listed so far.
    ///
    /// # Errors
    /// The query fails.
    pub async fn listed_offers(&self) -> Result<Vec<OfferRow>, StoreError> {
        self.rows(Query::new(LISTED_OFFERS)).await
    }

    /// Estimates among the given ones that are stored.
    ///
    /// # Errors
    /// The query fails.
    pub async fn stored_estimates(&self, ids: &[Uuid]) -> Result<BTreeSet<Uuid>, StoreError> {
        let ids = ids.iter().map(|id| vec![(*id).into()]).collect();
        let rows: Vec<(Uuid,)> = self.read_rows(&ESTIMATED, &ids).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// All known canonical names, `author/model`.
    ///
    /// # Errors
    /// The query fails.
    pub async fn canonical_models(&self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self.rows(Query::new(CANONICAL_MODELS)).await?;
        Ok(rows.into_iter().map(|(model,)| model).collect())
    }

    /// Records the start of a run, which is active in this process until the result is dropped.
    ///
    /// # Errors
    /// The query fails.
    pub async fn begin_import(
        &self,
        id: Uuid,
        source: &str,
        catalog: Option<&str>,
        started_at: DbTime,
        actor: &Actor,
    ) -> Result<RunningImport, StoreError> {
        // Locked before it is visible: no other process has its name.
        let running = self.lock_import(id).await?.ok_or(StoreError::Away)?;
        let begin = Query::new(BEGIN_IMPORT)
            .bind(id)
            .bind(source)
            .bind(catalog)
            .bind(started_at);
        let entry = AuditEntry::new(
            actor,
            started_at.into(),
            AuditAction::CatalogImported,
            id,
            source.to_owned(),
        );
        self.write_audited(begin, entry).await?;
        Ok(running)
    }

    /// Marks a run as active in this process; none if another process does so.
    ///
    /// # Errors
    /// The query fails.
    pub(crate) async fn lock_import(&self, id: Uuid) -> Result<Option<RunningImport>, StoreError> {
        let Some(lock) = self.try_lock(&id.to_string()).await? else {
            return Ok(None);
        };
        locked(&self.importing).insert(id);
        Ok(Some(RunningImport {
            id,
            importing: Arc::clone(&self.importing),
            _lock: lock,
        }))
    }

    /// Marks the runs of ended processes as failed, or as held where they were, and returns their number. An embedded database has one process, so
    /// that the runs of others are all lost.
    ///
    /// # Errors
    /// The query fails.
    pub async fn close_lost_imports(&self, now: DbTime) -> Result<usize, StoreError> {
        let running: Vec<(Uuid,)> = self.rows(Query::new(RUNNING)).await?;
        let mut closed = 0;
        for (id,) in running {
            if locked(&self.importing).contains(&id) {
                continue;
            }
            let close = Query::new(CLOSE_IMPORT).bind(id).bind(now);
            let close = match self.pool {
                Pool::Postgres { .. } => close.text(AND_NOT_LOCKED),
                Pool::Sqlite { .. } => close,
            };
            closed += usize::from(self.write(close).await? > 0);
        }
        Ok(closed)
    }

    /// Records the outcome of a run.
    ///
    /// # Errors
    /// The query fails.
    pub async fn end_import(&self, run: &ImportRow) -> Result<(), StoreError> {
        let end = Query::new(END_IMPORT)
            .bind(run.id)
            .bind(run.catalog.as_deref())
            .bind(run.ended_at)
            .bind(run.outcome.name())
            .bind(run.error.as_deref())
            .bind(run.etag.as_deref())
            .bind(run.last_modified.as_deref())
            .bind(run.entries)
            .bind(run.estimated)
            .bind(run.unchanged)
            .bind(run.duplicates)
            .bind(run.not_identifiable)
            .bind(run.refused)
            .bind(run.reinstated)
            .bind(run.refusals.as_deref())
            .bind(run.difference.as_deref());
        self.write(end).await?;
        if run.outcome == ImportOutcome::Done {
            self.write(Query::new(FORGET_REFUSALS).bind(run.id)).await?;
            self.write(Query::new(FORGET_DOCUMENTS)).await?;
        }
        Ok(())
    }

    /// The refused entries of some imports; those of an import that a later one replaced are forgotten.
    ///
    /// # Errors
    /// The query fails.
    pub async fn refusals(&self, imports: &[Uuid]) -> Result<Vec<RefusalsRow>, StoreError> {
        if imports.is_empty() {
            return Ok(Vec::new());
        }
        let mut refusals = Query::new(REFUSALS);
        for (number, id) in imports.iter().enumerate() {
            let refusals_so_far = refusals.text(if number == 0 { "" } else { ", " });
            refusals = refusals_so_far.value(*id);
        }
        self.rows(refusals.text(")")).await
    }

    /// Imports by start or by source, beginning after a run.
    ///
    /// # Errors
    /// The query fails.
    pub async fn imports(
        &self,
        selection: &ImportSelection,
        order: ImportOrder,
        after: Option<&ImportPlace>,
        limit: u32,
    ) -> Result<Vec<ImportRow>, StoreError> {
        let has_source = !selection.source.is_empty();
        let has_key = has_source || !selection.catalog.is_empty();
        let list = Query::new(IMPORTS)
            .any_of("source", &selection.source)
            .name(has_source, "catalog", &selection.catalog)
            .name(has_key, "outcome", &selection.outcome)
            .and_all(order.is_after(), after.map(ImportPlace::values));
        self.rows(list.page(order.columns(), limit)).await
    }
}
