//! The cache of each kind of attention: bytes stored by size of the model, and bytes read compared with those stored.

use std::collections::BTreeSet;

use nalgebra::SVector;

use super::regression::penalised;
use crate::prices::data::PricedModel;
use crate::prices::{count, mean};
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::{AttentionLaw, StoredLaw};

/// Shrinkage weights, in models: of a kind's mean towards that of all kinds, and of the exponents towards 0.
const KIND_SHRINKAGE: f64 = 0.3;
const SLOPE_SHRINKAGE: f64 = 2.0;
/// Shrinkage weight of the geometry below, in models.
const GEOMETRY_WEIGHT: f64 = 2.0;

/// log of bytes read per token at 8,192 tokens over bytes stored per token, and its spread, of a usual geometry: windows
/// of 1,024 tokens in three of four layers; 2,048 of 8,192 entries selected by keys of an eighth of their size.
fn geometry(kind: AttentionKind) -> (f64, f64) {
    match kind {
        AttentionKind::Windowed => (0.32, 0.5),
        AttentionKind::Sparse | AttentionKind::Compressed => (-1.0, 0.4),
        AttentionKind::Grouped | AttentionKind::Latent | AttentionKind::HybridLinear => (0.0, 0.0),
    }
}

/// log `N_a` and log `N_t`, and the kinds of attention.
const SIZES: usize = 2;
const SLOPES: usize = SIZES + AttentionKind::COUNT;

/// log `k_st` = mean of the kind + active·log `N_a` + total·log `N_t` + noise, by penalised least squares.
pub(super) fn stored_law(models: &[&PricedModel]) -> StoredLaw {
    let truths = || models.iter().map(|model| &model.truth);
    let centre = [
        mean(truths().map(|truth| truth.log_active)),
        mean(truths().map(|truth| truth.log_total)),
    ];
    let typical = mean(truths().map(|truth| truth.log_kv_stored));
    let rows = || {
        truths().map(|truth| {
            let mut row = SVector::zeros();
            row[0] = truth.log_active - centre[0];
            row[1] = truth.log_total - centre[1];
            row[SIZES + truth.attention as usize] = 1.0;
            (row, truth.log_kv_stored - typical, 1.0)
        })
    };
    let mut penalties = SVector::<f64, SLOPES>::repeat(KIND_SHRINKAGE);
    penalties.fixed_rows_mut::<SIZES>(0).fill(SLOPE_SHRINKAGE);
    let fitted = penalised(penalties, rows());
    let squares: f64 = rows()
        .map(|(row, value, _)| (value - row.dot(&fitted)).powi(2))
        .sum();
    let kinds: BTreeSet<AttentionKind> = truths().map(|truth| truth.attention).collect();
    let free = count(models.len()) - count(SIZES + kinds.len());
    StoredLaw {
        centre,
        active: fitted[0],
        total: fitted[1],
        sd: (squares / free.max(1.0)).sqrt(),
        by_kind: std::array::from_fn(|kind| typical + fitted[SIZES + kind]),
    }
}

/// Bytes read over bytes stored, by kind.
pub(super) fn attention_laws(models: &[&PricedModel]) -> Vec<AttentionLaw> {
    AttentionKind::ALL
        .into_iter()
        .map(|kind| {
            let ratios: Vec<f64> = models
                .iter()
                .filter(|model| model.truth.attention == kind)
                .map(|model| model.truth.log_kv_read_8k - model.truth.log_kv_stored)
                .collect();
            let (usual, usual_sd) = geometry(kind);
            let weight = count(ratios.len()) + GEOMETRY_WEIGHT;
            let mean = (ratios.iter().sum::<f64>() + usual * GEOMETRY_WEIGHT) / weight;
            let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
            let own = squares + GEOMETRY_WEIGHT * (usual_sd * usual_sd + (usual - mean).powi(2));
            let is_free = kind.reads_other_than_stored();
            AttentionLaw {
                kind,
                log_read_over_stored: if is_free { mean } else { 0.0 },
                sd: if is_free { (own / weight).sqrt() } else { 0.0 },
            }
        })
        .collect()
}
