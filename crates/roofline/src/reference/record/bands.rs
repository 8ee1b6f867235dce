//! The record of left-out estimates by bands: size, year of release, and family of the model.
//!
//! ```
//! use unroof_roofline::reference::{BandKind, RecordSetting, bands, held_out};
//!
//! let bands = bands(held_out(), "total_parameters", RecordSetting::PooledHosts);
//! let sizes = bands.iter().filter(|band| band.by == BandKind::Size);
//! // Small models are estimated too large, and large ones too small.
//! let biases: Vec<f64> = sizes.map(|band| band.median_ratio).collect();
//! assert!(biases.first().unwrap() > &1.0 && biases.last().unwrap() < &1.0);
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::held_out::{HeldOut, HeldOutQuantity};
use super::track_record::RecordSetting;
use crate::reference::{OpenModel, open_models};

/// Fewest models of a band; families of fewer are one band.
const LEAST_MODELS: usize = 5;
/// Name of the band of families with few models.
pub const OTHERS: &str = "others";
/// Upper ends of the bands of total parameters.
const SIZES: [(f64, &str); 6] = [
    (4e9, "below 4B"),
    (1e10, "4B to 10B"),
    (3e10, "10B to 30B"),
    (1e11, "30B to 100B"),
    (4e11, "100B to 400B"),
    (f64::INFINITY, "400B and more"),
];

/// Property of models that bands are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BandKind {
    /// Total parameters.
    Size,
    /// Year of release.
    Released,
    /// Family: models of one author with a common design.
    Family,
}

/// Errors on the models of one band, each estimated by a calibration that has not seen it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RecordBand {
    /// Property of models that the band is of.
    pub by: BandKind,
    /// Name of the band.
    #[schema(example = "4B to 10B")]
    pub band: String,
    /// Models in the band.
    pub models: usize,
    /// Median of estimate ÷ true value: above 1 they are estimated too large.
    pub median_ratio: f64,
    /// Median error, as a factor.
    pub median_fold_error: f64,
    /// 90th percentile of the error, as a factor.
    pub fold_error_90: f64,
    /// Share of the true values inside the 90 % interval.
    pub coverage_90: f64,
}

/// The errors of one quantity in one setting by size, by year of release, and by family; every model counts, also those that were added
/// later.
#[must_use]
pub fn bands(estimates: &[HeldOut], quantity: &str, setting: RecordSetting) -> Vec<RecordBand> {
    let own = estimates
        .iter()
        .filter(|estimate| estimate.setting == setting);
    let own: Vec<Scored<'_>> = own
        .filter_map(|estimate| Scored::new(estimate, quantity))
        .collect();
    [BandKind::Size, BandKind::Released, BandKind::Family]
        .into_iter()
        .flat_map(|by| bands_by(by, &own))
        .collect()
}

/// An estimate with the model that it is of.
#[derive(Clone, Copy)]
struct Scored<'e> {
    open: &'static OpenModel,
    weight: f64,
    result: &'e HeldOutQuantity,
}

impl<'e> Scored<'e> {
    fn new(estimate: &'e HeldOut, quantity: &str) -> Option<Self> {
        let open = open_models()
            .iter()
            .find(|open| open.name == estimate.model)?;
        Some(Self {
            open,
            weight: estimate.weight,
            result: estimate.quantities.get(quantity)?,
        })
    }

    /// Place in the order of the bands, and the name of the band.
    fn band(&self, by: BandKind) -> Option<(usize, String)> {
        match by {
            BandKind::Size => {
                let total = self.open.architecture.total_parameters;
                let place = SIZES.iter().position(|(end, _)| total < *end)?;
                Some((place, SIZES[place].1.to_owned()))
            }
            BandKind::Released => Some(match self.open.released?.year() {
                ..=2024 => (0, "2024 and before".to_owned()),
                year => (1, year.to_string()),
            }),
            BandKind::Family => Some((0, self.open.family.clone())),
        }
    }
}

fn bands_by(by: BandKind, scored: &[Scored<'_>]) -> Vec<RecordBand> {
    let mut named: BTreeMap<(usize, String), Vec<Scored<'_>>> = BTreeMap::new();
    for one in scored {
        if let Some(band) = one.band(by) {
            named.entry(band).or_default().push(*one);
        }
    }
    if by == BandKind::Family {
        let mut others = Vec::new();
        named.retain(|_, own| {
            let is_kept = models(own) >= LEAST_MODELS;
            if !is_kept {
                others.append(own);
            }
            is_kept
        });
        named.insert((1, OTHERS.to_owned()), others);
    }
    let filled = named.into_iter().filter(|(_, own)| !own.is_empty());
    filled
        .map(|((_, band), own)| record(by, band, &own))
        .collect()
}

fn record(by: BandKind, band: String, own: &[Scored<'_>]) -> RecordBand {
    let errors = |error: fn(f64) -> f64| {
        let error = |one: &Scored<'_>| {
            let log = one.result.log_median - one.result.log_truth;
            (error(log), one.weight)
        };
        let mut errors: Vec<(f64, f64)> = own.iter().map(error).collect();
        errors.sort_by(|left, right| left.0.total_cmp(&right.0));
        errors
    };
    let (signed, absolute) = (errors(|log| log), errors(f64::abs));
    let covered = own.iter().filter(|one| one.result.is_covered(0.9));
    let covered: f64 = covered.map(|one| one.weight).sum();
    RecordBand {
        by,
        band,
        models: models(own),
        median_ratio: shown(quantile(&signed, 0.5).exp()),
        median_fold_error: shown(quantile(&absolute, 0.5).exp()),
        fold_error_90: shown(quantile(&absolute, 0.9).exp()),
        coverage_90: shown(covered / own.iter().map(|one| one.weight).sum::<f64>()),
    }
}

/// Number of models: the weights of a model's estimates add up to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few hundred models"
)]
fn models(own: &[Scored<'_>]) -> usize {
    own.iter().map(|one| one.weight).sum::<f64>().round() as usize
}

/// The first of ascending, weighted values up to which this share of the weight lies.
fn quantile(ascending: &[(f64, f64)], share: f64) -> f64 {
    let total: f64 = ascending.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    for (value, weight) in ascending {
        below += weight;
        if below >= share * total {
            return *value;
        }
    }
    f64::NAN
}

/// A figure to three digits, as far as it is known.
fn shown(figure: f64) -> f64 {
    format!("{figure:.2e}").parse().unwrap_or(figure)
}
