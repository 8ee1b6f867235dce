//! Prices over time as one line of steps per host, dashed where the price changed at an unknown time between two observations, and
//! an estimate over time as a median with its interval.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame;
use crate::chart::frame::{AXIS, Axis, Frame};
use crate::chart::labels::cut;
use crate::chart::mark::{Anchor, area, bar, dashed, labelled, line, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::{Cell, Table};
use crate::chart::tone::Tone;
use unroof_base::units::{compact, readable};

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 200.0);
/// Height of a line of the key below.
const KEY: f64 = 18.0;
/// Letters of a name in the key; the marks are read out with the whole.
const LONGEST_NAME: usize = 44;

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

/// Prices of a model's hosts over time.
#[derive(Debug, Clone)]
pub struct Prices {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Price spans by host, ascending in time.
    pub spans: Vec<PriceSpan>,
    /// First and last time that is shown.
    pub window: (Timestamp, Timestamp),
    /// The names of the series.
    pub key: Vec<String>,
}

impl Prices {
    /// Chart of the prices.
    #[expect(clippy::cast_precision_loss, reason = "a handful of series")]
    #[must_use]
    pub fn chart(self) -> Chart {
        let all = self.spans.iter().map(|span| span.price);
        let (least, greatest) = ends(all);
        let horizontal = Scale::time(self.window, FRAME.across());
        let vertical = Scale::log((least * 0.8, greatest * 1.25), FRAME.up());
        let dollars = |value: f64| format!("${}", short(value));
        let drawing = html! {
            (FRAME.axes(&over_time(&horizontal), &Axis::new(&vertical, 5, dollars, "USD per million tokens")))
            (self.lines(&horizontal, &vertical))
            @for (number, name) in self.key.iter().enumerate() {
                @let y = FRAME.bottom + AXIS + KEY * (number as f64 + 0.5);
                (bar(Tone::Series(number), (FRAME.left, y - 2.0), (FRAME.left + 20.0, y + 2.0), 1.0))
                @let beginning = cut(name, LONGEST_NAME);
                (text(Tone::Ink, (FRAME.left + 28.0, y + 4.0), Anchor::Start, beginning.as_deref().unwrap_or(name)))
            }
        };
        Chart {
            drawing,
            table: self.table(),
            height: FRAME.bottom + AXIS + KEY * self.key.len() as f64 + 4.0,
            width: FRAME.width,
            title: self.title,
            description: self.description,
        }
    }

    fn lines(&self, horizontal: &Scale, vertical: &Scale) -> Markup {
        let (first, last) = self.window;
        let tone = |span: &PriceSpan| span.series.map_or(Tone::Prior, Tone::Series);
        let follows = |number: usize| {
            let before = number.checked_sub(1).map(|number| &self.spans[number]);
            before.filter(|before| before.host == self.spans[number].host)
        };
        html! {
            @for (number, span) in self.spans.iter().enumerate() {
                @let from = span.from.unwrap_or(first);
                @let to = span.to.unwrap_or(last);
                @let y = vertical.at(span.price);
                @let (start, end) = (horizontal.at_time(from), horizontal.at_time(to).max(horizontal.at_time(from) + 2.0));
                (labelled(&words(span), &line(tone(span), &[(start, y), (end, y)], if span.series.is_some() { 2.5 } else { 1.2 })))
                @if let Some(before) = follows(number) {
                    @let seen = horizontal.at_time(span.not_before.or(before.to).unwrap_or(from));
                    @let old = vertical.at(before.price);
                    (dashed(tone(span), &[(seen, old), (start, y)], 1.5))
                }
            }
        }
    }

    fn table(&self) -> Table {
        let time =
            |time: Option<Timestamp>| time.map_or(Cell::Unknown, |time| time.to_string().into());
        let row = |span: &PriceSpan| {
            vec![
                span.host.as_str().into(),
                span.price.into(),
                time(span.from),
                time(span.to),
                time(span.not_before),
            ]
        };
        Table {
            columns: vec!["host", "usd_per_mtok", "from", "to", "not_before"],
            rows: self.spans.iter().map(row).collect(),
        }
    }
}

/// The axis of a time.
fn over_time(scale: &Scale) -> Axis<'_> {
    Axis {
        scale,
        ticks: times(scale),
        name: "",
    }
}

/// Ticks of a time: months, or a few days or hours where it is short.
fn times(scale: &Scale) -> Vec<(f64, String)> {
    const LEAST_MONTHS: usize = 2;
    const DAY: f64 = 86_400.0;
    let months = scale.month_ticks(6);
    if months.len() >= LEAST_MONTHS {
        return months;
    }
    let (first, last) = scale.domain();
    let format = if last - first < 3.0 * DAY {
        "%b %-d, %H:%M"
    } else {
        "%b %-d"
    };
    let tick = |share: f64| {
        let seconds = first + share * (last - first);
        #[expect(clippy::cast_possible_truncation, reason = "a time has few digits")]
        let time = Timestamp::from_second(seconds as i64).unwrap_or_default();
        (seconds, time.strftime(format).to_string())
    };
    [0.12, 0.5, 0.88].map(tick).to_vec()
}

