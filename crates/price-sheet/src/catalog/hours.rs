//! Times of day and week, as catalogs write them.

use crate::sheet::{Schedule, Window};

/// The days of the week, Monday first.
const DAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// The place of a day in the week from its name, or from three or more of its first letters; Monday is 0.
pub(super) fn weekday(name: &str) -> Option<usize> {
    let name = name.trim().to_ascii_lowercase();
    DAYS.iter()
        .position(|day| name.len() >= 3 && day.starts_with(&name))
}

/// Minutes of a day.
pub(super) const MINUTES_PER_DAY: i32 = 24 * 60;

/// Hours of a day in minutes since midnight; an end before the start is on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hours {
    pub(super) start: i32,
    pub(super) end: i32,
}

impl Hours {
    /// The window of these hours on some days.
    pub(super) fn window(self, days: Vec<u8>) -> Window {
        Window {
            days,
            start: time_of_day(self.start),
            end: time_of_day(self.end),
        }
    }

    /// Whether the two overlap.
    pub(super) fn overlaps(self, other: Self) -> bool {
        let holds = |hours: Self, minute: i32| {
            let after_start = (minute - hours.start).rem_euclid(MINUTES_PER_DAY);
            after_start < (hours.end - hours.start).rem_euclid(MINUTES_PER_DAY)
        };
        holds(self, other.start) || holds(other, self.start)
    }

    /// Name of the hours, such as `00:30-16:30`.
    pub(super) fn name(self) -> String {
        format!("{}-{}", time_of_day(self.start), time_of_day(self.end))
    }
}

/// `16:30` from minutes since midnight.
fn time_of_day(minutes: i32) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The schedule of windows in a time zone.
pub(super) fn schedule(timezone: &str, windows: Vec<Window>) -> Schedule {
    Schedule {
        timezone: timezone.to_owned(),
        windows,
        except_calendar: None,
    }
}
