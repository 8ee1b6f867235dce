//! Writes the rows of recorded sheets: the same statements on both databases, and one round trip on
//! PostgreSQL.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use super::checksum::checksum;
use super::plan::{Known, NewDisagreement, Plan, Step, StoredPeriod};
use super::record::{EstimateRecord, Listing, Recording};
use super::rows::{self, Connected, Kind, Piece, Rows};
use super::value::Value;
use super::{DbTime, StoreError, known};
use unroof_core::catalog::model_key;
use unroof_core::sheet::{PriceSheet, RateCell};
use unroof_core::units::Decimal;

/// The tables, through a connection to either database.
pub(super) trait Tables: Connected + Sized {
    /// Prepares all statements of a recording before the write lock is taken.
    async fn prepare_to_record(&mut self) -> Result<(), StoreError> {
        known::prepare(self).await?;
        self.prepare_writing(&WRITE).await
    }

    /// The stored offers, sheets and estimates that matter to some recordings.
    async fn load_known(&mut self, recordings: &[Recording]) -> Result<Known, StoreError> {
        known::load(self, recordings).await
    }

    /// Executes a plan.
    async fn write(&mut self, recordings: &[Recording], plan: &Plan) -> Result<(), StoreError> {
        self.write_rows(&WRITE, &Writing::new(recordings, plan).rows())
            .await
    }
}

impl<T: Connected> Tables for T {}

/// The names under which an estimate is listed.
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

/// A recording with its number and its writes.
struct Numbered<'a> {
    number: i64,
    recording: &'a Recording,
    step: &'a Step,
}

/// The rows that are written.
struct Writing<'a> {
    recordings: &'a [Recording],
    plan: &'a Plan,
    numbered: Vec<Numbered<'a>>,
    /// New documents of sheets with added sources.
    documents: HashMap<Uuid, &'a str>,
}

impl<'a> Writing<'a> {
    fn new(recordings: &'a [Recording], plan: &'a Plan) -> Self {
        let steps = recordings.iter().zip(&plan.steps).enumerate();
        let numbered: Vec<Numbered<'a>> = steps
            .map(|(index, (recording, step))| Numbered {
                number: plan.number(index),
                recording,
                step,
            })
            .collect();
        let documents = numbered.iter().filter_map(|row| {
            let document = row.step.new_document.as_deref()?;
            Some((row.recording.sheet_id, document))
        });
        Self {
            recordings,
            plan,
            documents: documents.collect(),
            numbered,
        }
    }

    /// Rows for each piece of [`WRITE`].
    fn rows(&self) -> [Rows<'a>; 11] {
        [
            self.sheets(),
            self.documents(),
            self.estimates(),
            self.estimate_sheets(),
            self.listings(),
            self.statements(),
            self.ended_periods(),
            self.new_periods(),
            self.ended_disagreements(),
            self.new_disagreements(),
            self.changes(),
        ]
    }

