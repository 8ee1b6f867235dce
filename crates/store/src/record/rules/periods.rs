//! Rules of the periods of prices, their news, and withdrawals.

use super::*;
use crate::record::derive::StoredPeriod;
use unroof_base::units::Decimal;
use unroof_price_sheet::history::{Ending, StartBasis};

/// A sheet whose price begins on a day.
fn from(output: &str, start: i64) -> PriceSheet {
    PriceSheet {
        valid_from: Some(day(start)),
        ..sheet(output)
    }
}

/// Sheet, start and end of a period.
type Span = (Uuid, Timestamp, Option<(Timestamp, Ending)>);

impl Tables {
    /// The rows of the periods, each with its sheet, start, and end.
    fn periods(&self) -> Vec<Span> {
        let rows = self.known.periods[&offer()].iter();
        rows.map(|row| (row.period.sheet_id, row.period.starts_at, row.period.end))
            .collect()
    }

    /// The row of the period of a sheet.
    fn row(&self, sheet: &PriceSheet) -> &StoredPeriod {
        let mut rows = self.known.periods[&offer()].iter();
        rows.find(|row| row.period.sheet_id == sheet.id().0)
            .unwrap()
    }
}

#[test]
fn the_first_price_of_an_offer_begins_when_it_is_seen() {
    let mut tables = Tables::default();
    let written = tables.record(vec![posted(&sheet("2"), day(1))]);
    let [row] = written.plan.offers[0].derived.written.as_slice() else {
        panic!("{:?}", written.plan);
    };
    assert_eq!(
        (row.key, row.has_begun, row.has_ended),
        ((0, 0), true, false)
    );
    assert_eq!(row.period.start_basis, StartBasis::Observed);
    assert_eq!(tables.periods(), [(sheet("2").id().0, day(1), None)]);
    assert_eq!(written.news(), [(ChangeKind::OfferAdded, true)]);
    assert_eq!(written.only_news().previous_sheet_id, None);
}

#[test]
fn another_price_ends_the_one_before_which_keeps_its_row() {
    let (first, second) = (sheet("2"), sheet("3"));
    let mut tables = Tables::with(&first);
    let key = tables.row(&first).key;
    let written = tables.record(vec![posted(&second, day(3))]);
    let replaced = Some((day(3), Ending::Replaced));
    assert_eq!(
        tables.periods(),
        [
            (first.id().0, day(1), replaced),
            (second.id().0, day(3), None)
        ]
    );
    assert_eq!(tables.row(&first).key, key);
    assert!(tables.row(&first).has_ended);
    assert_eq!(tables.row(&second).period.not_before, Some(day(1)));
    let news = written.only_news();
    assert_eq!((news.kind, news.in_force), (ChangeKind::PriceChanged, true));
    assert_eq!(news.previous_sheet_id, Some(first.id().0));
    let price = news.price.as_ref().unwrap();
    let text = |price: &Option<Decimal>| price.as_ref().unwrap().to_string();
    assert_eq!(
        (text(&price.before), text(&price.after)),
        ("2".to_owned(), "3".to_owned())
    );
}

#[test]
fn each_price_that_changes_is_a_row_of_the_feed_and_takes_a_number() {
    let mut tables = Tables::with(&sheet("2"));
    let mut dearer = sheet("3");
    dearer.rates[0].input = Some("2".parse().unwrap());
    dearer.rates[0].cache_read = Some("1".parse().unwrap());
    let written = tables.record(vec![posted(&dearer, day(3))]);
    let prices = written.announced.changes.iter();
    let mut prices: Vec<&str> = prices
        .map(|change| change.price.as_ref().unwrap().price.as_str())
        .collect();
    prices.sort_unstable();
    assert_eq!(prices, ["cache read", "input", "output"]);
    assert_eq!(tables.known.version, 1 + 3);
}

