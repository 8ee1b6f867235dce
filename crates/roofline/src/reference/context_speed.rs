//! Speeds of decoding at several contexts on one machine at a batch of one, and the bytes per token that they show.
//!
//! ```
//! use unroof_roofline::reference::{context_speeds, kv_bytes_from_speeds};
//!
//! assert!(context_speeds().len() > 50);
//! // Weights of 10 GB are read per step; at 10,000 tokens the step takes a tenth longer: 100 kB per token.
//! assert!((kv_bytes_from_speeds(10e9, [55.0, 50.0], 10_000.0) - 100e3).abs() < 1e-6);
//! ```

use serde::Deserialize;

embedded_tables! {
    /// Published speeds of decoding by context.
    context_speeds: ContextSpeed = "context_speeds.csv";
}

/// Speed of decoding one sequence behind a context.
#[derive(Debug, Clone, Deserialize)]
pub struct ContextSpeed {
    /// Name of the model, as in the data on open-weight models.
    pub model: String,
    /// Format of the weights.
    pub weight_format: String,
    /// Size of the file of weights, GiB.
    pub size_gib: f64,
    /// Machine that decoded.
    pub machine: String,
    /// Engine with its command.
    pub engine: String,
    /// Tokens before the generated ones.
    pub depth_tokens: f64,
    /// Generated tokens per second.
    pub tokens_per_second: f64,
    /// Source of the row.
    pub source: String,
    /// Day of the publication; empty where it is not stated.
    pub date: String,
}

/// `k_bw` = W·(v₀/v − 1)/L: bytes of cache read per token of context at a batch of one, from the bytes of weights W that a step reads,
/// and the speeds without a context and behind L tokens, in tokens per second. Bandwidth cancels.
#[must_use]
pub fn kv_bytes_from_speeds(
    weight_bytes: f64,
    [without, behind]: [f64; 2],
    context_tokens: f64,
) -> f64 {
    weight_bytes * (without / behind - 1.0) / context_tokens
}
