//! Figures in words: two digits, and margins in percent.
//!
//! ```
//! use unroof_infer::estimate::judgement::words::{margin_in_words, rough};
//! use unroof_infer::posterior::Interval;
//!
//! assert_eq!(rough(97_600_000_000.0), "98B");
//! let margin = margin_in_words(0.94, Interval { low: -0.66, high: 0.99 });
//! assert_eq!(margin.replace('\u{a0}', " "), "94 % (−66 to 99 %)");
//! ```

use crate::posterior::Interval;
use unroof_base::units::compact;

/// A space at which no line is broken.
const NO_BREAK: char = '\u{a0}';

/// A number in two digits.
#[must_use]
pub fn rough(number: f64) -> String {
    let two: f64 = format!("{number:.1e}").parse().unwrap_or(number);
    let text = compact(two);
    let (digits, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let digits = if digits.contains('.') && !digits.contains('e') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{digits}{unit}")
}

/// A margin with its interval, in percent.
#[must_use]
pub fn margin_in_words(median: f64, interval: Interval) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share).replace('-', "−");
    format!(
        "{}{NO_BREAK}% ({} to {}{NO_BREAK}%)",
        percent(median),
        percent(interval.low),
        percent(interval.high)
    )
}
