//! The facts about an offer: what its sources stated and when, and what was withdrawn. Pure: facts are added here, and
//! written elsewhere.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, ToSpan};
use uuid::Uuid;

use super::snapshots::among::{Neighbours, SnapshotAmong, SnapshotAt};
use crate::access::Actor;
use unroof_base::units::Decimal;
use unroof_price_sheet::history::{
    FRESH_FOR, Observation, Snapshot, SourceRank, Stretch, Withdrawal,
};
use unroof_price_sheet::sheet::compare::Cells;
use unroof_price_sheet::sheet::{Limits, PriceSheet, RateCell};

/// The source of posted sheets.
pub const POSTED: &str = "posted";

/// A sheet that is stated again within this time is written no second time.
const SAME_OBSERVATION: SignedDuration = SignedDuration::from_hours(1);

/// The earliest observation that a sheet seen at a time does not extend.
pub(crate) fn same_observation_since(at: Timestamp) -> Timestamp {
    at.checked_sub(SAME_OBSERVATION).unwrap_or(Timestamp::MIN)
}

/// Facts of a sheet for the history of its offer.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetFacts {
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Identity of its prices.
    pub price_id: Uuid,
    /// The catalog that it names.
    pub catalog: String,
    /// The key of its entry there.
    pub entry: Option<String>,
    /// Inclusive start of validity, if stated.
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of validity, if stated.
    pub valid_to: Option<Timestamp>,
    /// Whether its estimate fits no machine.
    pub is_misfit: bool,
    /// Whether it states limits.
    pub states_limits: bool,
    /// Priced cells of the sheet.
    pub cells: Arc<Cells>,
    /// Retirement that it announces.
    pub retirement: Option<Retirement>,
    /// Input price in USD per million tokens.
    pub input_price: Option<f64>,
    /// Output price in USD per million tokens.
    pub output_price: Option<f64>,
}

/// Announced retirement of an offer: its time, or none where it is not stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retirement(pub Option<Timestamp>);

impl Retirement {
    /// Retirement of a sheet with a time of retirement or the status `deprecated`.
    pub(crate) fn of(retires_at: Option<Timestamp>, is_deprecated: bool) -> Option<Self> {
        (retires_at.is_some() || is_deprecated).then_some(Self(retires_at))
    }
}

impl SheetFacts {
    /// Facts of a sheet with this id.
    #[must_use]
    pub fn new(sheet: &PriceSheet, sheet_id: Uuid, is_misfit: bool) -> Self {
        let base = sheet.base_rate().filter(|_| sheet.currency == "USD");
        let price = |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
        let source = sheet.sources.first();
        Self {
            sheet_id,
            price_id: sheet.price_id(),
            catalog: source
                .map_or("manual", |source| source.format.name())
                .to_owned(),
            entry: source.and_then(|source| source.locator.clone()),
            valid_from: sheet.valid_from.map(stored),
            valid_to: sheet.valid_to.map(stored),
            is_misfit,
            states_limits: sheet.limits != Limits::default(),
            cells: Arc::new(Cells::of(sheet)),
            retirement: Retirement::of(sheet.retires_at.map(stored), sheet.status.is_some()),
            input_price: price(|rate| rate.input.as_ref()),
            output_price: price(|rate| rate.output.as_ref()),
        }
    }
}

/// The time now, or the first one after all that is recorded.
pub(crate) fn after(newest: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let next = newest.and_then(|newest| newest.checked_add(1.microsecond()).ok());
    next.map_or(now, |next| next.max(now))
}

/// A time as the databases keep it.
pub(crate) fn stored(at: Timestamp) -> Timestamp {
    crate::DbTime::from(at).into()
}

/// A sheet that a source stated for a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) sheet: SheetFacts,
    pub(crate) source: String,
    pub(crate) source_rank: SourceRank,
    pub(crate) first_at: Timestamp,
    /// None while the newest snapshot of the source lists it.
    pub(crate) last_at: Option<Timestamp>,
    /// The newest snapshot of the source that is about the offer.
    pub(crate) newest_snapshot: Option<Timestamp>,
    /// The first snapshot after the last observation, where this is known.
    pub(crate) next_snapshot: Option<Timestamp>,
}

/// A withdrawal that was not undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WithdrawnSheet {
    pub(crate) sheet_id: Uuid,
    pub(crate) at: Timestamp,
    pub(crate) because: String,
    /// First snapshot after it at which a source that stated the sheet already stated it still.
    pub(crate) seen_at: Option<Timestamp>,
}

/// Recorded facts of an offer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    pub(crate) provider: String,
    pub(crate) seen: Vec<Seen>,
    pub(crate) withdrawals: Vec<WithdrawnSheet>,
}

