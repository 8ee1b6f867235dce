//! The open-weight models and attention layouts nearest to the estimate.
//!
//! ```
//! use unroof_infer::estimate::{Format, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let joint = infer(&request).joint;
//! // The open-weight models with the most similar figures, the nearest first.
//! assert!(joint.nearest_open_models.is_sorted_by_key(|model| model.distance));
//! assert!(unroof_roofline::reference::open_model(&joint.nearest_open_models[0].name).is_some());
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::quantities::{JointQuantity, Quantities};
use super::quantity_estimate::QuantityEstimate;
use crate::posterior::Summary;
use unroof_base::units::significant;
use unroof_roofline::forward::KvCache;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::reference::{OpenModel, open_models};

/// An open-weight model near the estimate.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
pub struct NearModel {
    /// Name of the model, as `/reference/open-models` has it.
    pub name: String,
    /// Root mean square distance of its four figures from the estimate, in standard deviations of the estimate.
    pub distance: f64,
    /// `N_a`: active parameters.
    pub active_parameters: f64,
    /// `N_t`: total parameters.
    pub total_parameters: f64,
    /// `k_bw` at one byte per element, of a context of 8,192 tokens.
    pub kv_bytes_per_token_read: f64,
    /// `k_st` at one byte per element.
    pub kv_bytes_per_token_stored: f64,
}

/// Kind of attention of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutKind {
    /// Heads share keys and values in groups.
    GroupedQuery,
    /// All heads share one latent.
    Latent,
}

/// An attention layout with a KV cache of this size.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AttentionLayout {
    /// Kind of attention of the layout.
    pub kind: LayoutKind,
    /// Layers with a cache.
    pub layers: u32,
    /// KV heads per layer, where there are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kv_heads: Option<u32>,
    /// Size of a head; of the shared latent with its rotary part.
    pub head_dimension: u32,
    /// `k_st` at one byte per element.
    pub kv_bytes_per_token_stored: f64,
}

const MOST_MODELS: usize = 5;
const MOST_LAYOUTS: usize = 6;
/// Least standard deviation of a logarithm, so that a stated quantity still separates models.
const LEAST_SD: f64 = 0.05;
/// Layers, KV heads and sizes of heads that open-weight models have.
const LAYERS: [u32; 14] = [16, 24, 28, 32, 36, 40, 48, 56, 61, 64, 80, 96, 112, 128];
const KV_HEADS: [u32; 5] = [1, 2, 4, 8, 16];
const HEAD_DIMENSIONS: [u32; 3] = [64, 128, 256];
/// A latent of 512 with 64 rotary dimensions.
const LATENT: u32 = 576;

/// The quantities by which models are compared, in the order of [`figures`].
const COMPARED: [JointQuantity; 4] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
    JointQuantity::KvBytesRead,
    JointQuantity::KvBytesStored,
];

/// The models nearest to the estimates of the quantities compared.
#[must_use]
pub fn open_models_near(quantities: &Quantities) -> Vec<NearModel> {
    let estimates = COMPARED.map(|quantity| quantities.get(quantity));
    let mut near: Vec<NearModel> = open_models()
        .iter()
        .map(|model| {
            let figures = figures(model);
            let squares = estimates.iter().zip(figures).map(|(estimate, figure)| {
                let Summary {
                    log_mean, log_sd, ..
                } = estimate.summary;
                ((figure.ln() - log_mean) / log_sd.max(LEAST_SD)).powi(2)
            });
            let [
                active_parameters,
                total_parameters,
                kv_bytes_per_token_read,
                kv_bytes_per_token_stored,
            ] = figures;
            NearModel {
                name: model.name.clone(),
                distance: significant((squares.sum::<f64>() / 4.0).sqrt()),
                active_parameters,
                total_parameters,
                kv_bytes_per_token_read,
                kv_bytes_per_token_stored,
            }
        })
        .collect();
    near.sort_by(|left, right| left.distance.total_cmp(&right.distance));
    near.truncate(MOST_MODELS);
    near
}

fn figures(model: &OpenModel) -> [f64; 4] {
    let cache = KvCache::new(&model.architecture);
    [
        model.architecture.active_parameters,
        model.architecture.total_parameters,
        cache.read_per_token_at(READ_CONTEXT_TOKENS, 1.0).0,
        cache.stored_per_token(1.0).0,
    ]
}

/// The layouts nearest to the median, of those within the 50 % interval.
pub fn attention_layouts(stored: &QuantityEstimate) -> Vec<AttentionLayout> {
    let grouped = LAYERS.into_iter().flat_map(|layers| {
        let of_heads = move |kv_heads| {
            HEAD_DIMENSIONS.map(move |head_dimension| (layers, Some(kv_heads), head_dimension))
        };
        KV_HEADS.into_iter().flat_map(of_heads)
    });
    let latent = LAYERS.into_iter().map(|layers| (layers, None, LATENT));
    let mut layouts: Vec<AttentionLayout> = grouped.chain(latent).map(layout).collect();
    let within = stored.interval_50;
    layouts.retain(|layout| (within.low..=within.high).contains(&layout.kv_bytes_per_token_stored));
    let distance = |layout: &AttentionLayout| {
        (layout.kv_bytes_per_token_stored / stored.median)
            .ln()
            .abs()
    };
    layouts.sort_by(|left, right| distance(left).total_cmp(&distance(right)));
    layouts.truncate(MOST_LAYOUTS);
    layouts
}

/// E15: attention layout of a published model.
fn layout((layers, kv_heads, head_dimension): (u32, Option<u32>, u32)) -> AttentionLayout {
    let per_layer = kv_heads.map_or(f64::from(head_dimension), |heads| {
        2.0 * f64::from(heads * head_dimension)
    });
    AttentionLayout {
        kind: if kv_heads.is_some() {
            LayoutKind::GroupedQuery
        } else {
            LayoutKind::Latent
        },
        layers,
        kv_heads,
        head_dimension,
        kv_bytes_per_token_stored: f64::from(layers) * per_layer,
    }
}
