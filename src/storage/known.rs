//! Reads what is known of the offers, sheets and estimates that are recorded, as far as it matters to them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::checksum::StoredDocument;
use super::plan::{Known, OpenDisagreement, StoredPeriod};
use super::record::Recording;
use super::rows::{Connected, Kind, MOST_ROWS, Piece, Pieces, Rows};
use super::{DbTime, StoreError};
use unroof_core::sheet::compare::timeline::{Cut, Period};

/// A row of any piece of [`LOAD`].
#[derive(FromRow)]
struct KnownRow {
    kind: String,
    id: Option<Uuid>,
    offer_id: Option<Uuid>,
    sheet_id: Option<Uuid>,
    other_id: Option<Uuid>,
    catalog: Option<String>,
    starts_at: Option<DbTime>,
    ends_at: Option<DbTime>,
    observed_at: Option<DbTime>,
    sequence: Option<i64>,
    part: Option<i64>,
    document: Option<String>,
    checksum: Option<Vec<u8>>,
}

// An offer has up to thousands of prices. Of its periods those are read that may matter, and of the documents only those
// that are compared.
pub(super) static LOAD: Pieces = Pieces::reading(&[
    Piece {
        before: "
            SELECT 'sheet' AS kind, sheet.id, CAST(NULL AS uuid) AS offer_id, CAST(NULL AS uuid) AS sheet_id,
                   CAST(NULL AS uuid) AS other_id, CAST(NULL AS text) AS catalog,
                   sheet.valid_from AS starts_at, sheet.valid_to AS ends_at, sheet.observed_at, sheet.sequence,
                   CAST(NULL AS bigint) AS part, sheet.document, sheet.checksum
            FROM",
        columns: &[Kind::Id],
        after: "JOIN price_sheets AS sheet ON sheet.id = given.column1",
    },
    // Of the offers, the sheets in force at the times at which they were seen.
    Piece {
        before: "
            SELECT 'sheet', sheet.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, sheet.document,
                   sheet.checksum
            FROM",
        columns: &[Kind::Id, Kind::Time],
        after: "
            JOIN price_periods AS period
              ON period.offer_id = given.column1 AND period.starts_at <= given.column2
             AND (period.ends_at IS NULL OR period.ends_at > given.column2)
            JOIN price_sheets AS sheet ON sheet.id = period.sheet_id",
    },
    Piece {
        before: "
            SELECT 'estimate', estimate.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM",
        columns: &[Kind::Id],
        after: "JOIN estimates AS estimate ON estimate.id = given.column1",
    },
    // Of the sheets, the last listings with nothing stated.
    Piece {
        before: "
            SELECT 'listing', listing.estimate_id, NULL, listing.sheet_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                   NULL
            FROM",
        columns: &[Kind::Id],
        after: "
            JOIN estimate_listings AS listing ON listing.sequence = (
                SELECT max(newer.sequence) FROM estimate_listings AS newer
                WHERE newer.sheet_id = given.column1 AND newer.stated_assumptions = FALSE)",
    },
    // What the catalogs said of the same starts.
    Piece {
        before: "
            SELECT 'statement', NULL, statement.offer_id, statement.sheet_id, NULL, statement.catalog,
                   statement.starts_at, NULL, NULL, NULL, NULL, NULL, NULL
            FROM",
        columns: &[Kind::Id, Kind::Text, Kind::Time],
        after: "
            JOIN statements AS statement
              ON statement.offer_id = given.column1 AND statement.catalog = given.column2
             AND statement.starts_at = given.column3",
    },
    // Of the offers, what each catalog says at the times at which they were seen.
    Piece {
        before: "
            SELECT 'statement', NULL, statement.offer_id, statement.sheet_id, NULL, statement.catalog,
                   statement.starts_at, NULL, NULL, NULL, NULL, sheet.document, sheet.checksum
            FROM (SELECT offer_id, catalog, max(starts_at) AS starts_at
                  FROM",
        columns: &[Kind::Id, Kind::Time],
        after: "   JOIN statements ON offer_id = given.column1 AND starts_at <= given.column2
                  GROUP BY given.column2, offer_id, catalog) AS last
            JOIN statements AS statement
              ON statement.offer_id = last.offer_id AND statement.catalog = last.catalog
             AND statement.starts_at = last.starts_at
            JOIN price_sheets AS sheet ON sheet.id = statement.sheet_id",
    },
    // Of the offers, the prices that end after the time from which on something may change.
    Piece {
        before: "
            SELECT 'period', NULL, period.offer_id, period.sheet_id, NULL, period.catalog, period.starts_at,
                   period.ends_at, period.observed_at, period.sequence, period.part, NULL, NULL
            FROM",
        columns: &[Kind::Id, Kind::Time],
        after: "
            JOIN price_periods AS period
              ON period.offer_id = given.column1 AND (period.ends_at IS NULL OR period.ends_at > given.column2)",
    },
    // A sheet with dates has its place in time once and for all.
    Piece {
        before: "
            SELECT 'period', NULL, period.offer_id, period.sheet_id, NULL, period.catalog, period.starts_at,
                   period.ends_at, period.observed_at, period.sequence, period.part, NULL, NULL
            FROM",
        columns: &[Kind::Id],
        after: "JOIN price_periods AS period ON period.sheet_id = given.column1",
    },
    // A sheet that was withdrawn may hold again.
    Piece {
        before: "
            SELECT 'period', NULL, period.offer_id, period.sheet_id, NULL, period.catalog, period.starts_at,
                   period.ends_at, period.observed_at, period.sequence, period.part, NULL, NULL
            FROM",
        columns: &[Kind::Id],
        after: "
            JOIN price_periods AS period ON period.sheet_id = given.column1
            WHERE EXISTS (SELECT 1 FROM price_periods AS cut
                          WHERE cut.sheet_id = given.column1 AND cut.withdrawn_at IS NOT NULL)",
    },
    Piece {
        before: "
            SELECT 'withdrawal', NULL, cut.offer_id, cut.sheet_id, NULL, NULL, cut.withdrawn_at, cut.withdrawn_end, NULL,
                   cut.sequence, cut.part, NULL, NULL
            FROM",
        columns: &[Kind::Id],
        after: "
            JOIN price_periods AS cut ON cut.sheet_id = given.column1 AND cut.withdrawn_at IS NOT NULL",
    },
    Piece {
        before: "
            SELECT 'disagreement', open.id, open.offer_id, open.sheet_id, open.other_sheet_id, open.other_catalog, NULL,
                   NULL, NULL, NULL, NULL, NULL, NULL
            FROM",
        columns: &[Kind::Id],
        after: "JOIN disagreements AS open ON open.offer_id = given.column1 AND open.ended_at IS NULL",
    },
]);

