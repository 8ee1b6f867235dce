//! The rules of histories, by example and at every time.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn day(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A sheet of a catalog, seen on these days. Its prices are its number.
fn listed(source: &str, sheet: u32, first: i64, last: i64) -> Sighting {
    Sighting {
        sheet_id: id(u128::from(sheet)),
        tariff_id: id(u128::from(sheet)),
        source: source.to_owned(),
        standing: Standing::Catalog,
        valid_from: None,
        valid_to: None,
        first_at: day(first),
        last_at: day(last),
        next_at: None,
        is_sellers_own: false,
        is_misfit: false,
        states_limits: false,
        input_price: Some(f64::from(sheet)),
        output_price: None,
    }
}

fn since(sighting: Sighting, start: i64) -> Sighting {
    Sighting {
        valid_from: Some(day(start)),
        ..sighting
    }
}

fn gone(sighting: Sighting, next: i64) -> Sighting {
    Sighting {
        next_at: Some(day(next)),
        ..sighting
    }
}

fn posted(sheet: u32, at: i64) -> Sighting {
    Sighting {
        standing: Standing::Sheet,
        ..listed("posted", sheet, at, at)
    }
}

/// Number of the sheet and day of the start of each period, and the day of the end of the last.
fn shape(periods: &[Period]) -> (Vec<(u128, i64)>, Option<i64>) {
    let days = |at: Timestamp| (at.as_second() - 1_700_000_000) / 86_400;
    let starts = periods
        .iter()
        .map(|period| (period.sheet_id.as_u128(), days(period.starts_at)));
    (
        starts.collect(),
        periods.last().and_then(Period::ends_at).map(days),
    )
}

#[test]
fn a_stated_start_beats_an_older_sighting_of_another_catalog() {
    // models.dev was read once and says 1; genai-prices, read later, says 2 since a day between.
    let facts = [
        listed("models_dev", 1, 0, 0),
        since(listed("genai_prices", 2, 40, 40), 13),
    ];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), (vec![(1, 0), (2, 13)], None));
    assert_eq!(periods[1].start_basis, StartBasis::Stated);
    assert_eq!(periods[1].not_before, Some(day(0)));
    assert_eq!(periods[0].end, Some((day(13), Ending::Replaced)));
    assert_eq!(
        (periods[0].start_basis, periods[0].not_before),
        (StartBasis::Observed, None)
    );
    assert_eq!(periods[1].last_seen_at, day(40));
}

#[test]
fn a_fresher_sighting_beats_an_older_one_and_daily_catalogs_do_not_displace_each_other() {
    let stale = [listed("a", 1, 0, 10), listed("b", 2, 30, 30)];
    assert_eq!(shape(&timeline(&stale, &[])), (vec![(1, 0), (2, 30)], None));
    let mut daily = [listed("a", 1, 0, 30), listed("b", 2, 5, 30)];
    daily[1].last_at = day(30) + SignedDuration::from_hours(1);
    assert_eq!(shape(&timeline(&daily, &[])), (vec![(1, 0)], None));
    // What one of them changes is news.
    let news = [
        listed("a", 1, 0, 30),
        listed("b", 2, 5, 19),
        listed("b", 3, 20, 30),
    ];
    assert_eq!(shape(&timeline(&news, &[])), (vec![(1, 0), (3, 20)], None));
}

