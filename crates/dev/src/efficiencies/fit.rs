//! Fits the efficiencies of the forward model to published measurements of serving.

use std::collections::BTreeMap;

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

use super::measured::benchmark;
use super::parts::{
    COUNT, OWN, OWN_SPREAD, PARTS, centre, from_free, of_generation, rounded, to_free,
};
use super::predict::{reach, serving, serving_value};
use unroof_roofline::forward::Serving;
use unroof_roofline::reference::measurement::{Measurement, Purpose};
use unroof_roofline::reference::{Attainment, FittedAttainment, accelerator, fitted_attainment};

/// Errors in the natural log that count as ordinary: of throughput, where engines and loads differ; of the slopes,
/// which one kernel makes.
const ORDINARY_ERROR: f64 = 0.3;
const ORDINARY_SLOPE_ERROR: f64 = 0.09;
/// The command, and the files that it reads.
const SOURCE: &str = "unroof-dev fit --write, from crates/roofline/data/serving_measurements.csv and crates/dev/data/measurements";
/// Weight of the pull toward the middle: that of a third of a row.
const PULL: f64 = 0.15;
const ITERATIONS: u64 = 200;
/// Steps that the search remembers.
const MEMORY: usize = 10;
/// Step of the differences that stand for derivatives.
const STEP: f64 = 1e-6;

/// Error of the fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The measurements have no row that can be fitted.
    #[error("no measurement can be predicted")]
    NoRows,
    /// The search for the best efficiencies failed.
    #[error("the search for the efficiencies failed: {0}")]
    Search(String),
}

/// The efficiencies that the measurements fit best: the least sum of √(1 + e²) − 1 over rows, where e is the log of
/// predicted over measured in units of an ordinary error, so that one odd row pulls no harder than two ordinary ones. A row
/// of a benchmark with n rows on a generation of chips has the weight 1/√n: such rows are not independent. Generations of chips have numbers of their
/// own, which are pulled toward those of all.
///
/// # Errors
/// [`FitError`]
pub fn fit(rows: &[&Measurement]) -> Result<FittedAttainment, FitError> {
    search(rows, |_| centre())
}

/// The efficiencies that the measurements fit best, searched from others.
pub(super) fn fit_from(
    start: &FittedAttainment,
    rows: &[&Measurement],
) -> Result<FittedAttainment, FitError> {
    search(rows, |generation| {
        to_free(&generation.map_or(start.all, |generation| start.of(generation)))
    })
}

fn search(
    rows: &[&Measurement],
    start: impl Fn(Option<&str>) -> [f64; COUNT],
) -> Result<FittedAttainment, FitError> {
    let misfit = Misfit::of(rows);
    if misfit.generations.is_empty() {
        return Err(FitError::NoRows);
    }
    let mut free = start(None).to_vec();
    for (generation, _) in &misfit.generations {
        free.extend(&start(Some(generation))[..OWN]);
    }
    let names: Vec<&str> = misfit.generations.iter().map(|(name, _)| *name).collect();
    let counts = misfit.rows();
    let failed = |error: Error| FitError::Search(error.to_string());
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
        .with_tolerance_grad(1e-3)
        .and_then(|solver| solver.with_tolerance_cost(1e-7))
        .map_err(failed)?;
    let result = Executor::new(misfit, solver)
        .configure(|state| state.param(free).max_iters(ITERATIONS))
        .run()
        .map_err(failed)?;
    let best = result.state().get_best_param();
    let best = best.ok_or_else(|| FitError::Search("no step was taken".to_owned()))?;
    let of = |(index, name): (usize, &&str)| {
        of_generation(name, &rounded(&from_free(&own(best, index))))
    };
    Ok(FittedAttainment {
        source: SOURCE.to_owned(),
        all: rounded(&from_free(&best[..COUNT])),
        generations: names.iter().enumerate().map(of).collect(),
        rows: counts,
        errors: Vec::new(),
    })
}

/// The free numbers of a generation: those of all, but for its own.
fn own(free: &[f64], generation: usize) -> [f64; COUNT] {
    let place = COUNT + OWN * generation;
    std::array::from_fn(|part| {
        let own = (part < OWN).then(|| free[place + part]);
        own.unwrap_or(free[part])
    })
}

