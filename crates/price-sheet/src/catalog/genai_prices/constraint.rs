//! Validity of a price: always, from a date, or at daily hours.

use jiff::Timestamp;
use jiff::civil::Time;

use crate::catalog::hours::{self, Hours, MINUTES_PER_DAY};
use crate::catalog::rules::{described, has_only, start_of_day};
use crate::sheet::Schedule;
use unroof_base::input::cursor::Cursor;

/// Validity of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraint {
    Always,
    From(Timestamp),
    Daily(Hours),
}

impl Constraint {
    /// `{"start_date": "2026-03-13"}` or `{"start_time": "00:30:00Z", "end_time": "16:30:00Z"}`
    pub(super) fn read(constraint: &Cursor<'_>) -> Option<Self> {
        const BOTH: &str =
            "write either {\"start_date\": …} or {\"start_time\": …, \"end_time\": …}";
        let fields = constraint.fields()?;
        let date = fields.get_or_null("start_date");
        let times = (
            fields.get_or_null("start_time"),
            fields.get_or_null("end_time"),
        );
        let read = match (date, times) {
            (Some(date), (None, None)) => Self::From(start_of_day(&date)?),
            (None, (Some(start), Some(end))) => Self::Daily(read_hours(&start, &end)?),
            _ => {
                return constraint.refuse(
                    "the constraint is neither a start date nor a pair of times",
                    BOTH,
                );
            }
        };
        has_only(constraint, &["end_time", "start_date", "start_time"])?;
        Some(read)
    }

    /// Whether it applies to the whole interval that begins at `start`; `None` is before every date.
    pub(super) fn holds_from(self, start: Option<Timestamp>) -> bool {
        match self {
            Self::Always => true,
            Self::From(date) => start.is_some_and(|start| date <= start),
            Self::Daily(_) => false,
        }
    }

    pub(super) fn hours(self) -> Option<Hours> {
        match self {
            Self::Daily(hours) => Some(hours),
            _ => None,
        }
    }

    pub(super) fn date(self) -> Option<Timestamp> {
        match self {
            Self::From(date) => Some(date),
            _ => None,
        }
    }
}

fn read_hours(start: &Cursor<'_>, end: &Cursor<'_>) -> Option<Hours> {
    let hours = Hours {
        start: read_time(start)?,
        end: read_time(end)?,
    };
    if hours.start == hours.end {
        return end.refuse(
            "start and end of the hours are equal",
            "write different times; an end before the start is on the next day",
        );
    }
    Some(hours)
}

/// The schedule of these hours.
pub(super) fn schedule(hours: &[Hours]) -> Schedule {
    let windows = hours.iter().map(|hours| hours.window(Vec::new()));
    hours::schedule("UTC", windows.collect())
}

fn read_time(field: &Cursor<'_>) -> Option<i32> {
    let minutes = field.json.as_text().and_then(utc_minutes);
    if minutes.is_none() {
        field.fault(
            format!(
                "expected a time of day in whole minutes, found {}",
                described(field.json)
            ),
            "write a time with its offset, such as \"16:30:00Z\"",
        );
    }
    minutes
}

/// `16:30:00Z`, `00:30:00+08:00`; a time without offset is UTC.
fn utc_minutes(text: &str) -> Option<i32> {
    let place = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (time, offset) = text.split_at_checked(place)?;
    let time: Time = time.parse().ok()?;
    let is_whole = time.second() == 0 && time.subsec_nanosecond() == 0;
    let minutes = i32::from(time.hour()) * 60 + i32::from(time.minute());
    is_whole.then_some((minutes - offset_minutes(offset)?).rem_euclid(MINUTES_PER_DAY))
}

fn offset_minutes(offset: &str) -> Option<i32> {
    let (sign, ahead) = match offset.split_at_checked(1) {
        None | Some(("Z", "")) => return Some(0),
        Some(("+", ahead)) => (1, ahead),
        Some(("-", behind)) => (-1, behind),
        Some(_) => return None,
    };
    let ahead: Time = ahead.parse().ok()?;
    Some(sign * (i32::from(ahead.hour()) * 60 + i32::from(ahead.minute())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_an_offset_is_converted_to_utc() {
        let cases = [
            ("16:30:00Z", Some(990)),
            ("00:30:00", Some(30)),
            ("00:30:00+08:00", Some(990)),
            ("23:00:00-02:30", Some(90)),
            ("16:30:01Z", None),
            ("24:00:00Z", None),
            ("16:30:00ZZ", None),
            ("16:30:00+", None),
            ("half past four", None),
            ("", None),
            ("é", None),
        ];
        for (text, minutes) in cases {
            assert_eq!(utc_minutes(text), minutes, "{text}");
        }
    }

    #[test]
    fn hours_overlap_where_they_share_a_minute_even_past_midnight() {
        let hours = |start, end| Hours { start, end };
        assert!(hours(60, 240).overlaps(hours(120, 130)));
        assert!(hours(120, 130).overlaps(hours(60, 240)));
        assert!(hours(1_380, 120).overlaps(hours(60, 240)));
        assert!(!hours(60, 240).overlaps(hours(240, 300)));
        assert!(!hours(1_380, 60).overlaps(hours(60, 1_380)));
    }
}
