//! Times at which off-peak prices apply.
//!
//! Hours are UTC. Weekdays have their own time zone and refer to the moment, not to the start of the window. In a sheet, a
//! window belongs to the day on which it starts, so one with weekdays is cut at midnight, and its hours are converted to
//! the zone of the weekdays.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::catalog::hours::{self, Hours, MINUTES_PER_DAY};
use crate::sheet::{Schedule, Window};
use unroof_base::input::json::{Json, Object};

/// Name of the schedule.
pub(super) const NAME: &str = "off_peak";
/// Fields that define the schedule.
pub(super) const SCHEDULE_FIELDS: [&str; 3] = ["hours_utc", "weekday_timezone", "windows"];

/// Hours in UTC on some weekdays, Monday is 1; none means every day. Equal ends mean the whole day.
struct Rule {
    hours: Vec<Hours>,
    weekdays: Vec<u8>,
}

/// Reads `{"hours_utc": "16:30-00:30"}` or `{"windows": [{"hours_utc": …, "weekdays": …}], "weekday_timezone": …}`;
/// nothing where a part is unclear, or where the hours move with daylight saving.
pub(super) fn read_schedule(pricing: &Object) -> Option<Schedule> {
    // LiteLLM ignores weekdays outside a window, but they are stated: the schedule is unclear.
    if pricing.contains_key("weekdays") {
        return None;
    }
    let mut rules = Vec::new();
    if let Some(hours) = present(pricing, "hours_utc") {
        rules.push(Rule {
            hours: read_hours(hours)?,
            weekdays: Vec::new(),
        });
    }
    match present(pricing, "windows") {
        Some(Json::Array(windows)) => {
            for window in windows {
                rules.push(read_rule(window)?);
            }
        }
        Some(_) => return None,
        None => {}
    }
    let has_weekdays = rules.iter().any(|rule| !rule.weekdays.is_empty());
    let (timezone, offset) = if has_weekdays {
        read_zone(pricing)?
    } else {
        ("UTC".to_owned(), 0)
    };
    let windows: Vec<_> = rules.iter().flat_map(|rule| rule.windows(offset)).collect();
    (!windows.is_empty()).then(|| hours::schedule(&timezone, windows))
}

fn present<'j>(fields: &'j Object, name: &str) -> Option<&'j Json> {
    fields.get(name).filter(|json| **json != Json::Null)
}

/// Name of the zone and its offset from UTC in minutes, if that is the same all year.
fn read_zone(pricing: &Object) -> Option<(String, i32)> {
    let name = match present(pricing, "weekday_timezone") {
        None => "UTC",
        Some(Json::Text(name)) => name.trim(),
        Some(_) => return None,
    };
    let zone = TimeZone::get(name).ok()?;
    let offset_s = |moment: &str| Some(zone.to_offset(moment.parse::<Timestamp>().ok()?).seconds());
    let (winter_s, summer_s) = (
        offset_s("2026-01-01T00:00:00Z")?,
        offset_s("2026-07-01T00:00:00Z")?,
    );
    (winter_s == summer_s && winter_s % 60 == 0).then(|| (name.to_owned(), winter_s / 60))
}

fn read_rule(window: &Json) -> Option<Rule> {
    let Json::Object(fields) = window else {
        return None;
    };
    if fields
        .keys()
        .any(|name| name != "hours_utc" && name != "weekdays")
    {
        return None;
    }
    let weekdays = match present(fields, "weekdays") {
        None => Vec::new(),
        Some(Json::Array(days)) if !days.is_empty() => {
            days.iter().map(read_weekday).collect::<Option<_>>()?
        }
        Some(_) => return None,
    };
    Some(Rule {
        hours: read_hours(present(fields, "hours_utc")?)?,
        weekdays,
    })
}

/// Monday is 1; names are known by their first three letters.
fn read_weekday(day: &Json) -> Option<u8> {
    match day {
        Json::Number(_) => crate::catalog::values::whole_number(day)
            .and_then(|day| u8::try_from(day).ok())
            .filter(|day| (1..=7).contains(day)),
        Json::Text(text) => u8::try_from(hours::weekday(text)? + 1).ok(),
        _ => None,
    }
}

fn read_hours(hours: &Json) -> Option<Vec<Hours>> {
    match hours {
        Json::Text(text) => Some(vec![read_span(text)?]),
        Json::Array(items) => items
            .iter()
            .map(|item| read_span(item.as_text()?))
            .collect(),
        _ => None,
    }
}

fn read_span(text: &str) -> Option<Hours> {
    let (start, end) = text.split_once('-')?;
    Some(Hours {
        start: read_minutes(start.trim())?,
        end: read_minutes(end.trim())?,
    })
}

