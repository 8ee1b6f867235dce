//! Axes: grid lines with the values at their ends.

use maud::{Markup, html};

use super::mark::{Anchor, rule, text};
use super::scale::Scale;
use super::tone::Tone;
use unroof_base::units::compact;

/// Height of the line of text below a horizontal axis.
const BELOW: f64 = 16.0;
/// Space between a vertical axis and its values.
const BESIDE: f64 = 6.0;

/// Values of an axis, about as many.
const TICKS: usize = 6;

/// A horizontal axis: values below the drawing, and vertical grid lines from its top to its bottom.
pub fn horizontal(
    scale: &Scale,
    (top, bottom): (f64, f64),
    write: impl Fn(f64) -> String,
) -> Markup {
    html! {
        @for (value, name) in scale.named_ticks(TICKS, write) {
            @let x = scale.at(value);
            (rule(Tone::Grid, (x, top), (x, bottom), 1.0))
            (text(Tone::Muted, (x, bottom + BELOW), Anchor::Middle, &name))
        }
    }
}

/// A vertical axis: values left of the drawing, and horizontal grid lines.
pub fn vertical(scale: &Scale, (left, right): (f64, f64), write: impl Fn(f64) -> String) -> Markup {
    html! {
        @for (value, name) in scale.named_ticks(TICKS, write) {
            @let y = scale.at(value);
            (rule(Tone::Grid, (left, y), (right, y), 1.0))
            (text(Tone::Muted, (left - BESIDE, y + 4.0), Anchor::End, &name))
        }
    }
}

/// A number of an axis: in three digits, without zeros at its end.
#[must_use]
pub fn short(number: f64) -> String {
    let text = compact(number);
    let digits = text.trim_end_matches(['k', 'M', 'B', 'T']);
    if !digits.contains('.') || digits.contains('e') {
        return text;
    }
    let unit = &text[digits.len()..];
    format!(
        "{}{unit}",
        digits.trim_end_matches('0').trim_end_matches('.')
    )
}

/// An amount in dollars on an axis.
#[must_use]
pub fn dollars(amount: f64) -> String {
    format!("${}", short(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_axis_have_no_zeros_at_their_end() {
        let written = [1e3, 1.5e9, 0.05, 20.0, 200e9, 0.0, 2e-5].map(short);
        assert_eq!(
            written,
            ["1k", "1.5B", "0.05", "20", "200B", "0", "2.00e-5"]
        );
    }
}
