//! The type of the answer about a vendor.

use serde::Serialize;
use utoipa::ToSchema;

use crate::estimate::samples::Spread;

/// A vendor's models with a common markup and a common accelerator.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct VendorEstimate {
    /// Factor by which the vendor prices above (or below) the price law, on the input and on the output line.
    pub markup: MarkupEstimate,
    /// The models, by name.
    pub models: Vec<SizeEstimate>,
    /// Every pair of models, the larger one first.
    pub ratios: Vec<SizeRatio>,
    /// Number of independent hypotheses about markup and accelerator with the same information.
    pub effective_hypotheses: f64,
}

/// The markup of a vendor on each line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct MarkupEstimate {
    /// Markup on the input price.
    pub input: Spread,
    /// Markup on the output price.
    pub output: Spread,
}

/// The sizes of one model.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SizeEstimate {
    /// Canonical name, `author/model`.
    #[schema(example = "anthropic/claude-opus-4.6")]
    pub canonical_model: String,
    /// Parameters used per token.
    pub active_parameters: Spread,
    /// Total parameters of the model.
    pub total_parameters: Spread,
}

/// The ratio of two models of one vendor.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SizeRatio {
    /// The model with more active parameters.
    pub larger: String,
    /// The model with fewer active parameters.
    pub smaller: String,
    /// Ratio of their active parameters.
    pub active_parameters: Spread,
    /// Ratio of their total parameters.
    pub total_parameters: Spread,
    /// Probability that the larger one has more active parameters.
    pub more_active_parameters: f64,
    /// Probability that it has more total parameters.
    pub more_total_parameters: f64,
    /// The ratio of their active parameters if markup and accelerator were not common.
    pub active_parameters_alone: Spread,
}
