//! Disagreements between sources, and changes.

use super::planned::Writing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
use crate::record::announced::{Change, Disagreement};
use crate::record::names::ChangeKind;
use unroof_base::units::Decimal;
use unroof_price_sheet::sheet::compare::difference::PriceDifference;

impl<'a> Writing<'a> {
    /// Disagreements that have ended.
    pub(super) fn settled(&self) -> Rows<'a> {
        let settled = self.announced.settled.iter();
        settled
            .map(|(id, at)| vec![(*id).into(), (*at).into()])
            .collect()
    }

    /// Rows of new disagreements.
    pub(super) fn disagreements(&self) -> Rows<'a> {
        let row = |one: &'a Disagreement| {
            vec![
                one.id.into(),
                one.offer_id.into(),
                (&one.sheet.provider).into(),
                (&one.sheet.model).into(),
                (&one.sheet.region).into(),
                (&one.catalog).into(),
                one.sheet_id.into(),
                (&one.other_catalog).into(),
                one.other_sheet_id.into(),
                (&one.differences).into(),
                one.largest_factor.into(),
                one.observed_at.into(),
                one.is_flagged.into(),
            ]
        };
        self.announced.disagreements.iter().map(row).collect()
    }

    /// Rows of new changes.
    pub(super) fn changes(&self) -> Rows<'a> {
        let row = |(change, number): (&'a Change, i64)| {
            let subject = &change.subject;
            let price = change.price.as_ref();
            let place = price.and_then(|price| price.place.as_ref());
            let value = |price: Option<&Decimal>| price.map(Decimal::to_f64);
            vec![
                number.into(),
                change.kind.name().into(),
                change.observed_at.into(),
                (&subject.provider).into(),
                (&subject.model).into(),
                subject.canonical_model.as_deref().into(),
                (&subject.region).into(),
                subject.sheet_id.into(),
                subject.estimate_id.into(),
                (&change.summary).into(),
                price.map(|price| price.price.as_str()).into(),
                value(price.and_then(|price| price.before.as_ref())).into(),
                value(price.and_then(|price| price.after.as_ref())).into(),
                price
                    .filter(|_| change.kind != ChangeKind::OfferRetiring)
                    .and_then(PriceDifference::factor)
                    .into(),
                change.in_force.into(),
                change.valid_from.into(),
                change.previous_sheet_id.into(),
                place.map(|place| place.meter).into(),
                place.map(|place| place.service_tier.as_str()).into(),
                place.map(|place| i64::from(place.min_prompt_tokens)).into(),
                place
                    .and_then(|place| place.ttl_seconds)
                    .map(i64::from)
                    .into(),
                place.and_then(|place| place.schedule.as_deref()).into(),
            ]
        };
        self.announced
            .changes
            .iter()
            .zip(self.base + 1..)
            .map(row)
            .collect()
    }
}

/// Disagreements that have ended.
pub(super) const SETTLED: Piece = Piece {
    sql: "UPDATE disagreements SET ended_at = given.column2 FROM given WHERE disagreements.id = given.column1",
    columns: &[Id, Time],
};

/// Statement that inserts new disagreements.
pub(super) const DISAGREEMENTS: Piece = Piece {
    sql: "
        INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog,
                                   other_sheet_id, differences, largest_factor, observed_at, is_flagged)
        SELECT * FROM given",
    columns: &[
        Id, Id, Text, Text, Text, Text, Id, Text, Id, Text, Real, Time, Flag,
    ],
};

/// Statement that inserts new changes.
pub(crate) const CHANGES: Piece = Piece {
    sql: "
        INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                             estimate_id, summary, cell, old_value, new_value, factor, in_force, valid_from,
                             previous_sheet_id, meter, service_tier, min_prompt_tokens, ttl_seconds, schedule, link)
        SELECT * FROM given",
    columns: &[
        Number, Text, Time, Text, Text, Text, Text, Id, Id, Text, Text, Real, Real, Real, Flag, Time, Id, Text, Text,
        Number, Number, Text, Bytes,
    ],
};