    fn with(&self, is_wanted: fn(&Step) -> bool) -> impl Iterator<Item = &Numbered<'a>> {
        self.numbered.iter().filter(move |row| is_wanted(row.step))
    }

    fn sheets(&self) -> Rows<'a> {
        let row = |row: &Numbered<'a>| {
            let sheet = &row.recording.sheet;
            let base = sheet.base_rate();
            let price =
                |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
            let document = self.documents.get(&row.recording.sheet_id).map_or_else(
                || serde_json::to_string(sheet).expect("a sheet of texts and numbers serialises"),
                |document| (*document).to_owned(),
            );
            vec![
                row.recording.sheet_id.into(),
                row.number.into(),
                row.recording.offer_id().into(),
                model_key(&sheet.model).into(),
                (&sheet.provider).into(),
                (&sheet.model).into(),
                row.recording.canonical_model.as_deref().into(),
                (&sheet.region).into(),
                (&sheet.currency).into(),
                sheet.valid_from.map(DbTime::from).into(),
                sheet.valid_to.map(DbTime::from).into(),
                DbTime::from(row.recording.observed_at).into(),
                price(|rate| rate.input.as_ref()).into(),
                price(|rate| rate.output.as_ref()).into(),
                price(|rate| rate.cache_read.as_ref()).into(),
                checksum(&document).into(),
                document.into(),
            ]
        };
        self.with(|step| step.inserts_sheet).map(row).collect()
    }

    fn documents(&self) -> Rows<'a> {
        let new: BTreeSet<Uuid> = self
            .with(|step| step.inserts_sheet)
            .map(|row| row.recording.sheet_id)
            .collect();
        let known = self.documents.iter().filter(|(id, _)| !new.contains(id));
        known
            .map(|(id, document)| vec![(*id).into(), (*document).into(), checksum(document).into()])
            .collect()
    }

    fn new_estimates(&self) -> impl Iterator<Item = (i64, &'a EstimateRecord)> {
        self.with(|step| step.inserts_estimate)
            .filter_map(|row| Some((row.number, row.recording.estimate.as_ref()?)))
    }

    fn estimates(&self) -> Rows<'a> {
        let row = |(number, estimate): (i64, &'a EstimateRecord)| {
            vec![
                estimate.id.into(),
                number.into(),
                estimate.engine_version.into(),
                estimate.readings_defined.into(),
                estimate.conflicts.into(),
                (&estimate.numbers).into(),
                checksum(&estimate.document).into(),
                (&estimate.document).into(),
            ]
        };
        self.new_estimates().map(row).collect()
    }

    fn estimate_sheets(&self) -> Rows<'a> {
        let mut drawn = BTreeSet::new();
        for (_, estimate) in self.new_estimates() {
            let of_it = |recording: &&Recording| recording.is_drawn_from(estimate.id);
            let sheets = self.recordings.iter().filter(of_it);
            drawn.extend(sheets.map(|recording| (estimate.id, recording.sheet_id)));
        }
        let row = |(estimate, sheet): (Uuid, Uuid)| vec![estimate.into(), sheet.into()];
        drawn.into_iter().map(row).collect()
    }

    fn listings(&self) -> Rows<'a> {
        let row = |row: &Numbered<'a>| {
            let listed = Row::of(row.recording);
            vec![
                row.number.into(),
                row.recording.estimate_id.into(),
                listed.offer_id.into(),
                listed.sheet_id.into(),
                listed.duplicate_of.into(),
                listed.provider.into(),
                listed.model.into(),
                listed.canonical_model.into(),
                listed.region.into(),
                (&row.recording.sheet.currency).into(),
                listed.valid_from.into(),
                listed.valid_to.into(),
                DbTime::from(row.recording.observed_at).into(),
                listed.is_stated.into(),
            ]
        };
        self.with(|step| step.inserts_listing).map(row).collect()
    }

    /// One row per key: of two sheets that one catalog states for one offer and start, the last counts.
    fn statements(&self) -> Rows<'a> {
        let mut last: BTreeMap<(Uuid, &str, DbTime), &'a Recording> = BTreeMap::new();
        for row in &self.numbered {
            let recording = row.recording;
            if let Some(start) = row.step.statement {
                last.insert(
                    (recording.offer_id(), recording.catalog(), start.into()),
                    recording,
                );
            }
        }
        let row =
            |((offer, catalog, start), recording): ((Uuid, &'static str, DbTime), &Recording)| {
                vec![
                    catalog.into(),
                    offer.into(),
                    start.into(),
                    recording.sheet_id.into(),
                    DbTime::from(recording.observed_at).into(),
                ]
            };
        last.into_iter().map(row).collect()
    }

    fn ended_periods(&self) -> Rows<'a> {
        let ended = self
            .plan
            .periods
            .iter()
            .filter(|(_, stored)| !stored.is_new);
        let row = |(_, stored): &(Uuid, StoredPeriod)| {
            vec![
                stored.key.0.into(),
                stored.key.1.into(),
                stored.period.ends_at.map(DbTime::from).into(),
                stored.has_ended.into(),
            ]
        };
        ended.map(row).collect()
    }

    fn new_periods(&self) -> Rows<'a> {
        let new = self.plan.periods.iter().filter(|(_, stored)| stored.is_new);
        let row = |(offer, stored): &'a (Uuid, StoredPeriod)| {
            let sheet = &self.recordings[self.plan.index(stored.key.0)].sheet;
            vec![
                stored.key.0.into(),
                stored.key.1.into(),
                (*offer).into(),
                (&sheet.provider).into(),
                (&sheet.model).into(),
                (&sheet.region).into(),
                stored.period.sheet_id.into(),
                (&stored.period.catalog).into(),
                DbTime::from(stored.period.starts_at).into(),
                stored.period.ends_at.map(DbTime::from).into(),
                DbTime::from(stored.observed_at).into(),
                (stored.period.starts_at <= stored.observed_at).into(),
                stored.has_ended.into(),
            ]
        };
        new.map(row).collect()
    }

    fn ended_disagreements(&self) -> Rows<'a> {
        let row = |(id, index): &(Uuid, usize)| {
            let now = DbTime::from(self.recordings[*index].observed_at);
            vec![(*id).into(), now.into()]
        };
        self.plan.ended_disagreements.iter().map(row).collect()
    }

    fn new_disagreements(&self) -> Rows<'a> {
        let row = |disagreement: &'a NewDisagreement| {
            let recording = &self.recordings[disagreement.recording];
            vec![
                disagreement.id.into(),
                disagreement.offer_id.into(),
                (&recording.sheet.provider).into(),
                (&recording.sheet.model).into(),
                (&recording.sheet.region).into(),
                (&disagreement.catalog).into(),
                disagreement.sheet_id.into(),
                (&disagreement.other_catalog).into(),
                disagreement.other_sheet_id.into(),
                (&disagreement.differences).into(),
                disagreement.largest_factor.into(),
                DbTime::from(recording.observed_at).into(),
            ]
        };
        self.plan.new_disagreements.iter().map(row).collect()
    }

    fn changes(&self) -> Rows<'a> {
        let row = |row: &Numbered<'a>| {
            let listed = Row::of(row.recording);
            let change = row.step.change.as_ref()?;
            Some(vec![
                row.number.into(),
                change.kind.name().into(),
                DbTime::from(row.recording.observed_at).into(),
                listed.provider.into(),
                listed.model.into(),
                listed.canonical_model.into(),
                listed.region.into(),
                listed.sheet_id.into(),
                row.recording.estimate_id.into(),
                Value::from(&change.summary),
            ])
        };
        self.numbered.iter().filter_map(row).collect()
    }
}

