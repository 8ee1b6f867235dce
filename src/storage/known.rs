//! Reads the stored rows that a recording needs about its offers, sheets and estimates: one typed query per kind of
//! row, and none for a kind without keys.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::checksum::StoredDocument;
use super::plan::{Known, OpenDisagreement, StoredPeriod};
use super::recording::Recording;
use super::rows::{Connected, MOST_ROWS, Piece, Rows, Statement};
use super::value::Kind;
use super::{DbTime, StoreError};
use unroof_core::sheet::compare::timeline::{Cut, Period};

/// Stored state of a recording: its sheet, estimate and offer, and its catalog's statement with the same start.
#[derive(Debug, FromRow)]
struct RecordedRow {
    version: i64,
    sheet_id: Uuid,
    estimate_id: Uuid,
    offer_id: Uuid,
    document: Option<String>,
    checksum: Option<Vec<u8>>,
    listed_estimate_id: Option<Uuid>,
    catalog: Option<String>,
    starts_at: Option<DbTime>,
    stated_sheet_id: Option<Uuid>,
    has_estimate: bool,
    has_offer: bool,
    was_withdrawn: bool,
}

static RECORDED: Statement = Statement::new(&[Piece {
    sql: "
        SELECT (SELECT version FROM store_version WHERE id = 1) AS version, given.column1 AS sheet_id,
               given.column2 AS estimate_id, given.column3 AS offer_id, sheet.document, sheet.checksum,
               listing.estimate_id AS listed_estimate_id, statement.catalog, statement.starts_at,
               statement.sheet_id AS stated_sheet_id,
               EXISTS (SELECT 1 FROM estimates WHERE estimates.id = given.column2) AS has_estimate,
               EXISTS (SELECT 1 FROM price_sheets AS own WHERE own.offer_id = given.column3) AS has_offer,
               EXISTS (SELECT 1 FROM price_periods AS cut
                       WHERE cut.sheet_id = given.column1 AND cut.withdrawn_at IS NOT NULL) AS was_withdrawn
        FROM given
        LEFT JOIN price_sheets AS sheet ON sheet.id = given.column1
        LEFT JOIN latest_listings AS listing ON listing.sheet_id = given.column1
        LEFT JOIN statements AS statement
          ON statement.offer_id = given.column3 AND statement.catalog = given.column4
         AND statement.starts_at = given.column5",
    columns: &[Kind::Id, Kind::Id, Kind::Id, Kind::Text, Kind::Time],
}]);

/// A price with its period.
#[derive(Debug, FromRow)]
pub(super) struct PeriodRow {
    pub(super) sequence: i64,
    pub(super) part: i64,
    pub(super) offer_id: Uuid,
    pub(super) sheet_id: Uuid,
    pub(super) catalog: String,
    pub(super) starts_at: DbTime,
    pub(super) ends_at: Option<DbTime>,
    pub(super) observed_at: DbTime,
    pub(super) withdrawn_at: Option<DbTime>,
    pub(super) withdrawn_end: Option<DbTime>,
}

impl PeriodRow {
    pub(super) fn period(&self) -> Period {
        Period {
            sheet_id: self.sheet_id,
            catalog: self.catalog.clone(),
            starts_at: self.starts_at.into(),
            ends_at: self.ends_at.map(Into::into),
            withdrawn: self.withdrawn_at.map(|at| Cut {
                at: at.into(),
                ends_at: self.withdrawn_end.map(Into::into),
            }),
        }
    }
}

// An offer has up to thousands of prices. Of its periods those are read that end after something may change.
static PERIODS: Statement = Statement::new(&[Piece {
    sql: "
        SELECT period.sequence, part, offer_id, sheet_id, catalog, starts_at, ends_at, observed_at, withdrawn_at,
               withdrawn_end
        FROM given JOIN price_intervals AS period ON period.offer_id = given.column1 AND period.until > given.column2",
    columns: &[Kind::Id, Kind::Time],
}]);

// A sheet with dates has its place in time once and for all, and one that was withdrawn may be in force again.
static PERIODS_OF_SHEETS: Statement = Statement::new(&[Piece {
    sql: "
        SELECT period.sequence, part, offer_id, sheet_id, catalog, starts_at, ends_at, observed_at, withdrawn_at,
               withdrawn_end
        FROM given JOIN price_periods AS period ON period.sheet_id = given.column1",
    columns: &[Kind::Id],
}]);

