//! Precisions of weights, KV cache and attention.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_roofline::calculator::inputs::Inputs;
//! use unroof_roofline::calculator::scenario::StatedPrecision;
//!
//! let precision = unroof_base::input::read(br#"{"weight_bytes_per_parameter": 0.5}"#, |root| {
//!     StatedPrecision::read(root)?.fill(&Inputs::new(root, &[]), None)
//! })?;
//! // A cache has at least one byte per element, unless another width is stated.
//! assert_eq!((precision.weights, precision.cache), (0.5, 1.0));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::ops::RangeInclusive;

use super::model::Model;
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::KvCache;
use crate::reference::WeightFormats;
use crate::reference::architecture::Architecture;
use unroof_base::input::body::{Stated, body, number};

/// Bytes per parameter or element.
const WIDTHS: RangeInclusive<f64> = 0.0625..=4.0;

body! {
    /// Precisions of weights, KV cache and attention.
    pub struct StatedPrecision {
        /// w: bytes per parameter; that of the release that is served if left out: the published weights, or those in 8 bits where the
        /// vendor has published such a release beside bf16.
        weight_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B").flag("weight-bytes"),
        /// Bytes per parameter of routed experts; w if left out.
        expert_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Bytes per parameter of all other weights but the input embedding; w if left out.
        other_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Bytes per parameter of the input embedding; w if left out.
        embedding_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Width of the multiplies with weights; if left out that of the weights, and bf16 for 4-bit weights on a chip
        /// without such a format.
        arithmetic_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
        /// `b_kv`: bytes per element of the KV cache; w within 1 and 2 if left out.
        kv_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B").flag("kv-bytes"),
        /// Bytes per element of the index keys of sparse attention; 1, as engines keep them, or `b_kv` where that is less, if
        /// left out.
        index_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
        /// Width of attention's arithmetic; that of the cache if left out.
        attention_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
    }
}

/// Precisions of weights, KV cache and attention, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Precision {
    /// w: the mean over the model.
    pub weights: f64,
    /// Bytes per parameter by component.
    pub formats: WeightFormats,
    /// Width of the multiplies with weights, if it is stated.
    pub arithmetic: Option<f64>,
    /// `b_kv`
    pub cache: f64,
    /// Bytes per element of index keys.
    pub index_keys: f64,
    /// Width of attention's arithmetic.
    pub attention: f64,
}

impl Precision {
    /// The cache of an architecture, with index keys of their own width.
    #[must_use]
    pub fn cache_of(&self, architecture: &Architecture) -> KvCache {
        KvCache::new(architecture).with_index_keys(self.index_keys / self.cache)
    }
}

impl StatedPrecision {
    /// Every width, those that are left out as the model has them.
    pub fn fill(&self, inputs: &Inputs<'_>, model: Option<&Model>) -> Option<Precision> {
        let formats = self.formats(inputs, model)?;
        let weights = model.map_or(formats.others, |model| formats.mean(&model.architecture));
        let arithmetic = inputs.stated(&self.arithmetic_bytes_per_element).ok()?;
        let near = cache_width(weights);
        let cache = inputs.or(&self.kv_bytes_per_element, near, Origin::Default)?;
        let attention = inputs.or(&self.attention_bytes_per_element, cache, Origin::Default)?;
        let has_index = model.is_some_and(|model| model.architecture.has_index_keys());
        let index_keys = if has_index || self.index_bytes_per_element.is_stated() {
            inputs.or(
                &self.index_bytes_per_element,
                cache.min(1.0),
                Origin::Default,
            )?
        } else {
            cache
        };
        Some(Precision {
            weights,
            formats,
            arithmetic,
            cache,
            index_keys,
            attention,
        })
    }

    /// The width of every component: its own, else the one stated for all, else that of the release that is served.
    fn formats(&self, inputs: &Inputs<'_>, model: Option<&Model>) -> Option<WeightFormats> {
        let (native, known) = match model.and_then(|model| model.served_formats) {
            Some(published) => (published, Origin::Reference),
            None => (WeightFormats::uniform(1.0), Origin::Default),
        };
        let mean = model.map_or(1.0, |model| native.mean(&model.architecture));
        let weights = &self.weight_bytes_per_parameter;
        let mean = inputs.or(weights, mean, known)?;
        let (base, from) = if weights.is_stated() {
            (WeightFormats::uniform(mean), Origin::Stated)
        } else {
            (native, known)
        };
        let of_part = |field, width| inputs.or(field, width, from);
        Some(WeightFormats {
            experts: of_part(&self.expert_bytes_per_parameter, base.experts)?,
            others: of_part(&self.other_bytes_per_parameter, base.others)?,
            embedding: of_part(&self.embedding_bytes_per_parameter, base.embedding)?,
        })
    }

    /// Width of the cache of a model with weights of one byte, unless another width is stated.
    #[must_use]
    pub fn cache_of_sizes(&self) -> f64 {
        let stated = |field: &Stated<f64>| field.value.ok().flatten();
        stated(&self.kv_bytes_per_element)
            .unwrap_or_else(|| cache_width(stated(&self.weight_bytes_per_parameter).unwrap_or(1.0)))
    }
}

/// Width of a cache beside weights of this width.
fn cache_width(weights: f64) -> f64 {
    weights.clamp(1.0, 2.0)
}
