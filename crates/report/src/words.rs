//! Figures and names as pages and charts write them.

use unroof_base::units::{compact, readable};
use unroof_infer::posterior::Interval;

/// Words with a capital letter in front.
#[must_use]
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// A name as words.
#[must_use]
pub fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// A share in percent.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// A count, with thousands separators.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn count(number: impl TryInto<i64>) -> String {
    readable(number.try_into().unwrap_or(i64::MAX) as f64)
}

/// The ends of an interval.
#[must_use]
pub fn ends(interval: Interval) -> String {
    format!("{} to {}", compact(interval.low), compact(interval.high))
}

/// A median with its interval.
#[must_use]
pub fn spread(median: f64, interval: Interval) -> String {
    format!("{} ({})", compact(median), ends(interval))
}

/// A value that may be unknown.
pub fn or_dash<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), write)
}
