//! The rules of histories as they are written, at every time.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

use super::super::*;
use super::{cells, day, id, listed};

/// The facts of a catalog that are about the prices of a fact without a break, that one included.
fn one_listing<'a>(facts: &'a [Observation], fact: &'a Observation) -> Vec<&'a Observation> {
    let content = |fact: &Observation| {
        let dates = (fact.valid_from, fact.valid_to);
        (fact.source.clone(), fact.price_id, dates)
    };
    let mut found = vec![fact];
    let meets = |one: &Observation, other: &Observation| {
        one.first_at <= other.first_at
            && (one.last_at >= other.first_at
                || one.next_at.is_none_or(|next| next == other.first_at))
    };
    while fact.source_rank == SourceRank::Catalog
        && let Some(more) = facts.iter().find(|other| {
            content(other) == content(fact)
                && !found.iter().any(|one| one == other)
                && found
                    .iter()
                    .any(|one| meets(one, other) || meets(other, one))
        })
    {
        found.push(more);
    }
    found
}

fn priced_since(facts: &[Observation], fact: &Observation) -> Timestamp {
    let listing = one_listing(facts, fact);
    listing.iter().map(|one| one.first_at).min().unwrap()
}

fn priced_until(facts: &[Observation], fact: &Observation) -> Timestamp {
    let listing = one_listing(facts, fact);
    listing.iter().map(|one| one.last_at).max().unwrap()
}

/// Time at which the prices of a fact were last seen by a time.
fn seen_by(facts: &[Observation], fact: &Observation, at: Timestamp) -> Timestamp {
    let listing = one_listing(facts, fact);
    let begun = listing.iter().filter(|one| one.first_at <= at);
    let Some(last) = begun.map(|one| one.last_at).max() else {
        return match fact.valid_from {
            Some(_) => priced_since(facts, fact),
            None => UNKNOWN_START,
        };
    };
    let next = listing.iter().map(|one| one.first_at);
    let next = next.filter(|first| *first > at).min();
    match next {
        Some(next) if next.duration_since(last) < FRESH_FOR => at,
        _ => last.min(at),
    }
}

/// The statements that were the price or agreed with it at the times before, each with the first of these.
type Chosen = Vec<(String, Uuid, Timestamp)>;

fn start_of(fact: &Observation) -> Timestamp {
    let is_over = fact.valid_to.is_some_and(|end| end <= fact.first_at);
    let seen = if is_over {
        UNKNOWN_START
    } else {
        fact.first_at
    };
    fact.valid_from.unwrap_or(seen)
}

fn news_of(facts: &[Observation], fact: &Observation) -> Timestamp {
    match fact.valid_from {
        Some(from) => from,
        None => start_of(fact).min(priced_since(facts, fact)),
    }
}

/// Statements of the sources at a time.
fn statements<'a>(
    facts: &'a [Observation],
    withdrawals: &[Withdrawal],
    at: Timestamp,
) -> Vec<&'a Observation> {
    let is_listed = |fact: &Observation| {
        let own = || facts.iter().filter(|other| other.source == fact.source);
        let seen = own()
            .filter(|other| other.first_at <= at)
            .max_by_key(|other| other.last_at);
        let next = seen.and_then(|seen| seen.next_at);
        next.is_none_or(|next| at < next)
    };
    let holds = |fact: &&Observation| {
        let withdrawn = withdrawals
            .iter()
            .any(|cut| cut.sheet_id == fact.sheet_id && cut.covers(at));
        start_of(fact) <= at
            && fact.valid_to.is_none_or(|end| at < end)
            && !withdrawn
            && is_listed(fact)
    };
    let mut best: Vec<&Observation> = Vec::new();
    for fact in facts.iter().filter(holds) {
        let rank = |fact: &Observation| {
            if fact.source_rank == SourceRank::Catalog {
                let until = priced_until(facts, fact);
                return (until, news_of(facts, fact), fact.sheet_id);
            }
            let own = facts
                .iter()
                .filter(|other| other.source == fact.source && other.first_at > fact.last_at);
            let corrected = own.filter_map(|other| other.valid_from).min();
            let corrected = corrected.filter(|_| fact.valid_from.is_none());
            let start = start_of(fact);
            let start = corrected.map_or(start, |corrected| corrected.min(start));
            (start, fact.last_at, fact.sheet_id)
        };
        match best.iter_mut().find(|other| other.source == fact.source) {
            Some(other) if rank(other) < rank(fact) => *other = fact,
            Some(_) => {}
            None => best.push(fact),
        }
    }
    best
}

