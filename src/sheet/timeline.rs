//! What an offer costs when: intervals that do not overlap, and what a new sheet does to them.
//!
//! An offer's price follows the word of one catalog, the one that priced it first; the provider's own page and people
//! take precedence over catalogs. What others say fills the times of which nothing is known.

use jiff::Timestamp;
use uuid::Uuid;

use super::SourceFormat;

/// A sheet in force from its start to before its end; without an end, until further notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// The sheet.
    pub sheet_id: Uuid,
    /// Who says so.
    pub catalog: String,
    /// Inclusive.
    pub starts_at: Timestamp,
    /// Exclusive. A period that was replaced the moment it began is empty.
    pub ends_at: Option<Timestamp>,
}

impl Period {
    /// Whether it is in force at a time.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.starts_at <= at && self.ends_at.is_none_or(|end| at < end)
    }
}

/// A sheet as somebody stated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The sheet.
    pub sheet_id: Uuid,
    /// Who says so.
    pub catalog: &'a str,
    /// When it begins to hold, where that is stated.
    pub valid_from: Option<Timestamp>,
    /// When it ceases to hold, where that is stated.
    pub valid_to: Option<Timestamp>,
    /// When it was seen.
    pub observed_at: Timestamp,
}

impl Statement<'_> {
    /// A price without a start is known from when it was seen on; one that was over by then, from an unknown beginning.
    pub(crate) fn starts_at(&self) -> Timestamp {
        let is_over = self.valid_to.is_some_and(|end| end <= self.observed_at);
        self.valid_from.unwrap_or(if is_over {
            Timestamp::UNIX_EPOCH
        } else {
            self.observed_at
        })
    }

    /// Whether it states when it holds.
    pub(crate) fn is_dated(&self) -> bool {
        self.valid_from.is_some() || self.valid_to.is_some()
    }

    fn takes_precedence(&self) -> bool {
        [SourceFormat::Official, SourceFormat::Manual]
            .iter()
            .any(|format| format.name() == self.catalog)
    }
}

/// A change of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The period at this index ends then, or is open again.
    End(usize, Option<Timestamp>),
    /// A period is added.
    Open(Period),
}

/// What a statement changes in the timeline of its offer. The periods are in order and do not overlap, and do not
/// afterwards.
#[must_use]
pub fn admit(periods: &[Period], statement: &Statement<'_>) -> Vec<Edit> {
    let start = statement.starts_at();
    let in_force = periods.iter().rposition(|period| period.covers(start));
    let is_known = match in_force {
        _ if statement.is_dated() => periods
            .iter()
            .any(|period| period.sheet_id == statement.sheet_id),
        Some(index) => periods[index].sheet_id == statement.sheet_id,
        None => false,
    };
    if is_known {
        return Vec::new();
    }
    let Some(index) = in_force else {
        return fill(periods, statement);
    };
    let current = &periods[index];
    if statement.takes_precedence() || current.catalog == statement.catalog {
        return replace(periods, index, statement);
    }
    if statement.is_dated() {
        fill(periods, statement)
    } else {
        Vec::new()
    }
}

/// Ends the period at `index` where the sheet begins; what is left of it after the sheet's own end comes back.
fn replace(periods: &[Period], index: usize, statement: &Statement<'_>) -> Vec<Edit> {
    let start = statement.starts_at();
    let current = &periods[index];
    let next = periods
        .iter()
        .map(|period| period.starts_at)
        .find(|next| *next > start);
    let end = earlier(statement.valid_to, next);
    let mut edits = vec![
        Edit::End(index, Some(start)),
        Edit::Open(period(statement, start, end)),
    ];
    if let Some(end) = end
        && current.ends_at.is_none_or(|current_end| end < current_end)
        && next != Some(end)
    {
        edits.push(Edit::Open(Period {
            starts_at: end,
            ends_at: earlier(current.ends_at, next),
            ..current.clone()
        }));
    }
    edits
}

