//! The strip of an estimate: its 90 % and 50 % intervals and its median over the prior, on one logarithmic axis, with a
//! tick at the value that is public.

use maud::{Markup, html};

use crate::chart::mark::{Anchor, bar, dot, labelled, rule, text};
use crate::chart::scale::Scale;
use crate::chart::table::{Cell, Table};
use crate::chart::tone::Tone;
use crate::chart::{Chart, axis};
use unroof_base::units::compact;

/// An estimate with its prior.
#[derive(Debug, Clone, Copy)]
pub struct Strip {
    /// 90 % interval of the prior.
    pub prior_90: Option<(f64, f64)>,
    /// 90 % interval of the estimate.
    pub interval_90: (f64, f64),
    /// 50 % interval, where it is kept.
    pub interval_50: Option<(f64, f64)>,
    /// Median of the estimate.
    pub median: f64,
    /// Whether it is identified; else the strip is faint.
    pub identified: bool,
    /// The value that is public.
    pub truth: Option<f64>,
}

impl Strip {
    /// Description of the strip, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let (low, high) = self.interval_90;
        let mut words = format!(
            "{} ({} to {})",
            compact(self.median),
            compact(low),
            compact(high)
        );
        if !self.identified {
            words.push_str(", not identified");
        }
        if let Some(truth) = self.truth {
            words = format!("{words}; public value {}", compact(truth));
        }
        words
    }

    /// The marks, around a height.
    #[must_use]
    pub fn marks(&self, scale: &Scale, middle: f64) -> Markup {
        let across = |(low, high): (f64, f64), half: f64, tone, opacity| {
            let (from, to) = (scale.at(low), scale.at(high));
            bar(tone, (from, middle - half), (to, middle + half), opacity)
        };
        let strength = if self.identified { 1.0 } else { 0.4 };
        let marks = html! {
            @if let Some(prior) = self.prior_90 { (across(prior, 7.0, Tone::Prior, 0.35)) }
            (across(self.interval_90, 3.0, Tone::Estimate, 0.4 * strength))
            @if let Some(half) = self.interval_50 { (across(half, 3.0, Tone::Estimate, 0.8 * strength)) }
            (dot(Tone::Estimate, (scale.at(self.median), middle), 4.0, strength))
            @if let Some(truth) = self.truth {
                @let x = scale.at(truth);
                (rule(Tone::Truth, (x, middle - 8.0), (x, middle + 8.0), 2.5))
            }
        };
        labelled(&self.words(), &marks)
    }
}

/// Width of a strip on an axis of its own.
const OWN_WIDTH: f64 = 240.0;
/// Height of a strip on an axis of its own.
const OWN_HEIGHT: f64 = 22.0;
/// Space for a dot at either end.
const END: f64 = 6.0;

impl Strip {
    /// The strip on an axis of its own, from the lowest to the highest of its values; none where they are all one, since
    /// the quantity was stated.
    #[must_use]
    pub fn alone(&self) -> Option<Markup> {
        let spans = [self.prior_90, self.truth.map(|truth| (truth, truth))];
        let (low, high) = spans
            .into_iter()
            .flatten()
            .fold(self.interval_90, |(low, high), span| {
                (low.min(span.0), high.max(span.1))
            });
        if high <= low {
            return None;
        }
        let mut words = self.words();
        if let Some((low, high)) = self.prior_90 {
            let before = format!("; before any price {} to {}", compact(low), compact(high));
            words.push_str(&before);
        }
        let scale = Scale::log((low, high), (END, OWN_WIDTH - END));
        Some(html! {
            svg.chart.strip viewBox=(format!("0 0 {OWN_WIDTH} {OWN_HEIGHT}")) width=(OWN_WIDTH) height=(OWN_HEIGHT)
                role="img" aria-label=(words) {
                (self.marks(&scale, OWN_HEIGHT / 2.0))
            }
        })
    }
}

/// The strips of several models on one axis.
#[derive(Debug)]
pub struct Strips {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// The values that the axis shows.
    pub domain: (f64, f64),
    /// The models, each with its strip.
    pub rows: Vec<(String, Strip)>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 240.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 8.0;
const ROW: f64 = 22.0;
const AXIS: f64 = 28.0;
/// Letters of a name that have a place left of the strips.
const LETTERS: usize = 34;

impl Strips {
    /// Chart of the strips.
    pub fn chart(&self) -> Chart {
        #[expect(clippy::cast_precision_loss, reason = "rows are few")]
        let bottom = TOP + ROW * self.rows.len().max(1) as f64;
        let scale = Scale::log(self.domain, (LEFT, WIDTH - RIGHT));
        let ticks = axis::named(&scale, 6, axis::short);
        let middles = std::iter::successors(Some(TOP + ROW / 2.0), |middle| Some(middle + ROW));
        let drawing = html! {
            (axis::horizontal(&scale, (TOP, bottom), &ticks))
            @for ((name, strip), middle) in self.rows.iter().zip(middles) {
                @let name: String = name.chars().take(LETTERS).collect();
                (text(Tone::Ink, (LEFT - 8.0, middle + 4.0), Anchor::End, &name))
                (strip.marks(&scale, middle))
            }
        };
        Chart {
            title: self.title.clone(),
            description: self.description.clone(),
            width: WIDTH,
            height: bottom + AXIS,
            drawing,
            table: Table {
                columns: vec![
                    "model",
                    "median",
                    "low_50",
                    "high_50",
                    "low_90",
                    "high_90",
                    "identified",
                    "published",
                ],
                rows: self
                    .rows
                    .iter()
                    .map(|(name, strip)| strip.cells(name))
                    .collect(),
            },
        }
    }
}

impl Strip {
    fn cells(&self, name: &str) -> Vec<Cell> {
        let half = |end: fn((f64, f64)) -> f64| Cell::from(self.interval_50.map(end));
        vec![
            name.into(),
            self.median.into(),
            half(|(low, _)| low),
            half(|(_, high)| high),
            self.interval_90.0.into(),
            self.interval_90.1.into(),
            if self.identified { "yes" } else { "no" }.into(),
            self.truth.into(),
        ]
    }
}