/// What is known, through a connection to either database.
pub(super) async fn load(
    connection: &mut impl Connected,
    recordings: &[Recording],
) -> Result<Known, StoreError> {
    let mut known = Known::default();
    for recordings in recordings.chunks(MOST_ROWS) {
        let mut rows: Vec<KnownRow> = connection.read_rows(&LOAD, &wanted(recordings)).await?;
        // A withdrawal is noted on its period.
        rows.sort_by_key(|row| row.kind == "withdrawal");
        for row in rows {
            let id = row.sheet_id.or(row.id).unwrap_or_default();
            known.add(row)?.ok_or(StoreError::Damaged(id))?;
        }
    }
    for periods in known.periods.values_mut() {
        periods.sort_by_key(|stored| (stored.period.starts_at, stored.key));
        periods.dedup_by_key(|stored| stored.key);
    }
    Ok(known)
}

/// What is asked for, for each piece of [`LOAD`].
fn wanted(recordings: &[Recording]) -> [Rows<'_>; 11] {
    let (mut sheets, mut estimates, mut dated) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut moments, mut statements) = (BTreeSet::new(), BTreeSet::new());
    let mut offers: BTreeMap<Uuid, Timestamp> = BTreeMap::new();
    for recording in recordings {
        let (offer, statement) = (recording.offer_id(), recording.statement());
        let observed_at = recording.observed_at;
        sheets.insert(recording.sheet_id);
        estimates.insert(recording.estimate_id);
        if statement.is_dated() {
            dated.insert(recording.sheet_id);
        }
        moments.insert((offer, observed_at));
        statements.insert((offer, statement.catalog, recording.statement_start()));
        let from = statement.starts_at().min(observed_at);
        let earliest = offers.entry(offer).or_insert(from);
        *earliest = from.min(*earliest);
    }
    let ids = |ids: &BTreeSet<Uuid>| ids.iter().map(|id| vec![(*id).into()]).collect();
    let at = |(offer, at): (&Uuid, &Timestamp)| vec![(*offer).into(), DbTime::from(*at).into()];
    let moments = || {
        moments
            .iter()
            .map(|(offer, time)| at((offer, time)))
            .collect()
    };
    [
        ids(&sheets),
        moments(),
        ids(&estimates),
        ids(&sheets),
        statements
            .into_iter()
            .map(|(offer, catalog, start)| {
                vec![offer.into(), catalog.into(), DbTime::from(start).into()]
            })
            .collect(),
        moments(),
        offers.iter().map(at).collect(),
        ids(&dated),
        ids(&sheets),
        ids(&sheets),
        offers.keys().map(|offer| vec![(*offer).into()]).collect(),
    ]
}

