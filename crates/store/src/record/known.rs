//! Reads the stored rows that a recording needs about its offers, sheets and estimates: one typed query per kind of
//! row, and none for a kind without keys.

use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;

use sqlx::FromRow;
use uuid::Uuid;

use super::announced::{NamedSheet, NamedSheets};
use super::checksum::StoredDocument;
use super::derive::StoredPeriod;
use super::offers::{Retirement, Seen, SheetFacts, WithdrawnSheet, same_observation_since};
use super::plan::{Known, OpenDisagreement};
use super::snapshots::among::{Neighbours, SnapshotAmong, SnapshotAt};
use super::work::Work;
use crate::connect::query::Query;
use crate::connect::rows::{Piece, text};
use crate::connect::tx::Tx;
use crate::connect::value::Kind;
use crate::{DbTime, StoreError};
use unroof_price_sheet::history::{Ending, Period, SourceRank, StartBasis};
use unroof_price_sheet::sheet::compare::Cells;

/// Stored state of a recording: its sheet, its estimate, and whether its offer has any facts, at a version of the store.
#[derive(Debug, FromRow)]
struct RecordedRow {
    version: i64,
    sheet_id: Uuid,
    estimate_id: Uuid,
    document: Option<String>,
    checksum: Option<Vec<u8>>,
    is_question: Option<bool>,
    listed_estimate_id: Option<Uuid>,
    has_estimate: bool,
    offer_id: Uuid,
    is_new_offer: bool,
    is_repeated: bool,
}

const RECORDED: Piece = Piece {
    sql: "
        SELECT (SELECT version FROM store_version WHERE id = 1) AS version,
               given.column1 AS sheet_id, given.column2 AS estimate_id, sheet.document, sheet.checksum,
               sheet.observed = FALSE AS is_question, listing.estimate_id AS listed_estimate_id,
               EXISTS (SELECT 1 FROM estimates WHERE estimates.id = given.column2) AS has_estimate,
               given.column3 AS offer_id,
               NOT EXISTS (SELECT 1 FROM observations AS seen WHERE seen.offer_id = given.column3)
               AND NOT EXISTS (SELECT 1 FROM price_periods AS period WHERE period.offer_id = given.column3) AS is_new_offer,
               EXISTS (
                   SELECT 1 FROM observations AS seen
                   WHERE seen.offer_id = given.column3 AND seen.source = given.column4
                     AND seen.sheet_id = given.column1 AND seen.last_at > given.column5
                     AND NOT EXISTS (
                         SELECT 1 FROM withdrawals AS withdrawal
                         WHERE withdrawal.offer_id = seen.offer_id AND withdrawal.sheet_id = seen.sheet_id
                           AND withdrawal.undone_at IS NULL AND withdrawal.at >= seen.last_at))
               AND EXISTS (
                   SELECT 1 FROM price_periods AS period
                   WHERE period.offer_id = given.column3 AND period.sheet_id = given.column1
                     AND has_begun = TRUE AND has_ended = FALSE
                     AND (period.ends_at IS NULL OR period.ends_at > given.column6)) AS is_repeated
        FROM given
        LEFT JOIN price_sheets AS sheet ON sheet.id = given.column1
        LEFT JOIN latest_listings AS listing ON listing.sheet_id = given.column1",
    columns: &[Kind::Id, Kind::Id, Kind::Id, Kind::Text, Kind::Time, Kind::Time],
};

/// An observation, with what matters of its sheet, and the snapshots of its source.
#[derive(Debug, FromRow)]
struct ObservationRow {
    offer_id: Uuid,
    provider: String,
    source: String,
    source_rank: i64,
    catalog: String,
    entry: Option<String>,
    sheet_id: Uuid,
    first_at: DbTime,
    last_at: Option<DbTime>,
    newest_whole: Option<DbTime>,
    newest_part: Option<DbTime>,
    next_whole: Option<DbTime>,
    next_part: Option<DbTime>,
    price_id: Uuid,
    valid_from: Option<DbTime>,
    valid_to: Option<DbTime>,
    currency: String,
    input_price: Option<f64>,
    output_price: Option<f64>,
    is_misfit: bool,
    states_limits: bool,
    cells: String,
    retires_at: Option<DbTime>,
    status: Option<String>,
}