/// A catalog's statement about an offer at a time, with its sheet.
#[derive(Debug, FromRow)]
struct StatementRow {
    offer_id: Uuid,
    catalog: String,
    starts_at: DbTime,
    #[sqlx(flatten)]
    sheet: SheetRow,
}

static STATEMENTS: Statement = Statement::new(&[Piece {
    sql: "
        SELECT statement.offer_id, statement.catalog, statement.starts_at, sheet.id, sheet.document, sheet.checksum
        FROM (SELECT offer_id, catalog, max(starts_at) AS starts_at
              FROM given
              JOIN statements ON offer_id = given.column1 AND starts_at <= given.column2
              GROUP BY given.column2, offer_id, catalog) AS last
        JOIN statements AS statement
          ON statement.offer_id = last.offer_id AND statement.catalog = last.catalog
         AND statement.starts_at = last.starts_at
        JOIN price_sheets AS sheet ON sheet.id = statement.sheet_id",
    columns: &[Kind::Id, Kind::Time],
}]);

/// A sheet that others are compared with.
#[derive(Debug, FromRow)]
struct SheetRow {
    id: Uuid,
    #[sqlx(flatten)]
    document: StoredDocument,
}

static SHEETS_IN_FORCE: Statement = Statement::new(&[Piece {
    sql: "
        SELECT sheet.id, sheet.document, sheet.checksum
        FROM given JOIN price_intervals AS period
          ON period.offer_id = given.column1 AND period.starts_at <= given.column2 AND period.until > given.column2
        JOIN price_sheets AS sheet ON sheet.id = period.sheet_id",
    columns: &[Kind::Id, Kind::Time],
}]);

/// A disagreement that has not ended.
#[derive(Debug, FromRow)]
struct DisagreementRow {
    offer_id: Uuid,
    other_catalog: String,
    #[sqlx(flatten)]
    open: OpenDisagreement,
}

static DISAGREEMENTS: Statement = Statement::new(&[Piece {
    sql: "
        SELECT open.id, open.offer_id, open.sheet_id, open.other_catalog, open.other_sheet_id
        FROM given JOIN disagreements AS open ON open.offer_id = given.column1 AND open.ended_at IS NULL",
    columns: &[Kind::Id],
}]);

/// Prepares all queries.
pub(super) async fn prepare(connection: &mut impl Connected) -> Result<(), StoreError> {
    for statement in [
        &RECORDED,
        &PERIODS,
        &PERIODS_OF_SHEETS,
        &STATEMENTS,
        &SHEETS_IN_FORCE,
        &DISAGREEMENTS,
    ] {
        connection.prepare_rows(statement).await?;
    }
    Ok(())
}

/// Stored state of recordings, read through a connection to either database. Only offers that are stored and about
/// which something new is stated take further queries.
pub(super) async fn load(
    connection: &mut impl Connected,
    recordings: &[Recording],
) -> Result<Known, StoreError> {
    let mut known = Known::default();
    for (number, recordings) in recordings.chunks(MOST_ROWS).enumerate() {
        let recorded = recorded(recordings);
        let rows: Vec<RecordedRow> = connection.read_rows(&RECORDED, &recorded).await?;
        if number == 0 {
            known.version = rows.first().map_or(0, |row| row.version);
        }
        let wanted = Wanted::of(recordings, &rows);
        for row in rows {
            known.add_recorded(row)?;
        }
        let offers = wanted.offers.iter();
        let offers = offers.map(|(offer, from)| vec![(*offer).into(), (*from).into()]);
        for row in connection.read_rows(&PERIODS, &offers.collect()).await? {
            known.add_period(&row);
        }
        let sheets = wanted.sheets.iter().map(|sheet| vec![(*sheet).into()]);
        let sheets = sheets.collect();
        for row in connection.read_rows(&PERIODS_OF_SHEETS, &sheets).await? {
            known.add_period(&row);
        }
        let moments = wanted.moments.iter();
        let moments = moments.map(|(offer, time)| vec![(*offer).into(), (*time).into()]);
        let moments = moments.collect();
        for row in connection.read_rows(&STATEMENTS, &moments).await? {
            known.add_statement(row)?;
        }
        for row in connection.read_rows(&SHEETS_IN_FORCE, &moments).await? {
            known.add_sheet(row)?;
        }
        let offers = wanted.offers.keys().map(|offer| vec![(*offer).into()]);
        let offers = offers.collect();
        for row in connection.read_rows(&DISAGREEMENTS, &offers).await? {
            known.add_disagreement(row);
        }
    }
    for periods in known.periods.values_mut() {
        periods.sort_by_key(|stored| (stored.period.starts_at, stored.key));
        periods.dedup_by_key(|stored| stored.key);
    }
    Ok(known)
}

