//! The kinds of models there are: dense ones and mixtures of experts, each a normal distribution of logarithms whose
//! sizes have heavier tails.

use nalgebra::{Matrix5, Vector5};

use super::count;
use super::data::Truth;
use crate::reference::calibration::{ModelClass, Population};

/// Shrinkage weight of the common mean, in models.
const MEAN_SHRINKAGE: f64 = 5.0;
/// Shrinkage weights of the common covariance, in models: of sizes, where a few dozen models of either
/// class hardly show a difference, and of what follows from size.
const SIZE_SHRINKAGE: f64 = 100.0;
const CACHE_SHRINKAGE: f64 = 10.0;
/// log of the stated maximum context over the one a model of these figures would have, beyond what models differ by.
const CONTEXT_SD: f64 = 0.3;
/// Coordinates of sizes: log `N_a` and log `N_t`.
const SIZES: usize = 2;

/// The population of models with these figures.
pub(super) fn population(truths: &[Truth], size_degrees_of_freedom: f64) -> Population {
    let all: Vec<Vector5<f64>> = truths.iter().map(coordinates).collect();
    let common_mean = mean(&all);
    let class = |is_dense: bool| -> Vec<Vector5<f64>> {
        let own = truths
            .iter()
            .zip(&all)
            .filter(|(truth, _)| truth.is_dense() == is_dense);
        own.map(|(_, point)| *point).collect()
    };
    let (dense, mixtures) = (class(true), class(false));
    let within = [&dense, &mixtures].map(|points| scatter(points, &mean(points)));
    let common = within.into_iter().sum::<Matrix5<f64>>() / (count(all.len()) - 2.0);
    let model_class = |points: &[Vector5<f64>], is_dense: bool| {
        let own = count(points.len());
        let sum: Vector5<f64> = points.iter().sum();
        let mut mean = (sum + common_mean * MEAN_SHRINKAGE) / (own + MEAN_SHRINKAGE);
        let shrunk =
            |strength: f64| (scatter(points, &mean) + common * strength) / (own - 1.0 + strength);
        let mut sizes = shrunk(SIZE_SHRINKAGE);
        let mut rest = shrunk(CACHE_SHRINKAGE);
        if is_dense {
            mean[1] = mean[0];
            sizes = tied(&sizes);
            rest = tied(&rest);
        }
        ModelClass {
            share: (own + 1.0) / (count(all.len()) + 2.0),
            mean: mean.into(),
            covariance: joined(&sizes, &rest, is_dense),
        }
    };
    Population {
        dense: model_class(&dense, true),
        mixture_of_experts: model_class(&mixtures, false),
        size_degrees_of_freedom,
        context_sd: CONTEXT_SD,
    }
}

fn coordinates(truth: &Truth) -> Vector5<f64> {
    Vector5::new(
        truth.log_active,
        truth.log_total,
        truth.log_kv_read,
        truth.log_kv_stored,
        truth.log_context,
    )
}

fn mean(points: &[Vector5<f64>]) -> Vector5<f64> {
    points.iter().sum::<Vector5<f64>>() / count(points.len())
}

fn scatter(points: &[Vector5<f64>], centre: &Vector5<f64>) -> Matrix5<f64> {
    points
        .iter()
        .map(|point| (point - centre) * (point - centre).transpose())
        .sum()
}

/// Total parameters as a copy of active ones.
fn tied(covariance: &Matrix5<f64>) -> Matrix5<f64> {
    let mut copy = Matrix5::identity();
    copy[(1, 1)] = 0.0;
    copy[(1, 0)] = 1.0;
    copy * covariance * copy.transpose()
}

/// Sizes by one covariance, what follows from them by another: rows and columns of sizes from the first, the regression
/// on them and what it leaves from the second.
fn joined(sizes: &Matrix5<f64>, rest: &Matrix5<f64>, is_dense: bool) -> [[f64; 5]; 5] {
    let free = if is_dense { 1 } else { SIZES };
    let of_size = rest.view((0, 0), (free, free)).into_owned();
    let inverse = of_size.try_inverse().expect("sizes vary");
    let below = rest.view((SIZES, 0), (5 - SIZES, free)).into_owned();
    let slopes = &below * inverse;
    let left = rest.view((SIZES, SIZES), (5 - SIZES, 5 - SIZES)) - &slopes * below.transpose();
    let own = sizes.view((0, 0), (free, free));
    let lower = &slopes * sizes.view((0, 0), (free, SIZES));
    let corner = left + &slopes * own * slopes.transpose();
    std::array::from_fn(|row| {
        std::array::from_fn(|column| match (row < SIZES, column < SIZES) {
            (true, true) => sizes[(row, column)],
            (true, false) => lower[(column - SIZES, row)],
            (false, true) => lower[(row - SIZES, column)],
            (false, false) => corner[(row - SIZES, column - SIZES)],
        })
    })
}
