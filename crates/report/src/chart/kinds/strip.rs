//! The strip of an estimate: its 90 % and 50 % intervals and its median over the prior, on one logarithmic axis, with a
//! tick at the value that is public.

use maud::{Markup, html};

use crate::chart::axis::{self, short};
use crate::chart::mark::{Anchor, bar, dot, inline, labelled, rule, text};
use crate::chart::scale::Scale;
use crate::chart::table::{Table, yes_or_no};
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::{ends, spread};
use unroof_base::units::{compact, count_f64};
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;
use unroof_infer::posterior::Interval;

/// An estimate with its prior.
#[derive(Debug, Clone, Copy)]
pub struct Strip {
    /// 90 % interval of the prior.
    pub prior_90: Option<Interval>,
    /// 90 % interval of the estimate.
    pub interval_90: Interval,
    /// 50 % interval, where it is kept.
    pub interval_50: Option<Interval>,
    /// Median of the estimate.
    pub median: f64,
    /// Whether it is identified; else the strip is faint.
    pub identified: bool,
    /// The value that is public.
    pub truth: Option<f64>,
}

/// Width of a strip on an axis of its own.
const OWN_WIDTH: f64 = 240.0;
/// Height of a strip on an axis of its own.
const OWN_HEIGHT: f64 = 22.0;
/// Space for a dot at either end.
const END: f64 = 6.0;

impl Strip {
    /// The strip of a quantity, with the value that is public.
    #[must_use]
    pub fn of(own: &EstimatedQuantity, truth: Option<f64>) -> Self {
        Self {
            prior_90: Some(own.prior.interval_90),
            interval_90: own.interval_90,
            interval_50: Some(own.interval_50),
            median: own.median,
            identified: own.identified,
            truth,
        }
    }

    /// Description of the strip, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = spread(self.median, self.interval_90);
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
        let across = |interval: Interval, half: f64, tone, opacity| {
            let (from, to) = (scale.at(interval.low), scale.at(interval.high));
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

    /// The strip on an axis of its own, from the lowest to the highest of its values; for a stated quantity, whose values are equal,
    /// a word.
    #[must_use]
    pub fn alone(&self) -> Markup {
        let own = self.interval_90;
        let spans = self.prior_90.map(|prior| (prior.low, prior.high));
        let spans = spans
            .into_iter()
            .chain(self.truth.map(|truth| (truth, truth)));
        let (low, high) = spans.fold((own.low, own.high), |(low, high), span| {
            (low.min(span.0), high.max(span.1))
        });
        if high <= low {
            return html! { span.note { "stated" } };
        }
        let before = self
            .prior_90
            .map(|prior| format!("; before any price {}", ends(prior)));
        let words = self.words() + &before.unwrap_or_default();
        let marks = self.marks(
            &Scale::log((low, high), (END, OWN_WIDTH - END)),
            OWN_HEIGHT / 2.0,
        );
        inline("chart strip", (OWN_WIDTH, OWN_HEIGHT), &words, &marks)
    }
}

/// Strips on one axis, by the names of their models.
type Named = [(String, Strip)];

/// Letters of a name that have a place left of the strips.
const LETTERS: usize = 34;

/// Chart of many models, each in a line with its name, on an axis with some ends.
#[must_use]
pub fn lines(words: Words, domain: (f64, f64), rows: &Named) -> Chart {
    const WIDTH: f64 = 720.0;
    const LEFT: f64 = 240.0;
    const TOP: f64 = 8.0;
    const ROW: f64 = 22.0;
    let scale = Scale::log(domain, (LEFT, WIDTH - 16.0));
    let bottom = TOP + ROW * count_f64(rows.len().max(1));
    let drawing = html! {
        (axis::horizontal(&scale, (TOP, bottom), short))
        @for (number, (name, strip)) in rows.iter().enumerate() {
            @let middle = TOP + ROW * (count_f64(number) + 0.5);
            @let name: String = name.chars().take(LETTERS).collect();
            (text(Tone::Ink, (LEFT - 8.0, middle + 4.0), Anchor::End, &name))
            (strip.marks(&scale, middle))
        }
    };
    let table = Table::of(
        rows,
        &[
            ("model", |(name, _)| name.as_str().into()),
            ("median", |(_, strip)| strip.median.into()),
            ("low_50", |(_, strip)| {
                strip.interval_50.map(|half| half.low).into()
            }),
            ("high_50", |(_, strip)| {
                strip.interval_50.map(|half| half.high).into()
            }),
            ("low_90", |(_, strip)| strip.interval_90.low.into()),
            ("high_90", |(_, strip)| strip.interval_90.high.into()),
            ("identified", |(_, strip)| yes_or_no(strip.identified)),
            ("published", |(_, strip)| strip.truth.into()),
        ],
    );
    words.chart((WIDTH, bottom + 28.0), drawing, table)
}

/// Chart of a few models, each with its name and its words above its strip.
#[must_use]
pub fn compared(words: Words, rows: &Named) -> Chart {
    const WIDTH: f64 = 380.0;
    const SIDE: f64 = 24.0;
    const ROW: f64 = 58.0;
    let values = rows.iter().flat_map(|(_, strip)| {
        let Interval { low, high } = strip.interval_90;
        [low, high].into_iter().chain(strip.truth)
    });
    let scale = Scale::around(values, (0.85, 1.15), (SIDE, WIDTH - SIDE));
    let bottom = ROW * count_f64(rows.len());
    let drawing = html! {
        (axis::horizontal(&scale, (0.0, bottom), short))
        @for (number, (name, strip)) in rows.iter().enumerate() {
            @let top = ROW * count_f64(number);
            (text(Tone::Ink, (2.0, top + 15.0), Anchor::Start, name))
            (text(Tone::Muted, (2.0, top + 31.0), Anchor::Start, &strip.words()))
            (strip.marks(&scale, top + 45.0))
        }
    };
    let table = Table::of(
        rows,
        &[
            ("model", |(name, _)| name.as_str().into()),
            ("median", |(_, strip)| strip.median.into()),
            ("low_90", |(_, strip)| strip.interval_90.low.into()),
            ("high_90", |(_, strip)| strip.interval_90.high.into()),
            ("identified", |(_, strip)| yes_or_no(strip.identified)),
            ("public_value", |(_, strip)| strip.truth.into()),
        ],
    );
    words.chart((WIDTH, bottom + 26.0), drawing, table)
}