const OBSERVATIONS: Piece = Piece {
    sql: "
        SELECT seen.offer_id, sheet.provider, seen.source, seen.source_rank, seen.catalog, seen.entry, seen.sheet_id, seen.first_at,
               seen.last_at, sheet.price_id, sheet.valid_from, sheet.valid_to, sheet.currency, sheet.input_price,
               sheet.output_price, sheet.is_misfit, sheet.states_limits, sheet.cells, sheet.retires_at, sheet.status,
               (SELECT max(snapshots.at) FROM snapshots WHERE snapshots.source = seen.source AND snapshots.scope = '') AS newest_whole,
               (SELECT max(snapshots.at) FROM snapshots
                WHERE snapshots.source = seen.source AND snapshots.scope = sheet.provider) AS newest_part,
               (SELECT snapshots.at FROM snapshots
                WHERE snapshots.source = seen.source AND snapshots.scope = '' AND snapshots.at > seen.last_at
                  AND NOT EXISTS (
                      SELECT 1 FROM unparsed_entries AS unparsed
                      WHERE unparsed.source = snapshots.source AND unparsed.entry = seen.entry AND unparsed.at = snapshots.at)
                ORDER BY snapshots.at LIMIT 1) AS next_whole,
               (SELECT snapshots.at FROM snapshots
                WHERE snapshots.source = seen.source AND snapshots.scope = sheet.provider AND snapshots.at > seen.last_at
                  AND NOT EXISTS (
                      SELECT 1 FROM unparsed_entries AS unparsed
                      WHERE unparsed.source = snapshots.source AND unparsed.entry = seen.entry AND unparsed.at = snapshots.at)
                ORDER BY snapshots.at LIMIT 1) AS next_part
        FROM given JOIN observations AS seen ON seen.offer_id = given.column1
        JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id",
    columns: &[Kind::Id],
};

/// Offer, sheet, time and reason of a withdrawal, and the first snapshot after it that listed the sheet still.
type CutRow = (Uuid, Uuid, DbTime, String, Option<DbTime>);

const CUTS: Piece = Piece {
    sql: "
        SELECT withdrawal.offer_id, withdrawal.sheet_id, withdrawal.at, withdrawal.because,
               (SELECT min(snapshots.at)
                FROM observations AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
                JOIN snapshots ON snapshots.source = seen.source AND (snapshots.scope = '' OR snapshots.scope = sheet.provider)
                 AND snapshots.at > withdrawal.at AND (seen.last_at IS NULL OR snapshots.at <= seen.last_at)
                WHERE seen.sheet_id = withdrawal.sheet_id AND seen.first_at <= withdrawal.at AND seen.source_rank = 1) AS seen_at
        FROM given JOIN withdrawals AS withdrawal ON withdrawal.offer_id = given.column1 AND withdrawal.undone_at IS NULL",
    columns: &[Kind::Id],
};

/// A price with its period.
#[derive(Debug, FromRow)]
struct PeriodRow {
    sequence: i64,
    part: i64,
    offer_id: Uuid,
    sheet_id: Uuid,
    price_id: Uuid,
    catalog: String,
    starts_at: DbTime,
    ends_at: Option<DbTime>,
    observed_at: DbTime,
    start_basis: String,
    not_before: Option<DbTime>,
    last_seen_at: DbTime,
    ending: Option<String>,
    is_flagged: bool,
    withdrawn_at: Option<DbTime>,
    withdrawn_because: Option<String>,
    has_begun: bool,
    has_ended: bool,
}

const PERIODS: Piece = Piece {
    sql: "
        SELECT sequence, part, offer_id, sheet_id, price_id, catalog, starts_at, ends_at, observed_at, start_basis,
               not_before, last_seen_at, ending, is_flagged, withdrawn_at, withdrawn_because, has_begun, has_ended
        FROM given JOIN price_periods AS period ON period.offer_id = given.column1",
    columns: &[Kind::Id],
};

/// A disagreement that has not ended.
#[derive(Debug, FromRow)]
struct DisagreementRow {
    offer_id: Uuid,
    #[sqlx(flatten)]
    open: OpenDisagreement,
}

