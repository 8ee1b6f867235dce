//! Measured times per generated token of whole servers, beside what another tool predicts for them.

use serde::Deserialize;

embedded_tables! {
    /// Measured times per generated token that another tool has been asked for too.
    peer_times: PeerTime = "peer_times.csv";
}

/// A measured time per generated token at a number of concurrent requests, prompts and answers on the same chips.
#[derive(Debug, Clone, Deserialize)]
pub struct PeerTime {
    /// Name of an open-weight model.
    pub model: String,
    /// Id of an accelerator.
    pub accelerator: String,
    /// The engine that was measured.
    pub engine: String,
    /// Chips, by tensor parallelism.
    pub chips: f64,
    /// w: bytes per parameter; of the experts where the rest has another width.
    pub weight_bytes_per_parameter: f64,
    /// Bytes per parameter of all but the experts.
    pub other_bytes_per_parameter: f64,
    /// `b_kv`: bytes per element of the KV cache.
    pub kv_bytes_per_element: f64,
    /// Requests that are served at once.
    pub concurrency: f64,
    /// Length of a prompt.
    pub prompt_tokens: f64,
    /// Length of an answer.
    pub output_tokens: f64,
    /// Measured time, in milliseconds.
    pub measured_ms: f64,
    /// Predicted by aiconfigurator 0.12.0; none where it cannot answer.
    pub aiconfigurator_ms: Option<f64>,
}
