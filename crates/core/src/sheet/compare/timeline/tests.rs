//! Timelines that statements, withdrawals and their undoing make.

use proptest::prelude::*;

use super::*;

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(day * 86_400).unwrap()
}

fn sheet(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// Applies edits as the database does, in the order of starts; equal starts keep the order of coming.
fn apply(periods: &mut Vec<Period>, edits: Vec<Edit>) {
    for edit in edits {
        match edit {
            Edit::End(index, end) => periods[index].ends_at = end,
            Edit::Open(period) => periods.push(period),
        }
    }
    periods.sort_by_key(|period| period.starts_at);
}

fn state(periods: &mut Vec<Period>, statement: &Statement<'_>) {
    let edits = admit(periods, statement);
    apply(periods, edits);
}

/// Withdraws a sheet as the database does.
fn take_back(periods: &mut Vec<Period>, number: u128, day: i64) {
    let before = periods.clone();
    let edits = withdraw(periods, sheet(number), at(day), |_| None);
    apply(periods, edits);
    for (period, before) in periods.iter_mut().zip(before) {
        if period.sheet_id == sheet(number) && period.ends_at != before.ends_at {
            period.withdrawn = Some(Cut {
                at: at(day),
                ends_at: before.ends_at,
            });
        }
    }
}

/// Undoes it as the database does.
fn give_back(periods: &mut [Period], number: u128, day: i64) -> Result<(), TimeTaken> {
    for edit in reinstate(periods, sheet(number), at(day))? {
        let Edit::End(index, end) = edit else {
            panic!("reinstating adds nothing")
        };
        let period = &mut periods[index];
        period.ends_at = end;
        if period.sheet_id == sheet(number) {
            period.withdrawn = None;
        }
    }
    Ok(())
}

fn seen(number: u128, catalog: &'static str, day: i64) -> Statement<'static> {
    Statement {
        sheet_id: sheet(number),
        catalog,
        valid_from: None,
        valid_to: None,
        observed_at: at(day),
    }
}

/// A price that is to come on day 50.
fn announced(number: u128, catalog: &'static str, day: i64) -> Statement<'static> {
    Statement {
        valid_from: Some(at(50)),
        ..seen(number, catalog, day)
    }
}

/// `sheet: start..end` of every period.
fn written(periods: &[Period]) -> Vec<String> {
    let day = |time: Timestamp| {
        if time == UNKNOWN_START {
            return "unknown".to_owned();
        }
        (time.as_second() / 86_400).to_string()
    };
    let end = |period: &Period| period.ends_at.map_or(String::new(), day);
    periods
        .iter()
        .map(|period| {
            format!(
                "{}: {}..{}",
                period.sheet_id.as_u128(),
                day(period.starts_at),
                end(period)
            )
        })
        .collect()
}

#[test]
fn a_changed_price_ends_the_one_before_and_the_same_price_changes_nothing() {
    let mut periods = Vec::new();
    for (number, day) in [(1, 10), (1, 11), (2, 20), (2, 20), (1, 30)] {
        state(&mut periods, &seen(number, "litellm", day));
    }
    assert_eq!(written(&periods), ["1: 10..20", "2: 20..30", "1: 30.."]);
}

#[test]
fn two_prices_of_one_day_leave_the_first_with_an_empty_period() {
    let mut periods = Vec::new();
    for number in [1, 2] {
        state(&mut periods, &seen(number, "litellm", 10));
    }
    assert_eq!(written(&periods), ["1: 10..10", "2: 10.."]);
}

#[test]
fn what_another_catalog_says_is_no_change_but_the_providers_own_page_is() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 10));
    state(&mut periods, &seen(2, "portkey", 11));
    assert_eq!(written(&periods), ["1: 10.."]);
    state(&mut periods, &seen(3, "official", 12));
    state(&mut periods, &seen(4, "litellm", 13));
    assert_eq!(written(&periods), ["1: 10..12", "3: 12.."]);
}

