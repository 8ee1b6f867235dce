//! Ranges of measured over predicted times, on rows that a fit had not seen.

use std::collections::BTreeMap;

use super::figures::{mean, weighted_quantile};
use super::measured::benchmark;
use super::report::{Report, Scored, is_mixture};
use unroof_roofline::reference::measurement::{MeasuredSpread, Purpose};
use unroof_roofline::reference::{FittedAttainment, Predicted, TimeRange};

/// Digits behind the point that ends are kept with.
const SCALE: f64 = 1e3;
/// Fewest rows of a generation whose mean error counts.
const LEAST_ROWS: usize = 5;
/// Standard deviations from the middle to the ends of 80 % and 90 % of a normal distribution.
const DEVIATIONS: [f64; 2] = [1.281_551_6, 1.644_853_6];

/// ln(measured over predicted time) of a row, by a fit without the rows of a name: its benchmark, or its generation of chips.
type Error = (&'static str, f64);

/// Errors of one kind of prediction.
#[derive(Debug, Default)]
pub(super) struct Errors {
    of_benchmarks: Vec<Error>,
    of_generations: Vec<Error>,
}

/// Errors of every kind of prediction.
pub(super) fn errors(rows: &[Scored]) -> BTreeMap<Predicted, Errors> {
    let mut kinds: BTreeMap<Predicted, Errors> = BTreeMap::new();
    for row in rows
        .iter()
        .filter(|row| row.measured.purpose == Purpose::Fit)
    {
        let errors = kinds.entry(kind(row)).or_default();
        // Throughput over throughput, so that times are upside down.
        let log = |predicted| row.ratio(predicted).map(f64::ln);
        let name = benchmark(row.measured);
        (errors.of_benchmarks).extend(log(row.left_out).map(|log| (name, log)));
        let name = row.generation();
        (errors.of_generations).extend(log(row.without_generation).map(|log| (name, log)));
    }
    kinds
}

fn kind(row: &Scored) -> Predicted {
    Predicted {
        has_experts: is_mixture(row.measured),
        distributes_experts: row.measured.spread == MeasuredSpread::Experts,
    }
}

impl Report {
    /// The fit with the ranges of every kind of prediction, on chips that were measured and on others: the content of
    /// `crates/roofline/data/efficiencies.json`.
    #[must_use]
    pub fn shipped(&self) -> FittedAttainment {
        let kinds = errors(&self.rows);
        let of = |was_measured| {
            let range = move |(of, errors): (&Predicted, &Errors)| errors.range(*of, was_measured);
            kinds.iter().map(range)
        };
        FittedAttainment {
            errors: of(true).chain(of(false)).collect(),
            ..self.fitted.clone()
        }
    }
}

impl Errors {
    /// The range of errors on chips of a generation that was measured, or of another.
    pub(super) fn range(&self, of: Predicted, was_measured: bool) -> TimeRange {
        let of_generation = if was_measured {
            0.0
        } else {
            deviation_of_means(&self.of_generations)
        };
        range(of, &self.of_benchmarks, was_measured, of_generation)
    }

    /// Shares of the rows that the 80 % and the 90 % range of the other benchmarks, or generations, covers.
    pub(super) fn covered(&self, of: Predicted, was_measured: bool) -> [f64; 2] {
        let rows = if was_measured {
            &self.of_benchmarks
        } else {
            &self.of_generations
        };
        let mut within = [0_u32; 2];
        for (own, log) in rows {
            let others: Vec<Error> = rows
                .iter()
                .copied()
                .filter(|(name, _)| name != own)
                .collect();
            let range = if was_measured {
                range(of, &others, true, 0.0)
            } else {
                range(of, &self.of_benchmarks, false, deviation_of_means(&others))
            };
            let ends = [(range.low_80, range.high_80), (range.low_90, range.high_90)];
            for (within, (low, high)) in within.iter_mut().zip(ends) {
                *within += u32::from((low.ln()..=high.ln()).contains(log));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
        let all = rows.len() as f64;
        within.map(|within| f64::from(within) / all)
    }
}

/// The range of errors. A row of a benchmark with n of them counts 1/√n, as in the fit; and a further benchmark is off by an amount
/// of its own, so that the ends are further out by √(1 + 1/benchmarks). A further generation is off by an amount with this
/// standard deviation.
fn range(of: Predicted, errors: &[Error], was_measured: bool, of_generation: f64) -> TimeRange {
    let mut alike: BTreeMap<&str, f64> = BTreeMap::new();
    for (benchmark, _) in errors {
        *alike.entry(benchmark).or_default() += 1.0;
    }
    let weighted = errors.iter();
    let weighted = weighted.map(|(benchmark, log)| (*log, 1.0 / alike[benchmark].sqrt()));
    let mut weighted: Vec<(f64, f64)> = weighted.collect();
    weighted.sort_by(|left, right| left.0.total_cmp(&right.0));
    #[expect(clippy::cast_precision_loss, reason = "a dozen benchmarks")]
    let further = (1.0 + 1.0 / alike.len() as f64).sqrt();
    let at = |share: f64, deviations: f64| {
        let end = weighted_quantile(&weighted, share) * further;
        let end = end.hypot(of_generation * deviations).copysign(share - 0.5);
        (end.exp() * SCALE).round() / SCALE
    };
    TimeRange {
        of,
        was_measured,
        rows: errors.len(),
        low_90: at(0.05, DEVIATIONS[1]),
        low_80: at(0.1, DEVIATIONS[0]),
        high_80: at(0.9, DEVIATIONS[0]),
        high_90: at(0.95, DEVIATIONS[1]),
    }
}

/// Root mean square of the mean errors by name.
fn deviation_of_means(errors: &[Error]) -> f64 {
    let mut of_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, log) in errors {
        of_name.entry(name).or_default().push(*log);
    }
    let enough = of_name.values().filter(|logs| logs.len() >= LEAST_ROWS);
    let squares: Vec<f64> = enough.map(|logs| mean(logs).powi(2)).collect();
    if squares.is_empty() {
        return 0.0;
    }
    mean(&squares).sqrt()
}