#[test]
fn a_catalog_that_is_read_again_unchanged_changes_no_price() {
    // Every few days, in turn.
    let facts = [listed("a", 1, 4, 9), listed("b", 2, 7, 7)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 4)], None));
    // After a pause of two weeks the fresher one counts, and continues to count where the other one is read again.
    let paused = [
        gone(listed("a", 1, 0, 5), 40),
        listed("a", 1, 40, 50),
        listed("b", 2, 30, 45),
    ];
    assert_eq!(shape(&timeline(&paused[1..], &[])).0, [(2, 30)]);
    assert_eq!(
        shape(&timeline(&paused, &[])),
        (vec![(1, 0), (2, 30)], None)
    );
    // A new price of it counts.
    let mut news = paused.to_vec();
    news[1].last_at = day(41);
    news[1].next_at = Some(day(42));
    news.push(listed("a", 3, 42, 50));
    let expected = vec![(1, 0), (2, 30), (3, 42)];
    assert_eq!(shape(&timeline(&news, &[])), (expected, None));
    // And so does it where the other catalog is not read for as long.
    news[2].last_at = day(36);
    news.truncate(3);
    news[1].last_at = day(60);
    news[1].next_at = None;
    let expected = vec![(1, 0), (2, 30), (1, 50)];
    assert_eq!(shape(&timeline(&news, &[])), (expected, None));
}

#[test]
fn of_catalogs_that_agree_one_is_shown_until_it_says_otherwise_or_is_old() {
    let stating = |sighting: Sighting, sheet: u128| Sighting {
        sheet_id: id(sheet),
        states_limits: true,
        ..sighting
    };
    let shown = |facts: &[Sighting]| -> Vec<u128> {
        let periods = timeline(facts, &[]);
        let sheets = periods.iter().map(|period| period.sheet_id.as_u128());
        sheets.collect()
    };
    let own = listed("a", 1, 0, 9);
    let other = listed("b", 1, 4, 20);
    assert_eq!(shown(&[own.clone(), stating(other.clone(), 2)]), [1]);
    // The other one comes to the same price later.
    let later = stating(listed("b", 1, 8, 12), 2);
    let before = gone(listed("b", 3, 0, 7), 8);
    assert_eq!(shown(&[own.clone(), before, later]), [1]);
    // Two weeks later the fresher one is shown, unless it is silent about limits.
    let fresher = Sighting {
        last_at: day(40),
        ..other
    };
    assert_eq!(shown(&[own.clone(), stating(fresher.clone(), 2)]), [2]);
    assert_eq!(shown(&[stating(own, 2), fresher]), [2]);
}

#[test]
fn a_backdated_correction_corrects() {
    let facts = [
        since(gone(listed("a", 1, 10, 10), 20), 5),
        since(listed("a", 2, 20, 20), 5),
    ];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(2, 5)], None));
}

#[test]
fn an_offer_that_no_catalog_lists_is_delisted_and_may_come_back() {
    let mut facts = vec![gone(listed("a", 1, 0, 4), 5)];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), (vec![(1, 0)], Some(5)));
    assert_eq!(periods[0].end, Some((day(5), Ending::Delisted)));
    facts.push(listed("a", 1, 9, 9));
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0), (1, 9)], None));
    // Another source lists it still.
    facts.truncate(1);
    facts.push(listed("b", 2, 1, 4));
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0), (2, 5)], None));
}

#[test]
fn a_posted_sheet_is_the_price_only_where_no_catalog_lists_the_offer() {
    let facts = [listed("a", 1, 0, 4), posted(2, 3)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0)], None));
    let facts = [gone(listed("a", 1, 0, 4), 5), posted(2, 3)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0), (2, 5)], None));
    assert_eq!(shape(&timeline(&facts[1..], &[])), (vec![(2, 3)], None));
}

#[test]
fn a_withdrawal_restores_what_held_before_and_a_later_sighting_revives() {
    let facts = [posted(1, 0), posted(2, 5)];
    let mut withdrawal = Withdrawal {
        sheet_id: id(2),
        at: day(7),
        seen_again_at: None,
    };
    let periods = timeline(&facts, &[withdrawal]);
    assert_eq!(shape(&periods), (vec![(1, 0), (2, 5), (1, 7)], None));
    assert_eq!(periods[1].end, Some((day(7), Ending::Withdrawn)));
    withdrawal.seen_again_at = Some(day(9));
    let periods = timeline(&facts, &[withdrawal]);
    assert_eq!(
        shape(&periods),
        (vec![(1, 0), (2, 5), (1, 7), (2, 9)], None)
    );
    // The only price.
    let periods = timeline(
        &facts[1..],
        &[Withdrawal {
            seen_again_at: None,
            ..withdrawal
        }],
    );
    assert_eq!(periods[0].end, Some((day(7), Ending::Withdrawn)));
}

