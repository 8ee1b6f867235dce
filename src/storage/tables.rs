//! Writes what recording sheets adds to the tables: the same statements on both databases, and one round trip on
//! PostgreSQL.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use uuid::Uuid;

use super::checksum::checksum;
use super::plan::{NewDisagreement, Plan, Step, StoredPeriod};
use super::recording::{EstimateRecord, Listing, Recording};
use super::rows::{Connected, Piece, Rows, Statement};
use super::value::{Kind, Value};
use super::{DbTime, StoreError, known};
use unroof_core::catalog::model_key;
use unroof_core::sheet::{PriceSheet, RateCell};
use unroof_core::units::Decimal;

/// Prepares all that recording takes, so that none of it is prepared while others wait to write.
pub(super) async fn prepare(connection: &mut impl Connected) -> Result<(), StoreError> {
    known::prepare(connection).await?;
    connection.prepare_rows(&WRITE).await
}

/// Writes what was planned.
pub(super) async fn write(
    connection: &mut impl Connected,
    recordings: &[Recording],
    plan: &Plan,
) -> Result<(), StoreError> {
    let rows = Writing::new(recordings, plan).rows();
    connection.write_rows(&WRITE, &rows).await
}

/// The names under which an estimate is listed.
struct Row<'a> {
    provider: &'a str,
    model: &'a str,
    canonical_model: Option<&'a str>,
    region: &'a str,
    offer_id: Option<Uuid>,
    sheet_id: Option<Uuid>,
    duplicate_of: Option<Uuid>,
    valid_from: Option<Timestamp>,
    valid_to: Option<Timestamp>,
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
            valid_from: sheet.valid_from,
            valid_to: sheet.valid_to,
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
    step: &'a Step,
}

/// The rows that are written.
struct Writing<'a> {
    recordings: &'a [Recording],
    plan: &'a Plan,
    numbered: Vec<Numbered<'a>>,
    /// Documents of sheets that have other sources now, as they are in the end.
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
                sheet.valid_from.into(),
                sheet.valid_to.into(),
                row.recording.observed_at.into(),
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
                row.recording.observed_at.into(),
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
                    recording.observed_at.into(),
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
                stored.period.ends_at.into(),
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
                stored.period.starts_at.into(),
                stored.period.ends_at.into(),
                stored.observed_at.into(),
                (stored.period.starts_at <= stored.observed_at).into(),
                stored.has_ended.into(),
            ]
        };
        new.map(row).collect()
    }

    fn ended_disagreements(&self) -> Rows<'a> {
        let row = |(id, index): &(Uuid, usize)| {
            let now = self.recordings[*index].observed_at;
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
                recording.observed_at.into(),
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
                row.recording.observed_at.into(),
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

static WRITE: Statement = {
    use Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
    Statement::new(&[
        Piece {
            sql: "
                INSERT INTO price_sheets (id, sequence, offer_id, model_key, provider, model, canonical_model, region,
                                          currency, valid_from, valid_to, observed_at, input_price, output_price,
                                          cache_read_price, checksum, document)
                SELECT * FROM given",
            columns: &[
                Id, Number, Id, Text, Text, Text, Text, Text, Text, Time, Time, Time, Real, Real, Real, Bytes, Text,
            ],
        },
        Piece {
            sql: "
                UPDATE price_sheets SET document = given.column2, checksum = given.column3 FROM given
                WHERE price_sheets.id = given.column1",
            columns: &[Id, Text, Bytes],
        },
        Piece {
            sql: "
                INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values,
                                       checksum, document)
                SELECT * FROM given",
            columns: &[Id, Number, Text, Number, Number, Text, Bytes, Text],
        },
        Piece {
            sql: "INSERT INTO estimate_sheets (estimate_id, sheet_id) SELECT * FROM given",
            columns: &[Id, Id],
        },
        Piece {
            sql: "
                INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
                                               canonical_model, region, currency, valid_from, valid_to, observed_at,
                                               stated_assumptions)
                SELECT * FROM given",
            columns: &[
                Number, Id, Id, Id, Id, Text, Text, Text, Text, Text, Time, Time, Time, Flag,
            ],
        },
        Piece {
            sql: "
                INSERT INTO statements (catalog, offer_id, starts_at, sheet_id, observed_at) SELECT * FROM given
                WHERE TRUE
                ON CONFLICT (offer_id, catalog, starts_at)
                DO UPDATE SET sheet_id = excluded.sheet_id, observed_at = excluded.observed_at",
            columns: &[Text, Id, Time, Id, Time],
        },
        Piece {
            sql: "
                UPDATE price_periods SET ends_at = given.column3, has_ended = given.column4 FROM given
                WHERE sequence = given.column1 AND part = given.column2",
            columns: &[Number, Number, Time, Flag],
        },
        Piece {
            sql: "
                INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog,
                                           starts_at, ends_at, observed_at, has_begun, has_ended)
                SELECT * FROM given",
            columns: &[
                Number, Number, Id, Text, Text, Text, Id, Text, Time, Time, Time, Flag, Flag,
            ],
        },
        Piece {
            sql: "UPDATE disagreements SET ended_at = given.column2 FROM given WHERE disagreements.id = given.column1",
            columns: &[Id, Time],
        },
        Piece {
            sql: "
                INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog,
                                           other_sheet_id, differences, largest_factor, observed_at)
                SELECT * FROM given",
            columns: &[
                Id, Id, Text, Text, Text, Text, Id, Text, Id, Text, Real, Time,
            ],
        },
        Piece {
            sql: "
                INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                                     estimate_id, summary)
                SELECT * FROM given",
            columns: &[Number, Text, Time, Text, Text, Text, Text, Id, Id, Text],
        },
    ])
};
