//! Derives the periods of an offer from the sightings of its sources.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::quarantine::{Statement, is_flagged};
use super::sighting::{Sighting, Standing, Withdrawal};

/// Placeholder of an unknown start: the start of the year 1. Stated times are from 1970 on.
pub const UNKNOWN_START: Timestamp = Timestamp::constant(-62_135_596_800, 0);
/// Age difference of two last sightings from which on the later one counts. Below it both are equally fresh: catalogs that
/// are read once a week do not displace each other's prices.
pub const FRESH_FOR: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Source of the start of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartBasis {
    /// A source states it.
    Stated,
    /// The price was first seen then.
    Observed,
}

/// Reason for which a period ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Another price is in force.
    Replaced,
    /// Its stated end came.
    Expired,
    /// No catalog lists the offer any more.
    Delisted,
    /// It was withdrawn.
    Withdrawn,
}

/// A price in force from its start to before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// The sheet that was seen last with these prices.
    pub sheet_id: Uuid,
    /// Identity of its prices and limits, without dates and names.
    pub tariff_id: Uuid,
    /// The source of the sheet.
    pub source: String,
    /// Inclusive start; [`UNKNOWN_START`] where it is not known.
    pub starts_at: Timestamp,
    /// Source of the start.
    pub start_basis: StartBasis,
    /// Time at which the price before was last seen.
    pub not_before: Option<Timestamp>,
    /// Time at which a source last stated the price.
    pub last_seen_at: Timestamp,
    /// Exclusive end, with its reason; none until further notice.
    pub end: Option<(Timestamp, Ending)>,
    /// Whether the price is under quarantine, and in force only because no other source states one.
    pub is_flagged: bool,
}

impl Period {
    /// Exclusive end.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.end.map(|(at, _)| at)
    }

    /// Whether it is in force at a time.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.starts_at <= at && self.ends_at().is_none_or(|end| at < end)
    }
}

/// The price in force at a time.
#[must_use]
pub fn price_at(periods: &[Period], at: Timestamp) -> Option<&Period> {
    let after = periods.partition_point(|period| period.starts_at <= at);
    periods[..after].last().filter(|period| period.covers(at))
}

/// The periods of an offer, in order and without overlap.
#[must_use]
pub fn timeline(sightings: &[Sighting], withdrawals: &[Withdrawal]) -> Vec<Period> {
    let claims = claims(sightings, withdrawals);
    let mut marks: BTreeMap<Timestamp, Vec<Mark>> = BTreeMap::new();
    for (index, claim) in claims.iter().enumerate() {
        for (from, until) in &claim.spans {
            marks.entry(*from).or_default().push(Mark::Begin(index));
            if let Some(until) = until {
                marks.entry(*until).or_default().push(Mark::End(index));
            }
        }
        for (from, until) in &claim.seen {
            marks.entry(*from).or_default();
            if let Ok(stale_at) = until.checked_add(FRESH_FOR) {
                marks.entry(stale_at).or_default();
            }
        }
    }
    let mut current = Current::default();
    let mut periods = Periods::default();
    let mut chosen = None;
    let mut times = marks.into_iter().peekable();
    while let Some((at, marks)) = times.next() {
        for mark in marks {
            current.apply(&claims, mark);
        }
        let until = times.peek().map(|(next, _)| *next);
        let best = current.best(&claims, at, chosen.as_ref());
        chosen = Chosen::after(chosen, best.as_ref(), &claims, at);
        periods.add(at, until, best.as_ref(), &current, &claims);
    }
    periods.finish(withdrawals)
}

/// Statement of a source at a time.
#[derive(Debug, Clone, Copy)]
pub struct Stated<'a> {
    /// The sighting.
    pub sighting: &'a Sighting,
    /// Whether it is under quarantine.
    pub is_flagged: bool,
}

/// Statement of each source at a time.
#[must_use]
pub fn stated_at<'a>(
    sightings: &'a [Sighting],
    withdrawals: &[Withdrawal],
    at: Timestamp,
) -> Vec<Stated<'a>> {
    let mut stated: BTreeMap<&str, (Rank, Statement<'a>)> = BTreeMap::new();
    for claim in claims(sightings, withdrawals) {
        let covers = |span: &Span| span.0 <= at && span.1.is_none_or(|until| at < until);
        if !claim.spans.iter().any(covers) {
            continue;
        }
        let rank = claim.rank();
        let sighting = claim.sighting;
        let statement = Statement {
            sighting,
            since: claim.since,
        };
        let last = stated.entry(&sighting.source).or_insert((rank, statement));
        if last.0 < rank {
            *last = (rank, statement);
        }
    }
    let stated: Vec<Statement<'a>> = stated.into_values().map(|(_, last)| last).collect();
    let with_flag = |one: &Statement<'a>| Stated {
        sighting: one.sighting,
        is_flagged: is_flagged(*one, &stated),
    };
    stated.iter().map(with_flag).collect()
}

