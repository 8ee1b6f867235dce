//! Undoes an import as a whole: the observations of its source are again those before it, and all that follows from them is
//! derived again, in one transaction.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::import_facts::{CompletedSnapshot, Fact, ImportFacts};
use crate::access::Actor;
use crate::connect::query::Query;
use crate::connect::rows::{Piece, Rows};
use crate::connect::tx::Tx;
use crate::connect::value::Kind::{Id, Number, Text, Time};
use crate::connect::value::Value;
use crate::connect::version::take_numbers;
use crate::keep::audit::{AuditAction, AuditEntry};
use crate::keep::audit_log::write_entries;
use crate::list::imports::ImportOutcome;
use crate::record::checksum::checksum;
use crate::record::known;
use crate::record::plan::Known;
use crate::record::ready::Ready;
use crate::record::tables;
use crate::record::work::Work;
use crate::{DbTime, Store, StoreError};

/// Outcome of undoing an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// The import is undone.
    Done,
    /// There is no such import.
    Unknown,
    /// The import has an outcome that leaves nothing to undo, or has changed nothing.
    Nothing(ImportOutcome),
    /// Later imports of the same source, the last one first, are to be undone before it.
    Later(Vec<Uuid>),
    /// Sheets of so many of its offers were posted since.
    PostedSince(usize),
}

/// An import that can be undone.
#[derive(Debug, FromRow)]
struct RecordedRow {
    name: String,
    #[sqlx(try_from = "String")]
    outcome: ImportOutcome,
    source: Option<String>,
    snapshot: Option<String>,
}

/// The observations of an offer before an import, and the checksum of those after it.
#[derive(Debug, FromRow)]
struct OfferRow {
    offer_id: Uuid,
    before: String,
    after: Vec<u8>,
}

const RECORDED: &str = "
    SELECT run.source AS name, run.outcome, recorded.source, recorded.snapshot
    FROM imports AS run LEFT JOIN recorded_imports AS recorded ON recorded.import_id = run.id
    WHERE run.id = $1";

const LATER: &str = "
    SELECT later.import_id FROM recorded_imports AS later JOIN recorded_imports AS own ON own.source = later.source
    WHERE own.import_id = $1 AND later.number > own.number
    ORDER BY later.number DESC";

const OFFERS: &str = "SELECT offer_id, before, after FROM recorded_offers WHERE import_id = $1";

const ALL_OFFERS: &str = "SELECT DISTINCT offer_id FROM observations WHERE source = $1";

const TAKE_OUT: Piece = Piece {
    sql: "
        DELETE FROM observations WHERE (offer_id, source) IN (
            SELECT given.column1, given.column2 FROM given)",
    columns: &[Id, Text],
};

const PUT_BACK: Piece = Piece {
    sql: "
        INSERT INTO observations (offer_id, source, sheet_id, catalog, entry, first_at, last_at, source_rank)
        SELECT * FROM given",
    columns: &[Id, Text, Id, Text, Text, Time, Time, Number],
};

const TAKE_SNAPSHOTS_OUT: Piece = Piece {
    sql: "
        DELETE FROM snapshots WHERE (source, scope, at) IN (
            SELECT given.column1, given.column2, given.column3 FROM given)",
    columns: &[Text, Text, Time],
};

const TAKE_UNPARSED_OUT: Piece = Piece {
    sql: "
        DELETE FROM unparsed_entries WHERE (source, entry, at) IN (
            SELECT given.column1, given.column2, given.column3 FROM given)",
    columns: &[Text, Text, Time],
};

const PUT_UNPARSED_BACK: Piece = Piece {
    sql: "INSERT INTO unparsed_entries (source, entry, at) SELECT * FROM given",
    columns: &[Text, Text, Time],
};

const LISTED: &str =
    "SELECT DISTINCT sheet_id FROM estimate_listings WHERE import_id = $1 AND sheet_id IS NOT NULL";

// A sheet that no source states any more is as the sheet of a question, which is not listed.
const HIDE_SHEETS: Piece = Piece {
    sql:
        "
        UPDATE price_sheets SET observed = FALSE FROM given
        WHERE price_sheets.id = given.column1 AND price_sheets.observed = TRUE
          AND NOT EXISTS (SELECT 1 FROM observations AS seen WHERE seen.sheet_id = price_sheets.id)",
    columns: &[Id],
};

