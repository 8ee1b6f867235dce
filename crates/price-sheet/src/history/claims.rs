//! Statements of the sources of an offer, and their times: observations between absences and withdrawals.

use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::observation::{Observation, SourceRank, Withdrawal};
use super::period::{FRESH_FOR, UNKNOWN_START};
use super::quarantine::Statement;
use crate::sheet::compare::CellName;

/// An observation with the times at which it may be the price.
pub(super) struct Claim<'a> {
    pub(super) observation: &'a Observation,
    /// Start of its validity, or its first observation.
    pub(super) start: Timestamp,
    /// Start of the claim, or of a fresher statement of its source with a stated start before it.
    holds_from: Timestamp,
    /// Time since which the source lists these prices, even with other limits or names.
    pub(super) since: Timestamp,
    /// First and last times at which it listed them in a row, each row without a pause of [`FRESH_FOR`].
    pub(super) seen: Vec<(Timestamp, Timestamp)>,
    /// Time since which the source states any price of the offer.
    pub(super) offer_since: Timestamp,
    pub(super) spans: Vec<Span>,
    /// Place among all claims of what its source stated before it.
    before: Option<usize>,
}

/// Place among the statements of a source. Of contradicting entries of one catalog, the same prices come last whatever the
/// rest of their sheets.
pub(super) type Rank = (Timestamp, Timestamp, Uuid, Timestamp, Uuid);

/// Time span from a time to before another one.
pub(super) type Span = (Timestamp, Option<Timestamp>);

impl<'a> Claim<'a> {
    /// Place among the statements of its source: the last is what the source says. What a whole catalog listed last
    /// replaces all of its earlier lists; other statements have their place by their start, but give way to a fresher one with
    /// a stated start.
    pub(super) fn rank(&self) -> Rank {
        let observation = self.observation;
        let (first, second) = match observation.source_rank {
            SourceRank::Catalog => (self.until(), self.news_at()),
            SourceRank::Entry | SourceRank::Sheet => (self.holds_from, observation.last_at),
        };
        let last = (observation.last_at, observation.sheet_id);
        (first, second, observation.price_id, last.0, last.1)
    }

    /// The statement of its source, for the quarantine.
    pub(super) fn statement(&self) -> Statement<'a> {
        Statement {
            observation: self.observation,
            since: self.since,
        }
    }

    /// Time at which it was last listed in a row.
    fn until(&self) -> Timestamp {
        let last = self.seen.last();
        last.map_or(self.observation.last_at, |(_, until)| *until)
    }

    /// Time of its last observation up to a time; between two observations of a row it counts as seen. What it states of the times
    /// before the first one is as fresh as that, where it states a start.
    pub(super) fn seen_by(&self, at: Timestamp) -> Timestamp {
        let begun = self.seen.partition_point(|(from, _)| *from <= at);
        let Some(last) = begun.checked_sub(1) else {
            return if self.is_stated() {
                self.seen[0].0
            } else {
                UNKNOWN_START
            };
        };
        self.seen[last].1.min(at)
    }

    /// Whether it was known at a time at which another one was much fresher.
    pub(super) fn was_stale(&self, other: &Self, at: Timestamp) -> bool {
        self.news_at() <= at && other.seen_by(at).duration_since(self.seen_by(at)) >= FRESH_FOR
    }

    /// Start of its validity, or the time since which the prices are listed.
    pub(super) fn news_at(&self) -> Timestamp {
        if self.is_stated() {
            return self.start;
        }
        self.start.min(self.since)
    }

    pub(super) fn is_stated(&self) -> bool {
        self.observation.valid_from.is_some()
    }

    /// Whether both state the same as far as both state something.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let (own, others) = (self.observation, other.observation);
        own.price_id == others.price_id || own.cells.agree(&others.cells)
    }

    /// Whether it was its source's statement just before a time, or may have been.
    fn held_before(&self, at: Timestamp) -> bool {
        let mut spans = self.spans.iter();
        spans.any(|(from, until)| *from < at && until.is_none_or(|until| at <= until))
    }

    /// Time since which its source states some cells as it does, by their starts and by when they were listed. Cells that
    /// appear or vanish do not count.
    pub(super) fn unchanged_since(&self, all: &[Self], cells: &[&CellName]) -> Since {
        let cells_now = &self.observation.cells;
        let mut found = Since {
            news_at: self.news_at(),
            listed_at: self.since,
        };
        let mut before = self.before.map(|index| &all[index]);
        while let Some(claim) =
            before.filter(|claim| claim.observation.cells.is_same_in(cells, cells_now))
        {
            found = Since {
                news_at: claim.news_at(),
                listed_at: found.listed_at.min(claim.since),
            };
            before = claim.before.map(|index| &all[index]);
        }
        found
    }
}

/// Finds what a source stated before each of its claims, which are all after a place.
fn link(claims: &mut [Claim<'_>], from: usize) {
    for index in from..claims.len() {
        let at = claims[index].news_at();
        let own = claims[from..].iter().enumerate();
        let before = own.filter(|(_, claim)| claim.news_at() < at && claim.held_before(at));
        let last = before.max_by_key(|(_, claim)| claim.rank());
        claims[index].before = last.map(|(place, _)| from + place);
    }
}

/// Since when a source states some prices.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// Start of their validity, or the time since which they are listed.
    pub(super) news_at: Timestamp,
    /// The time since which they are listed.
    pub(super) listed_at: Timestamp,
}

