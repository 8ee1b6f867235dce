//! News of an offer: the differences between its old and its new history.

use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::period::{Ending, Period, price_at};

/// A kind of news about an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The offer has its first price.
    Added,
    /// Another price is in force.
    Changed,
    /// A source states the offer for the first time, and only therefore another sheet is in force. No price has changed.
    SourceAdded,
    /// A price will come into force.
    Scheduled,
    /// The offer is no longer listed by any catalog.
    Delisted,
    /// The offer is listed again.
    Relisted,
    /// The price was withdrawn.
    Withdrawn,
    /// The withdrawn price is in force again.
    Reinstated,
    /// The stated end of the price came, and no other price is known.
    Expired,
    /// Prices or dates of the past are known that were not known before.
    Backfilled,
}

/// One piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Kind of the news.
    pub event: Event,
    /// The sheet that it is about.
    pub sheet_id: Uuid,
    /// The sheet that was in force before.
    pub previous_sheet_id: Option<Uuid>,
    /// Start of the price.
    pub starts_at: Timestamp,
    /// Whether the sheet is in force after it.
    pub in_force: bool,
}

/// Differences between two histories of an offer, as far as they matter at a time. Replayed in order, the news that are in
/// force give the sheet in force, and those that end it leave none.
#[must_use]
pub fn news(before: &[Period], after: &[Period], now: Timestamp) -> Vec<News> {
    let (old, new) = (price_at(before, now), price_at(after, now));
    let past = of_the_past(before, after, now, old, new);
    let mut news = past;
    news.extend(of_the_present(before, after, now, old, new));
    let known: BTreeSet<_> = upcoming(before, now)
        .map(|period| (period.price_id, period.starts_at))
        .collect();
    let scheduled =
        upcoming(after, now).filter(|period| !known.contains(&(period.price_id, period.starts_at)));
    let last = new.map(|period| period.sheet_id);
    news.extend(scheduled.map(|period| piece(Event::Scheduled, period, last, false)));
    news
}

/// Separates changes of a price from new sources: a change that the history without the sources that state the offer for the
/// first time does not have is not one of the price.
pub fn name_new_sources(
    news: &mut [News],
    before: &[Period],
    without_new_sources: &[Period],
    now: Timestamp,
) {
    let tariff = |periods: &[Period]| price_at(periods, now).map(|period| period.price_id);
    let stays = tariff(before).is_some() && tariff(before) == tariff(without_new_sources);
    let changes = news.iter_mut().filter(|one| one.event == Event::Changed);
    for change in changes.filter(|_| stays) {
        change.event = Event::SourceAdded;
    }
}

fn upcoming(periods: &[Period], now: Timestamp) -> impl Iterator<Item = &Period> {
    periods.iter().filter(move |period| period.starts_at > now)
}

fn piece(event: Event, period: &Period, previous: Option<Uuid>, in_force: bool) -> News {
    News {
        event,
        sheet_id: period.sheet_id,
        previous_sheet_id: previous.filter(|previous| *previous != period.sheet_id),
        starts_at: period.starts_at,
        in_force,
    }
}

fn of_the_present(
    before: &[Period],
    after: &[Period],
    now: Timestamp,
    old: Option<&Period>,
    new: Option<&Period>,
) -> Vec<News> {
    let previous = old.map(|old| old.sheet_id);
    match (old, new) {
        (None, None) => Vec::new(),
        (None, Some(new)) => {
            let last = last_ended(before, now);
            let withdrawn = last.filter(|(_, ending)| *ending == Ending::Withdrawn);
            let news = match (last, withdrawn) {
                (None, _) => piece(Event::Added, new, None, true),
                _ if is_withdrawn(before, new, now) => piece(Event::Reinstated, new, None, true),
                // Another price than the one that was withdrawn.
                (_, Some((last, _))) => piece(Event::Changed, new, Some(last.sheet_id), true),
                _ => piece(Event::Relisted, new, None, true),
            };
            vec![news]
        }
        (Some(old), None) => {
            let event = match last_ended(after, now) {
                Some((_, Ending::Withdrawn)) => Event::Withdrawn,
                Some((_, Ending::Expired)) => Event::Expired,
                _ => Event::Delisted,
            };
            vec![piece(event, old, None, false)]
        }
        (Some(old), Some(new)) if old.price_id != new.price_id => {
            let withdrawn = last_ended(after, now).is_some_and(|(last, ending)| {
                (last.price_id, ending) == (old.price_id, Ending::Withdrawn)
            });
            let withdrawn = withdrawn.then(|| piece(Event::Withdrawn, old, None, false));
            let event = if is_withdrawn(before, new, now) {
                Event::Reinstated
            } else {
                Event::Changed
            };
            let changed = piece(event, new, previous, true);
            withdrawn.into_iter().chain([changed]).collect()
        }
        (Some(old), Some(new)) => {
            let is_known = old.sheet_id == new.sheet_id && old.starts_at == new.starts_at;
            let dated = (!is_known).then(|| piece(Event::Backfilled, new, previous, true));
            dated.into_iter().collect()
        }
    }
}

/// The last price before a time, and the reason for which it ended.
fn last_ended(periods: &[Period], now: Timestamp) -> Option<(&Period, Ending)> {
    let mut ended = periods.iter().rev().filter_map(|period| {
        let (at, ending) = period.end?;
        (at <= now).then_some((period, ending))
    });
    ended.next()
}

/// Whether a price was withdrawn when it was last in force.
fn is_withdrawn(before: &[Period], new: &Period, now: Timestamp) -> bool {
    let mut own = before.iter().rev();
    let last = own.find(|one| one.price_id == new.price_id && one.starts_at <= now);
    last.and_then(|last| last.end)
        .is_some_and(|(at, ending)| at <= now && ending == Ending::Withdrawn)
}

/// Prices that are over and were not known, each with its own sheet; where none is new, one whose dates are. The end of the
/// price that was in force does not count.
fn of_the_past(
    before: &[Period],
    after: &[Period],
    now: Timestamp,
    old: Option<&Period>,
    new: Option<&Period>,
) -> Vec<News> {
    let is_over = |period: &&Period| period.ends_at().is_some_and(|end| end <= now);
    let dated = |period: &Period| (period.price_id, period.starts_at, period.ends_at());
    let over =
        |periods: &[Period]| -> BTreeSet<_> { periods.iter().filter(is_over).map(dated).collect() };
    let (known, mut found) = (over(before), over(after));
    let is_back = new.is_some_and(|new| known.iter().any(|(_, start, _)| *start == new.starts_at));
    if let Some(old) = old {
        found.retain(|(tariff, start, _)| (*tariff, *start) != (old.price_id, old.starts_at));
    }
    let differ = if is_back {
        found.difference(&known).next().is_some()
    } else {
        found != known
    };
    if !differ {
        return Vec::new();
    }
    let differing = |period: &&Period| {
        let dated = dated(period);
        found.contains(&dated) && !known.contains(&dated)
    };
    let is_new = |period: &&Period| {
        let mut known = before.iter();
        !known.any(|known| (known.price_id, known.starts_at) == (period.price_id, period.starts_at))
    };
    let over = || after.iter().filter(is_over);
    let mut reported: Vec<&Period> = over().filter(differing).filter(is_new).collect();
    if reported.is_empty() {
        reported.extend(over().find(differing).or_else(|| over().next_back()));
    }
    let reported = reported.into_iter();
    reported
        .map(|period| piece(Event::Backfilled, period, None, false))
        .collect()
}