impl Offer {
    /// The newest recorded time, also of a snapshot that no longer found the offer.
    pub(crate) fn newest(&self) -> Option<Timestamp> {
        let snapshots = self.seen.iter().filter_map(|seen| seen.newest_snapshot);
        let seen = self
            .observations()
            .into_iter()
            .map(|observation| observation.last_at);
        let withdrawals = self.withdrawals.iter().map(|withdrawal| withdrawal.at);
        snapshots.chain(seen).chain(withdrawals).max()
    }

    /// Time at which a source last listed its open observations: all of them were listed at its newest snapshot.
    fn open_until(&self, source: &str) -> Option<Timestamp> {
        let open = self.seen.iter();
        let open = open.filter(|seen| seen.source == source && seen.last_at.is_none());
        open.map(|seen| {
            seen.newest_snapshot
                .map_or(seen.first_at, |snapshot| snapshot.max(seen.first_at))
        })
        .max()
    }

    /// The observations, each with its last time.
    pub(crate) fn observations(&self) -> Vec<Observation> {
        let observation = |seen: &Seen| {
            let open = || self.open_until(&seen.source).unwrap_or(seen.first_at);
            let is_catalog = seen.source_rank == SourceRank::Catalog;
            Observation {
                sheet_id: seen.sheet.sheet_id,
                price_id: seen.sheet.price_id,
                source: seen.source.clone(),
                source_rank: seen.source_rank,
                valid_from: seen.sheet.valid_from,
                valid_to: seen.sheet.valid_to,
                first_at: seen.first_at,
                last_at: seen.last_at.unwrap_or_else(open),
                next_at: self.next_at(seen).filter(|_| is_catalog),
                is_sellers_own: is_catalog && seen.source == self.provider,
                is_misfit: seen.sheet.is_misfit,
                states_limits: seen.sheet.states_limits,
                cells: Arc::clone(&seen.sheet.cells),
                input_price: seen.sheet.input_price,
                output_price: seen.sheet.output_price,
            }
        };
        self.seen.iter().map(observation).collect()
    }

    /// The snapshot by which an observation had ended: the next one that is about the offer.
    fn next_at(&self, seen: &Seen) -> Option<Timestamp> {
        let last_at = seen.last_at?;
        let own = self.seen.iter().filter(|one| one.source == seen.source);
        let listed = own.map(|one| one.first_at).filter(|at| *at > last_at);
        listed.chain(seen.next_snapshot).min()
    }

    /// The withdrawals, each with the observation that ended it.
    pub(crate) fn withdrawals(&self) -> Vec<Withdrawal> {
        let observations = self.observations();
        let in_force = |withdrawal: &WithdrawnSheet| {
            let own = || {
                let own = observations.iter();
                own.filter(|observation| observation.sheet_id == withdrawal.sheet_id)
            };
            let again = own()
                .map(|observation| observation.first_at)
                .filter(|at| *at > withdrawal.at);
            let covers = |at: &Timestamp| {
                own().any(|observation| observation.first_at <= *at && *at <= observation.last_at)
            };
            Withdrawal {
                sheet_id: withdrawal.sheet_id,
                at: withdrawal.at,
                seen_again_at: again.chain(withdrawal.seen_at.filter(covers)).min(),
            }
        };
        self.withdrawals.iter().map(in_force).collect()
    }

    /// Adds what a snapshot found of the offer.
    pub(crate) fn add_snapshot(&mut self, among: &SnapshotAmong, listed: &[SheetFacts]) {
        let around = among.around(&self.provider);
        let snapshot = &among.snapshot;
        // A part is no snapshot that others are around: its own observations are what is known of it.
        let own = self
            .seen
            .iter()
            .filter(|seen| seen.source == snapshot.source);
        let begun = own.map(|seen| seen.first_at).max();
        let is_later = |begun: Timestamp| begun > snapshot.at;
        if begun.is_some_and(is_later) || around.newest.is_some_and(|newest| snapshot.at <= newest)
        {
            return self.snapshot_between(among, around, listed);
        }
        let open_until = self.open_until(&snapshot.source);
        let is_listed = |id: Uuid| listed.iter().any(|sheet| sheet.sheet_id == id);
        let is_paused =
            open_until.is_some_and(|until| snapshot.at.duration_since(until) >= FRESH_FOR);
        let withdrawn = self.withdrawals().into_iter();
        let withdrawn = withdrawn.filter(|withdrawal| withdrawal.seen_again_at.is_none());
        let withdrawn: Vec<Uuid> = withdrawn.map(|withdrawal| withdrawal.sheet_id).collect();
        // A whole snapshot shows by itself that a withdrawn sheet is listed still.
        let is_back = |id: &Uuid| snapshot.is_partial() && withdrawn.contains(id);
        let own = self.seen.iter_mut();
        for seen in own.filter(|seen| seen.source == snapshot.source && seen.last_at.is_none()) {
            let id = seen.sheet.sheet_id;
            if is_paused || is_back(&id) || !is_listed(id) {
                seen.last_at = open_until;
            }
        }
        for sheet in listed {
            let is_open = self.seen.iter().any(|seen| {
                seen.source == snapshot.source
                    && seen.last_at.is_none()
                    && seen.sheet.sheet_id == sheet.sheet_id
            });
            if is_open {
                continue;
            }
            self.seen.push(Seen {
                sheet: sheet.clone(),
                source: snapshot.source.clone(),
                source_rank: SourceRank::Catalog,
                first_at: snapshot.at,
                last_at: None,
                newest_snapshot: around.newest,
                next_snapshot: None,
            });
        }
    }