/// A price in words.
fn words(span: &PriceSpan) -> String {
    let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
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
    let to = span
        .to
        .map_or_else(String::new, |time| format!(" to {}", day(time)));
    format!("{}: ${} {from}{to}", span.host, readable(span.price))
}

/// The least and the greatest; some interval where there is none.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, greatest) = extent(values);
    if greatest > 0.0 {
        (least, greatest)
    } else {
        (0.1, 10.0)
    }
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
    pub interval_90: (f64, f64),
}

/// An estimate over time.
#[derive(Debug, Clone)]
pub struct Estimates {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Estimates, ascending in time.
    pub spans: Vec<EstimateSpan>,
    /// First and last time that is shown.
    pub window: (Timestamp, Timestamp),
}

impl Estimates {
    /// Chart of the estimates.
    pub fn chart(self) -> Chart {
        let all = self
            .spans
            .iter()
            .flat_map(|span| [span.interval_90.0, span.interval_90.1]);
        let (least, greatest) = ends(all);
        let horizontal = Scale::time(self.window, FRAME.across());
        let vertical = Scale::log((least * 0.8, greatest * 1.25), FRAME.up());
        let drawing = html! {
            (FRAME.axes(&over_time(&horizontal), &Axis::new(&vertical, 5, short, "")))
            @for span in &self.spans { (self.span(span, &horizontal, &vertical)) }
        };
        Chart {
            drawing,
            table: self.table(),
            height: FRAME.bottom + AXIS,
            width: FRAME.width,
            title: self.title,
            description: self.description,
        }
    }

    fn span(&self, span: &EstimateSpan, horizontal: &Scale, vertical: &Scale) -> Markup {
        let (low, high) = span.interval_90;
        let start = horizontal.at_time(span.from);
        let end = horizontal
            .at_time(span.to.unwrap_or(self.window.1))
            .max(start + 2.0);
        let (above, below) = (vertical.at(high), vertical.at(low));
        let corners = [(start, above), (end, above), (end, below), (start, below)];
        let y = vertical.at(span.median);
        let words = format!(
            "From {}: {} ({} to {})",
            span.from.strftime("%Y-%m-%d"),
            compact(span.median),
            compact(low),
            compact(high)
        );
        labelled(
            &words,
            &html! {
                (area(Tone::Estimate, &corners, 0.25))
                (line(Tone::Estimate, &[(start, y), (end, y)], 2.5))
            },
        )
    }

    fn table(&self) -> Table {
        let row = |span: &EstimateSpan| {
            vec![
                Cell::from(span.from.to_string()),
                span.to
                    .map_or(Cell::Unknown, |time| time.to_string().into()),
                span.median.into(),
                span.interval_90.0.into(),
                span.interval_90.1.into(),
            ]
        };
        Table {
            columns: vec!["from", "to", "median", "low_90", "high_90"],
            rows: self.spans.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_at_an_unknown_time_is_dashed_from_the_last_sight_of_the_old_price() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let span = |price, from, not_before: Option<&str>| PriceSpan {
            host: "acme".to_owned(),
            series: Some(0),
            price,
            from: Some(time(from)),
            to: None,
            not_before: not_before.map(time),
            is_new_source: false,
        };
        let prices = Prices {
            title: "t".to_owned(),
            description: "d".to_owned(),
            spans: vec![
                span(2.0, "2026-01-01T00:00:00Z", None),
                span(1.0, "2026-03-01T00:00:00Z", Some("2026-02-01T00:00:00Z")),
            ],
            window: (time("2026-01-01T00:00:00Z"), time("2026-04-01T00:00:00Z")),
            key: vec!["acme".to_owned()],
        };
        let svg = prices.chart().svg().into_string();
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
        assert!(svg.contains("acme: $1 from 2026-03-01"), "{svg}");
    }

    #[test]
    fn an_estimate_is_a_median_in_its_interval() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let estimates = Estimates {
            title: "t".to_owned(),
            description: "d".to_owned(),
            spans: vec![EstimateSpan {
                from: time("2026-01-01T00:00:00Z"),
                to: None,
                median: 6e10,
                interval_90: (1e10, 2e11),
            }],
            window: (time("2026-01-01T00:00:00Z"), time("2026-04-01T00:00:00Z")),
        };
        let svg = estimates.chart().svg().into_string();
        assert!(
            svg.contains("From 2026-01-01: 60.0B (10.0B to 200B)"),
            "{svg}"
        );
    }
}
