//! Sources that state an offer for the first time.

use super::super::*;
use super::{cells, day, gone, id, listed, since, with_cells};

/// Numbers of the sheets, and days of the starts.
fn shape(periods: &[Period]) -> Vec<(u128, i64)> {
    let days = |period: &Period| (period.starts_at.duration_since(day(0)).as_secs()) / 86_400;
    let shape = periods.iter();
    shape
        .map(|period| (period.sheet_id.as_u128(), days(period)))
        .collect()
}

#[test]
fn a_source_that_states_an_offer_for_the_first_time_changes_no_price() {
    let known = listed("a", 1, 0, 20);
    let before = timeline(std::slice::from_ref(&known), &[]);
    let event = |facts: &[Observation]| {
        let after = timeline(facts, &[]);
        let mut found = news(&before, &after, day(20));
        name_new_sources(&mut found, &before, &before, day(20));
        (found.last().unwrap().event, after)
    };
    // The same price, with another one next to it.
    let both = cells(&[("standard", 0, [1, 0, 0]), ("batch", 0, [1, 0, 0])]);
    let fuller = with_cells(listed("b", 2, 10, 20), both);
    let (found, periods) = event(&[known.clone(), fuller.clone()]);
    assert_eq!(shape(&periods), [(1, 0), (2, 10)]);
    assert_eq!(periods[1].start_basis, StartBasis::SourceAdded);
    assert_eq!(found, Event::SourceAdded);
    // Another price, with a stated start.
    let stated = since(listed("b", 3, 10, 20), 5);
    let (found, periods) = event(&[known.clone(), stated]);
    assert_eq!(shape(&periods), [(1, 0), (3, 5)]);
    assert_eq!(periods[1].start_basis, StartBasis::Stated);
    assert_eq!(found, Event::SourceAdded);
    // What either of them states afterwards is a change.
    let known = Observation {
        last_at: day(14),
        ..known
    };
    let fuller = gone(fuller, 21);
    let (_, periods) = event(&[known, fuller, listed("a", 4, 15, 20)]);
    let last = periods.last().unwrap();
    assert_eq!(
        (last.sheet_id, last.start_basis),
        (id(4), StartBasis::Observed)
    );
}

#[test]
fn a_new_source_hides_no_change_of_another_one() {
    let facts = [
        gone(listed("a", 1, 0, 9), 10),
        listed("a", 2, 10, 20),
        listed("b", 2, 10, 20),
    ];
    let periods = timeline(&facts, &[]);
    assert_eq!(shape(&periods), [(1, 0), (2, 10)]);
    assert_eq!(periods[1].start_basis, StartBasis::Observed);
    let (before, known) = (
        timeline(&[listed("a", 1, 0, 9)], &[]),
        timeline(&facts[..2], &[]),
    );
    let mut found = news(&before, &periods, day(20));
    name_new_sources(&mut found, &before, &known, day(20));
    assert_eq!(found[0].event, Event::Changed);
}