const DISAGREEMENTS: Piece = Piece {
    sql: "
        SELECT open.id, open.offer_id, open.sheet_id, open.other_catalog, open.other_sheet_id, open.is_flagged
        FROM given JOIN disagreements AS open ON open.offer_id = given.column1 AND open.ended_at IS NULL",
    columns: &[Kind::Id],
};

/// A sheet that is named in news, with its listed estimate.
#[derive(Debug, FromRow)]
struct SheetRow {
    id: Uuid,
    canonical_model: Option<String>,
    estimate_id: Option<Uuid>,
    #[sqlx(flatten)]
    document: StoredDocument,
}

const SHEETS: Piece = Piece {
    sql: "
        SELECT sheet.id, sheet.canonical_model, sheet.document, sheet.checksum, listing.estimate_id
        FROM given JOIN price_sheets AS sheet ON sheet.id = given.column1
        LEFT JOIN latest_listings AS listing ON listing.sheet_id = sheet.id",
    columns: &[Kind::Id],
};

/// Sheets whose estimates fit no machine.
const MISFITS: Piece = Piece {
    sql: "
        SELECT sheet.id FROM given JOIN price_sheets AS sheet ON sheet.id = given.column1
        WHERE sheet.is_misfit = TRUE",
    columns: &[Kind::Id],
};

/// Scope, the previous, the next and the newest snapshot of a source in it, and the one at the same time.
type AroundRow = (
    String,
    Option<DbTime>,
    Option<DbTime>,
    Option<DbTime>,
    Option<DbTime>,
);

const AROUND: Piece = Piece {
    sql: "
        SELECT snapshots.scope, max(CASE WHEN snapshots.at < given.column2 THEN snapshots.at END) AS previous,
               min(CASE WHEN snapshots.at > given.column2 THEN snapshots.at END) AS next, max(snapshots.at) AS newest,
               max(CASE WHEN snapshots.at = given.column2 THEN snapshots.at END) AS same
        FROM given JOIN snapshots ON snapshots.source = given.column1
        GROUP BY snapshots.scope",
    columns: &[Kind::Text, Kind::Time],
};

/// Entries that a snapshot could not read.
const UNPARSED: Piece = Piece {
    sql: "
        SELECT unparsed.entry
        FROM given JOIN unparsed_entries AS unparsed ON unparsed.source = given.column1 AND unparsed.at = given.column2",
    columns: &[Kind::Text, Kind::Time],
};

/// The version of the store.
pub(crate) const VERSION: &str = "SELECT version FROM store_version WHERE id = 1";

/// Prepares all queries.
pub(crate) async fn prepare(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for piece in [
        &RECORDED,
        &OBSERVATIONS,
        &CUTS,
        &PERIODS,
        &DISAGREEMENTS,
        &SHEETS,
        &MISFITS,
        &AROUND,
        &UNPARSED,
    ] {
        tx.prepare(text(slice::from_ref(piece))).await?;
    }
    Ok(())
}

