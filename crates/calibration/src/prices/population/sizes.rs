//! Sizes of models: mean and covariance of log `N_a` and log `N_t`, and where the kinds of attention lie relative to the mean.

use nalgebra::{Matrix2, Vector2};

use crate::prices::count;
use crate::prices::data::PricedModel;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::Sizes;

/// Shrinkage weight of the common mean, in models.
const MEAN_SHRINKAGE: f64 = 5.0;
/// Shrinkage weight of the common covariance, in models: a few dozen models of either kind hardly show a difference.
const SIZE_SHRINKAGE: f64 = 100.0;

/// log `N_a` and log `N_t` of dense models or of mixtures: their own mean and covariance, drawn to those of all. The kinds of
/// attention lie relative to the mean; the covariance is that about the mean of all kinds, since each is known from few families.
pub(super) fn sizes(models: &[&PricedModel], is_dense: bool) -> Sizes {
    let both = [true, false].map(|dense| points(models, |other, _| other == dense));
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
        covariance: covariance.transpose().into(),
    }
}

/// Mean log sizes of the models of a class less those of all dense models or of all mixtures, drawn to 0.
pub(super) fn of_class(
    models: &[&PricedModel],
    class: (bool, AttentionKind),
    sizes: &Sizes,
) -> [f64; 2] {
    let own = points(models, |is_dense, attention| (is_dense, attention) == class);
    let centre = Vector2::from(sizes.mean);
    let sum: Vector2<f64> = own.iter().map(|point| point - centre).sum();
    (sum / (count(own.len()) + MEAN_SHRINKAGE)).into()
}

fn points(
    models: &[&PricedModel],
    is_wanted: impl Fn(bool, AttentionKind) -> bool,
) -> Vec<Vector2<f64>> {
    let truths = models.iter().map(|model| &model.truth);
    truths
        .filter(|truth| is_wanted(truth.is_dense(), truth.attention))
        .map(|truth| Vector2::new(truth.log_active, truth.log_total))
        .collect()
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
