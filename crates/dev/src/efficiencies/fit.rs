//! Fits the efficiencies of the forward model to published measurements of serving.

use argmin::core::{CostFunction, Executor, State};
use argmin::solver::neldermead::NelderMead;

use super::predict::predict;
use unroof_core::reference::Attainment;
use unroof_core::reference::measurement::{Measurement, Purpose};
use unroof_core::units::Seconds;

/// Errors in the natural log that count as ordinary: of throughput, where engines and loads differ; of the slopes,
/// which one kernel makes.
const ORDINARY_ERROR: f64 = 0.3;
const ORDINARY_SLOPE_ERROR: f64 = 0.1;
/// Weight of the pull toward [`CENTRE`], which only decides what the rows leave open.
const PULL: f64 = 1e-3;
/// Start of the search.
const CENTRE: Attainment = Attainment {
    compute: 0.7,
    bandwidth: 0.8,
    network: 0.9,
    vectors_per_token_and_layer: 100.0,
    seconds_per_stage: Seconds(2e-5),
};
const ITERATIONS: u64 = 4_000;
/// Restarts of the simplex around its best point, since it may collapse along a kink.
const RESTARTS: usize = 4;

/// Error of the fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// There is nothing to fit.
    #[error("no measurement can be predicted")]
    NoRows,
    /// The search failed.
    #[error("the search for the efficiencies failed: {0}")]
    Search(String),
}

/// The efficiencies that the measurements fit best: the least sum of √(1 + e²) − 1 over rows, where e is the log of
/// predicted over measured in units of an ordinary error, so that one odd row pulls no harder than two ordinary ones.
///
/// # Errors
/// [`FitError`]
pub fn fit(rows: &[&Measurement]) -> Result<Attainment, FitError> {
    let rows: Vec<&Measurement> = rows
        .iter()
        .copied()
        .filter(|row| row.purpose != Purpose::Report && predict(row, CENTRE).is_some())
        .collect();
    if rows.is_empty() {
        return Err(FitError::NoRows);
    }
    let mut best = to_free(CENTRE);
    for _ in 0..RESTARTS {
        let simplex = simplex_around(&best);
        let solver = NelderMead::new(simplex)
            .with_sd_tolerance(1e-12)
            .map_err(|error| FitError::Search(error.to_string()))?;
        let result = Executor::new(Misfit { rows: &rows }, solver)
            .configure(|state| state.max_iters(ITERATIONS))
            .run()
            .map_err(|error| FitError::Search(error.to_string()))?;
        if let Some(found) = result.state().get_best_param() {
            best.clone_from(found);
        }
    }
    Ok(from_free(&best))
}

struct Misfit<'a> {
    rows: &'a [&'a Measurement],
}

impl CostFunction for Misfit<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, free: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let attainment = from_free(free);
        let of_row = |row: &&Measurement| {
            let ordinary = match row.purpose {
                Purpose::Slope => ORDINARY_SLOPE_ERROR,
                _ => ORDINARY_ERROR,
            };
            let predicted = predict(row, attainment).unwrap_or(f64::NAN);
            ((predicted / row.value).ln() / ordinary).hypot(1.0) - 1.0
        };
        let misfit: f64 = self.rows.iter().map(of_row).sum();
        let pull: f64 = free
            .iter()
            .zip(to_free(CENTRE))
            .map(|(value, centre)| (value - centre).powi(2))
            .sum();
        Ok(misfit + PULL * pull)
    }
}

/// Shares as log odds, amounts as logs: any numbers are allowed there.
fn to_free(attainment: Attainment) -> Vec<f64> {
    let log_odds = |share: f64| (share / (1.0 - share)).ln();
    vec![
        log_odds(attainment.compute),
        log_odds(attainment.bandwidth),
        log_odds(attainment.network),
        attainment.vectors_per_token_and_layer.ln(),
        attainment.seconds_per_stage.0.ln(),
    ]
}

fn from_free(free: &[f64]) -> Attainment {
    let share = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
    Attainment {
        compute: share(free[0]),
        bandwidth: share(free[1]),
        network: share(free[2]),
        vectors_per_token_and_layer: free[3].exp(),
        seconds_per_stage: Seconds(free[4].exp()),
    }
}

fn simplex_around(point: &[f64]) -> Vec<Vec<f64>> {
    let moved = |index: usize| {
        let mut corner = point.to_vec();
        corner[index] += 0.5;
        corner
    };
    let corners = (0..point.len()).map(moved);
    std::iter::once(point.to_vec()).chain(corners).collect()
}