    /// Adds what a snapshot found that is not later than all others.
    fn snapshot_between(
        &mut self,
        among: &SnapshotAmong,
        around: Neighbours,
        listed: &[SheetFacts],
    ) {
        let snapshot = &among.snapshot;
        let observations = self.observations();
        let stretch = |(seen, observation): (&Seen, Observation)| {
            (seen.source == snapshot.source).then_some(Stretch {
                sheet_id: observation.sheet_id,
                first_at: observation.first_at,
                last_at: observation.last_at,
            })
        };
        let stretches: Vec<Stretch> = self
            .seen
            .iter()
            .zip(observations)
            .filter_map(stretch)
            .collect();
        let ids: Vec<Uuid> = listed.iter().map(|sheet| sheet.sheet_id).collect();
        // Also those of parts, which are no snapshots.
        let ends = || stretches.iter().map(|stretch| stretch.last_at);
        let starts = stretches.iter().map(|stretch| stretch.first_at);
        let earlier = ends().filter(|at| *at < snapshot.at);
        let later = starts.filter(|at| *at > snapshot.at);
        let newest = ends().chain(around.newest).max();
        let after = Snapshot {
            at: snapshot.at,
            previous: earlier.chain(around.previous).max(),
            next: later.chain(around.next).min(),
        };
        let after = after.add(&stretches, &ids);
        let (own, others): (Vec<Seen>, Vec<Seen>) = std::mem::take(&mut self.seen)
            .into_iter()
            .partition(|seen| seen.source == snapshot.source);
        self.seen = others;
        for stretch in after {
            let known = own
                .iter()
                .find(|seen| seen.sheet.sheet_id == stretch.sheet_id);
            let sheet = known.map(|seen| &seen.sheet).or_else(|| {
                listed
                    .iter()
                    .find(|sheet| sheet.sheet_id == stretch.sheet_id)
            });
            let Some(sheet) = sheet.cloned() else {
                continue;
            };
            let is_open = newest.is_none_or(|newest| newest <= stretch.last_at);
            let same_end = own
                .iter()
                .find(|seen| seen.last_at == Some(stretch.last_at));
            self.seen.push(Seen {
                sheet,
                source: snapshot.source.clone(),
                source_rank: SourceRank::Catalog,
                first_at: stretch.first_at,
                last_at: (!is_open).then_some(stretch.last_at),
                newest_snapshot: around.newest,
                next_snapshot: same_end.map_or(around.next, |seen| seen.next_snapshot),
            });
        }
    }

    /// Counts a snapshot as complete: it ends what the source no longer lists.
    pub(crate) fn complete(&mut self, snapshot: &SnapshotAt) {
        if !snapshot.covers(&self.provider) {
            return;
        }
        let own = self.seen.iter_mut();
        for seen in own.filter(|seen| seen.source == snapshot.source) {
            seen.newest_snapshot = seen.newest_snapshot.max(Some(snapshot.at));
            if seen.last_at.is_some_and(|last_at| last_at < snapshot.at)
                && !snapshot.is_blind_to(seen.sheet.entry.as_ref())
            {
                let next = seen
                    .next_snapshot
                    .map_or(snapshot.at, |next| next.min(snapshot.at));
                seen.next_snapshot = Some(next);
            }
        }
        let observations = self.observations();
        for withdrawal in &mut self.withdrawals {
            let lists = |observation: &&Observation| {
                observation.sheet_id == withdrawal.sheet_id
                    && observation.source == snapshot.source
                    && observation.first_at <= withdrawal.at
                    && snapshot.at <= observation.last_at
            };
            if withdrawal.at < snapshot.at
                && observations.iter().any(|observation| lists(&observation))
            {
                let seen_at = withdrawal
                    .seen_at
                    .map_or(snapshot.at, |seen_at| seen_at.min(snapshot.at));
                withdrawal.seen_at = Some(seen_at);
            }
        }
    }

