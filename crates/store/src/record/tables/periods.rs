//! Withdrawals, and the periods in which prices are in force.

use jiff::Timestamp;

use super::planned::Writing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Flag, Id, Number, Text, Time};
use crate::record::names::ending;
use crate::record::offers::WithdrawnSheet;
use unroof_price_sheet::history::StartBasis;

impl<'a> Writing<'a> {
    /// Withdrawals, made and undone.
    pub(super) fn withdrawals(&self) -> Rows<'a> {
        let now = self.work.now;
        let mut rows = Rows::new();
        for offer in &self.plan.offers {
            let (before, after) = (&offer.before.withdrawals, &offer.after.withdrawals);
            let is_in = |withdrawal: &WithdrawnSheet, withdrawals: &[WithdrawnSheet]| {
                withdrawals
                    .iter()
                    .any(|one| one.sheet_id == withdrawal.sheet_id && one.at == withdrawal.at)
            };
            let row = |withdrawal: &'a WithdrawnSheet, undone_at: Option<Timestamp>| {
                vec![
                    offer.id.into(),
                    withdrawal.sheet_id.into(),
                    withdrawal.at.into(),
                    (&withdrawal.because).into(),
                    undone_at.into(),
                ]
            };
            let undone = before.iter().filter(|withdrawal| !is_in(withdrawal, after));
            let made = after.iter().filter(|withdrawal| !is_in(withdrawal, before));
            rows.extend(undone.map(|withdrawal| row(withdrawal, Some(now))));
            rows.extend(made.map(|withdrawal| row(withdrawal, None)));
        }
        rows
    }

    /// Periods that are no longer derived.
    pub(super) fn gone_periods(&self) -> Rows<'a> {
        let gone = self
            .plan
            .offers
            .iter()
            .flat_map(|offer| &offer.derived.gone);
        gone.map(|(sequence, part)| vec![(*sequence).into(), (*part).into()])
            .collect()
    }

    /// Periods that are new or other than before.
    pub(super) fn periods(&self) -> Rows<'a> {
        let mut number = self.base;
        let mut rows = Rows::new();
        for offer in &self.plan.offers {
            let Some([provider, model, region]) = self.announced.names.get(&offer.id) else {
                continue;
            };
            for stored in &offer.derived.written {
                number += 1;
                let key = if stored.key == (0, 0) {
                    (number, 0)
                } else {
                    stored.key
                };
                let period = &stored.period;
                let basis = match period.start_basis {
                    StartBasis::Stated => "stated",
                    StartBasis::Observed => "observed",
                    StartBasis::SourceAdded => "source_added",
                };
                let withdrawn = stored.withdrawn.as_ref();
                rows.push(vec![
                    key.0.into(),
                    key.1.into(),
                    offer.id.into(),
                    provider.into(),
                    model.into(),
                    region.into(),
                    period.sheet_id.into(),
                    (&stored.catalog).into(),
                    period.starts_at.into(),
                    period.ends_at().into(),
                    stored.observed_at.into(),
                    stored.has_begun.into(),
                    stored.has_ended.into(),
                    withdrawn.map(|(at, _)| *at).into(),
                    withdrawn.map(|(_, because)| because.as_str()).into(),
                    period.price_id.into(),
                    basis.into(),
                    period.not_before.into(),
                    period.last_seen_at.into(),
                    period.end.map(|(_, why)| ending(why)).into(),
                    period.is_flagged.into(),
                ]);
            }
        }
        rows
    }
}

/// Withdrawals, made and undone.
pub(super) const WITHDRAWALS: Piece = Piece {
    sql: "
        INSERT INTO withdrawals (offer_id, sheet_id, at, because, undone_at) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (offer_id, sheet_id, at)
        DO UPDATE SET because = excluded.because, undone_at = excluded.undone_at",
    columns: &[Id, Id, Time, Text, Time],
};

/// Periods that are no longer derived.
pub(super) const GONE_PERIODS: Piece = Piece {
    sql: "
        DELETE FROM price_periods WHERE (sequence, part) IN (SELECT given.column1, given.column2 FROM given)",
    columns: &[Number, Number],
};

/// Periods that are new or other than before.
pub(super) const PERIODS: Piece = Piece {
    sql: "
        INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog,
                                   starts_at, ends_at, observed_at, has_begun, has_ended, withdrawn_at,
                                   withdrawn_because, price_id, start_basis, not_before, last_seen_at, ending,
                                   is_flagged)
        SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (sequence, part)
        DO UPDATE SET sheet_id = excluded.sheet_id, catalog = excluded.catalog, ends_at = excluded.ends_at,
                      observed_at = excluded.observed_at, has_begun = excluded.has_begun,
                      has_ended = excluded.has_ended, withdrawn_at = excluded.withdrawn_at,
                      withdrawn_because = excluded.withdrawn_because, price_id = excluded.price_id,
                      start_basis = excluded.start_basis, not_before = excluded.not_before,
                      last_seen_at = excluded.last_seen_at, ending = excluded.ending,
                      is_flagged = excluded.is_flagged",
    columns: &[
        Number, Number, Id, Text, Text, Text, Id, Text, Time, Time, Time, Flag, Flag, Time, Text, Id, Text,
        Time, Time, Text, Flag,
    ],
};