#[test]
fn an_announced_price_is_news_when_it_is_announced_and_when_it_begins() {
    let (first, announced) = (sheet("2"), from("3", 10));
    let mut tables = Tables::with(&first);
    let written = tables.record(vec![posted(&announced, day(3))]);
    assert_eq!(written.news(), [(ChangeKind::PriceScheduled, false)]);
    assert_eq!(written.only_news().valid_from, Some(day(10)));
    assert_eq!(written.effect(), Some(&Effect::Scheduled(day(10))));
    assert!(!tables.row(&announced).has_begun && !tables.row(&first).has_ended);
    assert!(tables.again(day(9)).plan.is_empty());
    let written = tables.again(day(10));
    assert_eq!(written.news(), [(ChangeKind::PriceChanged, true)]);
    assert_eq!(written.only_news().previous_sheet_id, Some(first.id().0));
    assert!(tables.row(&announced).has_begun && tables.row(&first).has_ended);
    assert!(tables.again(day(11)).plan.is_empty());
}

#[test]
fn a_price_expires_once_at_its_stated_end() {
    let limited = PriceSheet {
        valid_to: Some(day(5)),
        ..sheet("2")
    };
    let mut tables = Tables::with(&limited);
    assert!(tables.again(day(4)).plan.is_empty());
    assert_eq!(
        tables.again(day(5)).news(),
        [(ChangeKind::PriceExpired, false)]
    );
    assert!(tables.row(&limited).has_ended);
    assert!(tables.again(day(6)).plan.is_empty());
}

#[test]
fn a_withdrawn_price_ends_with_its_reason() {
    let price = sheet("2");
    let mut tables = Tables::with(&price);
    let written = tables.act(&price, Some("mistyped"), day(3));
    let withdrawn = (day(3), "mistyped".to_owned());
    assert_eq!(
        written.plan.acted,
        Some(Acted::Done(Some(withdrawn.clone())))
    );
    assert_eq!(written.news(), [(ChangeKind::SheetWithdrawn, false)]);
    assert_eq!(written.only_news().summary, "withdrawn: mistyped");
    assert_eq!(
        tables.periods(),
        [(price.id().0, day(1), Some((day(3), Ending::Withdrawn)))]
    );
    assert_eq!(tables.row(&price).withdrawn, Some(withdrawn));
}

#[test]
fn a_withdrawal_that_is_repeated_keeps_its_time_and_its_reason() {
    let price = sheet("2");
    let mut tables = Tables::with(&price);
    tables.act(&price, Some("mistyped"), day(3));
    let written = tables.act(&price, Some("another reason"), day(4));
    let first = Some((day(3), "mistyped".to_owned()));
    assert_eq!(written.plan.acted, Some(Acted::Done(first)));
    assert!(!written.plan.has_acted && written.plan.is_empty());
}

#[test]
fn an_undone_withdrawal_gives_the_price_back_as_if_it_had_not_been() {
    let price = sheet("2");
    let mut tables = Tables::with(&price);
    let before = tables.periods();
    tables.act(&price, Some("mistyped"), day(3));
    let written = tables.act(&price, None, day(4));
    assert_eq!(written.news(), [(ChangeKind::SheetReinstated, true)]);
    assert_eq!(tables.periods(), before);
    assert_eq!(tables.row(&price).withdrawn, None);
}

#[test]
fn a_price_that_is_over_is_not_withdrawn() {
    let mut tables = Tables::with(&sheet("2"));
    tables.record(vec![posted(&sheet("3"), day(3))]);
    let written = tables.act(&sheet("2"), Some("mistyped"), day(5));
    assert_eq!(written.plan.acted, Some(Acted::Over));
    assert!(written.plan.is_empty());
}

#[test]
fn a_price_that_is_withdrawn_before_it_begins_keeps_an_empty_row() {
    let (first, announced) = (sheet("2"), from("3", 10));
    let mut tables = Tables::with(&first);
    tables.record(vec![posted(&announced, day(3))]);
    let written = tables.act(&announced, Some("too early"), day(5));
    assert_eq!(written.news(), [(ChangeKind::SheetWithdrawn, false)]);
    let empty = Some((day(10), Ending::Withdrawn));
    assert_eq!(
        tables.periods(),
        [
            (first.id().0, day(1), None),
            (announced.id().0, day(10), empty)
        ]
    );
    assert!(tables.again(day(11)).plan.is_empty());
}