/// The times within the sheet's validity of which nothing is known; without a stated validity, the first of them.
fn fill(periods: &[Period], statement: &Statement<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut start = statement.starts_at();
    let later = periods
        .iter()
        .filter(|period| period.ends_at != Some(period.starts_at));
    for known in later {
        if known.ends_at.is_some_and(|end| end <= start) {
            continue;
        }
        if statement.valid_to.is_some_and(|end| end <= known.starts_at) {
            break;
        }
        if start < known.starts_at {
            edits.push(Edit::Open(period(statement, start, Some(known.starts_at))));
            if !statement.is_dated() {
                return edits;
            }
        }
        match known.ends_at {
            Some(end) => start = end,
            None => return edits,
        }
    }
    if statement.valid_to.is_none_or(|end| start < end) {
        edits.push(Edit::Open(period(statement, start, statement.valid_to)));
    }
    edits
}

/// What withdrawing a sheet changes: where it is in force it ends now, and where it is to come it never does; the sheet
/// before it then holds on, though no longer than it says itself. Without any edit there is nothing to withdraw.
#[must_use]
pub fn withdraw(
    periods: &[Period],
    sheet_id: Uuid,
    now: Timestamp,
    stated_end: impl Fn(Uuid) -> Option<Timestamp>,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (index, period) in periods.iter().enumerate() {
        if period.sheet_id != sheet_id {
            continue;
        }
        if period.covers(now) {
            edits.push(Edit::End(index, Some(now)));
        } else if period.starts_at > now && period.ends_at != Some(period.starts_at) {
            edits.push(Edit::End(index, Some(period.starts_at)));
            let before = periods[..index].iter().rposition(|before| {
                before.ends_at == Some(period.starts_at) && before.starts_at < period.starts_at
            });
            if let Some(before) = before {
                let end = earlier(period.ends_at, stated_end(periods[before].sheet_id));
                edits.push(Edit::End(before, end));
            }
        }
    }
    edits
}

fn period(statement: &Statement<'_>, starts_at: Timestamp, ends_at: Option<Timestamp>) -> Period {
    Period {
        sheet_id: statement.sheet_id,
        catalog: statement.catalog.to_owned(),
        starts_at,
        ends_at,
    }
}

/// The earlier of two ends, of which either may be open.
fn earlier(left: Option<Timestamp>, right: Option<Timestamp>) -> Option<Timestamp> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (end, None) | (None, end) => end,
    }
}

#[cfg(test)]
mod tests {
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

    fn seen(number: u128, catalog: &'static str, day: i64) -> Statement<'static> {
        Statement {
            sheet_id: sheet(number),
            catalog,
            valid_from: None,
            valid_to: None,
            observed_at: at(day),
        }
    }

    /// `sheet: start..end` of every period.
    fn written(periods: &[Period]) -> Vec<String> {
        let day = |time: Timestamp| time.as_second() / 86_400;
        let end = |period: &Period| {
            period
                .ends_at
                .map_or(String::new(), |end| day(end).to_string())
        };
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
        let announced = Statement {
            valid_from: Some(at(50)),
            ..seen(2, "official", 11)
        };
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
        assert_eq!(written(&periods), ["2: 0..50", "3: 50..100", "1: 100.."]);
    }

    #[test]
    fn a_rise_that_is_called_off_leaves_the_price_before_it() {
        let mut periods = Vec::new();
        state(&mut periods, &seen(1, "official", 10));
        let announced = Statement {
            valid_from: Some(at(50)),
            ..seen(2, "official", 11)
        };
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
            },
            Period {
                sheet_id: sheet(2),
                catalog: "official".to_owned(),
                starts_at: at(50),
                ends_at: None,
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

    proptest! {
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
                // Whoever takes precedence is heard.
                if catalog == "official" && from.is_none() && length.is_none() {
                    prop_assert!(periods.iter().any(|period| period.covers(at(day)) && period.sheet_id == sheet(number)));
                }
            }
        }
    }
}