/// A sighting with the times at which it may be the price.
struct Claim<'a> {
    sighting: &'a Sighting,
    /// Start of its validity, or its first sighting.
    start: Timestamp,
    /// Time since which the source lists these prices, be it with other limits or names.
    since: Timestamp,
    /// First and last times at which it listed them in a row, each row without a pause of [`FRESH_FOR`].
    seen: Vec<(Timestamp, Timestamp)>,
    /// Whether the source stated another price of the offer before.
    is_news: bool,
    spans: Vec<Span>,
}

/// Place among the statements of a source. Of contradicting entries of one catalog, the same prices come last whatever the
/// rest of their sheets.
type Rank = (Timestamp, Timestamp, Uuid, Timestamp, Uuid);

/// From a time to before another one.
type Span = (Timestamp, Option<Timestamp>);

impl Claim<'_> {
    /// Place among the statements of its source: the last is what the source says. What a whole catalog listed last
    /// replaces all of its earlier lists; other statements have their place by their start.
    fn rank(&self) -> Rank {
        let sighting = self.sighting;
        let (first, second) = match sighting.standing {
            Standing::Catalog => (self.until(), self.news_at()),
            Standing::Entry | Standing::Sheet => (self.start, sighting.last_at),
        };
        let last = (sighting.last_at, sighting.sheet_id);
        (first, second, sighting.tariff_id, last.0, last.1)
    }

    /// Time at which it was last listed in a row.
    fn until(&self) -> Timestamp {
        let last = self.seen.last();
        last.map_or(self.sighting.last_at, |(_, until)| *until)
    }

    /// Time of its last sighting up to a time; between two sightings of a row, and before the first, it counts as seen.
    fn seen_by(&self, at: Timestamp) -> Timestamp {
        let begun = self.seen.partition_point(|(from, _)| *from <= at);
        begun
            .checked_sub(1)
            .map_or(at, |last| self.seen[last].1.min(at))
    }

    /// Whether it was known at a time at which another one was much fresher.
    fn was_stale(&self, other: &Self, at: Timestamp) -> bool {
        self.news_at() <= at && other.seen_by(at).duration_since(self.seen_by(at)) >= FRESH_FOR
    }

    /// Start of its validity, or the time since which the prices are listed.
    fn news_at(&self) -> Timestamp {
        if self.is_stated() {
            return self.start;
        }
        self.start.min(self.since)
    }

    fn is_stated(&self) -> bool {
        self.sighting.valid_from.is_some()
    }
}

/// Start of a sighting: without a stated start, the time at which it was first seen; unknown if it had ended by then.
fn start(sighting: &Sighting) -> Timestamp {
    let is_over = sighting
        .valid_to
        .is_some_and(|end| end <= sighting.first_at);
    let seen = if is_over {
        UNKNOWN_START
    } else {
        sighting.first_at
    };
    sighting.valid_from.unwrap_or(seen)
}

fn claims<'a>(sightings: &'a [Sighting], withdrawals: &[Withdrawal]) -> Vec<Claim<'a>> {
    let mut by_source: BTreeMap<&str, Vec<&Sighting>> = BTreeMap::new();
    for sighting in sightings {
        by_source
            .entry(&sighting.source)
            .or_default()
            .push(sighting);
    }
    let mut claims = Vec::with_capacity(sightings.len());
    for mut own in by_source.into_values() {
        own.sort_by_key(|sighting| (sighting.first_at, sighting.last_at, sighting.sheet_id));
        let absences = absences(&own);
        let first_at = own[0].first_at;
        for (index, sighting) in own.iter().enumerate() {
            let start = start(sighting);
            let listing = listing(&own, index);
            let since = listing[0].first_at;
            let cut = |spans: Vec<Span>, gap: Span| {
                spans
                    .into_iter()
                    .flat_map(|span| without(span, gap))
                    .collect()
            };
            let mut spans = vec![(start, sighting.valid_to)];
            spans = absences.iter().copied().fold(spans, cut);
            let withdrawn = withdrawals
                .iter()
                .filter(|withdrawal| withdrawal.sheet_id == sighting.sheet_id);
            spans = withdrawn
                .map(|withdrawal| (withdrawal.at, withdrawal.seen_again_at))
                .fold(spans, cut);
            spans.retain(|(from, until)| until.is_none_or(|until| *from < until));
            let is_news = since > first_at;
            claims.push(Claim {
                sighting,
                start,
                since,
                seen: rows(&listing),
                is_news,
                spans,
            });
        }
    }
    claims
}