#[test]
fn an_announced_price_waits_and_a_price_seen_meanwhile_holds_until_then() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "official", 10));
    let announced = announced(2, "official", 11);
    state(&mut periods, &announced);
    state(&mut periods, &seen(3, "official", 20));
    assert_eq!(written(&periods), ["1: 10..20", "3: 20..50", "2: 50.."]);
    state(&mut periods, &announced);
    assert_eq!(written(&periods).len(), 3);
}

#[test]
fn after_a_promotion_the_price_before_it_is_back() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "official", 10));
    let promotion = Statement {
        valid_from: Some(at(20)),
        valid_to: Some(at(25)),
        ..seen(2, "official", 12)
    };
    state(&mut periods, &promotion);
    assert_eq!(written(&periods), ["1: 10..20", "2: 20..25", "1: 25.."]);
}

#[test]
fn the_dated_past_of_another_catalog_fills_the_times_of_which_nothing_is_known() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 100));
    let dated = |number, from: Option<i64>, to: Option<i64>| Statement {
        valid_from: from.map(at),
        valid_to: to.map(at),
        ..seen(number, "genai-prices", 101)
    };
    state(&mut periods, &dated(2, None, Some(50)));
    state(&mut periods, &dated(3, Some(50), None));
    assert_eq!(
        written(&periods),
        ["2: unknown..50", "3: 50..100", "1: 100.."]
    );
}

#[test]
fn a_rise_that_is_called_off_leaves_the_price_before_it() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "official", 10));
    let announced = announced(2, "official", 11);
    state(&mut periods, &announced);
    let edits = withdraw(&periods, sheet(2), at(20), |_| None);
    apply(&mut periods, edits);
    assert_eq!(written(&periods), ["1: 10..", "2: 50..50"]);
    // What says itself that it ends, ends.
    let mut periods = vec![
        Period {
            sheet_id: sheet(1),
            catalog: "official".to_owned(),
            starts_at: at(10),
            ends_at: Some(at(50)),
            withdrawn: None,
        },
        Period {
            sheet_id: sheet(2),
            catalog: "official".to_owned(),
            starts_at: at(50),
            ends_at: None,
            withdrawn: None,
        },
    ];
    let edits = withdraw(&periods, sheet(2), at(20), |_| Some(at(50)));
    apply(&mut periods, edits);
    assert_eq!(written(&periods), ["1: 10..50", "2: 50..50"]);
}

#[test]
fn a_price_in_force_that_is_withdrawn_ends_now_and_only_once() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 10));
    let edits = withdraw(&periods, sheet(1), at(20), |_| None);
    apply(&mut periods, edits);
    assert_eq!(written(&periods), ["1: 10..20"]);
    assert_eq!(withdraw(&periods, sheet(1), at(30), |_| None), []);
    // Another catalog may know the price from then on.
    state(&mut periods, &seen(2, "portkey", 30));
    assert_eq!(written(&periods), ["1: 10..20", "2: 30.."]);
}

#[test]
fn a_price_seen_after_a_rise_was_called_off_holds_until_further_notice() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "official", 10));
    let announced = announced(2, "official", 11);
    state(&mut periods, &announced);
    take_back(&mut periods, 2, 20);
    state(&mut periods, &seen(3, "official", 30));
    assert_eq!(written(&periods), ["1: 10..30", "3: 30..", "2: 50..50"]);
}

#[test]
fn a_withdrawn_price_that_is_seen_later_holds_again_from_then_on() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 10));
    take_back(&mut periods, 1, 20);
    for day in [10, 20] {
        state(&mut periods, &seen(1, "litellm", day));
    }
    assert_eq!(written(&periods), ["1: 10..20"]);
    assert_eq!(withdrawn_at(&periods, sheet(1)), Some(at(20)));
    for day in [30, 31] {
        state(&mut periods, &seen(1, "litellm", day));
    }
    assert_eq!(written(&periods), ["1: 10..20", "1: 30.."]);
    assert_eq!(withdrawn_at(&periods, sheet(1)), None);
    // It can be withdrawn again, and then holds no more until it is seen again.
    take_back(&mut periods, 1, 40);
    state(&mut periods, &seen(1, "litellm", 35));
    assert_eq!(written(&periods), ["1: 10..20", "1: 30..40"]);
}