#[test]
fn a_price_far_from_the_others_waits_for_a_second_source() {
    let mut facts = vec![listed("a", 1, 0, 9), listed("b", 40, 5, 30)];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), (vec![(1, 0)], None), "{periods:?}");
    facts.push(listed("c", 40, 25, 30));
    assert_eq!(
        shape(&timeline(&facts, &[])),
        (vec![(1, 0), (40, 25)], None)
    );
    // The seller's own list needs no second source.
    facts.truncate(2);
    facts[1].is_sellers_own = true;
    assert_eq!(shape(&timeline(&facts, &[])).0.last(), Some(&(40, 23)));
    // Without another source, a flagged price is better than none.
    let lone = Sighting {
        is_misfit: true,
        ..listed("a", 1, 0, 9)
    };
    assert!(timeline(&[lone], &[])[0].is_flagged);
}

#[test]
fn other_limits_do_not_make_a_price_newer() {
    let relimited = |sheet: u32, tariff: u128, first: i64, last: i64| Sighting {
        tariff_id: id(tariff),
        input_price: Some(1.0),
        ..listed("b", sheet, first, last)
    };
    // The catalog that had the price first keeps it, though the other one writes another limit later.
    let facts = [
        listed("a", 1, 0, 30),
        gone(relimited(2, 2, 5, 9), 10),
        relimited(3, 2, 10, 30),
    ];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0)], None));
    // Nor do they make it older: it counts as seen between two looks that both found it.
    let facts = [
        gone(relimited(2, 2, 0, 0), 13),
        relimited(3, 2, 13, 13),
        listed("a", 1, 14, 14),
    ];
    assert_eq!(shape(&timeline(&facts, &[])).0, [(3, 0)]);
    // Of two entries of one catalog, the one that counts stays the same.
    let twice = [
        gone(relimited(9, 2, 0, 9), 10),
        relimited(8, 4, 1, 30),
        relimited(3, 2, 10, 30),
    ];
    let periods = timeline(&twice, &[]);
    let tariffs = periods.iter().map(|period| period.tariff_id);
    assert_eq!(tariffs.collect::<Vec<_>>(), [id(2), id(4)]);
}

#[test]
fn a_price_has_its_stated_end() {
    let mut promotion = since(posted(2, 0), 1);
    promotion.valid_to = Some(day(3));
    let periods = timeline(&[posted(1, 0), promotion.clone()], &[]);
    assert_eq!(shape(&periods), (vec![(1, 0), (2, 1), (1, 3)], None));
    assert_eq!(periods[2].start_basis, StartBasis::Stated);
    let periods = timeline(&[promotion], &[]);
    assert_eq!(periods[0].end, Some((day(3), Ending::Expired)));
}

