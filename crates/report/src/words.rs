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

/// A number without the zeros at the end of its fraction, as it is shown with two digits: `2.20k` is `2.2k`.
#[must_use]
pub fn without_zeros(number: &str) -> String {
    let Some((whole, rest)) = number.split_once('.') else {
        return number.to_owned();
    };
    let end = rest.find(|digit: char| !digit.is_ascii_digit());
    let (fraction, unit) = rest.split_at(end.unwrap_or(rest.len()));
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{unit}"),
        fraction => format!("{whole}.{fraction}{unit}"),
    }
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

#[cfg(test)]
mod tests {
    use super::without_zeros;

    #[test]
    fn zeros_at_the_end_of_a_fraction_are_left_out() {
        for (written, shown) in [
            ("2.20k", "2.2k"),
            ("32.0", "32"),
            ("$0.0790", "$0.079"),
            ("450 ms", "450 ms"),
            ("1.90 s", "1.9 s"),
            ("2,200", "2,200"),
        ] {
            assert_eq!(without_zeros(written), shown);
        }
    }
}
