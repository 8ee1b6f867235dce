//! Sightings of prices by sources, looks at sources, and the entries that could not be read.

use uuid::Uuid;

use super::planned::Writing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Id, Number, Text, Time};
use crate::record::names::standing;
use crate::record::offers::{LookAt, Offer, Seen};
use crate::record::plan::OfferPlan;

impl<'a> Writing<'a> {
    /// Sightings with the offer of each that one set of facts has and another one has not, by a comparison.
    fn seen(
        &self,
        of: fn(&OfferPlan) -> (&Offer, &Offer),
        is_known: fn(&Seen, &Seen) -> bool,
    ) -> impl Iterator<Item = (Uuid, &'a Seen)> {
        self.plan.offers.iter().flat_map(move |offer| {
            let (these, others) = of(offer);
            let these = these.seen.iter();
            let these =
                these.filter(move |seen| !others.seen.iter().any(|one| is_known(seen, one)));
            these.map(|seen| (offer.id, seen))
        })
    }

    /// Sightings that are no longer known.
    pub(super) fn lost_sightings(&self) -> Rows<'a> {
        let row = |(offer, seen): (Uuid, &'a Seen)| {
            vec![
                offer.into(),
                (&seen.source).into(),
                seen.sheet.sheet_id.into(),
                seen.first_at.into(),
            ]
        };
        self.seen(|offer| (&offer.before, &offer.after), has_key)
            .map(row)
            .collect()
    }

    /// New and later sightings.
    pub(super) fn sightings(&self) -> Rows<'a> {
        let is_written =
            |seen: &Seen, one: &Seen| has_key(seen, one) && seen.last_at == one.last_at;
        let row = |(offer, seen): (Uuid, &'a Seen)| {
            vec![
                offer.into(),
                (&seen.source).into(),
                seen.sheet.sheet_id.into(),
                (&seen.sheet.catalog).into(),
                seen.sheet.entry.as_deref().into(),
                seen.first_at.into(),
                seen.last_at.into(),
                standing(seen.standing).into(),
            ]
        };
        self.seen(|offer| (&offer.after, &offer.before), is_written)
            .map(row)
            .collect()
    }

    /// Complete looks at a source.
    pub(super) fn looks(&self) -> Rows<'a> {
        let look = self.work.look.iter().filter(|_| self.work.completes);
        look.map(|look| vec![(&look.source).into(), (&look.scope).into(), look.at.into()])
            .collect()
    }

    /// Entries that can be read now.
    pub(super) fn read_entries(&self) -> Rows<'a> {
        let look = self.work.look.iter();
        let row = |look: &'a LookAt, entry: &'a String| {
            vec![(&look.source).into(), look.at.into(), entry.into()]
        };
        let rows =
            look.flat_map(|look| self.plan.now_read.iter().map(move |entry| row(look, entry)));
        rows.collect()
    }

    /// Entries that a look could not read.
    pub(super) fn unread_entries(&self) -> Rows<'a> {
        let look = self.work.look.iter().filter(|_| self.work.completes);
        let row = |look: &'a LookAt, entry: &'a String| {
            vec![(&look.source).into(), look.at.into(), entry.into()]
        };
        let rows = look.flat_map(|look| look.unread.iter().map(move |entry| row(look, entry)));
        rows.collect()
    }
}

fn has_key(seen: &Seen, one: &Seen) -> bool {
    seen.source == one.source
        && seen.sheet.sheet_id == one.sheet.sheet_id
        && seen.first_at == one.first_at
}

/// Sightings that are no longer known.
pub(super) const LOST_SIGHTINGS: Piece = Piece {
    sql: "
        DELETE FROM sightings WHERE (offer_id, source, sheet_id, first_at) IN (
            SELECT given.column1, given.column2, given.column3, given.column4 FROM given)",
    columns: &[Id, Text, Id, Time],
};

/// New and later sightings.
pub(super) const SIGHTINGS: Piece = Piece {
    sql: "
        INSERT INTO sightings (offer_id, source, sheet_id, catalog, entry, first_at, last_at, standing)
        SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (offer_id, source, sheet_id, first_at) DO UPDATE SET last_at = excluded.last_at",
    columns: &[Id, Text, Id, Text, Text, Time, Time, Number],
};

/// Complete looks at a source.
pub(super) const LOOKS: Piece = Piece {
    sql: "
        INSERT INTO looks (source, scope, at) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (source, scope, at) DO NOTHING",
    columns: &[Text, Text, Time],
};

/// Entries that can be read now.
pub(super) const READ_ENTRIES: Piece = Piece {
    sql: "
        DELETE FROM unread_entries WHERE (source, at, entry) IN (
            SELECT given.column1, given.column2, given.column3 FROM given)",
    columns: &[Text, Time, Text],
};

/// Entries that a look could not read.
pub(super) const UNREAD_ENTRIES: Piece = Piece {
    sql: "
        INSERT INTO unread_entries (source, at, entry) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (source, entry, at) DO NOTHING",
    columns: &[Text, Time, Text],
};