#[test]
fn news_of_the_past_are_backfilled_and_of_the_present_changes() {
    let old = [listed("a", 1, 10, 10)];
    let before = timeline(&old, &[]);
    let events = |facts: &[Sighting], withdrawals: &[Withdrawal]| -> Vec<Event> {
        let after = timeline(facts, withdrawals);
        news(&before, &after, day(100))
            .iter()
            .map(|news| news.event)
            .collect()
    };
    assert_eq!(events(&old, &[]), []);
    let earlier = [listed("a", 2, 1, 1), old[0].clone()];
    assert_eq!(events(&earlier, &[]), [Event::Backfilled]);
    let later = [old[0].clone(), listed("a", 2, 20, 20)];
    assert_eq!(events(&later, &[]), [Event::Changed]);
    let announced = [old[0].clone(), since(listed("a", 2, 20, 20), 200)];
    assert_eq!(events(&announced, &[]), [Event::Scheduled]);
    let gone = [gone(old[0].clone(), 20)];
    assert_eq!(events(&gone, &[]), [Event::Delisted]);
    let withdrawal = Withdrawal {
        sheet_id: id(1),
        at: day(50),
        seen_again_at: None,
    };
    assert_eq!(events(&old, &[withdrawal]), [Event::Withdrawn]);
    let withdrawn = timeline(&old, &[withdrawal]);
    let back = news(&withdrawn, &before, day(100));
    assert_eq!(back[0].event, Event::Reinstated);
    assert_eq!(news(&[], &before, day(100))[0].event, Event::Added);
    // Another price than the one that was withdrawn.
    let other = timeline(&[old[0].clone(), listed("b", 2, 60, 60)], &[withdrawal]);
    let found = news(&withdrawn, &other, day(100));
    assert_eq!(
        (found[0].event, found[0].previous_sheet_id),
        (Event::Changed, Some(id(1)))
    );
    // The withdrawn price while the one before it is in force.
    let both = [posted(1, 0), posted(2, 5)];
    let mut withdrawal = Withdrawal {
        sheet_id: id(2),
        at: day(7),
        seen_again_at: None,
    };
    let restored = timeline(&both, &[withdrawal]);
    withdrawal.seen_again_at = Some(day(9));
    let again = news(&restored, &timeline(&both, &[withdrawal]), day(100));
    let events: Vec<Event> = again.iter().map(|news| news.event).collect();
    assert_eq!(events, [Event::Reinstated]);
}

