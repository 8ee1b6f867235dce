//! Deletes the answers to questions, with all that only they have: sheets and names. What a price, a model or news refers to
//! stays.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry};
use super::audit_log::write_entries;
use crate::access::Actor;
use crate::connect::query::Query;
use crate::connect::rows::{Piece, Rows};
use crate::connect::tx::Tx;
use crate::connect::value::Kind::Id;
use crate::connect::version::take_numbers;
use crate::record::recording::MODEL;
use crate::{DbTime, Store, StoreError};

/// Outcome of the deletion of an estimate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// The estimate is deleted.
    Done,
    /// There is no such estimate.
    Unknown,
    /// The estimate stays, for this reason.
    Linked(String),
}

/// Place of a question in the order of storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct QuestionPlace {
    recorded_at: DbTime,
    sequence: i64,
}

/// A question that was stored before a time.
#[derive(Debug, FromRow)]
pub(super) struct OldQuestion {
    pub(super) estimate_id: Uuid,
    #[sqlx(flatten)]
    pub(super) place: QuestionPlace,
}

// An import counts on the estimates that it has found.
const OLD: &str = "
    SELECT estimate_id, recorded_at, sequence FROM estimate_listings
    WHERE observed = FALSE AND NOT EXISTS (SELECT 1 FROM imports WHERE outcome = 'running') AND recorded_at < ";

/// A listing of an estimate, and what refers to it.
#[derive(Debug, FromRow)]
struct ListingRow {
    estimate_id: Uuid,
    sequence: i64,
    provider: String,
    model: String,
    is_of_price: bool,
    is_in_news: bool,
}

const LISTINGS: Piece = Piece {
    sql: "
        SELECT listing.estimate_id, listing.sequence, listing.provider, listing.model,
               listing.observed = TRUE OR (listing.stated_assumptions = FALSE AND EXISTS (
                   SELECT 1 FROM price_sheets AS sheet WHERE sheet.id = listing.sheet_id AND sheet.observed = TRUE)) AS is_of_price,
               EXISTS (
                   SELECT 1 FROM changes AS news
                   WHERE news.provider = listing.provider AND news.model = listing.model
                     AND news.estimate_id = listing.estimate_id) AS is_in_news
        FROM given JOIN estimate_listings AS listing ON listing.estimate_id = given.column1",
    columns: &[Id],
};

/// Sheets of questions: id and number.
const SHEETS: Piece = Piece {
    sql: "
        SELECT DISTINCT sheet.id, sheet.sequence
        FROM given JOIN estimate_sheets AS drawn ON drawn.estimate_id = given.column1
        JOIN price_sheets AS sheet ON sheet.id = drawn.sheet_id AND sheet.observed = FALSE",
    columns: &[Id],
};

/// The rows of estimates, in an order in which none refers to a deleted one.
const DELETE_ESTIMATES: [Piece; 3] = [
    Piece {
        sql: "DELETE FROM estimate_listings WHERE estimate_id IN (SELECT given.column1 FROM given)",
        columns: &[Id],
    },
    Piece {
        sql: "DELETE FROM estimate_sheets WHERE estimate_id IN (SELECT given.column1 FROM given)",
        columns: &[Id],
    },
    Piece {
        sql: "DELETE FROM estimates WHERE id IN (SELECT given.column1 FROM given)",
        columns: &[Id],
    },
];

const DELETE_SHEETS: Piece = Piece {
    sql: "
        DELETE FROM price_sheets WHERE id IN (SELECT given.column1 FROM given) AND observed = FALSE
        AND NOT EXISTS (SELECT 1 FROM estimate_sheets AS drawn WHERE drawn.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM estimate_listings AS listing WHERE listing.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM estimate_listings AS copy WHERE copy.duplicate_of = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM observations AS seen WHERE seen.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM withdrawals AS withdrawal WHERE withdrawal.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM price_periods AS period WHERE period.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM disagreements AS one WHERE one.sheet_id = price_sheets.id)
        AND NOT EXISTS (SELECT 1 FROM disagreements AS other WHERE other.other_sheet_id = price_sheets.id)",
    columns: &[Id],
};

/// Kind, key and name of a spelling, and the provider and the model that are found by it.
type Spelling = (String, String, String, String, String);

const SPELLINGS: &str = "
    SELECT kind, name_key, name, provider, model FROM spellings WHERE sequence = $1";

const FORGET_NAME: &str = "
    DELETE FROM names WHERE kind = $1 AND name_key = $2 AND name = $3 AND NOT EXISTS (
        SELECT 1 FROM spellings AS said WHERE said.kind = $1 AND said.name_key = $2 AND said.name = $3)";

const FORGET_OFFER: &str = "
    DELETE FROM offer_names WHERE name_key = $1 AND provider = $2 AND model = $3 AND NOT EXISTS (
        SELECT 1 FROM spellings AS said WHERE said.name_key = $1 AND said.provider = $2 AND said.model = $3)";

impl ListingRow {
    /// Reason for which the estimate stays, if there is one.
    fn link(&self) -> Option<String> {
        let Self {
            provider, model, ..
        } = self;
        match (self.is_of_price, self.is_in_news) {
            (true, _) if provider == MODEL => Some(format!("it is the estimate of {model}")),
            (true, _) => Some(format!(
                "it is the estimate of a price of {provider}/{model}"
            )),
            (false, true) => Some(format!("a change of {provider}/{model} names it")),
            (false, false) => None,
        }
    }
}