/// Rows for [`RECORDED`].
fn recorded(recordings: &[Recording]) -> Rows<'static> {
    let row = |recording: &Recording| {
        vec![
            recording.sheet_id.into(),
            recording.estimate_id.into(),
            recording.offer_id().into(),
            recording.catalog().into(),
            recording.statement_start().into(),
        ]
    };
    recordings.iter().map(row).collect()
}

/// Keys of the rows to read, for offers about which a recording states something new.
#[derive(Debug, Default)]
struct Wanted {
    /// Offers, each with the time from which on something may change.
    offers: BTreeMap<Uuid, Timestamp>,
    /// Offers with the times at which they were seen.
    moments: BTreeSet<(Uuid, Timestamp)>,
    /// Sheets whose periods may be older.
    sheets: BTreeSet<Uuid>,
}

impl Wanted {
    fn of(recordings: &[Recording], rows: &[RecordedRow]) -> Self {
        let known: BTreeMap<Uuid, &RecordedRow> =
            rows.iter().map(|row| (row.sheet_id, row)).collect();
        let mut wanted = Self::default();
        for recording in recordings {
            let Some(row) = known.get(&recording.sheet_id).filter(|row| row.has_offer) else {
                continue;
            };
            let is_new = row.document.is_none();
            if !is_new && !row.was_withdrawn && !recording.counts_again {
                continue;
            }
            let statement = recording.statement();
            if !is_new && (row.was_withdrawn || statement.is_dated()) {
                wanted.sheets.insert(recording.sheet_id);
            }
            wanted.moments.insert((row.offer_id, recording.observed_at));
            let from = statement.starts_at().min(recording.observed_at);
            let earliest = wanted.offers.entry(row.offer_id).or_insert(from);
            *earliest = from.min(*earliest);
        }
        wanted
    }
}

impl Known {
    fn add_recorded(&mut self, row: RecordedRow) -> Result<(), StoreError> {
        if let Some((document, checksum)) = row.document.zip(row.checksum) {
            let document = StoredDocument { document, checksum };
            let id = row.sheet_id;
            self.add_sheet(SheetRow { id, document })?;
        }
        if row.has_estimate {
            self.estimates.push(row.estimate_id);
        }
        if let Some(estimate_id) = row.listed_estimate_id {
            self.listings.insert(row.sheet_id, estimate_id);
        }
        if let (Some(catalog), Some(starts_at), Some(sheet_id)) =
            (row.catalog, row.starts_at, row.stated_sheet_id)
        {
            let place = (row.offer_id, catalog, starts_at.into());
            self.statements.insert(place, sheet_id);
        }
        Ok(())
    }

    fn add_sheet(&mut self, row: SheetRow) -> Result<(), StoreError> {
        self.sheets.insert(row.id, row.document.checked(row.id)?);
        Ok(())
    }

    fn add_statement(&mut self, row: StatementRow) -> Result<(), StoreError> {
        let place = (row.offer_id, row.catalog, row.starts_at.into());
        self.statements.insert(place, row.sheet.id);
        self.add_sheet(row.sheet)
    }

    fn add_period(&mut self, row: &PeriodRow) {
        let stored = StoredPeriod {
            key: (row.sequence, row.part),
            period: row.period(),
            is_new: false,
            is_changed: false,
            // Only read where the period ends otherwise.
            has_ended: false,
            observed_at: row.observed_at.into(),
        };
        self.periods.entry(row.offer_id).or_default().push(stored);
    }

    fn add_disagreement(&mut self, row: DisagreementRow) {
        self.disagreements
            .insert((row.offer_id, row.other_catalog), row.open);
    }
}