/// Stored state of what is to be recorded, read from either database. The version is that of the first rows:
/// what another writer commits meanwhile has a later one.
pub(crate) async fn load(tx: &mut Tx<'_>, work: &Work) -> Result<Known, StoreError> {
    let mut known = Known::default();
    let recorded = work.recordings.iter().map(|recording| {
        let source = recording.repeatable_source();
        vec![
            recording.sheet_id.into(),
            recording.estimate_id.into(),
            recording.offer_id.into(),
            source.into(),
            DbTime::from(same_observation_since(work.now)).into(),
            DbTime::from(work.now).into(),
        ]
    });
    let rows: Vec<RecordedRow> = tx.read_rows(&RECORDED, &recorded.collect()).await?;
    known.version = match rows.first() {
        Some(row) => row.version,
        None => tx.one::<(i64,)>(Query::new(VERSION)).await?.0,
    };
    let (offers, sheets) = known.add_all_recorded(rows, work)?;
    let sheets = sheets.into_iter().map(|id| vec![id.into()]).collect();
    let misfits: Vec<(Uuid,)> = tx.read_rows(&MISFITS, &sheets).await?;
    known.misfits = misfits.into_iter().map(|(id,)| id).collect();
    let offers = offers.into_iter().map(|id| vec![id.into()]).collect();
    for (offer, provider) in work.providers() {
        known.offers.entry(offer).or_default().provider = provider;
    }
    for row in tx.read_rows(&OBSERVATIONS, &offers).await? {
        known.add_observation(row)?;
    }
    let cuts: Vec<CutRow> = tx.read_rows(&CUTS, &offers).await?;
    for (offer_id, sheet_id, at, because, seen_at) in cuts {
        let offer = known.offers.entry(offer_id).or_default();
        offer.withdrawals.push(WithdrawnSheet {
            sheet_id,
            at: at.into(),
            because,
            seen_at: seen_at.map(Into::into),
        });
    }
    for row in tx.read_rows(&PERIODS, &offers).await? {
        known.add_period(row);
    }
    for periods in known.periods.values_mut() {
        periods.sort_by_key(|stored| (stored.period.starts_at, stored.key));
    }
    let open: Vec<DisagreementRow> = tx.read_rows(&DISAGREEMENTS, &offers).await?;
    for row in open {
        let of_offer = known.disagreements.entry(row.offer_id).or_default();
        of_offer.push(row.open);
    }
    if let Some(snapshot) = &work.snapshot {
        known.snapshot = Some(snapshot_among(tx, snapshot).await?);
    }
    if let Some(snapshot) = work.snapshot.as_ref().filter(|_| work.completes) {
        let given = vec![vec![(&snapshot.source).into(), snapshot.at.into()]];
        let unparsed: Vec<(String,)> = tx.read_rows(&UNPARSED, &given).await?;
        known.unparsed = unparsed.into_iter().map(|(entry,)| entry).collect();
    }
    Ok(known)
}

/// A snapshot with the snapshots around it.
pub(crate) async fn snapshot_among(
    tx: &mut Tx<'_>,
    snapshot: &SnapshotAt,
) -> Result<SnapshotAmong, StoreError> {
    let given = vec![vec![(&snapshot.source).into(), snapshot.at.into()]];
    let rows: Vec<AroundRow> = tx.read_rows(&AROUND, &given).await?;
    let scope = |(scope, previous, next, newest, same): AroundRow| {
        let [previous, next, newest] = [previous, next, newest].map(|at| at.map(Into::into));
        let neighbours = Neighbours {
            previous,
            next,
            newest,
            is_known: same.is_some(),
        };
        (scope, neighbours)
    };
    Ok(SnapshotAmong {
        snapshot: snapshot.clone(),
        scopes: rows.into_iter().map(scope).collect(),
    })
}

/// Sheets that news name, besides the recorded ones.
pub(crate) async fn load_sheets(
    tx: &mut Tx<'_>,
    work: &Work,
    mut wanted: BTreeSet<Uuid>,
) -> Result<NamedSheets, StoreError> {
    let mut sheets = NamedSheets::default();
    for recording in &work.recordings {
        if wanted.remove(&recording.sheet_id) {
            let named = NamedSheet::of(recording);
            sheets.0.insert(recording.sheet_id, named);
        }
    }
    let ids = wanted.iter().map(|id| vec![(*id).into()]).collect();
    for row in tx.read_rows::<SheetRow>(&SHEETS, &ids).await? {
        let named = NamedSheet {
            sheet: row.document.sheet(row.id)?,
            canonical_model: row.canonical_model,
            estimate_id: row.estimate_id,
        };
        sheets.0.insert(row.id, named);
    }
    Ok(sheets)
}

fn source_rank(number: i64) -> SourceRank {
    match number {
        1 => SourceRank::Catalog,
        2 => SourceRank::Entry,
        _ => SourceRank::Sheet,
    }
}