impl Store {
    /// Questions that were stored before a time, after a place, the first stored first; none while a catalog is imported.
    pub(super) async fn old_questions(
        &self,
        before: DbTime,
        after: Option<QuestionPlace>,
        limit: u32,
    ) -> Result<Vec<OldQuestion>, StoreError> {
        let after = after.map(|place| vec![place.recorded_at.into(), place.sequence.into()]);
        let old = Query::new(OLD).value(before);
        let old = old.and_all("(recorded_at, sequence) > ", after);
        self.rows(old.page(" ORDER BY recorded_at, sequence", limit))
            .await
    }

    /// Deletes estimates that only answer questions, and leaves the others; the number of those deleted.
    pub(super) async fn delete_questions(&self, ids: &BTreeSet<Uuid>) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        let version = take_numbers(&mut tx, 1).await?.last;
        let listings = listings(&mut tx, ids).await?;
        let linked: BTreeSet<Uuid> = listings
            .iter()
            .filter(|listing| listing.link().is_some())
            .map(|listing| listing.estimate_id)
            .collect();
        let mut wanted: BTreeMap<Uuid, Vec<i64>> = BTreeMap::new();
        for listing in listings {
            if !linked.contains(&listing.estimate_id) {
                let numbers = wanted.entry(listing.estimate_id).or_default();
                numbers.push(listing.sequence);
            }
        }
        if wanted.is_empty() {
            return Ok(0);
        }
        delete(&mut tx, &wanted).await?;
        tx.commit().await?;
        self.advance_version(version);
        Ok(wanted.len() as u64)
    }

    /// Deletes an estimate that only answers a question.
    ///
    /// # Errors
    /// The query fails.
    pub async fn delete_estimate(
        &self,
        id: Uuid,
        now: Timestamp,
        actor: &Actor,
    ) -> Result<Deletion, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        let version = take_numbers(&mut tx, 1).await?.last;
        let listings = listings(&mut tx, &BTreeSet::from([id])).await?;
        let Some(first) = listings.first() else {
            drop(tx);
            let is_stored = !self.stored_estimates(&[id]).await?.is_empty();
            let former = || Deletion::Linked("it is a former estimate of a model".to_owned());
            return Ok(if is_stored {
                former()
            } else {
                Deletion::Unknown
            });
        };
        if let Some(reason) = listings.iter().find_map(ListingRow::link) {
            return Ok(Deletion::Linked(reason));
        }
        let subject = format!("{}/{}", first.provider, first.model);
        let numbers = listings.iter().map(|listing| listing.sequence).collect();
        delete(&mut tx, &BTreeMap::from([(id, numbers)])).await?;
        let entry = AuditEntry::new(actor, now, AuditAction::EstimateDeleted, id, subject);
        write_entries(&mut tx, vec![entry.values()]).await?;
        tx.commit().await?;
        self.advance_version(version);
        Ok(Deletion::Done)
    }
}

/// The listings of some estimates. While the version is held, no other writer adds one.
async fn listings(tx: &mut Tx<'_>, ids: &BTreeSet<Uuid>) -> Result<Vec<ListingRow>, StoreError> {
    tx.read_rows(&LISTINGS, &given(ids)).await
}

fn given<'a, 'i>(ids: impl IntoIterator<Item = &'i Uuid>) -> Rows<'a> {
    ids.into_iter().map(|id| vec![(*id).into()]).collect()
}

/// Deletes estimates, each with the numbers of its listings, and the sheets and names that nothing else has.
async fn delete(tx: &mut Tx<'_>, estimates: &BTreeMap<Uuid, Vec<i64>>) -> Result<(), StoreError> {
    let ids = given(estimates.keys());
    let sheets: Vec<(Uuid, i64)> = tx.read_rows(&SHEETS, &ids).await?;
    let listed = estimates.values().flatten().copied();
    let numbers: BTreeSet<i64> = sheets
        .iter()
        .map(|(_, number)| *number)
        .chain(listed)
        .collect();
    let mut spellings = BTreeSet::<Spelling>::new();
    for number in numbers {
        spellings.extend(
            tx.rows::<Spelling>(Query::new(SPELLINGS).bind(number))
                .await?,
        );
    }
    for piece in DELETE_ESTIMATES {
        tx.write_rows(&[piece], std::slice::from_ref(&ids)).await?;
    }
    if !sheets.is_empty() {
        let sheets = given(sheets.iter().map(|(id, _)| id));
        tx.write_rows(&[DELETE_SHEETS], &[sheets]).await?;
    }
    forget(tx, &spellings).await
}

/// Forgets the spellings that neither a sheet nor a pooled estimate has any more.
async fn forget(tx: &mut Tx<'_>, spellings: &BTreeSet<Spelling>) -> Result<(), StoreError> {
    for (kind, key, name, ..) in spellings {
        let name = Query::new(FORGET_NAME).bind(kind).bind(key).bind(name);
        tx.execute(name).await?;
    }
    let offers: BTreeSet<_> = spellings
        .iter()
        .map(|(_, key, _, provider, model)| (key, provider, model))
        .collect();
    for (key, provider, model) in offers {
        let offer = Query::new(FORGET_OFFER)
            .bind(key)
            .bind(provider)
            .bind(model);
        tx.execute(offer).await?;
    }
    Ok(())
}
