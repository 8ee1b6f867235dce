//! Costs that the rooflines leave out, in seconds, bytes and factors.

use super::machine::HIDDEN_BYTES_PER_ELEMENT;
use crate::reference::Attainment;
use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, Seconds};

/// Hidden vectors that a copy of a token on its way through an expert passes through memory: sent and received in 8 bits,
/// gathered, read by the first matrix, its result written and read on both sides of the activation, the second result
/// written, scattered, sent back and added up: about 8 if counted, and 10 predicts the measurements better \[D\].
const VECTORS_PER_EXPERT_COPY: f64 = 10.0;
/// Latency of a transfer to another domain: 8.4 µs to start and 14 µs over the network, by the cost model of NCCL
/// (`src/graph/tuning.cc`, ring, protocol Simple).
pub const SECONDS_PER_HOP: Seconds = Seconds(22.4e-6);
/// Share of HBM that serving engines leave free: `gpu_memory_utilization` of vLLM was 0.9 by default, and is 0.92 now;
/// `free_gpu_memory_fraction` of TensorRT-LLM is 0.9 of what weights leave.
const MEMORY_HEADROOM: f64 = 0.1;
/// Hidden vectors per token of a pass that are alive at once on a chip \[D\].
const ACTIVATION_VECTORS: f64 = 10.0;
/// Tokens of a pass that an engine sets memory aside for: `max_num_tokens` of TensorRT-LLM.
const TOKENS_SET_ASIDE: f64 = 8_192.0;

/// Most of a chip's memory that is set aside for it; a pass has fewer tokens where memory is small \[D\].
const MOST_SET_ASIDE: f64 = 0.1;

/// Costs that the rooflines leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overheads {
    /// Share of the links' bandwidth reached; None if communication is not counted.
    pub network: Option<f64>,
    /// Share of the shorter of work and exchanges that is not hidden when decoding with distributed experts.
    pub exposed_exchange: f64,
    /// Share of the shorter of reading routed experts and multiplying with them that the longer does not hide.
    pub exposed_weights: f64,
    /// Hidden vectors per token and layer that pass through memory beside weights and cache: norms, activations,
    /// quantising.
    pub vectors_per_token_and_layer: f64,
    /// Hidden vectors per copy of a token that goes to an expert, which pass through memory: dispatching, gathering, combining.
    pub vectors_per_expert_copy: f64,
    /// Share of peak of multiplies with experts over that with dense matrices.
    pub expert_compute_ratio: f64,
    /// Share of peak of attention's multiplies over that with dense matrices.
    pub attention_compute_ratio: f64,
    /// Latency per sequential kernel.
    pub per_stage: Seconds,
    /// Sequential kernels of a dense layer; one with experts has ten, in 4 bits five.
    pub stages_per_dense_layer: f64,
    /// Latency of an all-reduce.
    pub per_exchange: Seconds,
    /// Latency of sending tokens to experts and back, per doubling of the chips.
    pub per_dispatch: Seconds,
    /// Further latency where it leaves the scale-up domain.
    pub per_hop: Seconds,
    /// Load of the most popular chip's experts over the mean, beyond chance; None if all are loaded alike.
    pub expert_imbalance: Option<f64>,
    /// Whether chips that cut matrices keep copies of what their cache has too few heads for.
    pub cache_copies: bool,
    /// Whether arithmetic is that of the kernels: the input embedding is looked up, the output head is multiplied with the
    /// last token of a prompt, an indexer is repeated on every chip and sparse attention fills its selections. Otherwise
    /// a token is multiplied with all active parameters, and with what it attends to.
    pub counts_kernels: bool,
    /// Share of memory that is left free.
    pub memory_headroom: f64,
    /// Hidden vectors per token of a pass that need memory on every chip.
    pub activation_vectors: f64,
}

impl Overheads {
    /// Overheads of the bare rooflines: none.
    pub const NONE: Self = Self {
        network: None,
        exposed_exchange: 1.0,
        exposed_weights: 0.0,
        vectors_per_token_and_layer: 0.0,
        vectors_per_expert_copy: 0.0,
        expert_compute_ratio: 1.0,
        attention_compute_ratio: 1.0,
        per_stage: Seconds(0.0),
        stages_per_dense_layer: 2.0,
        per_exchange: Seconds(0.0),
        per_dispatch: Seconds(0.0),
        per_hop: Seconds(0.0),
        expert_imbalance: None,
        cache_copies: false,
        counts_kernels: false,
        memory_headroom: 0.0,
        activation_vectors: 0.0,
    };

    /// Memory of a chip of this capacity for the hidden states of a pass.
    #[must_use]
    pub(super) fn activation_bytes<N: Number>(
        &self,
        hidden_dimension: N,
        capacity: Bytes<N>,
    ) -> Bytes<N> {
        let vector = hidden_dimension * HIDDEN_BYTES_PER_ELEMENT;
        let of_pass = vector * (self.activation_vectors * TOKENS_SET_ASIDE);
        Bytes(of_pass.min(capacity.0 * MOST_SET_ASIDE))
    }
}

impl From<Attainment> for Overheads {
    fn from(attainment: Attainment) -> Self {
        Self {
            network: Some(attainment.network),
            exposed_exchange: attainment.exposed_exchange,
            exposed_weights: attainment.exposed_weights,
            vectors_per_token_and_layer: attainment.vectors_per_token_and_layer,
            vectors_per_expert_copy: VECTORS_PER_EXPERT_COPY,
            expert_compute_ratio: attainment.expert_compute_ratio,
            attention_compute_ratio: attainment.attention_compute_ratio,
            per_stage: attainment.seconds_per_stage,
            stages_per_dense_layer: attainment.stages_per_dense_layer,
            per_exchange: attainment.seconds_per_exchange,
            per_dispatch: attainment.seconds_per_dispatch,
            per_hop: SECONDS_PER_HOP,
            expert_imbalance: Some(1.0),
            cache_copies: true,
            counts_kernels: true,
            memory_headroom: MEMORY_HEADROOM,
            activation_vectors: ACTIVATION_VECTORS,
        }
    }
}