const HIDE_LISTINGS: Piece = Piece {
    sql: "
        UPDATE estimate_listings SET observed = FALSE FROM given
        WHERE estimate_listings.sheet_id = given.column1 AND EXISTS (
            SELECT 1 FROM price_sheets AS sheet WHERE sheet.id = given.column1 AND sheet.observed = FALSE)",
    columns: &[Id],
};

// Where another source states the sheet still, a listing goes only if there is an earlier one.
const TAKE_LISTINGS_OUT: &str = "
    DELETE FROM estimate_listings AS own
    WHERE import_id = $1 AND (
        EXISTS (SELECT 1 FROM price_sheets AS sheet WHERE sheet.id = own.sheet_id AND sheet.observed = FALSE)
        OR EXISTS (
            SELECT 1 FROM estimate_listings AS earlier
            WHERE earlier.sheet_id = own.sheet_id AND earlier.sequence < own.sequence
              AND earlier.stated_assumptions = FALSE))";

const KEEP_LISTINGS: &str = "UPDATE estimate_listings SET import_id = NULL WHERE import_id = $1";

const FORGET: &str = "DELETE FROM recorded_imports WHERE import_id = $1";

const END: &str = "UPDATE imports SET outcome = 'undone', refusals = NULL WHERE id = $1";

impl Store {
    /// Undoes an import that nothing depends on.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn undo_import(
        &self,
        id: Uuid,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<Undone, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        // Takes the lock of the writers: what is read from here on stays as it is.
        take_numbers(&mut tx, 0).await?;
        let undoing = match Undoing::begin(&mut tx, id, now).await? {
            Ok(undoing) => undoing,
            Err(refused) => return Ok(refused),
        };
        let work = &undoing.work;
        let ready = match undoing.plan(&mut tx).await? {
            Ok(ready) => ready,
            Err(refused) => return Ok(refused),
        };
        let numbers = take_numbers(&mut tx, ready.count).await?;
        let base = numbers.last - ready.count;
        tables::write(&mut tx, work, ready.parts(), (base, numbers.heads)).await?;
        let lost = ready
            .plan
            .offers
            .iter()
            .flat_map(|offer| &offer.before.seen);
        let lost: BTreeSet<Uuid> = lost.map(|seen| seen.sheet.sheet_id).collect();
        undoing.hide(&mut tx, &lost).await?;
        let action = AuditAction::ImportUndone;
        let entry = AuditEntry::new(actor, now, action, id, undoing.name.clone());
        write_entries(&mut tx, vec![entry.values()]).await?;
        tx.commit().await?;
        self.advance_version(numbers.last);
        Ok(Undone::Done)
    }
}

/// An import that is being undone.
struct Undoing {
    id: Uuid,
    /// Name of the source of the import in the list of imports.
    name: String,
    source: String,
    snapshot: Option<CompletedSnapshot>,
    offers: Vec<OfferRow>,
    work: Work,
}

impl Undoing {
    /// Reads what an import did, unless it cannot be undone.
    async fn begin(
        tx: &mut Tx<'_>,
        id: Uuid,
        now: Timestamp,
    ) -> Result<Result<Self, Undone>, StoreError> {
        let recorded: Option<RecordedRow> = tx.row(Query::new(RECORDED).bind(id)).await?;
        let Some(recorded) = recorded else {
            return Ok(Err(Undone::Unknown));
        };
        let has_ended = matches!(
            recorded.outcome,
            ImportOutcome::Done | ImportOutcome::Failed
        );
        let Some(source) = recorded.source.filter(|_| has_ended) else {
            return Ok(Err(Undone::Nothing(recorded.outcome)));
        };
        let later: Vec<(Uuid,)> = tx.rows(Query::new(LATER).bind(id)).await?;
        if !later.is_empty() {
            return Ok(Err(Undone::Later(
                later.into_iter().map(|(id,)| id).collect(),
            )));
        }
        let read = |text: String| serde_json::from_str(&text).map_err(|_| StoreError::Damaged(id));
        let snapshot: Option<CompletedSnapshot> = recorded.snapshot.map(read).transpose()?;
        let offers: Vec<OfferRow> = tx.rows(Query::new(OFFERS).bind(id)).await?;
        let mut again: BTreeSet<Uuid> = offers.iter().map(|offer| offer.offer_id).collect();
        if snapshot.is_some() {
            // All that the catalog lists is seen until its newest snapshot, which is another one now.
            let all: Vec<(Uuid,)> = tx.rows(Query::new(ALL_OFFERS).bind(&source)).await?;
            again.extend(all.into_iter().map(|(offer,)| offer));
        }
        let facts = ImportFacts {
            id,
            source: source.clone(),
        };
        let work = Work {
            now: DbTime::from(now).into(),
            again: again.into_iter().collect(),
            import: Some(facts),
            undoes: true,
            ..Work::default()
        };
        Ok(Ok(Self {
            id,
            name: recorded.name,
            source,
            snapshot,
            offers,
            work,
        }))
    }

