//! Decode steps of dense models, as another tool predicts them from timed kernels.

use serde::Deserialize;

embedded_tables! {
    /// Decode steps of dense models as another roofline and a database of timed kernels give them.
    kernel_times: KernelTime = "speed_of_light.csv";
}

/// A decode step, by aiconfigurator 0.12.0.
#[derive(Debug, Clone, Deserialize)]
pub struct KernelTime {
    /// Name of an open-weight model.
    pub model: String,
    /// Id of an accelerator.
    pub accelerator: String,
    /// Chips, by tensor parallelism.
    pub chips: f64,
    /// w: bytes per parameter.
    pub weight_bytes_per_parameter: f64,
    /// `b_kv`: bytes per element of the KV cache.
    pub kv_bytes_per_element: f64,
    /// B: sequences in the batch.
    pub batch: f64,
    /// Mean context of the steps.
    pub context_tokens: f64,
    /// Roofline of the source at 100 % of peak.
    pub speed_of_light_ms: f64,
    /// Sum of the kernels that the source timed.
    pub measured_kernels_ms: f64,
    /// Whether a roofline without exchanges must agree: they take little here.
    pub is_reference: bool,
}