/// Whether two sightings of a catalog, the first of which came first, are about the same prices without a look that did not
/// find them.
fn is_one_listing(first: &Sighting, then: &Sighting) -> bool {
    first.standing == Standing::Catalog
        && (first.tariff_id, first.valid_from, first.valid_to)
            == (then.tariff_id, then.valid_from, then.valid_to)
        && (first.last_at >= then.first_at
            || first.next_at.is_none_or(|next| next >= then.first_at))
}

/// The sightings of a source, in order, at which it listed the prices of one of them without a break.
fn listing<'a>(own: &[&'a Sighting], index: usize) -> Vec<&'a Sighting> {
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
fn rows(listing: &[&Sighting]) -> Vec<(Timestamp, Timestamp)> {
    let mut rows: Vec<(Timestamp, Timestamp)> = Vec::new();
    for sighting in listing {
        match rows.last_mut() {
            Some((_, until)) if sighting.first_at.duration_since(*until) < FRESH_FOR => {
                *until = sighting.last_at.max(*until);
            }
            _ => rows.push((sighting.first_at, sighting.last_at)),
        }
    }
    rows
}

/// Times at which a whole catalog did not list the offer, from its sightings in order.
fn absences(sightings: &[&Sighting]) -> Vec<Span> {
    let mut absences = Vec::new();
    let mut last: Option<&Sighting> = None;
    for sighting in sightings {
        if let Some(gone_at) = last.and_then(|last| last.next_at)
            && gone_at < sighting.first_at
        {
            absences.push((gone_at, Some(sighting.first_at)));
        }
        if last.is_none_or(|last| last.last_at < sighting.last_at) {
            last = Some(sighting);
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

/// A change of what the sources state.
#[derive(Clone, Copy)]
enum Mark {
    Begin(usize),
    End(usize),
}

/// Statements of the sources at one time.
#[derive(Default)]
struct Current {
    /// Claims of each source in the order of their ranks.
    active: BTreeMap<String, BTreeSet<(Rank, usize)>>,
}

impl Current {
    fn apply(&mut self, claims: &[Claim<'_>], mark: Mark) {
        let (Mark::Begin(index) | Mark::End(index)) = mark;
        let claim = &claims[index];
        let of_source = self
            .active
            .entry(claim.sighting.source.clone())
            .or_default();
        match mark {
            Mark::Begin(_) => of_source.insert((claim.rank(), index)),
            Mark::End(_) => of_source.remove(&(claim.rank(), index)),
        };
    }

    /// Statement of each source.
    fn stated(&self) -> impl Iterator<Item = usize> {
        self.active
            .values()
            .filter_map(|of_source| Some(of_source.last()?.1))
    }

    /// The best statement at a time, given the one before.
    fn best(&self, claims: &[Claim<'_>], at: Timestamp, chosen: Option<&Chosen>) -> Option<Best> {
        let stated: Vec<usize> = self.stated().collect();
        let statement = |index: usize| Statement {
            sighting: claims[index].sighting,
            since: claims[index].since,
        };
        let statements: Vec<Statement<'_>> = stated.iter().map(|index| statement(*index)).collect();
        let flagged = |index: usize| is_flagged(statement(index), &statements);
        let mut left: Vec<usize> = stated
            .iter()
            .copied()
            .filter(|index| !flagged(*index))
            .collect();
        let is_flagged = left.is_empty();
        if is_flagged {
            left = stated;
        }
        let standing = left
            .iter()
            .map(|index| claims[*index].sighting.standing)
            .min()?;
        left.retain(|index| claims[*index].sighting.standing == standing);
        let newest = left.iter().map(|index| claims[*index].seen_by(at)).max()?;
        let listed = left.clone();
        left.retain(|index| newest.duration_since(claims[*index].seen_by(at)) < FRESH_FOR);
        // A fresher catalog keeps the price until another one states something new, not until that is read again.
        if let Some(chosen) = chosen
            && let Some(kept) = left.iter().find(|index| chosen.is(&claims[**index]))
        {
            let kept = &claims[*kept];
            left.retain(|index| !claims[*index].was_stale(kept, chosen.at));
        }
        let fresh = left.clone();
        let best = left.into_iter().max_by_key(|index| {
            let claim = &claims[*index];
            let news = (claim.is_stated() || claim.is_news).then_some(claim.news_at());
            let first = Reverse((claim.since, &claim.sighting.source));
            (claim.is_stated(), news, first)
        });
        best.map(|index| Best {
            index,
            is_flagged,
            fresh,
            listed,
        })
    }
}

/// The best statement at a time.
struct Best {
    index: usize,
    is_flagged: bool,
    /// Statements that are as fresh.
    fresh: Vec<usize>,
    /// These, and the stale ones.
    listed: Vec<usize>,
}

impl Best {
    /// The statement whose sheet stands for the price: that of the source which had the same price in force before, while
    /// it is fresh, or is alone in stating limits.
    fn sheet(&self, claims: &[Claim<'_>], source: &str) -> usize {
        let best = claims[self.index].sighting;
        let is_same = |index: &&usize| {
            let sighting = claims[**index].sighting;
            sighting.source == source && sighting.tariff_id == best.tariff_id
        };
        let fresh = self.fresh.iter().find(is_same);
        let stale = self.listed.iter().find(is_same);
        let stale =
            stale.filter(|index| claims[**index].sighting.states_limits && !best.states_limits);
        fresh.or(stale).copied().unwrap_or(self.index)
    }
}

/// The statement that was found the best, and since when.
struct Chosen {
    source: String,
    tariff_id: Uuid,
    at: Timestamp,
}

impl Chosen {
    fn is(&self, claim: &Claim<'_>) -> bool {
        (&self.source, self.tariff_id) == (&claim.sighting.source, claim.sighting.tariff_id)
    }

    fn after(
        before: Option<Self>,
        best: Option<&Best>,
        claims: &[Claim<'_>],
        at: Timestamp,
    ) -> Option<Self> {
        let claim = &claims[best?.index];
        before.filter(|before| before.is(claim)).or_else(|| {
            Some(Self {
                source: claim.sighting.source.clone(),
                tariff_id: claim.sighting.tariff_id,
                at,
            })
        })
    }
}

/// The periods so far.
#[derive(Default)]
struct Periods {
    done: Vec<Period>,
    /// End of validity of what is in force.
    valid_to: Option<Timestamp>,
}

impl Periods {
    /// Adds the best statement from a time until another one.
    fn add(
        &mut self,
        at: Timestamp,
        until: Option<Timestamp>,
        best: Option<&Best>,
        current: &Current,
        claims: &[Claim<'_>],
    ) {
        let Some(best) = best else {
            let ending = if self.valid_to == Some(at) {
                Ending::Expired
            } else {
                Ending::Delisted
            };
            return self.end(at, ending);
        };
        let sighting = claims[best.index].sighting;
        let seen_at = current
            .stated()
            .map(|index| &claims[index])
            .filter(|claim| claim.sighting.tariff_id == sighting.tariff_id)
            .map(|claim| until.map_or(claim.sighting.last_at, |until| claim.seen_by(until)))
            .max()
            .unwrap_or(sighting.last_at);
        let open = self.done.last_mut().filter(|last| last.end.is_none());
        if let Some(last) = open
            && last.tariff_id == sighting.tariff_id
            && last.is_flagged == best.is_flagged
        {
            let shown = claims[best.sheet(claims, &last.source)].sighting;
            last.last_seen_at = last.last_seen_at.max(seen_at);
            last.sheet_id = shown.sheet_id;
            last.source.clone_from(&shown.source);
        } else {
            let is_start = sighting.valid_from == Some(at);
            let is_stated = is_start || self.valid_to == Some(at);
            let before = self.done.last().filter(|last| last.end.is_none());
            let not_before = before.map(|last| last.last_seen_at);
            self.end(at, Ending::Replaced);
            self.done.push(Period {
                sheet_id: sighting.sheet_id,
                tariff_id: sighting.tariff_id,
                source: sighting.source.clone(),
                starts_at: at,
                start_basis: if is_stated {
                    StartBasis::Stated
                } else {
                    StartBasis::Observed
                },
                not_before,
                last_seen_at: seen_at,
                end: None,
                is_flagged: best.is_flagged,
            });
        }
        self.valid_to = sighting.valid_to;
    }

    fn end(&mut self, at: Timestamp, ending: Ending) {
        if let Some(last) = self.done.last_mut().filter(|last| last.end.is_none()) {
            last.end = Some((at, ending));
        }
    }

    /// Names the withdrawals that ended periods.
    fn finish(mut self, withdrawals: &[Withdrawal]) -> Vec<Period> {
        for period in &mut self.done {
            if let Some((at, ending)) = &mut period.end
                && withdrawals.iter().any(|withdrawal| {
                    withdrawal.sheet_id == period.sheet_id && withdrawal.at == *at
                })
            {
                *ending = Ending::Withdrawn;
            }
        }
        self.done
    }
}
