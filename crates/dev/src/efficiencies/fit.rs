//! Fits the efficiencies of the forward model to published measurements of serving.

use std::collections::BTreeMap;

use argmin::core::{CostFunction, Executor, State};
use argmin::solver::neldermead::NelderMead;

use super::predict::predict;
use unroof_base::units::Seconds;
use unroof_roofline::reference::Attainment;
use unroof_roofline::reference::measurement::{Measurement, Purpose};

/// Errors in the natural log that count as ordinary: of throughput, where engines and loads differ; of the slopes,
/// which one kernel makes.
const ORDINARY_ERROR: f64 = 0.3;
const ORDINARY_SLOPE_ERROR: f64 = 0.1;
/// Start of the search, and the middle of what kernels are known to reach one by one.
const CENTRE: Attainment = Attainment {
    compute: 0.7,
    expert_compute_ratio: 0.7,
    attention_compute_ratio: 0.85,
    bandwidth: 0.82,
    network: 0.9,
    exposed_exchange: 0.7,
    vectors_per_token_and_layer: 30.0,
    seconds_per_stage: Seconds(1.2e-5),
};
/// Standard deviations around it, of log odds of shares and of logs of amounts, in the order of [`to_free`]. The share of
/// bandwidth is known best: large copies reach 80 to 90 %.
const SPREAD: [f64; PARTS] = [0.5, 0.5, 0.5, 0.3, 0.5, 1.0, 0.5, 0.5];
/// Weight of the pull toward the middle: that of a third of a row.
const PULL: f64 = 0.15;
const PARTS: usize = 8;
const ITERATIONS: u64 = 600;
/// Restarts of the simplex around its best point, since it may collapse along a kink.
const RESTARTS: usize = 3;

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
/// of a publication with n rows has the weight 1/√n: such rows are not independent.
///
/// # Errors
/// [`FitError`]
pub fn fit(rows: &[&Measurement]) -> Result<Attainment, FitError> {
    fit_from(CENTRE, rows)
}

/// The efficiencies that the measurements fit best, searched from a given point.
pub(super) fn fit_from(start: Attainment, rows: &[&Measurement]) -> Result<Attainment, FitError> {
    let rows: Vec<&Measurement> = rows
        .iter()
        .copied()
        .filter(|row| is_fitted(row) && predict(row, CENTRE).is_some())
        .collect();
    if rows.is_empty() {
        return Err(FitError::NoRows);
    }
    let mut best = to_free(start);
    for _ in 0..RESTARTS {
        let simplex = simplex_around(&best);
        let solver = NelderMead::new(simplex)
            .with_sd_tolerance(1e-9)
            .map_err(|error| FitError::Search(error.to_string()))?;
        let misfit = Misfit {
            rows: weighted(&rows),
        };
        let result = Executor::new(misfit, solver)
            .configure(|state| state.max_iters(ITERATIONS))
            .run()
            .map_err(|error| FitError::Search(error.to_string()))?;
        if let Some(found) = result.state().get_best_param() {
            best.clone_from(found);
        }
    }
    Ok(from_free(&best))
}

fn is_fitted(row: &Measurement) -> bool {
    matches!(
        row.purpose,
        Purpose::Fit | Purpose::Slope | Purpose::Intercept
    )
}

/// Each row with its weight.
fn weighted<'a>(rows: &[&'a Measurement]) -> Vec<(&'a Measurement, f64)> {
    let mut of_publication: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        *of_publication.entry(&row.publication).or_default() += 1.0;
    }
    let weight = |row: &Measurement| 1.0 / of_publication[row.publication.as_str()].sqrt();
    rows.iter().map(|row| (*row, weight(row))).collect()
}

struct Misfit<'a> {
    rows: Vec<(&'a Measurement, f64)>,
}

impl CostFunction for Misfit<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, free: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let attainment = from_free(free);
        let of_row = |(row, weight): &(&Measurement, f64)| {
            let ordinary = match row.purpose {
                Purpose::Slope => ORDINARY_SLOPE_ERROR,
                _ => ORDINARY_ERROR,
            };
            let predicted = predict(row, attainment).unwrap_or(f64::NAN);
            weight * (((predicted / row.value).ln() / ordinary).hypot(1.0) - 1.0)
        };
        let misfit: f64 = self.rows.iter().map(of_row).sum();
        let pull: f64 = free
            .iter()
            .zip(to_free(CENTRE))
            .zip(SPREAD)
            .map(|((value, centre), spread)| ((value - centre) / spread).powi(2))
            .sum();
        Ok(misfit + PULL * pull)
    }
}

/// Shares as log odds, amounts as logs: any numbers are allowed there.
fn to_free(attainment: Attainment) -> Vec<f64> {
    let log_odds = |share: f64| (share / (1.0 - share)).ln();
    vec![
        log_odds(attainment.compute),
        log_odds(attainment.expert_compute_ratio),
        log_odds(attainment.attention_compute_ratio),
        log_odds(attainment.bandwidth),
        log_odds(attainment.network),
        log_odds(attainment.exposed_exchange),
        attainment.vectors_per_token_and_layer.ln(),
        attainment.seconds_per_stage.0.ln(),
    ]
}

fn from_free(free: &[f64]) -> Attainment {
    let share = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
    Attainment {
        compute: share(free[0]),
        expert_compute_ratio: share(free[1]),
        attention_compute_ratio: share(free[2]),
        bandwidth: share(free[3]),
        network: share(free[4]),
        exposed_exchange: share(free[5]),
        vectors_per_token_and_layer: free[6].exp(),
        seconds_per_stage: Seconds(free[7].exp()),
    }
}

fn simplex_around(point: &[f64]) -> Vec<Vec<f64>> {
    let moved = |index: usize| {
        let mut corner = point.to_vec();
        corner[index] += 0.3;
        corner
    };
    let corners = (0..point.len()).map(moved);
    std::iter::once(point.to_vec()).chain(corners).collect()
}
