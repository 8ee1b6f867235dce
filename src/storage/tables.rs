//! Writes the rows of recorded sheets: the same statements on both databases, and one round trip on
//! PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::checksum::checksum;
use super::plan::{Plan, SheetStep, Step, StoredPeriod};
use super::recording::{EstimateRecord, Listing, Recording};
use super::rows::{Connected, Piece, Rows, Statement};
use super::value::Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
use super::value::Value;
use super::{DbTime, StoreError, known};
use unroof_core::catalog::model_key;
use unroof_core::sheet::{PriceSheet, RateCell};
use unroof_core::units::Decimal;

/// Prepares all statements of a recording before the write lock is taken.
pub(super) async fn prepare(connection: &mut impl Connected) -> Result<(), StoreError> {
    known::prepare(connection).await?;
    connection.prepare_rows(&WRITE).await
}

/// Executes a plan.
pub(super) async fn write(
    connection: &mut impl Connected,
    recordings: &[Recording],
    plan: &Plan,
) -> Result<(), StoreError> {
    let rows = Writing { recordings, plan }.rows();
    connection.write_rows(&WRITE, &rows).await
}

/// The names under which an estimate is listed.
struct Place<'a> {
    provider: &'a str,
    model: &'a str,
    region: &'a str,
    /// The recording of the sheet, unless there are several.
    of: Option<&'a Recording>,
}

/// The provider that estimates from several hosts' sheets are listed under.
const POOLED: &str = "pooled";

impl<'a> Place<'a> {
    fn of(recording: &'a Recording) -> Self {
        let sheet = &recording.sheet;
        if let Listing::Pooled { .. } = recording.listing {
            return Self {
                provider: POOLED,
                model: recording.canonical_model.as_ref().unwrap_or(&sheet.model),
                region: PriceSheet::DEFAULT_REGION,
                of: None,
            };
        }
        Self {
            provider: &sheet.provider,
            model: &sheet.model,
            region: &sheet.region,
            of: Some(recording),
        }
    }
}

/// The rows that are written.
struct Writing<'a> {
    recordings: &'a [Recording],
    plan: &'a Plan,
}

impl<'a> Writing<'a> {
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
            self.plan.ended_disagreements.clone(),
            self.plan.new_disagreements.clone(),
            self.changes(),
        ]
    }

    /// Recordings with the steps that do something.
    fn with(&self, does: fn(&Step) -> bool) -> impl Iterator<Item = (&'a Recording, &'a Step)> {
        let steps = self.recordings.iter().zip(&self.plan.steps);
        steps.filter(move |(_, step)| does(step))
    }

    fn sheets(&self) -> Rows<'a> {
        let row = |(recording, step): (&'a Recording, &Step)| {
            let sheet = &recording.sheet;
            let base = sheet.base_rate();
            let price =
                |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
            let document = &self.plan.sheets[&recording.sheet_id];
            vec![
                recording.sheet_id.into(),
                step.number.into(),
                recording.offer_id().into(),
                model_key(&sheet.model).into(),
                (&sheet.provider).into(),
                (&sheet.model).into(),
                recording.canonical_model.as_deref().into(),
                (&sheet.region).into(),
                (&sheet.currency).into(),
                sheet.valid_from.into(),
                sheet.valid_to.into(),
                recording.observed_at.into(),
                price(|rate| rate.input.as_ref()).into(),
                price(|rate| rate.output.as_ref()).into(),
                price(|rate| rate.cache_read.as_ref()).into(),
                checksum(document).into(),
                document.into(),
            ]
        };
        self.with(|step| step.sheet == SheetStep::Insert)
            .map(row)
            .collect()
    }

    /// Documents of known sheets that have other sources now, as they are in the end.
    fn documents(&self) -> Rows<'a> {
        let ids = |does| self.with(does).map(|(recording, _)| recording.sheet_id);
        let new: BTreeSet<Uuid> = ids(|step| step.sheet == SheetStep::Insert).collect();
        let changed: BTreeSet<Uuid> = ids(|step| step.sheet == SheetStep::AddSources).collect();
        let row = |id: &Uuid| {
            let document = &self.plan.sheets[id];
            vec![(*id).into(), document.into(), checksum(document).into()]
        };
        changed.difference(&new).map(row).collect()
    }

    fn new_estimates(&self) -> impl Iterator<Item = (i64, &'a EstimateRecord)> {
        self.with(|step| step.inserts_estimate)
            .filter_map(|(recording, step)| Some((step.number, recording.estimate.as_ref()?)))
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
        let row = |(recording, step): (&'a Recording, &Step)| {
            let place = Place::of(recording);
            vec![
                step.number.into(),
                recording.estimate_id.into(),
                place.of.map(Recording::offer_id).into(),
                place.of.map(|of| of.sheet_id).into(),
                recording.listing.duplicate_of().into(),
                place.provider.into(),
                place.model.into(),
                recording.canonical_model.as_deref().into(),
                place.region.into(),
                (&recording.sheet.currency).into(),
                place.of.and_then(|of| of.sheet.valid_from).into(),
                place.of.and_then(|of| of.sheet.valid_to).into(),
                recording.observed_at.into(),
                recording.listing.is_stated().into(),
            ]
        };
        self.with(|step| step.inserts_listing).map(row).collect()
    }

    /// One row per key: of two sheets that one catalog states for one offer and start, the last counts.
    fn statements(&self) -> Rows<'a> {
        let mut last = BTreeMap::new();
        for (recording, step) in self.with(|step| step.statement.is_some()) {
            let start = step.statement.map(DbTime::from);
            let (offer, catalog) = (recording.offer_id(), recording.catalog());
            let row = vec![
                catalog.into(),
                offer.into(),
                start.into(),
                recording.sheet_id.into(),
                recording.observed_at.into(),
            ];
            last.insert((offer, catalog, start), row);
        }
        last.into_values().collect()
    }

    fn ended_periods(&self) -> Rows<'a> {
        let periods = self.plan.periods.iter();
        let ended = periods.filter(|(_, stored)| !stored.is_new);
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

    fn changes(&self) -> Rows<'a> {
        let row = |(recording, step): (&'a Recording, &'a Step)| {
            let place = Place::of(recording);
            let change = step.change.as_ref()?;
            Some(vec![
                step.number.into(),
                change.kind.name().into(),
                recording.observed_at.into(),
                place.provider.into(),
                place.model.into(),
                recording.canonical_model.as_deref().into(),
                place.region.into(),
                place.of.map(|of| of.sheet_id).into(),
                recording.estimate_id.into(),
                Value::from(&change.summary),
            ])
        };
        let changed = self.with(|step| step.change.is_some());
        changed.filter_map(row).collect()
    }
}

static WRITE: Statement = Statement::new(&[
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
]);
