//! Observations of prices by sources, snapshots of sources, and the entries that could not be read.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::planned::Writing;
use crate::connect::rows::{Piece, Rows};
use crate::connect::value::Kind::{Id, Number, Text, Time};
use crate::connect::value::Value;
use crate::record::names::source_rank;
use crate::record::offers::{Offer, Seen};
use crate::record::plan::OfferPlan;
use crate::record::snapshots::among::SnapshotAt;

impl<'a> Writing<'a> {
    /// Observations with the offer of each that one set of facts has and another one has not, by a comparison.
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

    /// Observations that are no longer known.
    pub(super) fn lost_observations(&self) -> Rows<'a> {
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

    /// New and later observations.
    pub(super) fn observations(&self) -> Rows<'a> {
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
                source_rank(seen.source_rank).into(),
            ]
        };
        self.seen(|offer| (&offer.after, &offer.before), is_written)
            .map(row)
            .collect()
    }

    /// The snapshot that is completed, if one is.
    fn completed(&self) -> Option<&'a SnapshotAt> {
        self.work.snapshot.as_ref().filter(|_| self.work.completes)
    }

    /// Complete snapshots of a source.
    pub(super) fn snapshots(&self) -> Rows<'a> {
        let rows = |snapshot: &'a SnapshotAt| {
            let row = |scope| {
                vec![
                    (&snapshot.source).into(),
                    Value::from(scope),
                    snapshot.at.into(),
                ]
            };
            snapshot.scopes.iter().map(row)
        };
        self.completed().into_iter().flat_map(rows).collect()
    }

    /// Entries that can be read now.
    pub(super) fn read_entries(&self) -> Rows<'a> {
        let snapshot = self.completed().into_iter();
        let rows = snapshot.flat_map(|snapshot| rows_of_entries(snapshot, &self.plan.now_read));
        rows.collect()
    }

    /// Entries that a snapshot could not read.
    pub(super) fn unparsed_entries(&self) -> Rows<'a> {
        let snapshot = self.completed().into_iter();
        let rows = snapshot.flat_map(|snapshot| rows_of_entries(snapshot, &snapshot.unparsed));
        rows.collect()
    }
}

fn rows_of_entries<'a>(snapshot: &'a SnapshotAt, entries: &'a BTreeSet<String>) -> Rows<'a> {
    let row = |entry| {
        vec![
            (&snapshot.source).into(),
            snapshot.at.into(),
            Value::from(entry),
        ]
    };
    entries.iter().map(row).collect()
}

fn has_key(seen: &Seen, one: &Seen) -> bool {
    seen.source == one.source
        && seen.sheet.sheet_id == one.sheet.sheet_id
        && seen.first_at == one.first_at
}

/// Observations that are no longer known.
pub(super) const LOST_OBSERVATIONS: Piece = Piece {
    sql: "
        DELETE FROM observations WHERE (offer_id, source, sheet_id, first_at) IN (
            SELECT given.column1, given.column2, given.column3, given.column4 FROM given)",
    columns: &[Id, Text, Id, Time],
};

/// New and later observations.
pub(super) const OBSERVATIONS: Piece = Piece {
    sql: "
        INSERT INTO observations (offer_id, source, sheet_id, catalog, entry, first_at, last_at, source_rank)
        SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (offer_id, source, sheet_id, first_at) DO UPDATE SET last_at = excluded.last_at",
    columns: &[Id, Text, Id, Text, Text, Time, Time, Number],
};

/// Complete snapshots of a source.
pub(super) const SNAPSHOTS: Piece = Piece {
    sql: "
        INSERT INTO snapshots (source, scope, at) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (source, scope, at) DO NOTHING",
    columns: &[Text, Text, Time],
};

/// Entries that can be read now.
pub(super) const READ_ENTRIES: Piece = Piece {
    sql: "
        DELETE FROM unparsed_entries WHERE (source, at, entry) IN (
            SELECT given.column1, given.column2, given.column3 FROM given)",
    columns: &[Text, Time, Text],
};

/// Entries that a snapshot could not read.
pub(super) const UNREAD_ENTRIES: Piece = Piece {
    sql: "
        INSERT INTO unparsed_entries (source, at, entry) SELECT * FROM given
        WHERE TRUE
        ON CONFLICT (source, entry, at) DO NOTHING",
    columns: &[Text, Time, Text],
};
