//! Quasi-Monte Carlo points, a scrambled Sobol sequence: the same for every sheet, so that two answers differ by their
//! sheets alone.

use std::sync::LazyLock;

use statrs::distribution::{ContinuousCDF, Normal};

use super::gaussian::UNKNOWNS;

/// Number of points, the limit of draws.
pub(super) const MOST_POINTS: usize = 1 << 15;
/// Seed of the scrambled sequence.
pub(crate) const SEED: u32 = 20_260_429;

/// Machines that an operator considers for a model.
pub(super) const MACHINES: usize = 4;

/// Standard normal coordinates of a draw, and a uniform one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// Coordinates of the unknowns, as standard normal values.
    pub(super) normal: [f64; UNKNOWNS],
    /// Coordinate of the utilisation.
    pub(super) utilisation: f64,
    /// Coordinate of the rent.
    pub(super) rental: f64,
    /// Coordinates that choose a machine and the size of its unit each: an operator takes the first that holds the model.
    pub(super) machines: [f64; MACHINES],
    /// Coordinate of the error of a decode step's time.
    pub(super) decode_error: f64,
    /// Coordinate of the error of a prefill pass's time.
    pub(super) prefill_error: f64,
    /// Coordinate of the share of prompts that is cached.
    pub(super) cached: f64,
}

static POINTS: LazyLock<Vec<Point>> = LazyLock::new(|| {
    let normal = Normal::standard();
    (0..MOST_POINTS)
        .map(|index| point(index, &normal))
        .collect()
});

fn point(index: usize, normal: &Normal) -> Point {
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    // A scrambled Sobol sequence holds 0 and may round to 1; half a step keeps both out.
    let uniform = |dimension: u32| {
        let drawn = f64::from(sobol_burley::sample(index, dimension, SEED));
        (drawn + 0.5 / f64::from(1_u32 << 24)).min(1.0 - f64::EPSILON)
    };
    let mut dimensions = 0..;
    let mut next = || uniform(dimensions.next().unwrap_or(0));
    Point {
        normal: std::array::from_fn(|_| normal.inverse_cdf(next())),
        utilisation: normal.inverse_cdf(next()),
        rental: normal.inverse_cdf(next()),
        machines: std::array::from_fn(|_| next()),
        decode_error: normal.inverse_cdf(next()),
        prefill_error: normal.inverse_cdf(next()),
        cached: normal.inverse_cdf(next()),
    }
}

/// Points of the Sobol sequence.
pub(super) fn points() -> &'static [Point] {
    &POINTS
}