/// The facts of a catalog that are about the prices of a fact without a break, that one included.
fn one_listing<'a>(facts: &'a [Sighting], fact: &'a Sighting) -> Vec<&'a Sighting> {
    let content = |fact: &Sighting| {
        let dates = (fact.valid_from, fact.valid_to);
        (fact.source.clone(), fact.tariff_id, dates)
    };
    let mut found = vec![fact];
    let meets = |one: &Sighting, other: &Sighting| {
        one.first_at <= other.first_at
            && (one.last_at >= other.first_at
                || one.next_at.is_none_or(|next| next == other.first_at))
    };
    while fact.standing == Standing::Catalog
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

fn priced_since(facts: &[Sighting], fact: &Sighting) -> Timestamp {
    let listing = one_listing(facts, fact);
    listing.iter().map(|one| one.first_at).min().unwrap()
}

fn priced_until(facts: &[Sighting], fact: &Sighting) -> Timestamp {
    let listing = one_listing(facts, fact);
    listing.iter().map(|one| one.last_at).max().unwrap()
}

/// Time at which the prices of a fact were last seen by a time.
fn seen_by(facts: &[Sighting], fact: &Sighting, at: Timestamp) -> Timestamp {
    let listing = one_listing(facts, fact);
    let begun = listing.iter().filter(|one| one.first_at <= at);
    let Some(last) = begun.map(|one| one.last_at).max() else {
        return at;
    };
    let next = listing.iter().map(|one| one.first_at);
    let next = next.filter(|first| *first > at).min();
    match next {
        Some(next) if next.duration_since(last) < FRESH_FOR => at,
        _ => last.min(at),
    }
}

/// The price that was in force at the times before, and the first of these.
type Chosen = Option<(String, Uuid, Timestamp)>;

/// The price at a time by the rules as they are written, statement by statement, given the price before.
fn price_by_the_rules(
    facts: &[Sighting],
    withdrawals: &[Withdrawal],
    at: Timestamp,
    chosen: &Chosen,
) -> Option<Sighting> {
    let is_listed = |fact: &Sighting| {
        let own = || facts.iter().filter(|other| other.source == fact.source);
        let seen = own()
            .filter(|other| other.first_at <= at)
            .max_by_key(|other| other.last_at);
        let next = seen.and_then(|seen| seen.next_at);
        next.is_none_or(|next| at < next)
    };
    let holds = |fact: &&Sighting| {
        let is_over = fact.valid_to.is_some_and(|end| end <= fact.first_at);
        let start = fact.valid_from.unwrap_or(if is_over {
            UNKNOWN_START
        } else {
            fact.first_at
        });
        let withdrawn = withdrawals
            .iter()
            .any(|cut| cut.sheet_id == fact.sheet_id && cut.covers(at));
        start <= at && fact.valid_to.is_none_or(|end| at < end) && !withdrawn && is_listed(fact)
    };
    let mut best: Vec<&Sighting> = Vec::new();
    for fact in facts.iter().filter(holds) {
        let rank = |fact: &Sighting| {
            let start = fact.valid_from.unwrap_or(fact.first_at);
            match fact.standing {
                Standing::Catalog => {
                    let since = fact.valid_from.unwrap_or(priced_since(facts, fact));
                    (priced_until(facts, fact), start.min(since), fact.sheet_id)
                }
                _ => (start, fact.last_at, fact.sheet_id),
            }
        };
        match best.iter_mut().find(|other| other.source == fact.source) {
            Some(other) if rank(other) < rank(fact) => *other = fact,
            Some(_) => {}
            None => best.push(fact),
        }
    }
    let standing = best.iter().map(|fact| fact.standing).min()?;
    best.retain(|fact| fact.standing == standing);
    let seen = |fact: &Sighting| seen_by(facts, fact, at);
    let newest = best.iter().map(|fact| seen(fact)).max()?;
    best.retain(|fact| newest.duration_since(seen(fact)) < FRESH_FOR);
    if let Some((source, tariff, since)) = chosen {
        let is_it = |fact: &&&Sighting| fact.source == *source && fact.tariff_id == *tariff;
        if let Some(kept) = best.iter().find(is_it).copied() {
            let seen = |fact: &Sighting| seen_by(facts, fact, *since);
            best.retain(|fact| {
                let start = fact.valid_from.unwrap_or(priced_since(facts, fact));
                start > *since || seen(kept).duration_since(seen(fact)) < FRESH_FOR
            });
        }
    }
    let first = |fact: &Sighting| {
        facts
            .iter()
            .filter(|other| other.source == fact.source)
            .map(|other| other.first_at)
            .min()
    };
    best.sort_by_key(|fact| (priced_since(facts, fact), fact.source.clone()));
    let news = |fact: &Sighting| {
        let since = priced_since(facts, fact);
        let is_news = fact.valid_from.is_some() || Some(since) > first(fact);
        let start = fact.valid_from.unwrap_or(since);
        (fact.valid_from.is_some(), is_news.then_some(start))
    };
    let mut found = best[0];
    for fact in &best[1..] {
        if news(fact) > news(found) {
            found = fact;
        }
    }
    Some(found.clone())
}

/// Facts of two catalogs that are read at different paces, of entries and of posted sheets.
fn some_facts() -> impl Strategy<Value = Vec<Sighting>> {
    let fact = (
        0_usize..4,
        0_u32..4,
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
                fact.standing = [
                    Standing::Catalog,
                    Standing::Catalog,
                    Standing::Entry,
                    Standing::Sheet,
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
        let mut chosen = Chosen::None;
        for half_days in -40..300 {
            let at = day(0) + SignedDuration::from_hours(12 * half_days);
            let expected = price_by_the_rules(&facts, &withdrawals, at, &chosen);
            let found = price_at(&periods, at).map(|period| period.tariff_id);
            let tariff = expected.as_ref().map(|fact| fact.tariff_id);
            prop_assert_eq!(found, tariff, "at half day {}: {:?}", half_days, periods);
            let is_it = |(source, tariff, _): &(String, Uuid, Timestamp)| {
                expected.as_ref().is_some_and(|fact| fact.source == *source && fact.tariff_id == *tariff)
            };
            chosen = chosen.filter(is_it).or_else(|| {
                expected.as_ref().map(|fact| (fact.source.clone(), fact.tariff_id, at))
            });
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