/// Start of an observation: without a stated start, the time at which it was first seen; unknown if it had ended by then.
fn start(observation: &Observation) -> Timestamp {
    let is_over = observation
        .valid_to
        .is_some_and(|end| end <= observation.first_at);
    let seen = if is_over {
        UNKNOWN_START
    } else {
        observation.first_at
    };
    observation.valid_from.unwrap_or(seen)
}

/// Start of a statement among those of its source, or the earlier one that a fresher statement states.
fn holds_from(own: &[&Observation], observation: &Observation) -> Timestamp {
    let is_fresher = |other: &&&Observation| {
        observation.valid_from.is_none() && other.first_at > observation.last_at
    };
    let fresher = own.iter().filter(is_fresher);
    let stated = fresher.filter_map(|other| other.valid_from);
    stated.fold(start(observation), Timestamp::min)
}

pub(super) fn claims<'a>(
    observations: &'a [Observation],
    withdrawals: &[Withdrawal],
) -> Vec<Claim<'a>> {
    let mut by_source: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
    for observation in observations {
        by_source
            .entry(&observation.source)
            .or_default()
            .push(observation);
    }
    let mut claims = Vec::with_capacity(observations.len());
    for mut own in by_source.into_values() {
        own.sort_by_key(|one| (one.first_at, one.last_at, one.sheet_id));
        let absences = absences(&own);
        let first_at = own[0].first_at;
        for (index, observation) in own.iter().enumerate() {
            let start = start(observation);
            let listing = listing(&own, index);
            let since = listing[0].first_at;
            let cut = |spans: Vec<Span>, gap: Span| {
                spans
                    .into_iter()
                    .flat_map(|span| without(span, gap))
                    .collect()
            };
            let mut spans = vec![(start, observation.valid_to)];
            spans = absences.iter().copied().fold(spans, cut);
            let withdrawn = withdrawals
                .iter()
                .filter(|withdrawal| withdrawal.sheet_id == observation.sheet_id);
            spans = withdrawn
                .map(|withdrawal| (withdrawal.at, withdrawal.seen_again_at))
                .fold(spans, cut);
            spans.retain(|(from, until)| until.is_none_or(|until| *from < until));
            claims.push(Claim {
                observation,
                start,
                holds_from: holds_from(&own, observation),
                since,
                seen: rows(&listing),
                offer_since: first_at,
                spans,
                before: None,
            });
        }
        let first = claims.len() - own.len();
        link(&mut claims, first);
    }
    claims
}

/// Whether two observations of a catalog, the first of which came first, are about the same prices without a snapshot that did not
/// find them.
fn is_one_listing(first: &Observation, then: &Observation) -> bool {
    first.source_rank == SourceRank::Catalog
        && (first.price_id, first.valid_from, first.valid_to)
            == (then.price_id, then.valid_from, then.valid_to)
        && (first.last_at >= then.first_at
            || first.next_at.is_none_or(|next| next >= then.first_at))
}

/// The observations of a source, in order, at which it listed the prices of one of them without a break.
fn listing<'a>(own: &[&'a Observation], index: usize) -> Vec<&'a Observation> {
    let mut listing = vec![own[index]];
    for other in own[..index].iter().rev() {
        if is_one_listing(other, listing[0]) {
            listing.insert(0, other);
        }
    }
    let mut last = own[index];
    for other in &own[index + 1..] {
        if is_one_listing(last, other) && last.last_at <= other.last_at {
            last = other;
            listing.push(other);
        }
    }
    listing
}

/// First and last times of the rows of a listing.
fn rows(listing: &[&Observation]) -> Vec<(Timestamp, Timestamp)> {
    let mut rows: Vec<(Timestamp, Timestamp)> = Vec::new();
    for observation in listing {
        match rows.last_mut() {
            Some((_, until)) if observation.first_at.duration_since(*until) < FRESH_FOR => {
                *until = observation.last_at.max(*until);
            }
            _ => rows.push((observation.first_at, observation.last_at)),
        }
    }
    rows
}

/// Times at which a whole catalog did not list the offer, from its observations in order.
fn absences(observations: &[&Observation]) -> Vec<Span> {
    let mut absences = Vec::new();
    let mut last: Option<&Observation> = None;
    for observation in observations {
        if let Some(gone_at) = last.and_then(|last| last.next_at)
            && gone_at < observation.first_at
        {
            absences.push((gone_at, Some(observation.first_at)));
        }
        if last.is_none_or(|last| last.last_at < observation.last_at) {
            last = Some(observation);
        }
    }
    let gone_at = last.and_then(|last| last.next_at);
    absences.extend(gone_at.map(|gone_at| (gone_at, None)));
    absences
}

/// The parts of a span outside another one.
fn without((from, until): Span, (gap_from, gap_until): Span) -> impl Iterator<Item = Span> {
    let is_apart =
        until.is_some_and(|until| until <= gap_from) || gap_until.is_some_and(|gap| gap <= from);
    let whole = is_apart.then_some((from, until));
    let before = (!is_apart && from < gap_from).then_some((from, Some(gap_from)));
    let after = gap_until.filter(|gap| !is_apart && until.is_none_or(|until| *gap < until));
    let after = after.map(|gap| (gap, until));
    [whole, before, after].into_iter().flatten()
}
