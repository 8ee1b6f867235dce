//! The times at which overrides apply: `utc_start`, `utc_end` and `utc_days`.
//!
//! Several time conditions can apply at once, but only one schedule of a sheet. So the week is split into minutes, and
//! minutes with the same conditions form one schedule.

use std::collections::BTreeMap;

use crate::catalog::hours::{self, MINUTES_PER_DAY};
use crate::catalog::values::whole_number;
use crate::sheet::Schedule;
use unroof_base::input::json::Json;

const DAYS_PER_WEEK: usize = 7;

/// Hours on some weekdays, both of the moment; a window that ends before it starts runs past midnight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hours {
    start: i32,
    end: i32,
    /// Weekdays on which the hours apply, Monday first.
    days: [bool; 7],
}

impl Hours {
    /// Reads the conditions; None if one is unclear.
    pub(super) fn read(
        start: Option<&Json>,
        end: Option<&Json>,
        days: Option<&Json>,
    ) -> Option<Self> {
        let (start, end) = match (start, end) {
            (None, None) => (0, MINUTES_PER_DAY),
            (Some(start), Some(end)) => {
                let start = read_minutes(start)?;
                (start % MINUTES_PER_DAY, read_minutes(end)?)
            }
            _ => return None,
        };
        // Equal ends are never or always.
        (start != end).then_some(())?;
        let days = days.map_or(Some([true; 7]), read_days)?;
        Some(Self { start, end, days })
    }

    fn holds(&self, day: usize, minute: i32) -> bool {
        let is_within = if self.start < self.end {
            (self.start..self.end).contains(&minute)
        } else {
            minute >= self.start || minute < self.end
        };
        self.days[day] && is_within
    }
}

/// 1630 is half past four.
fn read_minutes(json: &Json) -> Option<i32> {
    let number = i32::try_from(whole_number(json)?).ok()?;
    let (hour, minute) = (number / 100, number % 100);
    let is_time = (hour < 24 && minute < 60) || number == 2_400;
    is_time.then_some(hour * 60 + minute)
}

/// Weekday names. Numbers are rejected: their origin is undocumented.
fn read_days(json: &Json) -> Option<[bool; 7]> {
    let Json::Array(items) = json else {
        return None;
    };
    let mut days = [false; 7];
    for item in items {
        days[hours::weekday(item.as_text()?)?] = true;
    }
    days.contains(&true).then_some(days)
}

/// Set of applicable conditions, one bit each.
pub(super) type Conditions = u64;
/// Most time conditions of one entry.
pub(super) const MOST_CONDITIONS: usize = 64;

/// Ranges of minutes by weekday, grouped by the conditions that apply.
pub(super) struct Week(BTreeMap<Conditions, Vec<(usize, i32, i32)>>);

impl Week {
    pub(super) fn new(conditions: &[Hours]) -> Self {
        let mut week: BTreeMap<Conditions, Vec<(usize, i32, i32)>> = BTreeMap::new();
        for day in 0..DAYS_PER_WEEK {
            let mut edges = vec![0, MINUTES_PER_DAY];
            edges.extend(conditions.iter().flat_map(|hours| [hours.start, hours.end]));
            edges.sort_unstable();
            edges.dedup();
            for span in edges.windows(2) {
                let holding = conditions
                    .iter()
                    .enumerate()
                    .filter(|(_, hours)| hours.holds(day, span[0]));
                let holding = holding.fold(0, |set, (place, _)| set | 1 << place);
                week.entry(holding)
                    .or_default()
                    .push((day, span[0], span[1]));
            }
        }
        Self(week)
    }

    /// The non-empty sets of conditions that apply at some time.
    pub(super) fn sets(&self) -> impl Iterator<Item = Conditions> {
        self.0.keys().copied().filter(|set| *set != 0)
    }