static WRITE: rows::Writing = {
    use Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
    rows::Writing::new(&[
        Piece {
            before: "
                INSERT INTO price_sheets (id, sequence, offer_id, model_key, provider, model, canonical_model, region,
                                          currency, valid_from, valid_to, observed_at, input_price, output_price,
                                          cache_read_price, checksum, document)
                SELECT * FROM",
            columns: &[
                Id, Number, Id, Text, Text, Text, Text, Text, Text, Time, Time, Time, Real, Real, Real, Bytes, Text,
            ],
            after: "",
        },
        Piece {
            before: "UPDATE price_sheets SET document = given.column2, checksum = given.column3 FROM",
            columns: &[Id, Text, Bytes],
            after: "WHERE price_sheets.id = given.column1",
        },
        Piece {
            before: "
                INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values,
                                       checksum, document)
                SELECT * FROM",
            columns: &[Id, Number, Text, Number, Number, Text, Bytes, Text],
            after: "",
        },
        Piece {
            before: "INSERT INTO estimate_sheets (estimate_id, sheet_id) SELECT * FROM",
            columns: &[Id, Id],
            after: "",
        },
        Piece {
            before: "
                INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
                                               canonical_model, region, currency, valid_from, valid_to, observed_at,
                                               stated_assumptions)
                SELECT * FROM",
            columns: &[
                Number, Id, Id, Id, Id, Text, Text, Text, Text, Text, Time, Time, Time, Flag,
            ],
            after: "",
        },
        Piece {
            before: "INSERT INTO statements (catalog, offer_id, starts_at, sheet_id, observed_at) SELECT * FROM",
            columns: &[Text, Id, Time, Id, Time],
            after: "
                WHERE TRUE
                ON CONFLICT (offer_id, catalog, starts_at)
                DO UPDATE SET sheet_id = excluded.sheet_id, observed_at = excluded.observed_at",
        },
        Piece {
            before: "UPDATE price_periods SET ends_at = given.column3, has_ended = given.column4 FROM",
            columns: &[Number, Number, Time, Flag],
            after: "WHERE sequence = given.column1 AND part = given.column2",
        },
        Piece {
            before: "
                INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog,
                                           starts_at, ends_at, observed_at, has_begun, has_ended)
                SELECT * FROM",
            columns: &[
                Number, Number, Id, Text, Text, Text, Id, Text, Time, Time, Time, Flag, Flag,
            ],
            after: "",
        },
        Piece {
            before: "UPDATE disagreements SET ended_at = given.column2 FROM",
            columns: &[Id, Time],
            after: "WHERE disagreements.id = given.column1",
        },
        Piece {
            before: "
                INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog,
                                           other_sheet_id, differences, largest_factor, observed_at)
                SELECT * FROM",
            columns: &[
                Id, Id, Text, Text, Text, Text, Id, Text, Id, Text, Real, Time,
            ],
            after: "",
        },
        Piece {
            before: "
                INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                                     estimate_id, summary)
                SELECT * FROM",
            columns: &[Number, Text, Time, Text, Text, Text, Text, Id, Id, Text],
            after: "",
        },
    ])
};