/// Start of what a source says of the cells on which some statements contradict each other, and its first observation.
fn unchanged_since(
    facts: &[Observation],
    withdrawals: &[Withdrawal],
    fact: &Observation,
    among: &[&Observation],
) -> (Timestamp, Timestamp) {
    let mut contested = Vec::new();
    for one in among {
        contested.extend(
            among
                .iter()
                .flat_map(|other| one.cells.contradicted_by(&other.cells)),
        );
    }
    let mut found = (news_of(facts, fact), priced_since(facts, fact));
    loop {
        let before = found.0 - SignedDuration::from_secs(1);
        let said = statements(facts, withdrawals, before);
        let said = said.into_iter().find(|said| said.source == fact.source);
        let Some(said) = said else { return found };
        if news_of(facts, said) >= found.0 || !said.cells.is_same_in(&contested, &fact.cells) {
            return found;
        }
        found = (news_of(facts, said), found.1.min(priced_since(facts, said)));
    }
}

/// The best of some statements at a time by the rules as they are written, given those that were chosen before.
fn best_by_the_rules<'a>(
    facts: &[Observation],
    withdrawals: &[Withdrawal],
    mut best: Vec<&'a Observation>,
    at: Timestamp,
    chosen: &Chosen,
) -> &'a Observation {
    let seen = |fact: &Observation| seen_by(facts, fact, at);
    let newest = best.iter().map(|fact| seen(fact)).max().unwrap();
    best.retain(|fact| newest.duration_since(seen(fact)) < FRESH_FOR);
    let kept = chosen.iter().find_map(|(source, tariff, since)| {
        let mut own = best.iter();
        let own = own.find(|fact| fact.source == *source && fact.price_id == *tariff);
        own.map(|fact| (*fact, *since))
    });
    if let Some((kept, since)) = kept {
        let seen = |fact: &Observation| seen_by(facts, fact, since);
        best.retain(|fact| {
            let is_fresh = seen(kept).duration_since(seen(fact)) < FRESH_FOR;
            news_of(facts, fact) > since || is_fresh
        });
    }
    let first = |fact: &Observation| {
        let own = facts.iter().filter(|other| other.source == fact.source);
        own.map(|other| other.first_at).min().unwrap()
    };
    let rank = |fact: &&&Observation| {
        let (news_at, listed_at) = unchanged_since(facts, withdrawals, fact, &best);
        let is_stated = fact.valid_from.is_some();
        let is_news = is_stated || listed_at > first(fact);
        let oldest = (listed_at, fact.source.clone());
        (
            is_stated,
            is_news.then_some(news_at),
            std::cmp::Reverse(oldest),
        )
    };
    best.iter().max_by_key(rank).unwrap()
}

/// The price at a time by the rules as they are written, statement by statement, given those before and the prices that
/// were in force; and what was chosen.
fn price_by_the_rules(
    facts: &[Observation],
    withdrawals: &[Withdrawal],
    at: Timestamp,
    chosen: &Chosen,
    in_force: Option<Uuid>,
) -> (Option<Uuid>, Chosen) {
    let mut left = statements(facts, withdrawals, at);
    let source_rank = left.iter().map(|fact| fact.source_rank).min();
    left.retain(|fact| Some(fact.source_rank) == source_rank);
    let mut accepted: Vec<&Observation> = Vec::new();
    while !left.is_empty() {
        let best = best_by_the_rules(facts, withdrawals, left.clone(), at, chosen);
        accepted.push(best);
        left.retain(|fact| {
            let is_same = fact.price_id == best.price_id || fact.cells.agree(&best.cells);
            fact.source != best.source && is_same
        });
    }
    let full = |fact: &&&Observation| fact.cells.has_base_of(&accepted[0].cells);
    let most = accepted.iter().filter(full).map(|fact| fact.cells.len());
    let most = most.max();
    let richest: Vec<&&Observation> = accepted
        .iter()
        .filter(full)
        .filter(|fact| Some(fact.cells.len()) == most)
        .collect();
    let kept = richest.iter().find(|fact| Some(fact.price_id) == in_force);
    let best = richest
        .iter()
        .find(|fact| fact.source == accepted[0].source);
    let first = richest
        .iter()
        .min_by_key(|fact| (priced_since(facts, fact), fact.source.clone()));
    let shown = kept.or(best).or(first).map(|fact| fact.price_id);
    let chosen = accepted.iter().map(|fact| {
        let known = chosen
            .iter()
            .find(|(source, tariff, _)| fact.source == *source && fact.price_id == *tariff);
        known
            .cloned()
            .unwrap_or_else(|| (fact.source.clone(), fact.price_id, at))
    });
    (shown, chosen.collect())
}

