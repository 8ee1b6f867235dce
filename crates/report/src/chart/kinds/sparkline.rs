//! The sparkline of a price: its steps over a while, without axes.

use maud::{Markup, html};

use crate::chart::mark::{area, dot, inline, line, steps};
use crate::chart::scale::Scale;
use crate::chart::tone::Tone;

/// Steps of a price: the time at which each begins, and the price from then on.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Begin and end of the time, in seconds.
    pub window: (f64, f64),
    /// The steps, by time.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 90.0;
const HEIGHT: f64 = 22.0;
/// Space for the dot at the end.
const EDGE: f64 = 4.0;

impl Steps {
    /// The change from the first price to the last, as a factor; none without prices.
    #[must_use]
    pub fn factor(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?.1, self.points.last()?.1);
        (first > 0.0).then(|| last / first)
    }

    /// Description of the line, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.factor() {
            None => "no price in the last 90 days".to_owned(),
            Some(factor) if (factor - 1.0).abs() < 0.005 => "unchanged for 90 days".to_owned(),
            Some(factor) => format!("{:+.0} % in 90 days", 100.0 * (factor - 1.0)),
        }
    }

    /// Whether there is something to draw: a price that changed.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.points.len() > 1
    }

    /// The drawing, from zero up, so that a small change looks small.
    pub fn svg(&self) -> Markup {
        let prices = self.points.iter().map(|(_, price)| *price);
        let highest = prices.fold(f64::MIN_POSITIVE, f64::max);
        let across = Scale::linear(self.window, (0.0, WIDTH - EDGE));
        let up = Scale::linear((0.0, highest), (HEIGHT - 1.0, EDGE));
        let place = |(time, price): &(f64, f64)| (across.at(*time), up.at(*price));
        let mut corners = steps(&self.points.iter().map(place).collect::<Vec<_>>());
        let end = corners.last().map(|(_, y)| (across.range().1, *y));
        corners.extend(end);
        let below = |place: Option<&(f64, f64)>| place.map(|(x, _)| (*x, HEIGHT));
        let mut filled = corners.clone();
        filled.extend(below(corners.last()));
        filled.extend(below(corners.first()));
        let marks = html! {
            (area(Tone::Muted, &filled, 0.15))
            (line(Tone::Muted, &corners, 1.5))
            @if let Some(end) = end { (dot(Tone::Ink, end, 2.0, 1.0)) }
        };
        inline("chart spark", (WIDTH, HEIGHT), &self.words(), &marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_in_words_and_drawn_in_steps() {
        let steps = Steps {
            window: (0.0, 10.0),
            points: vec![(0.0, 4.0), (5.0, 3.0)],
        };
        assert_eq!(steps.words(), "-25 % in 90 days");
        let drawing = steps.svg().into_string();
        assert!(drawing.contains("M0 4L43 4L43 8.3L86 8.3"), "{drawing}");
        let none = Steps {
            points: Vec::new(),
            ..steps
        };
        assert_eq!(none.words(), "no price in the last 90 days");
        let drawing = none.svg().into_string();
        // A path without a place to begin at is a fault to a browser.
        assert!(
            !drawing.contains("NaN") && !drawing.contains("d=\"Z\""),
            "{drawing}"
        );
    }
}
