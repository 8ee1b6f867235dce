//! The rules of histories by example.

use jiff::{SignedDuration, Timestamp};

use super::super::*;
use super::{cells, day, gone, id, listed, posted, since, with_cells};

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
fn a_stated_start_beats_an_older_observation_of_another_catalog() {
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
fn a_fresher_observation_beats_an_older_one_and_daily_catalogs_do_not_displace_each_other() {
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
    // What it says again counts.
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
    let stating = |observation: Observation, sheet: u128| Observation {
        sheet_id: id(sheet),
        states_limits: true,
        ..observation
    };
    let shown = |facts: &[Observation]| -> Vec<u128> {
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
    let fresher = Observation {
        last_at: day(40),
        ..other
    };
    assert_eq!(shown(&[own.clone(), stating(fresher.clone(), 2)]), [2]);
    assert_eq!(shown(&[stating(own, 2), fresher]), [2]);
}

#[test]
fn a_silent_catalog_confirms_and_takes_nothing_away() {
    let rich = cells(&[
        ("standard", 0, [1, 4, 2]),
        ("standard", 200_000, [2, 6, 0]),
        ("batch", 0, [3, 5, 0]),
    ]);
    let poor = cells(&[("standard", 0, [1, 4, 0])]);
    let full = with_cells(listed("a", 1, 10, 10), rich.clone());
    // Read later, with a stated start.
    let silent = with_cells(since(listed("b", 2, 12, 60), 11), poor.clone());
    let periods = timeline(&[full.clone(), silent.clone()], &[]);
    assert_eq!(shape(&periods), (vec![(1, 10)], None));
    // It has the price before the richer catalog has it, and after that no longer lists the offer.
    let early = with_cells(since(listed("b", 2, 12, 60), 5), poor);
    let known = [gone(full.clone(), 20), early];
    assert_eq!(
        shape(&timeline(&known, &[])),
        (vec![(2, 5), (1, 10), (2, 20)], None)
    );
    // What drops a cell is the catalog that stated it, or another one that contradicts.
    let dropped = with_cells(listed("a", 3, 20, 60), cells(&[("standard", 0, [1, 4, 2])]));
    let known = [gone(full.clone(), 20), dropped, silent.clone()];
    assert_eq!(
        shape(&timeline(&known, &[])),
        (vec![(1, 10), (3, 20)], None)
    );
    let other = with_cells(listed("b", 4, 40, 60), cells(&[("standard", 0, [1, 5, 0])]));
    let before = Observation {
        last_at: day(39),
        ..gone(silent, 40)
    };
    let known = [full, before, other];
    assert_eq!(
        shape(&timeline(&known, &[])),
        (vec![(1, 10), (4, 40)], None)
    );
}

#[test]
fn of_catalogs_that_agree_on_the_price_the_later_word_on_another_cell_counts() {
    let batch = |input| cells(&[("standard", 0, [1, 4, 0]), ("batch", 0, [input, 0, 0])]);
    // The first has the price by a stated start, and says nothing of batches.
    let first = with_cells(
        since(listed("a", 1, 0, 60), 0),
        cells(&[("standard", 0, [1, 4, 0])]),
    );
    let second = with_cells(listed("b", 2, 1, 60), batch(2));
    let third = [
        gone(with_cells(listed("c", 3, 2, 30), batch(2)), 31),
        with_cells(listed("c", 4, 31, 60), batch(3)),
    ];
    let facts = [first, second, third[0].clone(), third[1].clone()];
    let expected = vec![(1, 0), (2, 1), (4, 31)];
    assert_eq!(shape(&timeline(&facts, &[])), (expected, None));
}

#[test]
fn cells_that_appear_are_no_later_change_of_the_price() {
    let stating = |input, cache_read| cells(&[("standard", 0, [input, 4, cache_read])]);
    // One has changed its price; the other repeats what it said, and begins to state what cache reads cost.
    let changed = [
        gone(with_cells(listed("a", 1, 0, 9), stating(1, 0)), 10),
        with_cells(listed("a", 2, 10, 60), stating(2, 0)),
    ];
    let repeated = [
        gone(with_cells(listed("b", 3, 0, 19), stating(1, 0)), 20),
        with_cells(listed("b", 4, 20, 60), stating(1, 1)),
    ];
    let facts = [changed, repeated].concat();
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(1, 0), (2, 10)], None));
}

