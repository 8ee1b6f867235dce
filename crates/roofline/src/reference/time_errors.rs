//! Errors of predicted times on measurements that the fit had not seen.
//!
//! ```
//! use unroof_roofline::reference::{Predicted, fitted_attainment};
//!
//! let of = Predicted { has_experts: true, distributes_experts: false };
//! let range = |generation| fitted_attainment().time_range(of, generation).unwrap();
//! let (seen, unseen) = (range("Hopper"), range("Rubin"));
//! assert!(seen.was_measured && !unseen.was_measured);
//! // A step of a tenth of a second may take longer by half on a chip without measurements.
//! assert!(unseen.of_time("step", 0.1).high_80 > seen.of_time("step", 0.1).high_80);
//! ```

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of a predicted time; errors of one kind are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Predicted {
    /// Whether the model has routed experts.
    pub has_experts: bool,
    /// Whether they are distributed over the chips.
    pub distributes_experts: bool,
}

/// Ends of the middle of measured over predicted times, of rows that a fit had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeRange {
    /// Kind of prediction.
    pub of: Predicted,
    /// Whether chips of the generation were among the rows of the fit.
    pub was_measured: bool,
    /// Rows that the ends are taken from.
    pub rows: usize,
    /// A twentieth of the rows takes less than this times as long as predicted.
    pub low_90: f64,
    /// A tenth of the rows takes less.
    pub low_80: f64,
    /// A tenth of the rows takes more.
    pub high_80: f64,
    /// A twentieth of the rows takes more.
    pub high_90: f64,
}

/// Ends between which a predicted figure turns out to lie, by the errors on measurements that the fit had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct FigureInterval {
    /// Path of the figure in the answer, or within the plan.
    pub figure: &'static str,
    /// Lower end of 90 %.
    pub low_90: f64,
    /// Lower end of 80 %.
    pub low_80: f64,
    /// Upper end of 80 %.
    pub high_80: f64,
    /// Upper end of 90 %.
    pub high_90: f64,
}

impl TimeRange {
    /// Interval of a time, or of a cost, which is proportional to one.
    #[must_use]
    pub fn of_time(&self, figure: &'static str, predicted: f64) -> FigureInterval {
        FigureInterval {
            figure,
            low_90: predicted * self.low_90,
            low_80: predicted * self.low_80,
            high_80: predicted * self.high_80,
            high_90: predicted * self.high_90,
        }
    }

    /// Interval of a speed: what takes longer is slower.
    #[must_use]
    pub fn of_speed(&self, figure: &'static str, predicted: f64) -> FigureInterval {
        FigureInterval {
            figure,
            low_90: predicted / self.high_90,
            low_80: predicted / self.high_80,
            high_80: predicted / self.low_80,
            high_90: predicted / self.low_90,
        }
    }
}

impl FigureInterval {
    /// The interval of a figure, where it has one.
    #[must_use]
    pub fn find<'i>(intervals: &'i [Self], figure: &str) -> Option<&'i Self> {
        intervals.iter().find(|interval| interval.figure == figure)
    }

    /// A figure with its 80 % interval behind it, where it has one.
    #[must_use]
    pub fn ranged(
        intervals: &[Self],
        figure: &str,
        value: f64,
        shown: impl Fn(f64) -> String,
    ) -> String {
        match Self::find(intervals, figure) {
            Some(interval) => interval.around(value, shown),
            None => shown(value),
        }
    }

    /// A figure with two digits where its interval is wider than a tenth of it, and its 80 % interval behind it.
    #[must_use]
    pub fn around(&self, figure: f64, shown: impl Fn(f64) -> String) -> String {
        let is_wide = self.high_80 - self.low_80 > figure / 10.0;
        let digits = |value: f64| if is_wide { two_digits(value) } else { value };
        let [figure, low, high] =
            [figure, self.low_80, self.high_80].map(|value| shown(digits(value)));
        format!("{figure} ({low} to {high})")
    }
}

/// Note on figures with intervals.
pub const INTERVAL_NOTE: &str =
    "in brackets: where 80 % of such figures lie, by measurements that the fit had not seen";

/// Caveat on chips of a generation without measurements.
#[must_use]
pub fn unmeasured(generation: &str) -> String {
    format!(
        "no measurement on {generation} was fitted: times are those of the middle of other generations, and intervals are as wide as \
         on a generation that a fit had not seen"
    )
}

/// A number with two significant digits.
fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}