#[test]
fn a_withdrawn_price_with_dates_that_is_seen_later_keeps_to_them() {
    let dated = |day, from, to| Statement {
        valid_from: Some(at(from)),
        valid_to: Some(at(to)),
        ..seen(2, "litellm", day)
    };
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 5));
    state(&mut periods, &dated(6, 10, 50));
    take_back(&mut periods, 2, 20);
    assert_eq!(written(&periods), ["1: 5..10", "2: 10..20", "1: 50.."]);
    // Over by then: what is past stays.
    let mut late = periods.clone();
    state(&mut late, &dated(60, 10, 50));
    assert_eq!(late, periods);
    state(&mut periods, &dated(30, 10, 50));
    assert_eq!(
        written(&periods),
        ["1: 5..10", "2: 10..20", "2: 30..50", "1: 50.."]
    );
    // To come again.
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 5));
    state(&mut periods, &dated(6, 40, 50));
    take_back(&mut periods, 2, 20);
    assert_eq!(written(&periods), ["1: 5..50", "2: 40..40", "1: 50.."]);
    state(&mut periods, &dated(30, 40, 50));
    assert_eq!(
        written(&periods),
        ["1: 5..40", "2: 40..40", "2: 40..50", "1: 50.."]
    );
}

#[test]
fn a_withdrawn_price_is_not_reinstated_over_one_that_is_in_force_since() {
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 10));
    take_back(&mut periods, 1, 20);
    state(&mut periods, &seen(2, "litellm", 30));
    let before = periods.clone();
    assert_eq!(give_back(&mut periods, 1, 40), Err(TimeTaken));
    assert_eq!(periods, before);
    // One that is to come leaves the time before it.
    let announced = announced(2, "litellm", 30);
    let mut periods = Vec::new();
    state(&mut periods, &seen(1, "litellm", 10));
    take_back(&mut periods, 1, 20);
    state(&mut periods, &announced);
    assert_eq!(give_back(&mut periods, 1, 40), Ok(()));
    assert_eq!(written(&periods), ["1: 10..50", "2: 50.."]);
    // A rise that is to come again ends the price that was seen meanwhile; one that would have come does not.
    for (now, expected) in [(40, Ok(())), (60, Err(TimeTaken))] {
        let mut periods = Vec::new();
        state(&mut periods, &seen(1, "litellm", 10));
        state(&mut periods, &announced);
        take_back(&mut periods, 2, 32);
        state(&mut periods, &seen(3, "litellm", 35));
        assert_eq!(give_back(&mut periods, 2, now), expected);
    }
}

#[test]
fn two_withdrawals_of_one_offer_are_undone_in_any_order() {
    for order in [[1, 2], [2, 1]] {
        let mut periods = Vec::new();
        state(&mut periods, &seen(1, "litellm", 10));
        let announced = announced(2, "litellm", 11);
        state(&mut periods, &announced);
        let before = periods.clone();
        take_back(&mut periods, 2, 20);
        take_back(&mut periods, 1, 20);
        for number in order {
            assert_eq!(give_back(&mut periods, number, 30), Ok(()));
        }
        assert_eq!(periods, before);
    }
}

type Stated = (u128, usize, i64, Option<i64>, Option<i64>);

fn stated() -> impl Strategy<Value = Vec<Stated>> {
    let dates = (prop::option::of(0..40_i64), prop::option::of(1..20_i64));
    let one = (0..6_u128, 0..3_usize, 0..40_i64, dates);
    let one =
        one.prop_map(|(number, catalog, day, (from, length))| (number, catalog, day, from, length));
    prop::collection::vec(one, 0..30)
}

fn statement((number, catalog, day, from, length): Stated) -> Statement<'static> {
    let catalog = ["litellm", "portkey", "official"][catalog];
    // A sheet with other dates is another sheet.
    let dates = u128::try_from(from.map_or(0, |from| from + 1) + 100 * length.unwrap_or(0));
    Statement {
        valid_from: from.map(at),
        valid_to: length.map(|length| at(from.unwrap_or(day) + length)),
        ..seen(number + 10 * dates.unwrap(), catalog, day)
    }
}

