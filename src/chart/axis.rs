//! Axes: grid lines with the values at their ends.

use maud::{Markup, html};

use super::mark::{Anchor, rule, text};
use super::scale::Scale;
use super::tone::Tone;

/// Height of the line of text below a horizontal axis.
const BELOW: f64 = 16.0;
/// Space between a vertical axis and its values.
const BESIDE: f64 = 6.0;

/// A horizontal axis: values below the drawing, and vertical grid lines from its top to its bottom.
pub(crate) fn horizontal(
    scale: &Scale,
    (top, bottom): (f64, f64),
    ticks: &[(f64, String)],
) -> Markup {
    html! {
        @for (value, name) in ticks {
            @let x = scale.at(*value);
            (rule(Tone::Grid, (x, top), (x, bottom), 1.0))
            (text(Tone::Muted, (x, bottom + BELOW), Anchor::Middle, name))
        }
    }
}

/// A vertical axis: values left of the drawing, and horizontal grid lines.
pub(crate) fn vertical(
    scale: &Scale,
    (left, right): (f64, f64),
    ticks: &[(f64, String)],
) -> Markup {
    html! {
        @for (value, name) in ticks {
            @let y = scale.at(*value);
            (rule(Tone::Grid, (left, y), (right, y), 1.0))
            (text(Tone::Muted, (left - BESIDE, y + 4.0), Anchor::End, name))
        }
    }
}

/// Ticks of a scale, written in some way.
pub(crate) fn named(
    scale: &Scale,
    count: usize,
    name: impl Fn(f64) -> String,
) -> Vec<(f64, String)> {
    let ticks = scale.ticks(count).into_iter();
    ticks.map(|value| (value, name(value))).collect()
}
