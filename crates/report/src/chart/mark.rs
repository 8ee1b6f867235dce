//! Marks: lines, areas, steps, dots, bars and text, each with its tone.

use std::fmt::Write;

use maud::{Markup, html};

use super::tone::Tone;

/// A place in tenths of a unit: finer is not seen and costs bytes.
#[must_use]
pub fn round(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// Side of a place on which a text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// The middle of the text is there.
    Middle,
    /// The text ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Draws a text at a place.
#[must_use]
pub fn text(tone: Tone, (x, y): (f64, f64), anchor: Anchor, words: &str) -> Markup {
    html! {
        text class=(tone.class()) x=(round(x)) y=(round(y)) text-anchor=(anchor.name()) fill=(tone.colour()) { (words) }
    }
}

/// Draws a straight line.
#[must_use]
pub fn rule(tone: Tone, from: (f64, f64), to: (f64, f64), width: f64) -> Markup {
    html! {
        line class=(tone.class()) x1=(round(from.0)) y1=(round(from.1)) x2=(round(to.0)) y2=(round(to.1))
            stroke=(tone.colour()) stroke-width=(width) {}
    }
}

/// A line through points.
#[must_use]
pub fn line(tone: Tone, points: &[(f64, f64)], width: f64) -> Markup {
    stroke(tone, points, width, None)
}

/// A dashed line through points.
#[must_use]
pub fn dashed(tone: Tone, points: &[(f64, f64)], width: f64) -> Markup {
    stroke(tone, points, width, Some("4 3"))
}

fn stroke(tone: Tone, points: &[(f64, f64)], width: f64, dashes: Option<&str>) -> Markup {
    html! {
        path class={ "line " (tone.class()) } d=(path(points)) fill="none" stroke=(tone.colour())
            stroke-width=(width) stroke-linejoin="round" stroke-dasharray=[dashes] {}
    }
}

/// A drawing in a line of text or in the cell of a table, with the words that it has in place of a title.
#[must_use]
pub fn inline(class: &str, (width, height): (f64, f64), words: &str, marks: &Markup) -> Markup {
    html! {
        svg class=(class) xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) role="img" font-size="11" aria-label=(words) {
            (marks)
        }
    }
}

/// The area within points, more or less transparent; nothing where there is no point.
#[must_use]
pub fn area(tone: Tone, points: &[(f64, f64)], opacity: f64) -> Markup {
    html! {
        @if !points.is_empty() {
            path class={ "area " (tone.class()) } d={ (path(points)) "Z" } fill=(tone.colour()) fill-opacity=(opacity) {}
        }
    }
}

/// A bar from one corner to the other.
#[must_use]
pub fn bar(tone: Tone, from: (f64, f64), to: (f64, f64), opacity: f64) -> Markup {
    let (left, right) = (from.0.min(to.0), from.0.max(to.0));
    let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
    html! {
        rect class={ "area " (tone.class()) } x=(round(left)) y=(round(top)) width=(round(right - left).max(0.1))
            height=(round(bottom - top).max(0.1)) fill=(tone.colour()) fill-opacity=(opacity) {}
    }
}

/// Draws a dot.
#[must_use]
pub fn dot(tone: Tone, (x, y): (f64, f64), radius: f64, opacity: f64) -> Markup {
    html! {
        circle class={ "area " (tone.class()) } cx=(round(x)) cy=(round(y)) r=(radius) fill=(tone.colour())
            fill-opacity=(opacity) {}
    }
}

/// Marks with a label that a pointer shows and that the keyboard's cursor stops at.
#[must_use]
pub fn labelled(label: &str, marks: &Markup) -> Markup {
    html! {
        g data-label=(label) { title { (label) } (marks) }
    }
}

/// The `d` of a path through points.
fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let command = if number == 0 { 'M' } else { 'L' };
        // Writing to a text does not fail.
        let _ = write!(path, "{command}{} {}", round(*x), round(*y));
    }
    path
}

/// The corners of a line of steps: each value holds from its place to the next.
#[must_use]
pub fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(points.len() * 2);
    for (x, y) in points {
        if let Some((_, before)) = corners.last().copied() {
            corners.push((*x, before));
        }
        corners.push((*x, *y));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_holds_until_the_next_begins() {
        let corners = steps(&[(0.0, 1.0), (5.0, 2.0), (9.0, 2.0)]);
        assert_eq!(
            corners,
            [(0.0, 1.0), (5.0, 1.0), (5.0, 2.0), (9.0, 2.0), (9.0, 2.0)]
        );
    }

    #[test]
    fn words_are_escaped_and_places_are_short() {
        let text = text(Tone::Ink, (1.0 / 3.0, 2.0), Anchor::Middle, "<b> & c").into_string();
        assert!(text.contains("&lt;b&gt; &amp; c"), "{text}");
        assert!(text.contains(r#"x="0.3" y="2""#), "{text}");
    }
}
