//! Sizes of a model that its times follow from.

use crate::reference::WeightFormats;
use crate::reference::architecture::{Architecture, Experts};

/// Sizes of a model that its times follow from, attention apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelShape {
    /// `N_t`
    pub total_parameters: f64,
    /// `N_a`
    pub active_parameters: f64,
    /// The input embedding, which is looked up.
    pub input_embedding_parameters: f64,
    /// `N_attn`: parameters that every token reads, without the input embedding.
    pub always_read_parameters: f64,
    /// `N_exp`: parameters of the routed experts; 0 in a dense model.
    pub expert_parameters: f64,
    /// Of these, those that a token is multiplied with.
    pub active_expert_parameters: f64,
    /// Layers.
    pub layers: f64,
    /// Layers with routed experts.
    pub expert_layers: f64,
    /// `d_model`
    pub hidden_dimension: f64,
    /// Routed experts per layer; 0 in a dense model.
    pub routed_experts: f64,
    /// Routed experts per token and layer.
    pub active_experts: f64,
}

impl From<&Architecture> for ModelShape {
    fn from(architecture: &Architecture) -> Self {
        let of_experts = |count: fn(Experts) -> u32| {
            let experts = architecture.experts;
            experts.map_or(0.0, |experts| f64::from(count(experts)))
        };
        Self {
            total_parameters: architecture.total_parameters,
            active_parameters: architecture.active_parameters,
            input_embedding_parameters: architecture.input_embedding_parameters,
            always_read_parameters: architecture.always_read(),
            expert_parameters: architecture.expert_parameters(),
            active_expert_parameters: architecture.active_expert_parameters(),
            layers: f64::from(architecture.layers),
            expert_layers: f64::from(architecture.expert_layers()),
            hidden_dimension: f64::from(architecture.hidden_dimension),
            routed_experts: of_experts(|experts| experts.routed),
            active_experts: of_experts(|experts| experts.active),
        }
    }
}

impl ModelShape {
    pub(super) fn has_experts(&self) -> bool {
        self.routed_experts > 0.0
    }

    /// s: routed experts per layer over active ones; 1 in a dense model.
    pub(super) fn routed_over_active(&self) -> f64 {
        if self.has_experts() {
            self.routed_experts / self.active_experts
        } else {
            1.0
        }
    }

    /// Parameters of the output head: as many as those of an input embedding of its own.
    pub(super) fn output_head_parameters(&self) -> f64 {
        self.input_embedding_parameters
            .min(self.always_read_parameters)
    }

    /// Bytes of all weights but the experts'.
    pub(super) fn others_bytes(&self, formats: WeightFormats) -> f64 {
        let embedding = self.input_embedding_parameters;
        let others = self.total_parameters - self.expert_parameters - embedding;
        formats.others * others + formats.embedding * embedding
    }
}