    /// The schedule of the times at which one of these sets applies.
    pub(super) fn schedule(&self, sets: &[Conditions]) -> Schedule {
        let mut spans: Vec<_> = sets
            .iter()
            .filter_map(|set| self.0.get(set))
            .flatten()
            .copied()
            .collect();
        spans.sort_unstable();
        let mut joined: Vec<(usize, i32, i32)> = Vec::new();
        for (day, start, end) in spans {
            match joined.last_mut() {
                Some((last_day, _, last_end)) if *last_day == day && *last_end == start => {
                    *last_end = end;
                }
                _ => joined.push((day, start, end)),
            }
        }
        let mut windows: BTreeMap<hours::Hours, Vec<u8>> = BTreeMap::new();
        for (day, start, end) in joined {
            let day = u8::try_from(day + 1).unwrap_or(7);
            let hours = hours::Hours { start, end };
            windows.entry(hours).or_default().push(day);
        }
        let windows = windows.into_iter().map(|(hours, mut days)| {
            if days.len() == DAYS_PER_WEEK {
                days.clear();
            }
            hours.window(days)
        });
        hours::schedule("UTC", windows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Window;
    use unroof_base::input::json;

    fn hours(conditions: &str) -> Option<Hours> {
        let Json::Object(fields) = json::parse(conditions.as_bytes()).unwrap() else {
            panic!("an object")
        };
        Hours::read(
            fields.get("utc_start"),
            fields.get("utc_end"),
            fields.get("utc_days"),
        )
    }

    /// `1,2 16:30-24:00`
    fn windows(week: &Week, sets: &[Conditions]) -> Vec<String> {
        let written = |window: &Window| {
            let days: Vec<_> = window.days.iter().map(u8::to_string).collect();
            format!("{} {}-{}", days.join(","), window.start, window.end)
        };
        week.schedule(sets).windows.iter().map(written).collect()
    }

    #[test]
    fn hours_past_midnight_keep_the_day_of_the_moment() {
        let week =
            Week::new(&[
                hours(r#"{"utc_start": 2300, "utc_end": 300, "utc_days": ["tuesday"]}"#).unwrap(),
            ]);
        assert_eq!(windows(&week, &[1]), ["2 00:00-03:00", "2 23:00-24:00"]);
        let week = Week::new(&[hours(r#"{"utc_start": 1630, "utc_end": 30}"#).unwrap()]);
        assert_eq!(windows(&week, &[1]), [" 00:00-00:30", " 16:30-24:00"]);
        let week = Week::new(&[hours(r#"{"utc_days": ["sat", "Sunday"]}"#).unwrap()]);
        assert_eq!(windows(&week, &[1]), ["6,7 00:00-24:00"]);
    }

    #[test]
    fn conditions_that_overlap_are_cut_apart_and_neighbours_are_joined() {
        let week = Week::new(&[
            hours(r#"{"utc_start": 100, "utc_end": 400}"#).unwrap(),
            hours(r#"{"utc_start": 300, "utc_end": 600}"#).unwrap(),
        ]);
        assert_eq!(week.sets().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(windows(&week, &[3]), [" 03:00-04:00"]);
        assert_eq!(windows(&week, &[1, 3]), [" 01:00-04:00"]);
        assert_eq!(windows(&week, &[1, 2, 3]), [" 01:00-06:00"]);
    }

    #[test]
    fn what_is_unclear_is_no_condition() {
        for unclear in [
            r#"{"utc_start": 100}"#,
            r#"{"utc_end": 100}"#,
            r#"{"utc_start": 900, "utc_end": 900}"#,
            r#"{"utc_start": 2500, "utc_end": 100}"#,
            r#"{"utc_start": 175, "utc_end": 200}"#,
            r#"{"utc_start": "01:00", "utc_end": "02:00"}"#,
            r#"{"utc_start": -1, "utc_end": 100}"#,
            r#"{"utc_days": [0, 6]}"#,
            r#"{"utc_days": []}"#,
            r#"{"utc_days": "monday"}"#,
            r#"{"utc_days": ["m"]}"#,
            r#"{"utc_days": ["someday"]}"#,
        ] {
            assert_eq!(hours(unclear), None, "{unclear}");
        }
    }
}