/// Facts of two catalogs that are read at different paces, of entries and of posted sheets.
fn some_facts() -> impl Strategy<Value = Vec<Observation>> {
    let fact = (
        0_usize..4,
        0_u32..6,
        0_i64..7,
        0_i64..3,
        0_u8..6,
        prop::option::of(0_i64..25),
    );
    prop::collection::vec(fact, 1..8).prop_map(|facts| {
        let facts = facts
            .into_iter()
            .map(|(source, sheet, first, length, dated, end)| {
                // One of them pauses for longer than what counts as fresh.
                let every = [15, 9, 4, 4][source];
                let (first, last) = (first * every, (first + length) * every);
                // Prices stay near each other: the quarantine has its own test.
                let mut fact = listed(
                    ["a", "b", "entry", "posted"][source],
                    10 + sheet,
                    first,
                    last,
                );
                // Some have more cells than others, which agree with them or do not.
                let base = 10 + sheet / 3;
                fact.cells = match sheet % 3 {
                    0 => cells(&[("standard", 0, [base, 20, 0])]),
                    1 => cells(&[("standard", 0, [base, 20, 1])]),
                    _ => cells(&[("standard", 0, [base, 20, 2]), ("batch", 0, [5, 10, 0])]),
                };
                fact.input_price = Some(f64::from(base));
                fact.source_rank = [
                    SourceRank::Catalog,
                    SourceRank::Catalog,
                    SourceRank::Entry,
                    SourceRank::Sheet,
                ][source];
                fact.valid_from = (dated < 2).then(|| day(first - 12 + i64::from(dated) * 20));
                fact.valid_to = end
                    .filter(|_| dated == 0)
                    .map(|end| day(first - 8 + 4 * end));
                fact.next_at = (source < 2 && last < 60).then(|| day(last + every));
                fact
            });
        facts.collect()
    })
}

proptest! {
    #[test]
    fn the_timeline_follows_the_rules_at_every_time(
        facts in some_facts(),
        cuts in prop::collection::vec((0_u128..4, 0_i64..90, prop::option::of(1_i64..40)), 0..3),
        order in any::<u64>(),
    ) {
        let withdrawals: Vec<Withdrawal> = cuts.into_iter().map(|(sheet, at, back)| Withdrawal {
            sheet_id: id(10 + sheet),
            at: day(at),
            seen_again_at: back.map(|days| day(at + days)),
        }).collect();
        let periods = timeline(&facts, &withdrawals);
        let (mut chosen, mut in_force) = (Chosen::new(), None);
        for half_days in -40..300 {
            let at = day(0) + SignedDuration::from_hours(12 * half_days);
            (in_force, chosen) = price_by_the_rules(&facts, &withdrawals, at, &chosen, in_force);
            let found = price_at(&periods, at).map(|period| period.price_id);
            prop_assert_eq!(found, in_force, "at half day {}: {:?}", half_days, periods);
        }
        for pair in periods.windows(2) {
            prop_assert!(pair[0].ends_at().is_some_and(|end| end <= pair[1].starts_at));
        }
        let mut shuffled = facts;
        shuffled.sort_by_key(|fact| fact.first_at.as_second().unsigned_abs().wrapping_mul(order | 1));
        prop_assert_eq!(timeline(&shuffled, &withdrawals), periods);
    }

    #[test]
    fn a_mirror_of_the_news_has_the_price_in_force(
        histories in prop::collection::vec(some_facts(), 1..6),
    ) {
        let now = day(60);
        let mut mirror: Option<Uuid> = None;
        let mut before: Vec<Period> = Vec::new();
        for facts in histories {
            let after = timeline(&facts, &[]);
            for news in news(&before, &after, now) {
                match news.event {
                    Event::Delisted | Event::Expired | Event::Withdrawn => mirror = None,
                    _ if news.in_force => mirror = Some(news.sheet_id),
                    _ => {}
                }
            }
            prop_assert_eq!(mirror, price_at(&after, now).map(|period| period.sheet_id));
            before = after;
        }
    }
}
