//! Sizes of a model that its times follow from.

use crate::reference::WeightFormats;
use crate::reference::architecture::{Architecture, AttentionGroup, Experts};
use unroof_base::units::number::Number;

/// Kernels in a row of one layer's attention beyond those of grouped queries, as the measurements of such models fit them \[D\]:
/// projections to and from a latent; compressing entries and selecting among them; a layer's linear state, with its gates
/// and convolution.
const STAGES_OF_LATENT: f64 = 3.0;
const STAGES_OF_COMPRESSED: f64 = 14.0;
const STAGES_OF_LINEAR: f64 = 4.0;
/// Kernels in a row of an indexer: its projections, scores and selection \[D\].
const STAGES_OF_INDEXER: f64 = 9.0;

/// Sizes of a model that its times follow from, attention apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelShape<N = f64> {
    /// `N_t`: total parameters.
    pub total_parameters: N,
    /// `N_a`: active parameters.
    pub active_parameters: N,
    /// The input embedding, which is looked up.
    pub input_embedding_parameters: N,
    /// `N_attn`: parameters that every token reads, without the input embedding.
    pub always_read_parameters: N,
    /// `N_exp`: parameters of the routed experts; 0 in a dense model.
    pub expert_parameters: N,
    /// Parameters of the routed experts that a token is multiplied with.
    pub active_expert_parameters: N,
    /// Whether it has routed experts.
    pub has_experts: bool,
    /// Layers of the model.
    pub layers: N,
    /// Layers with routed experts.
    pub expert_layers: N,
    /// Kernels in a row of attention, over all layers, beyond those of grouped queries.
    pub attention_stages: N,
    /// `d_model`: hidden dimension.
    pub hidden_dimension: N,
    /// Routed experts per layer; 0 in a dense model.
    pub routed_experts: N,
    /// Routed experts per token and layer.
    pub active_experts: N,
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
            has_experts: architecture.experts.is_some(),
            layers: f64::from(architecture.layers),
            expert_layers: f64::from(architecture.expert_layers()),
            attention_stages: architecture.attention.iter().map(attention_stages).sum(),
            hidden_dimension: f64::from(architecture.hidden_dimension),
            routed_experts: of_experts(|experts| experts.routed),
            active_experts: of_experts(|experts| experts.active),
        }
    }
}

fn attention_stages(group: &AttentionGroup) -> f64 {
    let (layers, stages) = match group {
        AttentionGroup::GroupedQuery(group) => (group.layers, 0.0),
        AttentionGroup::Latent(group) => (group.layers, STAGES_OF_LATENT),
        AttentionGroup::Compressed(group) => (group.layers, STAGES_OF_COMPRESSED),
        AttentionGroup::Linear(group) => (group.layers, STAGES_OF_LINEAR),
    };
    let indexer = if group.has_index_keys() {
        STAGES_OF_INDEXER
    } else {
        0.0
    };
    f64::from(layers) * (stages + indexer)
}

impl<N: Number> ModelShape<N> {
    /// Copies one shape into every lane.
    #[must_use]
    pub fn splat(shape: &ModelShape) -> Self {
        Self {
            total_parameters: N::splat(shape.total_parameters),
            active_parameters: N::splat(shape.active_parameters),
            input_embedding_parameters: N::splat(shape.input_embedding_parameters),
            always_read_parameters: N::splat(shape.always_read_parameters),
            expert_parameters: N::splat(shape.expert_parameters),
            active_expert_parameters: N::splat(shape.active_expert_parameters),
            has_experts: shape.has_experts,
            layers: N::splat(shape.layers),
            expert_layers: N::splat(shape.expert_layers),
            attention_stages: N::splat(shape.attention_stages),
            hidden_dimension: N::splat(shape.hidden_dimension),
            routed_experts: N::splat(shape.routed_experts),
            active_experts: N::splat(shape.active_experts),
        }
    }

    /// Parameters of the output head: as many as those of an input embedding of its own.
    pub(super) fn output_head_parameters(&self) -> N {
        self.input_embedding_parameters
            .min(self.always_read_parameters)
    }

    /// Bytes of all weights but the experts'.
    pub(super) fn others_bytes(&self, formats: WeightFormats<N>) -> N {
        let embedding = self.input_embedding_parameters;
        let others = self.total_parameters - self.expert_parameters - embedding;
        formats.others * others + formats.embedding * embedding
    }
}
