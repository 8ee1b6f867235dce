//! The choice among the statements of all sources at one time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::claims::{Claim, Rank};
use super::period::{FRESH_FOR, Period};
use super::quarantine::{Statement, is_flagged};
use crate::sheet::compare::CellName;

/// Statements of the sources at one time.
#[derive(Default)]
pub(super) struct Current {
    /// Claims of each source in the order of their ranks.
    active: BTreeMap<String, BTreeSet<(Rank, usize)>>,
}

impl Current {
    /// Begins or ends the statement of a claim.
    pub(super) fn apply(&mut self, claims: &[Claim<'_>], (index, begins): (usize, bool)) {
        let claim = &claims[index];
        let source = claim.observation.source.clone();
        let of_source = self.active.entry(source).or_default();
        if begins {
            of_source.insert((claim.rank(), index));
        } else {
            of_source.remove(&(claim.rank(), index));
        }
    }

    /// The statements without those of the sources that state the offer for the first time at a time; none where there are no
    /// such sources, or no others.
    pub(super) fn without_new_sources(&self, claims: &[Claim<'_>], at: Timestamp) -> Option<Self> {
        let is_new = |of_source: &BTreeSet<(Rank, usize)>| {
            let last = of_source.last();
            last.is_some_and(|(_, index)| claims[*index].offer_since >= at)
        };
        let new_sources = self.active.values().filter(|own| is_new(own)).count();
        if new_sources == 0 || new_sources == self.active.len() {
            return None;
        }
        let known = self.active.iter().filter(|(_, own)| !is_new(own));
        let active = known.map(|(source, own)| (source.clone(), own.clone()));
        Some(Self {
            active: active.collect(),
        })
    }

    /// Statement of each source.
    pub(super) fn stated(&self) -> impl Iterator<Item = usize> {
        self.active
            .values()
            .filter_map(|of_source| Some(of_source.last()?.1))
    }

    /// The best statements at a time, given those before.
    pub(super) fn best(
        &self,
        claims: &[Claim<'_>],
        at: Timestamp,
        chosen: &[Chosen],
    ) -> Option<Best> {
        let stated: Vec<usize> = self.stated().collect();
        let statements = stated.iter().map(|index| claims[*index].statement());
        let statements: Vec<Statement<'_>> = statements.collect();
        let flagged = |index: usize| is_flagged(claims[index].statement(), &statements);
        let mut left: Vec<usize> = stated
            .iter()
            .copied()
            .filter(|index| !flagged(*index))
            .collect();
        let is_flagged = left.is_empty();
        if is_flagged {
            left = stated;
        }
        let source_rank = left
            .iter()
            .map(|index| claims[*index].observation.source_rank)
            .min()?;
        left.retain(|index| claims[*index].observation.source_rank == source_rank);
        let mut best = Best {
            accepted: Vec::new(),
            is_flagged,
            fresh: fresh(claims, at, &left, chosen),
        };
        while !left.is_empty() {
            let index = latest(claims, &fresh(claims, at, &left, chosen))?;
            best.accepted.push(index);
            left.retain(|other| *other != index && claims[*other].agrees(&claims[index]));
        }
        Some(best)
    }
}

/// Statements that are as fresh as any of the given ones at a time, given what was chosen before.
fn fresh(claims: &[Claim<'_>], at: Timestamp, among: &[usize], chosen: &[Chosen]) -> Vec<usize> {
    let seen = |index: &usize| claims[*index].seen_by(at);
    let newest = among.iter().map(seen).max().unwrap_or(at);
    let mut left = among.to_vec();
    left.retain(|index| newest.duration_since(seen(index)) < FRESH_FOR);
    // A fresher catalog keeps the price until another one states something new, not until that is read again.
    let kept = chosen.iter().find_map(|chosen| {
        let mut own = left.iter().filter(|index| chosen.is(&claims[**index]));
        Some((*own.next()?, chosen.at))
    });
    if let Some((kept, since)) = kept {
        left.retain(|index| !claims[*index].was_stale(&claims[kept], since));
    }
    left
}

/// Statement with a stated start among equally fresh ones, else that of the latest change of the cells on which they contradict
/// each other.
fn latest(claims: &[Claim<'_>], among: &[usize]) -> Option<usize> {
    if let [only] = among {
        return Some(*only);
    }
    let contested = contested(claims, among);
    let contender = |index: &usize| Contender::new(*index, claims, &contested);
    let mut left: Vec<Contender<'_>> = among.iter().map(contender).collect();
    if left.iter().any(|one| one.is_stated) {
        left.retain(|one| one.is_stated);
    }
    let latest_change = left.iter().filter_map(|one| one.changed_at).max();
    left.retain(|one| one.changed_at == latest_change);
    let first = left
        .into_iter()
        .min_by_key(|one| (one.listed_at, one.source));
    Some(first?.index)
}

/// The cells on which some statements contradict each other, each once.
fn contested<'a>(claims: &[Claim<'a>], among: &[usize]) -> Vec<&'a CellName> {
    let mut contested = BTreeSet::new();
    for (place, index) in among.iter().enumerate() {
        let own = &claims[*index].observation.cells;
        for other in &among[..place] {
            let others = &claims[*other].observation.cells;
            contested.extend(own.contradicted_by(others));
            contested.extend(others.contradicted_by(own));
        }
    }
    contested.into_iter().collect()
}

/// A statement among others that are as fresh and contradict it.
struct Contender<'a> {
    /// Place of the statement among all claims.
    index: usize,
    /// Whether its sheet states its start.
    is_stated: bool,
    /// Time at which its source changed a contested cell; none where nothing is known but the first prices of the source.
    changed_at: Option<Timestamp>,
    /// Time since which its source lists the contested cells as they are.
    listed_at: Timestamp,
    /// Name of its source.
    source: &'a str,
}

impl<'a> Contender<'a> {
    /// The statement at a place, given the cells on which it is contradicted.
    fn new(index: usize, claims: &[Claim<'a>], contested: &[&CellName]) -> Self {
        let claim = &claims[index];
        let since = claim.unchanged_since(claims, contested);
        let is_stated = claim.is_stated();
        // The first prices that a source lists are no change, unless it states their start.
        let is_change = is_stated || since.listed_at > claim.offer_since;
        Self {
            index,
            is_stated,
            changed_at: is_change.then_some(since.news_at),
            listed_at: since.listed_at,
            source: &claim.observation.source,
        }
    }
}

/// The best statements at a time.
pub(super) struct Best {
    /// The best one, and those that agree with it and with each other, the better first.
    accepted: Vec<usize>,
    pub(super) is_flagged: bool,
    /// Statements that are as fresh as the best one.
    fresh: Vec<usize>,
}

impl Best {
    /// The statement whose sheet stands for the price: of those that agree, the one with the most cells. Of several, the one
    /// with the prices that are in force, if possible by their source: while it is fresh, or is alone in stating limits.
    pub(super) fn shown(&self, claims: &[Claim<'_>], open: Option<&Period>) -> usize {
        let best = self.accepted[0];
        let base = &claims[best].observation.cells;
        let full =
            self.accepted.iter().copied().filter(|index| {
                *index == best || claims[*index].observation.cells.has_base_of(base)
            });
        let shown = full.max_by_key(|index| {
            let claim = &claims[*index];
            let observation = claim.observation;
            let is_in_force = open.is_some_and(|open| open.price_id == observation.price_id);
            let is_source =
                is_in_force && open.is_some_and(|open| open.source == observation.source);
            let is_alone = observation.states_limits && !claims[best].observation.states_limits;
            let stays = is_source && (is_alone || self.fresh.contains(index));
            let first = Reverse((claim.since, &observation.source));
            (
                observation.cells.len(),
                is_in_force,
                stays,
                *index == best,
                first,
            )
        });
        shown.unwrap_or(best)
    }

    /// Statements that were chosen, given those before.
    pub(super) fn chosen(
        &self,
        claims: &[Claim<'_>],
        before: &[Chosen],
        at: Timestamp,
    ) -> Vec<Chosen> {
        let accepted = self.accepted.iter().map(|index| {
            let claim = &claims[*index];
            let known = before.iter().find(|chosen| chosen.is(claim));
            known.cloned().unwrap_or_else(|| Chosen {
                source: claim.observation.source.clone(),
                price_id: claim.observation.price_id,
                at,
            })
        });
        accepted.collect()
    }
}

/// A statement that was found to be the price, or to agree with it, and since when.
#[derive(Clone)]
pub(super) struct Chosen {
    source: String,
    price_id: Uuid,
    at: Timestamp,
}

impl Chosen {
    fn is(&self, claim: &Claim<'_>) -> bool {
        (&self.source, self.price_id) == (&claim.observation.source, claim.observation.price_id)
    }
}
