//! Learning from rows of one's own benchmark: an engine's shares of arithmetic and bandwidth, and its waits.
//!
//! An engine's three numbers lie around those of its generation of chips as those lie around all chips' (log odds of shares, log of
//! waits), and rows scatter around what they predict. The most probable numbers are found by Gauss and Newton; their
//! covariance and the scatter give the intervals.

use nalgebra::{Matrix3, Vector3};
use serde::Serialize;
use utoipa::ToSchema;

use crate::calculator::scenario::efficiency::Efficiency;
use crate::reference::{Predicted, TimeRange};
use rows::MeasuredRow;
use unroof_base::units::{Seconds, count_f64};

pub(super) mod rows;

/// Standard deviations of an engine around its generation: log odds of the shares of arithmetic and of bandwidth, log of
/// waits; as generations lie around all chips.
const SPREAD: [f64; 3] = [0.3, 0.3, 0.4];
/// Scatter of the logs of one publication's rows around a fit to them, and the rows that this counts as.
const SCATTER: f64 = 0.12;
const SCATTER_ROWS: f64 = 4.0;
const ITERATIONS: usize = 20;
/// Step of the differences that stand for derivatives.
const STEP: f64 = 1e-4;

/// Efficiencies that a benchmark makes most probable.
#[derive(Debug, Clone)]
pub(super) struct Learned {
    base: Efficiency,
    shift: Vector3<f64>,
    covariance: Matrix3<f64>,
    scatter: f64,
    pub(super) item: LearnedItem,
}

/// Changes that the rows of one's own benchmark made.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct LearnedItem {
    /// Rows of the benchmark.
    pub rows: usize,
    /// Median of |ln(predicted/measured)| by the efficiencies of the request.
    pub error_before: f64,
    /// Median of |ln(predicted/measured)| by those that were learned.
    pub error_after: f64,
    /// Share of peak arithmetic, before and after.
    pub compute: Change,
    /// Share of HBM bandwidth, before and after.
    pub bandwidth: Change,
    /// Waiting per kernel in seconds, before and after.
    pub seconds_per_stage: Change,
}

/// A number that was learned.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Change {
    /// Value of the request, or of the chip's generation.
    pub before: f64,
    /// Value that was learned.
    pub after: f64,
}

impl Learned {
    /// Efficiencies around a base by these rows, of which a function predicts the time of a round.
    pub(super) fn of(
        base: Efficiency,
        rows: &[MeasuredRow],
        round_s: impl Fn(Efficiency, &MeasuredRow) -> f64,
    ) -> Self {
        let log_error = |row: &MeasuredRow, shift: &Vector3<f64>| {
            (row.round_s / round_s(shifted(&base, shift), row)).ln()
        };
        let precision = Matrix3::from_diagonal(&Vector3::from(SPREAD.map(|sd| 1.0 / (sd * sd))));
        let noise = 1.0 / (SCATTER * SCATTER);
        let mut shift = Vector3::zeros();
        let mut covariance = Matrix3::identity();
        for _ in 0..ITERATIONS {
            let (mut curvature, mut slope) = (precision, -(precision * shift));
            for row in rows {
                let error = log_error(row, &shift);
                let rise = gradient(|shift| -log_error(row, shift), &shift);
                curvature += rise * rise.transpose() * noise;
                slope += rise * (error * noise);
            }
            covariance = curvature.try_inverse().unwrap_or(covariance);
            // A step is at most one standard deviation or so: the rooflines have kinks.
            let step = covariance * slope;
            shift += step / step.norm().max(1.0);
        }
        let errors = |shift: &Vector3<f64>| -> Vec<f64> {
            rows.iter().map(|row| log_error(row, shift).abs()).collect()
        };
        let (before, after) = (errors(&Vector3::zeros()), errors(&shift));
        let squares: f64 = after.iter().map(|error| error * error).sum();
        let variance =
            (SCATTER_ROWS * SCATTER * SCATTER + squares) / (SCATTER_ROWS + count_f64(rows.len()));
        let learned = shifted(&base, &shift);
        let change = |of: fn(&Efficiency) -> f64| Change {
            before: of(&base),
            after: of(&learned),
        };
        Self {
            base,
            shift,
            covariance,
            scatter: variance.sqrt(),
            item: LearnedItem {
                rows: rows.len(),
                error_before: median(before),
                error_after: median(after),
                compute: change(|of| of.efficiencies.decode_compute),
                bandwidth: change(|of| of.efficiencies.decode_bandwidth),
                seconds_per_stage: change(|of| of.overheads.per_stage.0),
            },
        }
    }

    /// The efficiencies that were learned.
    pub(super) fn efficiency(&self) -> Efficiency {
        shifted(&self.base, &self.shift)
    }

    /// Range of a time over what is predicted of it.
    pub(super) fn time_range(
        &self,
        of: Predicted,
        seconds: impl Fn(Efficiency) -> f64,
    ) -> TimeRange {
        let log = |shift: &Vector3<f64>| seconds(shifted(&self.base, shift)).ln();
        let rise = gradient(log, &self.shift);
        let variance = (rise.transpose() * self.covariance * rise).x + self.scatter * self.scatter;
        let at = |deviations: f64| (deviations * variance.sqrt()).exp();
        TimeRange {
            of,
            was_measured: true,
            rows: self.item.rows,
            low_90: at(-1.644_853_6),
            low_80: at(-1.281_551_6),
            high_80: at(1.281_551_6),
            high_90: at(1.644_853_6),
        }
    }
}

/// Differences of a function along each number.
fn gradient(of: impl Fn(&Vector3<f64>) -> f64, at: &Vector3<f64>) -> Vector3<f64> {
    Vector3::from_fn(|number, _| {
        let moved = |step: f64| {
            let mut moved = *at;
            moved[number] += step;
            of(&moved)
        };
        (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
    })
}

/// Efficiencies with other shares and waits.
fn shifted(base: &Efficiency, shift: &Vector3<f64>) -> Efficiency {
    let share = |share: f64, by: f64| {
        let odds = share / (1.0 - share).max(1e-9) * by.exp();
        odds / (1.0 + odds)
    };
    let wait = |seconds: Seconds| Seconds(seconds.0 * shift[2].exp());
    let mut shifted = *base;
    let reached = &mut shifted.efficiencies;
    reached.prefill = share(reached.prefill, shift[0]);
    reached.decode_compute = share(reached.decode_compute, shift[0]);
    reached.decode_bandwidth = share(reached.decode_bandwidth, shift[1]);
    let overheads = &mut shifted.overheads;
    for seconds in [
        &mut overheads.per_stage,
        &mut overheads.per_exchange,
        &mut overheads.per_dispatch,
        &mut overheads.per_hop,
    ] {
        *seconds = wait(*seconds);
    }
    shifted
}

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
