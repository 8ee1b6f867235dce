//! The kinds of models there are: dense ones and mixtures of experts, each with one of six kinds of attention.

mod attention;
mod classes;
mod context;
mod facts;

use nalgebra::{Matrix2, Vector2};

use super::count;
use super::data::PricedModel;
use crate::reference::calibration::{Population, Sizes};

/// Shrinkage weight of the common mean, in models.
const MEAN_SHRINKAGE: f64 = 5.0;
/// Shrinkage weight of the common covariance, in models: a few dozen models of either kind hardly show a difference.
const SIZE_SHRINKAGE: f64 = 100.0;

/// The population of these models.
pub(super) fn population(models: &[&PricedModel], size_degrees_of_freedom: f64) -> Population {
    let dates = facts::dates(models);
    let facts = facts::facts(models, &dates);
    Population {
        dense: sizes(models, true),
        mixture_of_experts: sizes(models, false),
        size_degrees_of_freedom,
        classes: classes::classes(models, &facts),
        stored: attention::stored_law(models),
        attention: attention::attention_laws(models),
        context: context::context_law(models, &facts),
        dates,
    }
}

/// log `N_a` and log `N_t` of dense models or of mixtures: their own mean and covariance, drawn to those of all.
fn sizes(models: &[&PricedModel], is_dense: bool) -> Sizes {
    let points = |dense: bool| -> Vec<Vector2<f64>> {
        let own = models.iter().map(|model| &model.truth);
        own.filter(|truth| truth.is_dense() == dense)
            .map(|truth| Vector2::new(truth.log_active, truth.log_total))
            .collect()
    };
    let both = [points(true), points(false)];
    let all: Vec<Vector2<f64>> = both.iter().flatten().copied().collect();
    let within: Matrix2<f64> = both
        .iter()
        .map(|points| scatter(points, &mean(points)))
        .sum();
    let common = within / (count(all.len()) - 2.0);
    let own = &both[usize::from(!is_dense)];
    let number = count(own.len());
    let sum: Vector2<f64> = own.iter().sum();
    let mut centre = (sum + mean(&all) * MEAN_SHRINKAGE) / (number + MEAN_SHRINKAGE);
    let mut covariance =
        (scatter(own, &centre) + common * SIZE_SHRINKAGE) / (number - 1.0 + SIZE_SHRINKAGE);
    if is_dense {
        centre[1] = centre[0];
        covariance = Matrix2::from_element(covariance[(0, 0)]);
    }
    Sizes {
        mean: centre.into(),
        covariance: [
            [covariance[(0, 0)], covariance[(0, 1)]],
            [covariance[(1, 0)], covariance[(1, 1)]],
        ],
    }
}

fn mean(points: &[Vector2<f64>]) -> Vector2<f64> {
    points.iter().sum::<Vector2<f64>>() / count(points.len())
}

fn scatter(points: &[Vector2<f64>], centre: &Vector2<f64>) -> Matrix2<f64> {
    points
        .iter()
        .map(|point| (point - centre) * (point - centre).transpose())
        .sum()
}