/// Periods do not overlap. One that was replaced or withdrawn before it began holds no time.
fn assert_in_order(periods: &[Period]) {
    let lasting: Vec<&Period> = periods.iter().filter(|period| !period.is_empty()).collect();
    for pair in lasting.windows(2) {
        let is_over = pair[0].ends_at.is_some_and(|end| end <= pair[1].starts_at);
        assert!(is_over, "{:?}", written(periods));
    }
    for period in periods {
        let ends_at = period.ends_at;
        assert!(ends_at.is_none_or(|end| period.starts_at <= end));
    }
}

proptest! {
    #[test]
    fn withdrawing_and_reinstating_changes_nothing(
        statements in stated(), which in any::<prop::sample::Index>(), day in 0..40_i64, later in 0..30_i64,
    ) {
        let mut periods: Vec<Period> = Vec::new();
        for stated in statements {
            state(&mut periods, &statement(stated));
        }
        prop_assume!(!periods.is_empty());
        let number = periods[which.index(periods.len())].sheet_id.as_u128();
        let before = periods.clone();
        take_back(&mut periods, number, day);
        assert_in_order(&periods);
        let withdrawn = periods.clone();
        if give_back(&mut periods, number, day + later).is_err() {
            // Only where another price has come into force since, and then nothing is changed.
            prop_assert!(later > 0);
            prop_assert_eq!(&periods, &withdrawn);
            return Ok(());
        }
        prop_assert_eq!(&periods, &before);
        // Again, it changes nothing.
        prop_assert_eq!(reinstate(&periods, sheet(number), at(day + later)), Ok(Vec::new()));
    }

    #[test]
    fn periods_are_in_order_whatever_is_withdrawn_seen_again_and_reinstated(
        statements in stated(), acts in prop::collection::vec((0..3_u8, any::<prop::sample::Index>(), 0..40_i64), 0..30)
    ) {
        let mut periods: Vec<Period> = Vec::new();
        let mut statements = statements.into_iter().map(statement);
        for (act, which, day) in acts {
            if let Some(statement) = statements.next() {
                state(&mut periods, &statement);
            }
            if !periods.is_empty() {
                let period = periods[which.index(periods.len())].clone();
                let number = period.sheet_id.as_u128();
                match act {
                    0 => take_back(&mut periods, number, day),
                    1 => drop(give_back(&mut periods, number, day)),
                    _ => state(&mut periods, &seen(number, "litellm", day)),
                }
            }
            assert_in_order(&periods);
        }
    }

    #[test]
    fn periods_never_overlap(
        statements in prop::collection::vec((0..6_u128, 0..3_usize, 0..40_i64, prop::option::of(0..40_i64), prop::option::of(1..20_i64)), 0..30)
    ) {
        let mut periods: Vec<Period> = Vec::new();
        for (number, catalog, day, from, length) in statements {
            let valid_from = from.map(at);
            let valid_to = length.map(|length| at(from.unwrap_or(day) + length));
            let catalog = ["litellm", "portkey", "official"][catalog];
            // A sheet with other dates is another sheet.
            let number = number + 10 * u128::try_from(from.unwrap_or(0) + 100 * length.unwrap_or(0)).unwrap();
            let statement = Statement { valid_from, valid_to, ..seen(number, catalog, day) };
            state(&mut periods, &statement);
            for pair in periods.windows(2) {
                prop_assert!(pair[0].ends_at.is_some_and(|end| end <= pair[1].starts_at), "{:?}", written(&periods));
            }
            for period in &periods {
                prop_assert!(period.ends_at.is_none_or(|end| period.starts_at <= end));
            }
            // A source with precedence is always admitted.
            if catalog == "official" && from.is_none() && length.is_none() {
                prop_assert!(periods.iter().any(|period| period.covers(at(day)) && period.sheet_id == sheet(number)));
            }
        }
    }
}
