//! Prices over time as one line of steps per host, dashed where the price changed at an unknown time between two observations, and
//! an estimate over time as a median with its interval.

use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::Value;

use crate::chart::axis::{dollars, short};
use crate::chart::frame::{self, AXIS, Frame, Plane};
use crate::chart::labels::cut;
use crate::chart::mark::{Anchor, area, bar, dashed, labelled, line, text};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::spread;
use unroof_base::units::{count_f64, readable};
use unroof_infer::posterior::Interval;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 200.0);
/// Height of a line of the key below.
const KEY: f64 = 18.0;
/// Letters of a name in the key; the marks are read out with the whole.
const LONGEST_NAME: usize = 44;

/// First and last time that is shown.
pub type Window = (Timestamp, Timestamp);

/// A price of a host for a time.
#[derive(Debug, Clone)]
pub struct PriceSpan {
    /// Host that asks the price.
    pub host: String,
    /// The series of its line; hosts that share one are in grey.
    pub series: Option<usize>,
    /// USD per million tokens.
    pub price: f64,
    /// Start; none where it is not known.
    pub from: Option<Timestamp>,
    /// End; none until further notice.
    pub to: Option<Timestamp>,
    /// Time at which the price before was last seen.
    pub not_before: Option<Timestamp>,
    /// Whether another source stated the offer for the first time at its start, so that no price is known to have changed.
    pub is_new_source: bool,
}

/// A plane of values over time.
fn over_time(window: Window, values: impl IntoIterator<Item = f64>) -> Plane {
    Plane {
        frame: FRAME,
        across: Scale::time(window, FRAME.across()),
        up: Scale::around(values, (0.8, 1.25), FRAME.up()),
    }
}

/// Chart of prices by host, ascending in time, with the names of the series.
#[must_use]
pub fn prices(words: Words, spans: &[PriceSpan], window: Window, key: &[String]) -> Chart {
    let plane = over_time(window, spans.iter().map(|span| span.price));
    let line_of_key = |number: usize| FRAME.bottom + AXIS + KEY * count_f64(number);
    let drawing = html! {
        (plane.axes([short, dollars], ["", "USD per million tokens"]))
        (steps(spans, window, &plane))
        @for (number, name) in key.iter().enumerate() {
            @let y = line_of_key(number) + KEY / 2.0;
            (bar(Tone::Series(number), (FRAME.left, y - 2.0), (FRAME.left + 20.0, y + 2.0), 1.0))
            @let beginning = cut(name, LONGEST_NAME);
            (text(Tone::Ink, (FRAME.left + 28.0, y + 4.0), Anchor::Start, beginning.as_deref().unwrap_or(name)))
        }
    };
    let table = Table::of(
        spans,
        &[
            ("host", |span| span.host.as_str().into()),
            ("usd_per_mtok", |span| span.price.into()),
            ("from", |span| time(span.from)),
            ("to", |span| time(span.to)),
            ("not_before", |span| time(span.not_before)),
        ],
    );
    words.chart((FRAME.width, line_of_key(key.len()) + 4.0), drawing, table)
}

fn steps(spans: &[PriceSpan], (first, last): Window, plane: &Plane) -> Markup {
    let tone = |span: &PriceSpan| span.series.map_or(Tone::Prior, Tone::Series);
    let before = std::iter::once(None).chain(spans.iter().map(Some));
    html! {
        @for (before, span) in before.zip(spans) {
            @let from = span.from.unwrap_or(first);
            @let start = plane.across.at_time(from);
            @let end = plane.across.at_time(span.to.unwrap_or(last)).max(start + 2.0);
            @let y = plane.up.at(span.price);
            (labelled(&in_words(span), &line(tone(span), &[(start, y), (end, y)], if span.series.is_some() { 2.5 } else { 1.2 })))
            @if let Some(before) = before.filter(|before| before.host == span.host) {
                @let seen = plane.across.at_time(span.not_before.or(before.to).unwrap_or(from));
                (dashed(tone(span), &[(seen, plane.up.at(before.price)), (start, y)], 1.5))
            }
        }
    }
}

