//! The canonical model of four sizes and a kind of attention: what the engine needs beyond `N_a`, `N_t`, `k_bw` and `k_st`,
//! by regression on the open-weight models.
//!
//! ```
//! use unroof_infer::evidence::canonical::{CanonicalModel, KnownModel, Sizes};
//! use unroof_roofline::reference::AttentionKind;
//!
//! let cache = f64::ln(61.0 * (512.0 + 64.0));
//! let (log_active, log_total) = (f64::ln(37e9), f64::ln(671e9));
//! let sizes = Sizes { log_active, log_total, log_kv_read: cache, log_kv_stored: cache, is_dense: false,
//!     attention: AttentionKind::Latent };
//! // These are the sizes of DeepSeek-V3, which has 61 layers; by regression on all models there are about as many.
//! assert_eq!(KnownModel::find(&sizes).unwrap().with(&sizes).shape.layers, 61.0);
//! assert!((40.0..90.0).contains(&CanonicalModel::of(&sizes).shape.layers));
//! ```

mod attention;
mod regression;
mod sizes;

use std::sync::LazyLock;

use super::kv_reading::KvReading;
pub use attention::Attention;
use regression::Regressed;
pub use sizes::Sizes;
use unroof_base::units::number::Number;
use unroof_roofline::forward::{KvCache, ModelShape};
use unroof_roofline::reference::architecture::Architecture;
use unroof_roofline::reference::open_models;

/// Deviation of a stated size up to which it is that of an open-weight model: published figures are rounded.
const ROUNDING: f64 = 0.03;

/// A model as the engine needs it.
#[derive(Debug, Clone, Copy)]
pub struct CanonicalModel<N = f64> {
    /// Sizes of the model.
    pub shape: ModelShape<N>,
    /// Attention of the model.
    pub attention: Attention<N>,
}

/// An open-weight model that stated sizes belong to.
#[derive(Debug)]
pub struct KnownModel {
    sizes: Sizes,
    /// log of the slope at infinite context, which older statements of `k_bw` mean
    log_kv_slope: f64,
    shape: ModelShape,
    cache: KvCache,
}

static KNOWN: LazyLock<Vec<KnownModel>> = LazyLock::new(|| {
    open_models()
        .iter()
        .map(|model| KnownModel::of(&model.architecture))
        .collect()
});

impl KnownModel {
    /// A model of this architecture.
    #[must_use]
    pub(super) fn of(architecture: &Architecture) -> Self {
        let cache = KvCache::new(architecture);
        Self {
            sizes: Sizes::of(architecture),
            log_kv_slope: cache.read_elements_per_token().ln(),
            shape: architecture.into(),
            cache,
        }
    }

    /// The open-weight model with these sizes, up to rounding.
    #[must_use]
    pub fn find(sizes: &Sizes) -> Option<&'static Self> {
        let distance = |known: &Self| {
            let of = &known.sizes;
            let read = (of.log_kv_read - sizes.log_kv_read)
                .abs()
                .min((known.log_kv_slope - sizes.log_kv_read).abs());
            [
                of.log_active - sizes.log_active,
                of.log_total - sizes.log_total,
                read,
                of.log_kv_stored - sizes.log_kv_stored,
            ]
            .into_iter()
            .fold(0.0, |most: f64, apart| most.max(apart.abs()))
        };
        KNOWN
            .iter()
            .filter(|known| known.sizes.log_kv_read.is_finite())
            .map(|known| (distance(known), known))
            .filter(|(distance, _)| *distance < ROUNDING)
            .min_by(|(left, _), (right, _)| left.total_cmp(right))
            .map(|(_, known)| known)
    }

    /// The model with exactly these sizes.
    #[must_use]
    pub fn with<N: Number>(&'static self, sizes: &Sizes<N>) -> CanonicalModel<N> {
        let shape = ModelShape::splat(&self.shape);
        let stretch = (sizes.log_total - self.sizes.log_total).exp();
        let slimmer = (sizes.log_active - self.sizes.log_active).exp();
        CanonicalModel {
            shape: ModelShape {
                total_parameters: sizes.log_total.exp(),
                active_parameters: sizes.log_active.exp(),
                expert_parameters: shape.expert_parameters * stretch,
                active_expert_parameters: shape.active_expert_parameters * slimmer,
                ..shape
            },
            attention: Attention::Known(&self.cache),
        }
    }
}

impl<N: Number> CanonicalModel<N> {
    /// The canonical model of these sizes.
    #[must_use]
    pub fn of(sizes: &Sizes<N>) -> Self {
        let regressed = Regressed::new(sizes);
        let [active, total, read, stored] = N::exp_each(&[
            sizes.log_active,
            sizes.log_total,
            sizes.log_kv_read,
            sizes.log_kv_stored,
        ]);
        Self {
            shape: regressed.shape(sizes, active, total),
            attention: Attention::Proportional {
                reading: KvReading::of_bytes(sizes.attention, read, stored),
                decode_macs: regressed.decode_macs,
                prefill_macs: regressed.prefill_macs,
                state_bytes: regressed.state_bytes,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_roofline::reference::open_model;

    #[test]
    fn a_canonical_model_has_the_sizes_it_is_made_of() {
        for model in open_models() {
            let sizes = Sizes::of(&model.architecture);
            if !sizes.log_kv_read.is_finite() {
                continue;
            }
            let shape = CanonicalModel::of(&sizes).shape;
            let parts = shape.expert_parameters
                + shape.always_read_parameters
                + shape.input_embedding_parameters;
            assert!(
                (parts / shape.total_parameters - 1.0).abs() < 0.1,
                "{}: {shape:?}",
                model.name
            );
            if sizes.is_dense {
                let read = shape.always_read_parameters / shape.active_parameters;
                assert!(
                    (0.8 - 1e-9..=1.0 + 1e-9).contains(&read),
                    "{}: {shape:?}",
                    model.name
                );
                continue;
            }
            let of_token =
                shape.total_parameters - shape.expert_parameters + shape.active_expert_parameters;
            assert!(
                (of_token / shape.active_parameters - 1.0).abs() < 1e-9,
                "{}: {shape:?}",
                model.name
            );
        }
    }

    #[test]
    fn a_known_model_is_found_by_its_sizes_and_no_other_is() {
        let sizes = Sizes::of(&open_model("DeepSeek-V3").unwrap().architecture);
        let near = Sizes {
            log_active: sizes.log_active + 0.01,
            ..sizes
        };
        let known = KnownModel::find(&near).unwrap().with(&near);
        assert!((known.shape.layers - 61.0).abs() < 1e-9);
        let far = Sizes {
            log_active: sizes.log_active + 2.0 * ROUNDING,
            ..sizes
        };
        assert!(KnownModel::find(&far).is_none());
    }

    #[test]
    fn layers_and_widths_are_near_those_of_open_weight_models() {
        let mut layers = Vec::new();
        let mut widths = Vec::new();
        for model in open_models() {
            let sizes = Sizes::of(&model.architecture);
            if sizes.log_kv_read.is_finite() {
                let shape = CanonicalModel::of(&sizes).shape;
                layers.push(
                    (shape.layers / f64::from(model.architecture.layers))
                        .ln()
                        .abs(),
                );
                let width = f64::from(model.architecture.hidden_dimension);
                widths.push((shape.hidden_dimension / width).ln().abs());
            }
        }
        for errors in [&mut layers, &mut widths] {
            errors.sort_by(f64::total_cmp);
            let median = errors[errors.len() / 2];
            assert!(median < 0.25, "{median}");
        }
    }
}