    /// Puts the observations back, and plans what follows from them.
    async fn plan(&self, tx: &mut Tx<'_>) -> Result<Result<Ready, Undone>, StoreError> {
        let mut known = known::load(tx, &self.work).await?;
        let posted_since = self.offers.iter().filter(|row| self.is_other(row, &known));
        let posted_since = posted_since.count();
        if posted_since > 0 {
            return Ok(Err(Undone::PostedSince(posted_since)));
        }
        self.put_back(tx).await?;
        known.restored = Some(known::load(tx, &self.work).await?.offers);
        Ok(Ok(Ready::of(tx, &self.work, known).await?))
    }

    /// Whether the observations of an offer are other than those that the import left.
    fn is_other(&self, row: &OfferRow, known: &Known) -> bool {
        let offer = known.offers.get(&row.offer_id).cloned().unwrap_or_default();
        checksum(&offer.kept_facts(&self.source)) != row.after
    }

    async fn put_back(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let own = |row: &OfferRow| vec![row.offer_id.into(), self.source.clone().into()];
        write(tx, TAKE_OUT, self.offers.iter().map(own).collect()).await?;
        let mut rows = Rows::new();
        for row in &self.offers {
            let facts: Vec<Fact> =
                serde_json::from_str(&row.before).map_err(|_| StoreError::Damaged(row.offer_id))?;
            rows.extend(
                facts
                    .into_iter()
                    .map(|fact| self.values(row.offer_id, fact)),
            );
        }
        write(tx, PUT_BACK, rows).await?;
        let Some(snapshot) = &self.snapshot else {
            return Ok(());
        };
        let rows = |names: &[String]| -> Rows<'static> {
            let row = |name: &String| {
                vec![
                    self.source.clone().into(),
                    name.clone().into(),
                    snapshot.at.into(),
                ]
            };
            names.iter().map(row).collect()
        };
        write(tx, TAKE_SNAPSHOTS_OUT, rows(&snapshot.scopes)).await?;
        write(tx, TAKE_UNPARSED_OUT, rows(&snapshot.unparsed)).await?;
        write(tx, PUT_UNPARSED_BACK, rows(&snapshot.read)).await
    }

    fn values(&self, offer_id: Uuid, fact: Fact) -> Vec<Value<'static>> {
        vec![
            offer_id.into(),
            self.source.clone().into(),
            fact.sheet_id.into(),
            fact.catalog.into(),
            Value::Text(fact.entry.map(Into::into)),
            fact.first_at.into(),
            Value::from(fact.last_at),
            fact.rank.into(),
        ]
    }

    /// Takes out the listings of the import, and hides the sheets that it alone stated.
    async fn hide(&self, tx: &mut Tx<'_>, lost: &BTreeSet<Uuid>) -> Result<(), StoreError> {
        let listed: Vec<(Uuid,)> = tx.rows(Query::new(LISTED).bind(self.id)).await?;
        let mut sheets = lost.clone();
        sheets.extend(listed.into_iter().map(|(sheet,)| sheet));
        let ids = || sheets.iter().map(|id| vec![(*id).into()]).collect();
        write(tx, HIDE_SHEETS, ids()).await?;
        tx.execute(Query::new(TAKE_LISTINGS_OUT).bind(self.id))
            .await?;
        tx.execute(Query::new(KEEP_LISTINGS).bind(self.id)).await?;
        write(tx, HIDE_LISTINGS, ids()).await?;
        tx.execute(Query::new(FORGET).bind(self.id)).await?;
        tx.execute(Query::new(END).bind(self.id)).await.map(drop)
    }
}

/// Executes a statement on rows, if there are any.
async fn write(tx: &mut Tx<'_>, piece: Piece, rows: Rows<'_>) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    tx.write_rows(&[piece], &[rows]).await
}
