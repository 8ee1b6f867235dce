//! Reads and writes what recording sheets takes, a batch at a time: the same statements on both databases.

use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder, Sqlite, SqliteConnection};
use uuid::Uuid;

use super::plan::{Known, OpenDisagreement, Plan, StoredPeriod};
use super::record::{EstimateRecord, Listing, Recording};
use super::{DbTime, StoreError};
use crate::sheet::timeline::{Cut, Period};
use crate::sheet::{PriceSheet, RateCell, model_key};
use crate::units::Decimal;

/// The tables, through a connection to either database.
pub(super) trait Tables {
    /// What is known about the offers, sheets and estimates of some recordings.
    async fn load_known(&mut self, recordings: &[Recording]) -> Result<Known, StoreError>;

    /// Writes what was planned.
    async fn write(&mut self, recordings: &[Recording], plan: &Plan) -> Result<(), StoreError>;
}

/// Rows per statement: each binds up to sixteen values, and SQLite takes 32,766 of them.
const ROWS: usize = 1_000;

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
}

// One query, since every query costs a round trip while others wait to write. Each part takes a list of ids.
const SHEETS: &str = "
    SELECT 'sheet' AS kind, id, CAST(NULL AS uuid) AS offer_id, CAST(NULL AS uuid) AS sheet_id,
           CAST(NULL AS uuid) AS other_id, CAST(NULL AS text) AS catalog, valid_from AS starts_at, valid_to AS ends_at,
           observed_at, sequence, CAST(NULL AS bigint) AS part, document
    FROM price_sheets WHERE id IN (";
const ESTIMATES: &str = ")
    UNION ALL
    SELECT 'estimate', id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM estimates WHERE id IN (";
const LISTINGS: &str = ")
    UNION ALL
    SELECT 'listing', estimate_id, NULL, sheet_id, NULL, NULL, NULL, NULL, NULL, sequence, NULL, NULL
    FROM estimate_listings AS listing
    WHERE stated_assumptions = FALSE
      AND sequence = (SELECT max(newer.sequence) FROM estimate_listings AS newer
                      WHERE newer.sheet_id = listing.sheet_id AND newer.stated_assumptions = FALSE)
      AND sheet_id IN (";
const STATEMENTS: &str = ")
    UNION ALL
    SELECT 'statement', NULL, statements.offer_id, statements.sheet_id, NULL, statements.catalog, statements.starts_at,
           NULL, NULL, NULL, NULL, price_sheets.document
    FROM statements JOIN price_sheets ON price_sheets.id = statements.sheet_id
    WHERE statements.offer_id IN (";
const PERIODS: &str = ")
    UNION ALL
    SELECT 'period', NULL, price_periods.offer_id, price_periods.sheet_id, NULL, price_periods.catalog,
           price_periods.starts_at, price_periods.ends_at, price_periods.observed_at, price_periods.sequence,
           price_periods.part, price_sheets.document
    FROM price_periods JOIN price_sheets ON price_sheets.id = price_periods.sheet_id
    WHERE price_periods.offer_id IN (";
const WITHDRAWALS: &str = ")
    UNION ALL
    SELECT 'withdrawal', NULL, offer_id, sheet_id, NULL, NULL, withdrawn_at, withdrawn_end, NULL, sequence, part, NULL
    FROM price_periods WHERE withdrawn_at IS NOT NULL AND offer_id IN (";
const DISAGREEMENTS: &str = ")
    UNION ALL
    SELECT 'disagreement', id, offer_id, sheet_id, other_sheet_id, other_catalog, NULL, NULL, NULL, NULL, NULL, NULL
    FROM disagreements WHERE ended_at IS NULL AND offer_id IN (";

impl Known {
    fn add(&mut self, row: KnownRow) -> Option<()> {
        match row.kind.as_str() {
            "sheet" => drop(self.sheets.insert(row.id?, row.document?)),
            "estimate" => self.estimates.push(row.id?),
            "listing" => drop(self.listings.insert(row.sheet_id?, row.id?)),
            "statement" => {
                let place = (row.offer_id?, row.catalog?, row.starts_at?.into());
                self.statements.insert(place, row.sheet_id?);
                self.sheets.insert(row.sheet_id?, row.document?);
            }
            "period" => {
                self.sheets.insert(row.sheet_id?, row.document?);
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

/// What an estimate is listed under.
struct Row<'a> {
    provider: &'a str,
    model: &'a str,
    canonical_model: Option<&'a str>,
    region: &'a str,
    offer_id: Option<Uuid>,
    sheet_id: Option<Uuid>,
    duplicate_of: Option<Uuid>,
    valid_from: Option<DbTime>,
    valid_to: Option<DbTime>,
    is_stated: bool,
}

/// The provider that estimates from several hosts' sheets are listed under.
const POOLED: &str = "pooled";

impl<'a> Row<'a> {
    fn of(recording: &'a Recording) -> Self {
        let sheet = &recording.sheet;
        let own = Self {
            provider: &sheet.provider,
            model: &sheet.model,
            canonical_model: recording.canonical_model.as_deref(),
            region: &sheet.region,
            offer_id: Some(recording.offer_id()),
            sheet_id: Some(recording.sheet_id),
            duplicate_of: None,
            valid_from: sheet.valid_from.map(DbTime::from),
            valid_to: sheet.valid_to.map(DbTime::from),
            is_stated: false,
        };
        match recording.listing {
            Listing::Offer { duplicate_of } => Self {
                duplicate_of,
                ..own
            },
            Listing::Stated => Self {
                is_stated: true,
                ..own
            },
            Listing::Pooled { is_stated } => Self {
                provider: POOLED,
                model: own.canonical_model.unwrap_or(own.model),
                region: PriceSheet::DEFAULT_REGION,
                offer_id: None,
                sheet_id: None,
                valid_from: None,
                valid_to: None,
                is_stated,
                ..own
            },
            Listing::Unlisted => own,
        }
    }
}

/// A recording with its number and what it adds.
struct Numbered<'a> {
    number: i64,
    recording: &'a Recording,
    step: &'a super::plan::Step,
}

macro_rules! tables {
    ($connection:ty, $database:ty) => {
        impl Tables for $connection {
            async fn load_known(&mut self, recordings: &[Recording]) -> Result<Known, StoreError> {
                let mut known = Known::default();
                for recordings in recordings.chunks(ROWS) {
                    let offers = || recordings.iter().map(Recording::offer_id);
                    let sheets = || recordings.iter().map(|recording| recording.sheet_id);
                    let estimates = || recordings.iter().map(|recording| recording.estimate_id);
                    let parts: [(&str, Vec<Uuid>); 7] = [
                        (SHEETS, sheets().collect()),
                        (ESTIMATES, estimates().collect()),
                        (LISTINGS, sheets().collect()),
                        (STATEMENTS, offers().collect()),
                        (PERIODS, offers().collect()),
                        (WITHDRAWALS, offers().collect()),
                        (DISAGREEMENTS, offers().collect()),
                    ];
                    let mut query = QueryBuilder::<$database>::new("");
                    for (part, ids) in parts {
                        query.push(part);
                        let mut list = query.separated(", ");
                        for id in ids {
                            list.push_bind(id);
                        }
                    }
                    query.push(")");
                    let mut rows: Vec<KnownRow> = query
                        .build_query_as()
                        .persistent(recordings.len() == 1)
                        .fetch_all(&mut *self)
                        .await?;
                    // A withdrawal is noted on its period.
                    rows.sort_by_key(|row| row.kind == "withdrawal");
                    for row in rows {
                        let id = row.sheet_id.or(row.id).unwrap_or_default();
                        known.add(row).ok_or(StoreError::Damaged(id))?;
                    }
                }
                for periods in known.periods.values_mut() {
                    periods.sort_by_key(|stored| (stored.period.starts_at, stored.key));
                }
                Ok(known)
            }

            async fn write(&mut self, recordings: &[Recording], plan: &Plan) -> Result<(), StoreError> {
                let numbered: Vec<Numbered<'_>> = recordings
                    .iter()
                    .zip(&plan.steps)
                    .enumerate()
                    .map(|(index, (recording, step))| Numbered { number: plan.number(index), recording, step })
                    .collect();
                // SQLite takes so many values in a statement.
                macro_rules! insert {
                    ($into:expr, $rows:expr, $then:expr, |$list:ident, $row:pat_param| $bind:expr) => {
                        for rows in $rows.chunks(ROWS) {
                            let mut query = QueryBuilder::<$database>::new($into);
                            query.push_values(rows, |mut $list, $row| $bind);
                            query.push($then);
                            query.build().persistent(rows.len() == 1).execute(&mut *self).await?;
                        }
                    };
                }
                let sheets: Vec<_> = numbered.iter().filter(|row| row.step.inserts_sheet).collect();
                insert!(INSERT_SHEETS, sheets, "", |list, row| {
                    let sheet = &row.recording.sheet;
                    let base = sheet.base_rate();
                    let price = |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
                    list.push_bind(row.recording.sheet_id)
                        .push_bind(row.number)
                        .push_bind(row.recording.offer_id())
                        .push_bind(model_key(&sheet.model))
                        .push_bind(&sheet.provider)
                        .push_bind(&sheet.model)
                        .push_bind(&row.recording.canonical_model)
                        .push_bind(&sheet.region)
                        .push_bind(&sheet.currency)
                        .push_bind(sheet.valid_from.map(DbTime::from))
                        .push_bind(sheet.valid_to.map(DbTime::from))
                        .push_bind(DbTime::from(row.recording.observed_at))
                        .push_bind(price(|rate| rate.input.as_ref()))
                        .push_bind(price(|rate| rate.output.as_ref()))
                        .push_bind(price(|rate| rate.cache_read.as_ref()))
                        .push_bind(serde_json::to_string(sheet).expect("a sheet of texts and numbers serialises"));
                });
                for row in &numbered {
                    if let Some(document) = &row.step.new_document {
                        sqlx::query(UPDATE_SHEET_DOCUMENT)
                            .bind(row.recording.sheet_id)
                            .bind(document)
                            .execute(&mut *self)
                            .await?;
                    }
                }
                let estimates: Vec<(i64, &EstimateRecord)> = numbered
                    .iter()
                    .filter(|row| row.step.inserts_estimate)
                    .filter_map(|row| Some((row.number, row.recording.estimate.as_ref()?)))
                    .collect();
                insert!(INSERT_ESTIMATES, estimates, "", |list, (number, estimate)| {
                    list.push_bind(estimate.id)
                        .push_bind(*number)
                        .push_bind(estimate.engine_version)
                        .push_bind(estimate.readings_defined)
                        .push_bind(estimate.conflicts)
                        .push_bind(&estimate.numbers)
                        .push_bind(&estimate.document);
                });
                // The sheets of a pool come before the one that carries its estimate.
                let drawn: Vec<(Uuid, Uuid)> = estimates
                    .iter()
                    .flat_map(|(_, estimate)| {
                        let of_it = move |recording: &&Recording| recording.is_drawn_from(estimate.id);
                        recordings.iter().filter(of_it).map(|recording| (estimate.id, recording.sheet_id))
                    })
                    .collect();
                insert!(INSERT_ESTIMATE_SHEETS, drawn, " ON CONFLICT DO NOTHING", |list, (estimate, sheet)| {
                    list.push_bind(*estimate).push_bind(*sheet);
                });
                let listings: Vec<_> = numbered.iter().filter(|row| row.step.inserts_listing).collect();
                insert!(INSERT_LISTINGS, listings, "", |list, row| {
                    let listed = Row::of(row.recording);
                    list.push_bind(row.number)
                        .push_bind(row.recording.estimate_id)
                        .push_bind(listed.offer_id)
                        .push_bind(listed.sheet_id)
                        .push_bind(listed.duplicate_of)
                        .push_bind(listed.provider)
                        .push_bind(listed.model)
                        .push_bind(listed.canonical_model)
                        .push_bind(listed.region)
                        .push_bind(&row.recording.sheet.currency)
                        .push_bind(listed.valid_from)
                        .push_bind(listed.valid_to)
                        .push_bind(DbTime::from(row.recording.observed_at))
                        .push_bind(listed.is_stated);
                });
                // One row per key: of two sheets that one catalog states for one offer and start, the last counts.
                let statements: std::collections::BTreeMap<_, _> = numbered
                    .iter()
                    .filter_map(|row| {
                        let recording = row.recording;
                        Some(((recording.offer_id(), recording.catalog(), row.step.statement?), recording))
                    })
                    .collect();
                let statements: Vec<_> = statements.into_iter().collect();
                insert!(INSERT_STATEMENTS, statements, UPDATE_STATEMENT, |list, ((offer, catalog, start), recording)| {
                    list.push_bind(*catalog)
                        .push_bind(*offer)
                        .push_bind(DbTime::from(*start))
                        .push_bind(recording.sheet_id)
                        .push_bind(DbTime::from(recording.observed_at));
                });
                for (_, stored) in plan.periods.iter().filter(|(_, stored)| !stored.is_new) {
                    sqlx::query(END_PERIOD)
                        .bind(stored.key.0)
                        .bind(stored.key.1)
                        .bind(stored.period.ends_at.map(DbTime::from))
                        .bind(stored.has_ended)
                        .execute(&mut *self)
                        .await?;
                }
                let periods: Vec<_> = plan.periods.iter().filter(|(_, stored)| stored.is_new).collect();
                insert!(INSERT_PERIODS, periods, "", |list, (offer, stored)| {
                    let sheet = &recordings[plan.index(stored.key.0)].sheet;
                    list.push_bind(stored.key.0)
                        .push_bind(stored.key.1)
                        .push_bind(*offer)
                        .push_bind(&sheet.provider)
                        .push_bind(&sheet.model)
                        .push_bind(&sheet.region)
                        .push_bind(stored.period.sheet_id)
                        .push_bind(&stored.period.catalog)
                        .push_bind(DbTime::from(stored.period.starts_at))
                        .push_bind(stored.period.ends_at.map(DbTime::from))
                        .push_bind(DbTime::from(stored.observed_at))
                        .push_bind(stored.period.starts_at <= stored.observed_at)
                        .push_bind(stored.has_ended);
                });
                for id in &plan.ended_disagreements {
                    let now = recordings.last().map(|recording| DbTime::from(recording.observed_at));
                    sqlx::query(END_DISAGREEMENT).bind(id).bind(now).execute(&mut *self).await?;
                }
                insert!(INSERT_DISAGREEMENTS, plan.new_disagreements, "", |list, disagreement| {
                    let recording = &recordings[disagreement.recording];
                    list.push_bind(disagreement.id)
                        .push_bind(disagreement.offer_id)
                        .push_bind(&recording.sheet.provider)
                        .push_bind(&recording.sheet.model)
                        .push_bind(&recording.sheet.region)
                        .push_bind(&disagreement.catalog)
                        .push_bind(disagreement.sheet_id)
                        .push_bind(&disagreement.other_catalog)
                        .push_bind(disagreement.other_sheet_id)
                        .push_bind(&disagreement.differences)
                        .push_bind(disagreement.largest_factor)
                        .push_bind(DbTime::from(recording.observed_at));
                });
                let changes: Vec<_> = numbered
                    .iter()
                    .filter_map(|row| Some((row, row.step.change.as_ref()?)))
                    .collect();
                insert!(INSERT_CHANGES, changes, "", |list, (row, change)| {
                    let listed = Row::of(row.recording);
                    list.push_bind(row.number)
                        .push_bind(change.kind.name())
                        .push_bind(DbTime::from(row.recording.observed_at))
                        .push_bind(listed.provider)
                        .push_bind(listed.model)
                        .push_bind(listed.canonical_model)
                        .push_bind(listed.region)
                        .push_bind(listed.sheet_id)
                        .push_bind(row.recording.estimate_id)
                        .push_bind(&change.summary);
                });
                Ok(())
            }
        }
    };
}

tables!(PgConnection, Postgres);
tables!(SqliteConnection, Sqlite);

const INSERT_SHEETS: &str = "
    INSERT INTO price_sheets (id, sequence, offer_id, model_key, provider, model, canonical_model, region, currency,
                              valid_from, valid_to, observed_at, input_price, output_price, cache_read_price, document) ";

const UPDATE_SHEET_DOCUMENT: &str = "UPDATE price_sheets SET document = $2 WHERE id = $1";

const INSERT_ESTIMATES: &str = "
    INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, reading_numbers, document) ";

const INSERT_ESTIMATE_SHEETS: &str = "INSERT INTO estimate_sheets (estimate_id, sheet_id) ";

const INSERT_LISTINGS: &str = "
    INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
                                   canonical_model, region, currency, valid_from, valid_to, observed_at,
                                   stated_assumptions) ";

const INSERT_STATEMENTS: &str =
    "INSERT INTO statements (catalog, offer_id, starts_at, sheet_id, observed_at) ";
const UPDATE_STATEMENT: &str = "
    ON CONFLICT (offer_id, catalog, starts_at)
    DO UPDATE SET sheet_id = excluded.sheet_id, observed_at = excluded.observed_at";

const INSERT_PERIODS: &str = "
    INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog, starts_at, ends_at,
                               observed_at, has_begun, has_ended) ";
const END_PERIOD: &str =
    "UPDATE price_periods SET ends_at = $3, has_ended = $4 WHERE sequence = $1 AND part = $2";

const INSERT_DISAGREEMENTS: &str = "
    INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog, other_sheet_id,
                               differences, largest_factor, observed_at) ";
const END_DISAGREEMENT: &str = "UPDATE disagreements SET ended_at = $2 WHERE id = $1";

const INSERT_CHANGES: &str = "
    INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id,
                         summary) ";
