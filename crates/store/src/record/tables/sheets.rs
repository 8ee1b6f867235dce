//! Sheets, their estimates and the listings of these.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::planned::Writing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
use crate::connect::value::Value;
use crate::record::checksum::checksum;
use crate::record::columns::SheetColumns;
use crate::record::plan::{SheetStep, Step};
use crate::record::recording::{EstimateRecord, Recording};

impl<'a> Writing<'a> {
    /// Rows of new sheets.
    pub(super) fn sheets(&self) -> Rows<'a> {
        let row = |(recording, number): (&'a Recording, i64)| {
            let document = &self.plan.sheets[&recording.sheet_id];
            let model = recording.canonical_model.clone();
            let (price_id, cells) = (recording.facts.price_id, &recording.facts.cells);
            let columns = SheetColumns::known(&recording.sheet, model, price_id, cells);
            let own = vec![
                recording.sheet_id.into(),
                number.into(),
                recording.observed_at.into(),
                checksum(document).into(),
                document.into(),
                self.plan.misfits.contains(&recording.sheet_id).into(),
                (!self.plan.questions.contains(&recording.sheet_id)).into(),
            ];
            own.into_iter().chain(columns.values()).collect()
        };
        self.with(|step| step.sheet == SheetStep::Insert)
            .map(row)
            .collect()
    }

    /// Documents of known sheets that have other sources or another fit now, as they are in the end.
    pub(super) fn documents(&self) -> Rows<'a> {
        let ids = |does| self.with(does).map(|(recording, _)| recording.sheet_id);
        let new: BTreeSet<Uuid> = ids(|step| step.sheet == SheetStep::Insert).collect();
        let is_changed =
            |step: &Step| step.sheet == SheetStep::AddSources || step.reveals || step.is_other_fit;
        let changed: BTreeSet<Uuid> = ids(is_changed).collect();
        let row = |id: &Uuid| {
            let document = &self.plan.sheets[id];
            vec![
                (*id).into(),
                document.into(),
                checksum(document).into(),
                self.plan.misfits.contains(id).into(),
            ]
        };
        changed.difference(&new).map(row).collect()
    }

    /// Sheets of questions that a source states now: their listings are those of a price.
    pub(super) fn answered_questions(&self) -> Rows<'a> {
        let ids = self.with(|step| step.reveals);
        let ids: BTreeSet<Uuid> = ids.map(|(recording, _)| recording.sheet_id).collect();
        ids.into_iter().map(|id| vec![id.into()]).collect()
    }

    fn new_estimates(&self) -> impl Iterator<Item = (i64, &'a EstimateRecord)> {
        self.with(|step| step.inserts_estimate)
            .filter_map(|(recording, number)| Some((number, recording.estimate.as_ref()?)))
    }

    /// Rows of new estimates.
    pub(super) fn estimates(&self) -> Rows<'a> {
        let new = self.new_estimates();
        new.map(|(number, estimate)| estimate.values(number))
            .collect()
    }

    /// The sheets of new estimates.
    pub(super) fn estimate_sheets(&self) -> Rows<'a> {
        let new: BTreeSet<Uuid> = self.new_estimates().map(|(_, new)| new.id).collect();
        let is_drawn_from = |recording: &&Recording| {
            recording.listing.duplicate_of().is_none() && new.contains(&recording.estimate_id)
        };
        let drawn = self.recordings.iter().filter(is_drawn_from);
        let drawn: BTreeSet<(Uuid, Uuid)> = drawn
            .map(|recording| (recording.estimate_id, recording.sheet_id))
            .collect();
        let row = |(estimate, sheet): (Uuid, Uuid)| vec![estimate.into(), sheet.into()];
        drawn.into_iter().map(row).collect()
    }

    /// New listings of estimates.
    pub(super) fn listings(&self) -> Rows<'a> {
        let row = |(recording, number): (&'a Recording, i64)| {
            let place = recording.place();
            vec![
                number.into(),
                recording.estimate_id.into(),
                place.of.map(|of| of.offer_id).into(),
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
                recording.is_observed.into(),
                self.work.import.as_ref().map(|import| import.id).into(),
                (!recording.is_observed)
                    .then_some(recording.recorded_at)
                    .into(),
            ]
        };
        self.with(|step| step.inserts_listing).map(row).collect()
    }
}

impl EstimateRecord {
    /// Columns of its row under a number, in the order of [`ESTIMATES`].
    pub(crate) fn values(&self, number: i64) -> Vec<Value<'_>> {
        vec![
            self.id.into(),
            number.into(),
            self.engine_version.into(),
            self.readings_defined.into(),
            self.conflicts.into(),
            (&self.numbers).into(),
            self.document.checksum.clone().into(),
            (&self.document.text).into(),
        ]
    }
}

/// Statement that inserts new sheets.
pub(super) const SHEETS: Piece = Piece {
    sql: "
        INSERT INTO price_sheets (id, sequence, observed_at, checksum, document, is_misfit, observed, offer_id,
                                  model_key, provider, model, canonical_model, region, currency, valid_from,
                                  valid_to, input_price, output_price, cache_read_price, price_id, retires_at,
                                  status, states_limits, cells)
        SELECT * FROM given",
    columns: &[
        Id, Number, Time, Bytes, Text, Flag, Flag, Id, Text, Text, Text, Text, Text, Text, Time, Time, Real, Real, Real,
        Id, Time, Text, Flag, Text,
    ],
};

/// Documents of known sheets.
pub(super) const DOCUMENTS: Piece = Piece {
    sql: "
        UPDATE price_sheets
        SET document = given.column2, checksum = given.column3, is_misfit = given.column4, observed = TRUE
        FROM given WHERE price_sheets.id = given.column1",
    columns: &[Id, Text, Bytes, Flag],
};

/// Listings of sheets that a source states now.
pub(super) const ANSWERED_QUESTIONS: Piece = Piece {
    sql: "
        UPDATE estimate_listings SET observed = TRUE FROM given
        WHERE sheet_id = given.column1 AND stated_assumptions = FALSE",
    columns: &[Id],
};

/// Statement that inserts new estimates. That of a model may come back, after one of its sheets was withdrawn and seen again.
pub(crate) const ESTIMATES: Piece = Piece {
    sql: "
        INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values,
                               checksum, document)
        SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (id) DO NOTHING",
    columns: &[Id, Number, Text, Number, Number, Text, Bytes, Text],
};

/// The sheets of new estimates.
pub(crate) const ESTIMATE_SHEETS: Piece = Piece {
    sql: "
        INSERT INTO estimate_sheets (estimate_id, sheet_id) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (estimate_id, sheet_id) DO NOTHING",
    columns: &[Id, Id],
};

/// New listings of estimates.
pub(super) const LISTINGS: Piece = Piece {
    sql: "
        INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
                                       canonical_model, region, currency, valid_from, valid_to, observed_at,
                                       stated_assumptions, observed, import_id, recorded_at)
        SELECT * FROM given",
    columns: &[
        Number, Id, Id, Id, Id, Text, Text, Text, Text, Text, Time, Time, Time, Flag, Flag, Id, Time,
    ],
};