/// Whether the search sees a row.
pub(super) fn is_fitted(row: &Measurement) -> bool {
    row.purpose != Purpose::Report
}

/// A row that is fitted.
struct Row<'a> {
    measured: &'a Measurement,
    serving: Serving<'static>,
    weight: f64,
}

impl Row<'_> {
    fn loss(&self, attainment: Attainment) -> f64 {
        let ordinary = match self.measured.purpose {
            Purpose::Slope => ORDINARY_SLOPE_ERROR,
            _ => ORDINARY_ERROR,
        };
        let mut serving = self.serving.clone();
        reach(&mut serving, attainment);
        let predicted = serving_value(self.measured, &serving).unwrap_or(f64::NAN);
        let error = (predicted / self.measured.value).ln() / ordinary;
        self.weight * (error.hypot(1.0) - 1.0)
    }
}

/// Misfit that is minimised: rows by generation.
struct Misfit<'a> {
    generations: Vec<(&'a str, Vec<Row<'a>>)>,
}

impl<'a> Misfit<'a> {
    /// Rows by accelerator.
    fn rows(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for row in self.generations.iter().flat_map(|(_, rows)| rows) {
            *counts.entry(row.measured.accelerator.clone()).or_default() += 1;
        }
        counts
    }

    fn of(rows: &[&'a Measurement]) -> Self {
        let mut generations: BTreeMap<&str, Vec<Row<'_>>> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_fitted(row)) {
            let Some(accelerator) = accelerator(&row.accelerator) else {
                continue;
            };
            let Some(serving) = serving(row, fitted_attainment()) else {
                continue;
            };
            let rows = generations.entry(&accelerator.generation).or_default();
            rows.push(Row {
                measured: row,
                serving,
                weight: 0.0,
            });
        }
        for rows in generations.values_mut() {
            let mut alike: BTreeMap<&str, f64> = BTreeMap::new();
            for row in &*rows {
                *alike.entry(benchmark(row.measured)).or_default() += 1.0;
            }
            for row in rows {
                row.weight = 1.0 / alike[benchmark(row.measured)].sqrt();
            }
        }
        Self {
            generations: generations.into_iter().collect(),
        }
    }

    fn loss(&self, generation: usize, free: &[f64]) -> f64 {
        let attainment = from_free(&own(free, generation));
        let rows = self.generations[generation].1.iter();
        rows.map(|row| row.loss(attainment)).sum()
    }

    fn losses(&self, free: &[f64]) -> Vec<f64> {
        let generations = 0..self.generations.len();
        generations.map(|index| self.loss(index, free)).collect()
    }
}

/// Pull of every number: of those of all toward their middle, of those of a generation toward those of all.
fn pull(free: &[f64]) -> f64 {
    let squared = |from: f64, to: f64, spread: f64| ((from - to) / spread).powi(2);
    let of_all = free.iter().zip(centre()).zip(&PARTS);
    let of_all = of_all.map(|((value, centre), part)| squared(*value, centre, part.spread));
    let own = free[COUNT..].iter().enumerate();
    let own = own.map(|(place, value)| squared(*value, free[place % OWN], OWN_SPREAD[place % OWN]));
    PULL * (of_all.sum::<f64>() + own.sum::<f64>())
}

impl CostFunction for Misfit<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, free: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.losses(free).iter().sum::<f64>() + pull(free))
    }
}

impl Gradient for Misfit<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    /// Differences: a number of all moves every generation but those that have it of their own.
    fn gradient(&self, free: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let losses = self.losses(free);
        let pulled = pull(free);
        let of_number = |number: usize| {
            let mut moved = free.clone();
            moved[number] += STEP;
            let rise = |index: usize| self.loss(index, &moved) - losses[index];
            let rise: f64 = match number {
                0..OWN => 0.0,
                OWN..COUNT => (0..losses.len()).map(rise).sum(),
                own => rise((own - COUNT) / OWN),
            };
            (rise + pull(&moved) - pulled) / STEP
        };
        Ok((0..free.len()).map(of_number).collect())
    }
}
