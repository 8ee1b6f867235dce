//! The forward model: time and cost of a decode step and a prefill pass on given hardware, and the cost of holding a
//! byte.
//!
//! Equation numbers (E1, E2, ...) and source tags (\[T\], \[SB\], ...) are those of `docs/MODEL.md`.
//!
//! ```
//! use unroof_base::units::Bytes;
//! use unroof_roofline::forward::{Formats, Machine, compute_to_bandwidth, latency_floor, optimal_batch};
//! use unroof_roofline::reference::accelerator;
//!
//! let formats = Formats { weight_bytes: 1.0, attention_bytes: 1.0 };
//! let unit = Machine::of(accelerator("h100-sxm").unwrap(), formats, 8.0).unit;
//! // A step of a dense model reads all of its 70 GB, and that takes as long as the multiplies of 295 sequences.
//! assert_eq!(latency_floor(Bytes(70e9), &unit).to_string(), "0.0026119 s");
//! let ratio = compute_to_bandwidth(formats.weight_bytes, unit.multiply_rate, unit.bandwidth);
//! assert_eq!(optimal_batch(ratio, 1.0).round(), 295.0);
//! ```

mod cost;
mod engine;
mod groups;
mod hold_cost;
mod kv_cache;
mod layout;
mod machine;
mod memory;
mod network;
mod overheads;
mod scaling_law;
mod serving;
mod shape;
mod speculation;
mod spread;
mod step;
mod training;

pub use cost::{PromptTokens, cost_per_generated_token, cost_per_prompt_token};
pub use engine::{AttentionWork, Engine, PassTime, USUAL_PROMPT_TOKENS};
pub use hold_cost::{HoldCost, fill_time};
pub use kv_cache::{AttentionKernels, KvCache, READ_CONTEXT_TOKENS};
pub use layout::{
    ExpertModel, ExpertRoom, ExpertTraffic, Links, ParameterSplit, Pipeline, TrafficWidth,
    bubble_share, domains_used, experts_per_gpu, share_leaving_domain,
};
pub use machine::{Formats, Machine, MultiplyRates, stages_per_expert_layer};
pub use memory::{MemoryByChips, MemoryUse};
pub use network::{
    COMBINE_BYTES_PER_ELEMENT, Copies, DISPATCH_BYTES_PER_ELEMENT, Traffic, UnitLogs, every_copy,
    merged,
};
pub use overheads::{Overheads, SECONDS_PER_HOP};
pub use scaling_law::{SCALING_LAWS, ScalingLaw, SharedBudget};
pub use serving::Serving;
pub use shape::ModelShape;
pub use speculation::{Speculation, token_acceptance};
pub use spread::Spread;
pub use step::{
    Efficiencies, Load, Model, OperatingPoint, Overlap, PhaseEfficiency, ServingUnit, StepTime,
    WeightReads, compute_to_bandwidth, crossover_context, latency_floor,
    memory_time_over_compute_time, optimal_batch, optimal_batch_at_context, step_time, throughput,
    worst_case_latency,
};
pub use training::{
    Activations, Demand, RECOMPUTING_FLOPS_PER_PARAMETER, TokenCost, chinchilla_tokens,
    overtraining,
};