fn read_minutes(text: &str) -> Option<i32> {
    let (hour, minute) = text.split_once(':')?;
    let number = |part: &str, below: i32| {
        let is_plain =
            (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i32>()
            .ok()
            .filter(|number| is_plain && *number < below)
    };
    Some(number(hour, 24)? * 60 + number(minute, 60)?)
}

impl Rule {
    /// The windows in a zone that is `offset` minutes ahead of UTC.
    fn windows(&self, offset: i32) -> Vec<Window> {
        self.hours
            .iter()
            .flat_map(|hours| self.spans(at_offset(*hours, offset)))
            .map(|hours| self.window(hours))
            .collect()
    }

    fn spans(&self, hours: Hours) -> Vec<Hours> {
        let runs_past_midnight = hours.end != 0 && hours.end < hours.start;
        if self.weekdays.is_empty() || !runs_past_midnight {
            return vec![hours];
        }
        vec![Hours { end: 0, ..hours }, Hours { start: 0, ..hours }]
    }

    fn window(&self, hours: Hours) -> Window {
        let mut days = self.weekdays.clone();
        days.sort_unstable();
        days.dedup();
        hours.window(days)
    }
}

fn at_offset(hours: Hours, offset: i32) -> Hours {
    if hours.start == hours.end {
        return Hours { start: 0, end: 0 };
    }
    let shifted = |minutes: i32| (minutes + offset).rem_euclid(MINUTES_PER_DAY);
    Hours {
        start: shifted(hours.start),
        end: shifted(hours.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_base::input::json;

    fn schedule(pricing: &str) -> Option<Schedule> {
        let Json::Object(fields) = json::parse(pricing.as_bytes()).unwrap() else {
            panic!("an object")
        };
        read_schedule(&fields)
    }

    /// `1-5 10:00-00:00`
    fn windows(pricing: &str) -> Vec<String> {
        let written = |window: &Window| {
            let days: Vec<_> = window.days.iter().map(u8::to_string).collect();
            format!("{} {}-{}", days.join(","), window.start, window.end)
        };
        schedule(pricing)
            .unwrap()
            .windows
            .iter()
            .map(written)
            .collect()
    }

    #[test]
    fn hours_of_every_day_stay_in_one_piece() {
        assert_eq!(windows(r#"{"hours_utc": "16:30-00:30"}"#), [" 16:30-00:30"]);
        assert_eq!(
            windows(r#"{"hours_utc": ["01:00-02:00", " 9:00 - 10:30 "]}"#),
            [" 01:00-02:00", " 09:00-10:30"]
        );
        assert_eq!(
            schedule(r#"{"hours_utc": "16:30-00:30"}"#)
                .unwrap()
                .timezone,
            "UTC"
        );
    }

    #[test]
    fn weekday_windows_keep_their_days_and_equal_ends_mean_the_whole_day() {
        let pricing = r#"{"windows": [
            {"hours_utc": ["00:00-01:00", "10:00-00:00"], "weekdays": [1, 2]},
            {"hours_utc": "00:00-00:00", "weekdays": ["Sat", "sunday"]}]}"#;
        assert_eq!(
            windows(pricing),
            ["1,2 00:00-01:00", "1,2 10:00-00:00", "6,7 00:00-00:00"]
        );
    }

    #[test]
    fn a_weekday_window_past_midnight_is_cut_there_and_both_pieces_keep_the_days() {
        let pricing = r#"{"windows": [{"hours_utc": "16:30-00:30", "weekdays": [5]}]}"#;
        assert_eq!(windows(pricing), ["5 16:30-00:00", "5 00:00-00:30"]);
    }

    #[test]
    fn weekdays_of_another_zone_move_the_hours_into_that_zone() {
        let pricing = r#"{"weekday_timezone": "Asia/Shanghai", "windows": [
            {"hours_utc": ["00:00-01:00", "10:00-00:00"], "weekdays": [1, 2, 3, 4, 5]},
            {"hours_utc": "00:00-00:00", "weekdays": [6, 7]}]}"#;
        assert_eq!(schedule(pricing).unwrap().timezone, "Asia/Shanghai");
        assert_eq!(
            windows(pricing),
            [
                "1,2,3,4,5 08:00-09:00",
                "1,2,3,4,5 18:00-00:00",
                "1,2,3,4,5 00:00-08:00",
                "6,7 00:00-00:00"
            ]
        );
    }

    #[test]
    fn what_is_unclear_gives_no_schedule() {
        let unclear = [
            r#"{"weekday_timezone": "America/New_York", "windows": [{"hours_utc": "01:00-02:00", "weekdays": [1]}]}"#,
            r#"{"weekday_timezone": "Mars/Olympus", "windows": [{"hours_utc": "01:00-02:00", "weekdays": [1]}]}"#,
            r#"{"windows": [{"hours_utc": "01:00-02:00", "weekdays": []}]}"#,
            r#"{"windows": [{"hours_utc": "01:00-02:00", "weekdays": [8]}]}"#,
            r#"{"windows": [{"hours_utc": "01:00-02:00", "months": [8]}]}"#,
            r#"{"windows": "01:00-02:00"}"#,
            r#"{"hours_utc": "01:00-02:00", "weekdays": [1]}"#,
            r#"{"hours_utc": "25:00-02:00"}"#,
            r#"{"hours_utc": "1-2"}"#,
            r#"{"hours_utc": []}"#,
            "{}",
        ];
        for pricing in unclear {
            assert_eq!(schedule(pricing), None, "{pricing}");
        }
    }
}