fn time(time: Option<Timestamp>) -> Value {
    time.map(|time| time.to_string()).into()
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// A price in words.
fn in_words(span: &PriceSpan) -> String {
    let from = span.from.map_or_else(
        || "since before the first observation".to_owned(),
        |time| {
            let from = if span.is_new_source {
                "by another source, from its first observation on"
            } else {
                "from"
            };
            format!("{from} {}", day(time))
        },
    );
    let to = span.to.map(|time| format!(" to {}", day(time)));
    let to = to.unwrap_or_default();
    format!("{}: ${} {from}{to}", span.host, readable(span.price))
}

/// An estimate for a time.
#[derive(Debug, Clone, Copy)]
pub struct EstimateSpan {
    /// Start of the estimate.
    pub from: Timestamp,
    /// End; none for the newest.
    pub to: Option<Timestamp>,
    /// Median of the estimate.
    pub median: f64,
    /// 90 % interval of the estimate.
    pub interval_90: Interval,
}

/// Chart of estimates, ascending in time.
#[must_use]
pub fn estimates(words: Words, spans: &[EstimateSpan], window: Window) -> Chart {
    let intervals = spans.iter().map(|span| span.interval_90);
    let plane = over_time(window, intervals.flat_map(|of| [of.low, of.high]));
    let drawing = html! {
        (plane.axes([short, short], ["", ""]))
        @for span in spans { (span.marks(&plane, window.1)) }
    };
    let table = Table::of(
        spans,
        &[
            ("from", |span| span.from.to_string().into()),
            ("to", |span| time(span.to)),
            ("median", |span| span.median.into()),
            ("low_90", |span| span.interval_90.low.into()),
            ("high_90", |span| span.interval_90.high.into()),
        ],
    );
    words.chart((FRAME.width, FRAME.bottom + AXIS), drawing, table)
}

impl EstimateSpan {
    fn marks(&self, plane: &Plane, last: Timestamp) -> Markup {
        let Interval { low, high } = self.interval_90;
        let start = plane.across.at_time(self.from);
        let end = plane.across.at_time(self.to.unwrap_or(last));
        let end = end.max(start + 2.0);
        let level = |value: f64| [(start, plane.up.at(value)), (end, plane.up.at(value))];
        let [from, to] = level(low);
        let ribbon = [level(high), [to, from]].concat();
        let words = format!(
            "From {}: {}",
            day(self.from),
            spread(self.median, self.interval_90)
        );
        let marks = html! {
            (area(Tone::Estimate, &ribbon, 0.25))
            (line(Tone::Estimate, &level(self.median), 2.5))
        };
        labelled(&words, &marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn words() -> Words {
        Words {
            title: "t".to_owned(),
            description: "d".to_owned(),
        }
    }

    fn window() -> Window {
        (at("2026-01-01T00:00:00Z"), at("2026-04-01T00:00:00Z"))
    }

    #[test]
    fn a_change_at_an_unknown_time_is_dashed_from_the_last_sight_of_the_old_price() {
        let span = |price, from, not_before: Option<&str>| PriceSpan {
            host: "acme".to_owned(),
            series: Some(0),
            price,
            from: Some(at(from)),
            to: None,
            not_before: not_before.map(at),
            is_new_source: false,
        };
        let spans = [
            span(2.0, "2026-01-01T00:00:00Z", None),
            span(1.0, "2026-03-01T00:00:00Z", Some("2026-02-01T00:00:00Z")),
        ];
        let chart = prices(words(), &spans, window(), &["acme".to_owned()]);
        let svg = chart.svg().into_string();
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
        assert!(svg.contains("acme: $1 from 2026-03-01"), "{svg}");
    }

    #[test]
    fn an_estimate_is_a_median_in_its_interval() {
        let span = EstimateSpan {
            from: at("2026-01-01T00:00:00Z"),
            to: None,
            median: 6e10,
            interval_90: Interval {
                low: 1e10,
                high: 2e11,
            },
        };
        let svg = estimates(words(), &[span], window()).svg().into_string();
        assert!(
            svg.contains("From 2026-01-01: 60.0B (10.0B to 200B)"),
            "{svg}"
        );
    }
}
