//! Derives the periods of an offer from the observations of its sources.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::choice::{Best, Current};
use super::claims::{Claim, Rank, Span, claims};
use super::observation::{Observation, Withdrawal};
use super::period::{Ending, FRESH_FOR, Period, StartBasis};
use super::quarantine::{Statement, is_flagged};

/// The periods of an offer, in order and without overlap.
#[must_use]
pub fn timeline(observations: &[Observation], withdrawals: &[Withdrawal]) -> Vec<Period> {
    let claims = claims(observations, withdrawals);
    // Claims that begin or end.
    let mut marks: BTreeMap<Timestamp, Vec<(usize, bool)>> = BTreeMap::new();
    for (index, claim) in claims.iter().enumerate() {
        for (from, until) in &claim.spans {
            marks.entry(*from).or_default().push((index, true));
            if let Some(until) = until {
                marks.entry(*until).or_default().push((index, false));
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
    let mut chosen = Vec::new();
    let mut times = marks.into_iter().peekable();
    while let Some((at, marks)) = times.next() {
        for mark in marks {
            current.apply(&claims, mark);
        }
        let until = times.peek().map(|(next, _)| *next);
        let best = current.best(&claims, at, &chosen);
        let without = current.without_new_sources(&claims, at);
        let kept = without.and_then(|without| without.best(&claims, at, &chosen));
        chosen = best
            .as_ref()
            .map_or_else(Vec::new, |best| best.chosen(&claims, &chosen, at));
        periods.add(
            (at, until),
            (best.as_ref(), kept.as_ref()),
            &current,
            &claims,
        );
    }
    periods.finish(withdrawals)
}

/// Statement of a source at a time.
#[derive(Debug, Clone, Copy)]
pub struct Stated<'a> {
    /// The observation.
    pub observation: &'a Observation,
    /// Whether it is under quarantine.
    pub is_flagged: bool,
}

/// Statement of each source at a time.
#[must_use]
pub fn stated_at<'a>(
    observations: &'a [Observation],
    withdrawals: &[Withdrawal],
    at: Timestamp,
) -> Vec<Stated<'a>> {
    let mut stated: BTreeMap<&str, (Rank, Statement<'a>)> = BTreeMap::new();
    for claim in claims(observations, withdrawals) {
        let covers = |span: &Span| span.0 <= at && span.1.is_none_or(|until| at < until);
        if !claim.spans.iter().any(covers) {
            continue;
        }
        let ranked = (claim.rank(), claim.statement());
        let last = stated.entry(&claim.observation.source).or_insert(ranked);
        if last.0 < ranked.0 {
            *last = ranked;
        }
    }
    let stated: Vec<Statement<'a>> = stated.into_values().map(|(_, last)| last).collect();
    let with_flag = |one: &Statement<'a>| Stated {
        observation: one.observation,
        is_flagged: is_flagged(*one, &stated),
    };
    stated.iter().map(with_flag).collect()
}

/// The periods so far.
#[derive(Default)]
struct Periods {
    done: Vec<Period>,
    /// End of validity of what is in force.
    valid_to: Option<Timestamp>,
}

impl Periods {
    /// Adds the best statement from a time until another one. `kept` are the best statements without sources that state the offer
    /// for the first time; `None` without such sources, or without others.
    fn add(
        &mut self,
        (at, until): (Timestamp, Option<Timestamp>),
        (best, kept): (Option<&Best>, Option<&Best>),
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
        let open = self.done.last().filter(|last| last.end.is_none());
        let observation = claims[best.shown(claims, open)].observation;
        let seen_at = current
            .stated()
            .map(|index| &claims[index])
            .filter(|claim| claim.observation.price_id == observation.price_id)
            .map(|claim| until.map_or(claim.observation.last_at, |until| claim.seen_by(until)))
            .max()
            .unwrap_or(observation.last_at);
        let kept = kept.map(|kept| kept.shown(claims, open));
        let kept = kept.map(|index| claims[index].observation.price_id);
        let is_new_source = kept.is_some() && kept == open.map(|open| open.price_id);
        let open = self.done.last_mut().filter(|last| last.end.is_none());
        if let Some(last) = open
            && last.price_id == observation.price_id
            && last.is_flagged == best.is_flagged
        {
            last.last_seen_at = last.last_seen_at.max(seen_at);
            last.sheet_id = observation.sheet_id;
            last.source.clone_from(&observation.source);
        } else {
            let is_start = observation.valid_from == Some(at);
            let is_stated = is_start || self.valid_to == Some(at);
            let before = self.done.last().filter(|last| last.end.is_none());
            let not_before = before.map(|last| last.last_seen_at);
            self.end(at, Ending::Replaced);
            self.done.push(Period {
                sheet_id: observation.sheet_id,
                price_id: observation.price_id,
                source: observation.source.clone(),
                starts_at: at,
                start_basis: if is_stated {
                    StartBasis::Stated
                } else if is_new_source {
                    StartBasis::SourceAdded
                } else {
                    StartBasis::Observed
                },
                not_before,
                last_seen_at: seen_at,
                end: None,
                is_flagged: best.is_flagged,
            });
        }
        self.valid_to = observation.valid_to;
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
