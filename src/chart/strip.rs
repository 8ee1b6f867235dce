//! The strip of an estimate: its 90 % and 50 % intervals and its median over the prior, on one logarithmic axis, with a
//! tick at the value that is public.

use maud::{Markup, html};

use super::mark::{bar, dot, labelled, rule};
use super::scale::Scale;
use super::tone::Tone;
use unroof_core::units::compact;

/// An estimate with its prior.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strip {
    /// 90 % interval of the prior.
    pub(crate) prior_90: Option<(f64, f64)>,
    /// 90 % interval.
    pub(crate) interval_90: (f64, f64),
    /// 50 % interval; lists have none.
    pub(crate) interval_50: Option<(f64, f64)>,
    /// Median.
    pub(crate) median: f64,
    /// Whether the sheets tell more than the prior; else the strip is faint.
    pub(crate) identified: bool,
    /// The value that is public.
    pub(crate) truth: Option<f64>,
}

impl Strip {
    /// In words.
    pub(crate) fn words(&self) -> String {
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
            words.push_str(&format!("; public value {}", compact(truth)));
        }
        words
    }

    /// The marks, around a height.
    pub(crate) fn marks(&self, scale: &Scale, middle: f64) -> Markup {
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
