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

/// A window on these days between two times, in minutes since midnight.
pub(super) fn window(days: Vec<u8>, [start, end]: [i32; 2]) -> Window {
    Window {
        days,
        start: time_of_day(start),
        end: time_of_day(end),
    }
}

/// `16:30` from minutes since midnight.
pub(super) fn time_of_day(minutes: i32) -> String {
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