    /// Adds a sheet or an entry that was posted.
    pub(crate) fn post(&mut self, sheet: &SheetFacts, by: &ObservedBy, at: Timestamp) {
        let at = if by.is_now {
            self.post_now(sheet, by, at)
        } else {
            Some(at)
        };
        let Some(mut at) = at else { return };
        let own = |seen: &Seen| seen.source == by.source;
        // Of two sheets that were seen at one time, the one that came later was seen later.
        while self.seen.iter().any(|seen| {
            own(seen)
                && seen.sheet.sheet_id != sheet.sheet_id
                && (seen.first_at == at || seen.last_at == Some(at))
        }) {
            let Ok(next) = at.checked_add(1.microsecond()) else {
                return;
            };
            at = next;
        }
        let covers = |seen: &Seen| seen.first_at <= at && seen.last_at >= Some(at);
        let mut parts = Vec::new();
        self.seen.retain(|seen| {
            let is_split = own(seen) && covers(seen) && seen.sheet.sheet_id != sheet.sheet_id;
            if is_split {
                let last_at = seen.last_at.unwrap_or(seen.first_at);
                parts.push(Seen {
                    last_at: Some(seen.first_at),
                    ..seen.clone()
                });
                parts.push(Seen {
                    first_at: last_at,
                    ..seen.clone()
                });
            }
            !is_split
        });
        self.seen.extend(parts);
        let is_known =
            |seen: &Seen| own(seen) && covers(seen) && seen.sheet.sheet_id == sheet.sheet_id;
        if !self.seen.iter().any(is_known) {
            self.seen.push(Seen {
                sheet: sheet.clone(),
                source: by.source.clone(),
                source_rank: by.source_rank,
                first_at: at,
                last_at: Some(at),
                newest_snapshot: None,
                next_snapshot: None,
            });
        }
    }

    /// The time of a sheet that is seen now: never before what is recorded already. None where it is known.
    fn post_now(
        &mut self,
        sheet: &SheetFacts,
        by: &ObservedBy,
        at: Timestamp,
    ) -> Option<Timestamp> {
        let newest = self.newest();
        let at = newest.map_or(at, |newest| newest.max(at));
        let withdrawn_at = self
            .withdrawals
            .iter()
            .filter(|withdrawal| withdrawal.sheet_id == sheet.sheet_id);
        let withdrawn_at = withdrawn_at.map(|withdrawal| withdrawal.at).max();
        let own = self.seen.iter_mut().filter(|seen| seen.source == by.source);
        let mut own: Vec<&mut Seen> = own.collect();
        own.sort_by_key(|seen| (seen.last_at, seen.first_at));
        let newest_of_sheet = own
            .iter()
            .rposition(|seen| seen.sheet.sheet_id == sheet.sheet_id);
        if let Some(index) = newest_of_sheet
            && withdrawn_at.is_none_or(|withdrawn_at| Some(withdrawn_at) < own[index].last_at)
        {
            // A request that is sent again does not bring back what was replaced since: its client may only have lost
            // the answer.
            if index + 1 == own.len()
                && let Some(last_at) = own[index].last_at
                && at.duration_since(last_at) >= SAME_OBSERVATION
            {
                own[index].last_at = Some(at);
            }
            return None;
        }
        if newest == Some(at) {
            return at.checked_add(1.microsecond()).ok();
        }
        Some(at)
    }
}

/// A sheet that a catalog lists as of its newest snapshot.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ListedSheet {
    /// Id of the offer.
    pub offer_id: Uuid,
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Name of the model there.
    pub model: String,
    /// Key of its entry in the catalog.
    pub entry: Option<String>,
}

/// Source of the observation of a single sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBy {
    /// A catalog's entries, or [`POSTED`].
    pub source: String,
    /// Rank of the source.
    pub source_rank: SourceRank,
    /// Whether it is seen now: then never before what is recorded of its offer already, whatever the clock says.
    pub is_now: bool,
    /// Sender, for the audit log; none for the examples.
    pub actor: Option<Arc<Actor>>,
}

impl ObservedBy {
    /// A sheet that was posted.
    #[must_use]
    pub fn post(is_now: bool) -> Self {
        Self {
            source: POSTED.to_owned(),
            source_rank: SourceRank::Sheet,
            is_now,
            actor: None,
        }
    }

    /// An entry of a catalog that was posted.
    #[must_use]
    pub fn entry(catalog: &str, is_now: bool) -> Self {
        Self {
            source: format!("{catalog}_entry"),
            source_rank: SourceRank::Entry,
            is_now,
            actor: None,
        }
    }

    /// Source of a sheet that a caller has sent.
    #[must_use]
    pub fn sent_by(self, actor: Actor) -> Self {
        Self {
            actor: Some(Arc::new(actor)),
            ..self
        }
    }
}