impl Known {
    /// Adds a row. None where it lacks what such a row has.
    fn add(&mut self, mut row: KnownRow) -> Result<Option<()>, StoreError> {
        let document = row.document.take().zip(row.checksum.take());
        if let (Some(id), Some((document, checksum))) = (row.sheet_id.or(row.id), document) {
            let stored = StoredDocument::new(document, checksum);
            self.sheets.insert(id, stored.checked(id)?);
        }
        Ok(self.add_whole(row))
    }

    fn add_whole(&mut self, row: KnownRow) -> Option<()> {
        match row.kind.as_str() {
            "sheet" => {}
            "estimate" => self.estimates.push(row.id?),
            "listing" => drop(self.listings.insert(row.sheet_id?, row.id?)),
            "statement" => {
                let place = (row.offer_id?, row.catalog?, row.starts_at?.into());
                self.statements.insert(place, row.sheet_id?);
            }
            "period" => {
                self.periods
                    .entry(row.offer_id?)
                    .or_default()
                    .push(StoredPeriod {
                        key: (row.sequence?, row.part?),
                        period: Period {
                            sheet_id: row.sheet_id?,
                            catalog: row.catalog?,
                            starts_at: row.starts_at?.into(),
                            ends_at: row.ends_at.map(Into::into),
                            withdrawn: None,
                        },
                        is_new: false,
                        is_changed: false,
                        // Only read where the period ends otherwise.
                        has_ended: false,
                        observed_at: row.observed_at?.into(),
                    });
            }
            "withdrawal" => {
                let key = (row.sequence?, row.part?);
                let stored = self.periods.get_mut(&row.offer_id?)?;
                let stored = stored.iter_mut().find(|stored| stored.key == key)?;
                stored.period.withdrawn = Some(Cut {
                    at: row.starts_at?.into(),
                    ends_at: row.ends_at.map(Into::into),
                });
            }
            _ => {
                let open = OpenDisagreement {
                    id: row.id?,
                    sheet_id: row.sheet_id?,
                    other_sheet_id: row.other_id?,
                };
                self.disagreements
                    .insert((row.offer_id?, row.catalog?), open);
            }
        }
        Some(())
    }
}