impl Known {
    /// Adds the stored state of what some work records. Gives the offers and the sheets of which more is to be read: there is
    /// nothing else of a new one, and the facts of an offer do not matter where they only are stated again.
    fn add_all_recorded(
        &mut self,
        rows: Vec<RecordedRow>,
        work: &Work,
    ) -> Result<(BTreeSet<Uuid>, BTreeSet<Uuid>), StoreError> {
        let (mut offers, mut sheets) = (work.offers(), work.sheets());
        let mut repeated = BTreeSet::new();
        for row in rows {
            if row.is_new_offer {
                offers.remove(&row.offer_id);
            }
            if row.document.is_none() {
                sheets.remove(&row.sheet_id);
            }
            if row.is_repeated && row.listed_estimate_id == Some(row.estimate_id) {
                repeated.insert((row.offer_id, row.sheet_id));
            }
            self.add_recorded(row)?;
        }
        self.unchanged = work.unchanged(&repeated);
        offers.retain(|offer| !self.unchanged.contains(offer));
        Ok((offers, sheets))
    }

    fn add_recorded(&mut self, row: RecordedRow) -> Result<(), StoreError> {
        if let Some((document, checksum)) = row.document.zip(row.checksum) {
            let document = StoredDocument { document, checksum };
            self.sheets
                .insert(row.sheet_id, document.checked(row.sheet_id)?);
        }
        if row.is_question == Some(true) {
            self.questions.insert(row.sheet_id);
        }
        if row.has_estimate {
            self.estimates.insert(row.estimate_id);
        }
        if let Some(estimate_id) = row.listed_estimate_id {
            self.listings.insert(row.sheet_id, estimate_id);
        }
        Ok(())
    }

    fn add_observation(&mut self, row: ObservationRow) -> Result<(), StoreError> {
        let cells = Cells::of_text(&row.cells).ok_or(StoreError::Damaged(row.sheet_id))?;
        let in_dollars = |price: Option<f64>| price.filter(|_| row.currency == "USD");
        let sheet = SheetFacts {
            sheet_id: row.sheet_id,
            price_id: row.price_id,
            catalog: row.catalog,
            entry: row.entry,
            valid_from: row.valid_from.map(Into::into),
            valid_to: row.valid_to.map(Into::into),
            is_misfit: row.is_misfit,
            states_limits: row.states_limits,
            cells: Arc::new(cells),
            retirement: Retirement::of(row.retires_at.map(Into::into), row.status.is_some()),
            input_price: in_dollars(row.input_price),
            output_price: in_dollars(row.output_price),
        };
        let newest = row.newest_whole.max(row.newest_part);
        let next = [row.next_whole, row.next_part].into_iter().flatten().min();
        let offer = self.offers.entry(row.offer_id).or_default();
        offer.provider = row.provider;
        offer.seen.push(Seen {
            sheet,
            source: row.source,
            source_rank: source_rank(row.source_rank),
            first_at: row.first_at.into(),
            last_at: row.last_at.map(Into::into),
            newest_snapshot: newest.map(Into::into),
            next_snapshot: next.map(Into::into),
        });
        Ok(())
    }

    fn add_period(&mut self, row: PeriodRow) {
        let ending = match row.ending.as_deref() {
            Some("expired") => Ending::Expired,
            Some("delisted") => Ending::Delisted,
            Some("withdrawn") => Ending::Withdrawn,
            _ => Ending::Replaced,
        };
        let start_basis = match row.start_basis.as_str() {
            "stated" => StartBasis::Stated,
            "source_added" => StartBasis::SourceAdded,
            _ => StartBasis::Observed,
        };
        let withdrawn_at = row.withdrawn_at.map(Into::into);
        let stored = StoredPeriod {
            key: (row.sequence, row.part),
            period: Period {
                sheet_id: row.sheet_id,
                price_id: row.price_id,
                source: String::new(),
                starts_at: row.starts_at.into(),
                start_basis,
                not_before: row.not_before.map(Into::into),
                last_seen_at: row.last_seen_at.into(),
                end: row.ends_at.map(|end| (end.into(), ending)),
                is_flagged: row.is_flagged,
            },
            catalog: row.catalog,
            observed_at: row.observed_at.into(),
            withdrawn: withdrawn_at.map(|at| (at, row.withdrawn_because.unwrap_or_default())),
            has_begun: row.has_begun,
            has_ended: row.has_ended,
        };
        self.periods.entry(row.offer_id).or_default().push(stored);
    }
}
