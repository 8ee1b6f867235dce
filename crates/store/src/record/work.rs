//! Work of one transaction: facts, and the content that they are about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::offers::SheetFacts;
use super::recording::Recording;
use super::snapshots::among::SnapshotAt;
use super::snapshots::import_facts::ImportFacts;
use crate::access::Actor;

/// An offer with all sheets that a snapshot found for it.
#[derive(Debug, Clone)]
pub struct ListedOffer {
    /// Id of the offer.
    pub offer_id: Uuid,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Sheets of the offer; none where the catalog no longer lists it.
    pub sheets: Vec<SheetFacts>,
}

impl ListedOffer {
    /// An offer without sheets.
    #[must_use]
    pub fn new(offer_id: Uuid, provider: &str) -> Self {
        Self {
            offer_id,
            provider: provider.to_owned(),
            sheets: Vec::new(),
        }
    }
}

/// A withdrawal or its reversal.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) offer_id: Uuid,
    pub(crate) sheet_id: Uuid,
    /// Reason for a withdrawal; none where it is undone.
    pub(crate) because: Option<String>,
    /// Actor that withdraws the price.
    pub(crate) actor: Actor,
}

/// Work of one transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    /// The time at which it is recorded.
    pub(crate) now: Timestamp,
    pub(crate) recordings: Vec<Recording>,
    pub(crate) snapshot: Option<SnapshotAt>,
    /// Findings of the snapshot.
    pub(crate) listed: Vec<ListedOffer>,
    /// True for the last batch of a catalog snapshot.
    pub(crate) completes: bool,
    pub(crate) act: Option<Act>,
    /// Offers to derive again.
    pub(crate) again: Vec<Uuid>,
    /// The import that it is a part of.
    pub(crate) import: Option<ImportFacts>,
    /// Whether that import is undone by it.
    pub(crate) undoes: bool,
}

impl Work {
    pub(crate) fn of(recordings: Vec<Recording>) -> Self {
        let now = recordings
            .iter()
            .map(|recording| recording.recorded_at)
            .max();
        Self {
            now: now.unwrap_or_default(),
            recordings,
            ..Self::default()
        }
    }

    /// The last time that it records.
    pub(crate) fn newest(&self) -> Timestamp {
        let seen = self
            .recordings
            .iter()
            .map(|recording| recording.observed_at);
        let listed = self.snapshot.iter().map(|snapshot| snapshot.at);
        seen.chain(listed).fold(self.now, Timestamp::max)
    }

    /// The offers that it is about.
    pub(crate) fn offers(&self) -> BTreeSet<Uuid> {
        let recorded = self.recordings.iter().map(|recording| recording.offer_id);
        recorded.chain(self.not_recorded()).collect()
    }

    /// The offers that it is about otherwise than by recordings.
    fn not_recorded(&self) -> impl Iterator<Item = Uuid> {
        let listed = self.listed.iter().map(|offer| offer.offer_id);
        let acted = self.act.iter().map(|act| act.offer_id);
        listed.chain(acted).chain(self.again.iter().copied())
    }

    /// Offers whose facts change, or that are to be derived again, in the order in which they came.
    pub(crate) fn touched(&self) -> Vec<Uuid> {
        let seen = self
            .recordings
            .iter()
            .filter(|recording| recording.observed_by.is_some());
        let seen = seen.map(|recording| recording.offer_id);
        let mut once = BTreeSet::new();
        let touched = seen.chain(self.not_recorded());
        touched.filter(|offer| once.insert(*offer)).collect()
    }

    /// Offers of which it only states again what was stated a moment ago. `repeated` has such pairs of offer and sheet.
    pub(crate) fn unchanged(&self, repeated: &BTreeSet<(Uuid, Uuid)>) -> BTreeSet<Uuid> {
        let is_repeated =
            |recording: &&Recording| repeated.contains(&(recording.offer_id, recording.sheet_id));
        let (same, new): (Vec<&Recording>, Vec<&Recording>) =
            self.recordings.iter().partition(is_repeated);
        let new = new.into_iter().map(|recording| recording.offer_id);
        let changed: BTreeSet<Uuid> = new.chain(self.not_recorded()).collect();
        let same = same.into_iter().map(|recording| recording.offer_id);
        same.filter(|offer| !changed.contains(offer)).collect()
    }

    /// The sheets that it is about, and those of which they are copies.
    pub(crate) fn sheets(&self) -> BTreeSet<Uuid> {
        let recorded = self.recordings.iter().map(|recording| recording.sheet_id);
        let copied = self.recordings.iter();
        let copied = copied.filter_map(|recording| recording.listing.duplicate_of());
        let listed = self.listed.iter().flat_map(|offer| &offer.sheets);
        let listed = listed.map(|sheet| sheet.sheet_id);
        recorded.chain(copied).chain(listed).collect()
    }

    /// The providers of offers that may be new.
    pub(crate) fn providers(&self) -> BTreeMap<Uuid, String> {
        let recorded = self.recordings.iter();
        let recorded =
            recorded.map(|recording| (recording.offer_id, recording.sheet.provider.clone()));
        let listed = self.listed.iter();
        let listed = listed.map(|offer| (offer.offer_id, offer.provider.clone()));
        recorded.chain(listed).collect()
    }
}
