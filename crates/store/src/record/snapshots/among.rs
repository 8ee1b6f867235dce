//! A snapshot of a catalog among the other snapshots of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use unroof_price_sheet::history::FRESH_FOR;

/// A whole catalog, or a part of it, as it was read.
#[derive(Debug, Clone)]
pub struct SnapshotAt {
    /// Name of the catalog.
    pub source: String,
    /// The providers of which all offers were read; an empty name for those of the whole catalog, and none for a part that says
    /// nothing about what it does not list.
    pub scopes: Vec<String>,
    /// Time of the snapshot.
    pub at: Timestamp,
    /// Keys of the entries that it could not read: it says nothing about what they stated before.
    pub unparsed: Arc<BTreeSet<String>>,
}

impl SnapshotAt {
    /// Whether it would have found an offer of a provider.
    #[must_use]
    pub fn covers(&self, provider: &str) -> bool {
        let mut scopes = self.scopes.iter();
        scopes.any(|scope| scope.is_empty() || scope == provider)
    }

    /// Whether it says nothing about what it does not list.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Whether it could not read the entry of a sheet.
    pub(crate) fn is_blind_to(&self, entry: Option<&String>) -> bool {
        entry.is_some_and(|entry| self.unparsed.contains(entry))
    }
}

/// Complete snapshots of a source in one scope, around a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Neighbours {
    pub(crate) previous: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
    pub(crate) newest: Option<Timestamp>,
    /// Whether there is one at that time.
    pub(crate) is_known: bool,
}

impl Neighbours {
    /// Snapshots of two scopes as one sequence.
    fn with(self, other: Self) -> Self {
        Self {
            previous: self.previous.max(other.previous),
            next: [self.next, other.next].into_iter().flatten().min(),
            newest: self.newest.max(other.newest),
            is_known: self.is_known || other.is_known,
        }
    }
}

/// A snapshot with the snapshots around it, by scope.
#[derive(Debug, Clone)]
pub struct SnapshotAmong {
    pub(crate) snapshot: SnapshotAt,
    pub(crate) scopes: HashMap<String, Neighbours>,
}

impl SnapshotAmong {
    /// Snapshots around it of each of its scopes; of a part, those of any.
    fn each(&self) -> impl Iterator<Item = Neighbours> {
        let partial = self.scopes.values().copied();
        let partial = partial.filter(|_| self.snapshot.is_partial());
        let own = self.snapshot.scopes.iter().map(|scope| self.around(scope));
        own.chain(partial)
    }

    /// The scopes of which no snapshot is known at its time.
    pub(crate) fn new_scopes(&self) -> Vec<String> {
        let is_known = |scope: &str| self.scopes.get(scope).is_some_and(|around| around.is_known);
        let scopes = self.snapshot.scopes.iter();
        scopes.filter(|scope| !is_known(scope)).cloned().collect()
    }

    /// Whether it is not later than all others of its catalog, in one of its scopes. Those of a part of the catalog count for
    /// the whole.
    #[must_use]
    pub fn is_between(&self) -> bool {
        let is_whole = self.snapshot.covers("");
        let parts = self.scopes.values().copied().filter(|_| is_whole);
        let mut newest = self.each().chain(parts).map(|around| around.newest);
        newest.any(|newest| newest.is_some_and(|newest| newest >= self.snapshot.at))
    }

    /// Whether the catalog was not read for so long that its listings in between are unknown.
    #[must_use]
    pub fn is_after_pause(&self) -> bool {
        let is_long = |previous: Timestamp| self.snapshot.at.duration_since(previous) >= FRESH_FOR;
        let mut previous = self.each().filter_map(|around| around.previous);
        previous.any(is_long)
    }

    pub(crate) fn around(&self, provider: &str) -> Neighbours {
        let of = |scope: &str| self.scopes.get(scope).copied().unwrap_or_default();
        of("").with(of(provider))
    }
}
