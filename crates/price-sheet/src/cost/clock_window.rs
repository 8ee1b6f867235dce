//! Whether a schedule applies at a time: windows of wall-clock time in the schedule's own zone.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::sheet::{Schedule, Window};

const MINUTES_PER_DAY: i32 = 24 * 60;

/// Whether a schedule applies. Its windows are read on the clock of its time zone: an hour that daylight saving
/// repeats is in a window twice, an hour that it skips never is.
pub(super) fn applies(schedule: &Schedule, at: Timestamp) -> bool {
    let Ok(zone) = TimeZone::get(&schedule.timezone) else {
        return false;
    };
    let local = zone.to_datetime(at);
    let minute = i32::from(local.hour()) * 60 + i32::from(local.minute());
    let weekday = i32::from(local.weekday().to_monday_one_offset());
    let mut windows = schedule.windows.iter();
    windows.any(|window| contains(window, weekday, minute))
}

/// Whether a window that starts today, yesterday or the day before contains the minute.
fn contains(window: &Window, weekday: i32, minute: i32) -> bool {
    let (Some(start), Some(end)) = (minutes(&window.start), minutes(&window.end)) else {
        return false;
    };
    // Equal ends are a whole day.
    let length = match (end - start).rem_euclid(MINUTES_PER_DAY) {
        0 => MINUTES_PER_DAY,
        length => length,
    };
    (0..=2).any(|days_ago| {
        let since_start = minute + days_ago * MINUTES_PER_DAY - start;
        let day = (weekday - 1 - days_ago).rem_euclid(7) + 1;
        let is_day = window.days.is_empty() || window.days.iter().any(|of| i32::from(*of) == day);
        is_day && (0..length).contains(&since_start)
    })
}

/// Minutes since midnight of `HH:MM`.
fn minutes(text: &str) -> Option<i32> {
    let (hour, minute) = text.split_once(':')?;
    Some(hour.parse::<i32>().ok()? * 60 + minute.parse::<i32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(timezone: &str, windows: &[(&[u8], &str, &str)]) -> Schedule {
        let window = |(days, start, end): &(&[u8], &str, &str)| Window {
            days: days.to_vec(),
            start: (*start).to_owned(),
            end: (*end).to_owned(),
        };
        Schedule {
            timezone: timezone.to_owned(),
            windows: windows.iter().map(window).collect(),
            except_calendar: None,
        }
    }

    fn check(schedule: &Schedule, times: &[(&str, bool)]) {
        for (time, expected) in times {
            assert_eq!(
                applies(schedule, time.parse().unwrap()),
                *expected,
                "{time}"
            );
        }
    }

    #[test]
    fn a_window_includes_its_start_and_excludes_its_end() {
        let night = schedule("UTC", &[(&[], "16:30", "00:30")]);
        let times = [
            ("2026-11-20T16:29:59.999999Z", false),
            ("2026-11-20T16:30:00Z", true),
            ("2026-11-21T00:00:00Z", true),
            ("2026-11-21T00:29:59Z", true),
            ("2026-11-21T00:30:00Z", false),
        ];
        check(&night, &times);
    }

    #[test]
    fn days_are_those_on_which_a_window_starts() {
        // 2026-11-20 is a Friday.
        let friday_night = schedule("UTC", &[(&[5], "22:00", "02:00")]);
        let times = [
            ("2026-11-20T01:00:00Z", false),
            ("2026-11-20T23:00:00Z", true),
            ("2026-11-21T01:59:00Z", true),
            ("2026-11-21T23:00:00Z", false),
        ];
        check(&friday_night, &times);
        let sunday_night = schedule("UTC", &[(&[7], "23:00", "01:00")]);
        check(&sunday_night, &[("2026-11-23T00:59:00Z", true)]);
    }

    #[test]
    fn equal_ends_are_a_whole_day_and_24_00_is_its_end() {
        let weekend = schedule("UTC", &[(&[6], "00:00", "00:00"), (&[7], "00:00", "24:00")]);
        let times = [
            ("2026-11-20T23:59:59Z", false),
            ("2026-11-21T00:00:00Z", true),
            ("2026-11-22T23:59:59Z", true),
            ("2026-11-23T00:00:00Z", false),
        ];
        check(&weekend, &times);
        let shifted = schedule("UTC", &[(&[5], "16:30", "16:30")]);
        let times = [
            ("2026-11-21T16:29:00Z", true),
            ("2026-11-21T16:30:00Z", false),
        ];
        check(&shifted, &times);
    }

    #[test]
    fn hours_are_those_of_the_zone_with_its_daylight_saving() {
        let shanghai = schedule("Asia/Shanghai", &[(&[], "22:00", "08:00")]);
        check(
            &shanghai,
            &[
                ("2026-11-20T14:00:00Z", true),
                ("2026-11-21T00:00:00Z", false),
            ],
        );
        let berlin = schedule("Europe/Berlin", &[(&[], "01:00", "03:00")]);
        let times = [
            // Winter: UTC+1.
            ("2026-01-10T00:00:00Z", true),
            ("2026-01-10T01:59:00Z", true),
            ("2026-01-10T02:00:00Z", false),
            // Summer: UTC+2.
            ("2026-07-10T00:59:00Z", true),
            ("2026-07-10T01:00:00Z", false),
            // 29 March: the hour from 02:00 to 03:00 is skipped.
            ("2026-03-29T00:59:59Z", true),
            ("2026-03-29T01:00:00Z", false),
            // 25 October: the hour from 02:00 to 03:00 comes twice.
            ("2026-10-25T00:30:00Z", true),
            ("2026-10-25T01:30:00Z", true),
            ("2026-10-25T02:00:00Z", false),
        ];
        check(&berlin, &times);
    }
}