#[test]
fn an_observed_start_is_the_time_of_an_observation() {
    // The first catalog is not read again; the other one is read later and knows of an earlier start.
    let facts = [
        since(listed("a", 1, 0, 0), -20),
        since(listed("b", 2, 60, 60), -10),
    ];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), (vec![(1, -20), (2, -10)], None));
    assert_eq!(periods[1].start_basis, StartBasis::Stated);
    let facts = [
        since(listed("a", 1, 0, 0), -10),
        since(listed("b", 2, 60, 60), -20),
    ];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), (vec![(2, -20)], None));
    assert_eq!(periods[0].start_basis, StartBasis::Stated);
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
fn a_posted_correction_with_a_stated_start_corrects_what_was_merely_seen() {
    let facts = [posted(1, 10), since(posted(2, 11), 5)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(2, 5)], None));
    // What is posted after it counts from then on.
    let facts = [posted(1, 10), since(posted(2, 11), 5), posted(3, 12)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(2, 5), (3, 12)], None));
    // A later start that is stated stays.
    let facts = [since(posted(1, 10), 8), since(posted(2, 11), 5)];
    assert_eq!(shape(&timeline(&facts, &[])), (vec![(2, 5), (1, 8)], None));
    // Without the correction, the price is what it was.
    let withdrawal = Withdrawal {
        sheet_id: id(2),
        at: day(13),
        seen_again_at: None,
    };
    let facts = [posted(1, 10), since(posted(2, 11), 5)];
    let expected = vec![(2, 5), (1, 13)];
    assert_eq!(shape(&timeline(&facts, &[withdrawal])), (expected, None));
}

#[test]
fn prices_of_the_past_are_news_of_their_own_sheets() {
    let known = [posted(2, 10), posted(3, 12), posted(4, 15)];
    let before = timeline(&known, &[]);
    let after = timeline(&[known.to_vec(), vec![posted(7, 11)]].concat(), &[]);
    let reported = news(&before, &after, day(20));
    assert_eq!(reported.len(), 1);
    assert_eq!(
        (reported[0].event, reported[0].sheet_id),
        (Event::Backfilled, id(7))
    );
    assert_eq!(
        (reported[0].starts_at, reported[0].in_force),
        (day(11), false)
    );
    // Each of several.
    let after = timeline(
        &[known.to_vec(), vec![posted(7, 11), posted(8, 13)]].concat(),
        &[],
    );
    let reported = news(&before, &after, day(20));
    let sheets = reported.iter().map(|news| news.sheet_id);
    assert_eq!(sheets.collect::<Vec<_>>(), [id(7), id(8)]);
}

#[test]
fn a_withdrawal_restores_what_held_before_and_a_later_observation_revives() {
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
    let lone = Observation {
        is_misfit: true,
        ..listed("a", 1, 0, 9)
    };
    assert!(timeline(&[lone], &[])[0].is_flagged);
}

#[test]
fn other_limits_do_not_make_a_price_newer() {
    let relimited = |sheet: u32, tariff: u128, first: i64, last: i64| Observation {
        price_id: id(tariff),
        cells: listed("b", u32::try_from(tariff).unwrap(), first, last).cells,
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
    // They do not make it older either: it counts as seen between two snapshots that both found it.
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
    let tariffs = periods.iter().map(|period| period.price_id);
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
    let events = |facts: &[Observation], withdrawals: &[Withdrawal]| -> Vec<Event> {
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
    let reported = news(&withdrawn, &other, day(100));
    assert_eq!(
        (reported[0].event, reported[0].previous_sheet_id),
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
