//! The forward model: what a step of decoding or prefill takes and costs on given hardware, and what keeping a byte
//! costs.
//!
//! Equation numbers (E1, E2, ...) and source tags ([T], [SB], ...) are those of `docs/MODEL.md`.

mod cost;
mod keeping_cost;
mod kv_cache;
mod step;

pub use cost::{PromptTokens, cost_per_generated_token, cost_per_prompt_token};
pub use keeping_cost::KeepingCost;
pub use kv_cache::{AttentionLayers, LatentAttention};
pub use step::{
    Efficiencies, Model, OperatingPoint, Overlap, ServingUnit, StepTime, WeightReads,
    compute_to_bandwidth, crossover_context, latency_floor, memory_time_over_compute_time,
    optimal_batch, optimal_batch_at_context, step_time, throughput, worst_case_latency,
};
