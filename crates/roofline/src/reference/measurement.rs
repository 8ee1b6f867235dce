//! Published measurements of serving.
//!
//! ```
//! use unroof_roofline::reference::measurement::measurements;
//! use unroof_roofline::reference::open_model;
//!
//! let first = &measurements()[0];
//! assert_eq!(first.publication, "DeepSeek inference system overview");
//! assert!(open_model(&first.model).is_some());
//! ```

use serde::Deserialize;

embedded_tables! {
    /// Published measurements of serving, in the order of the data file.
    measurements: Measurement = "serving_measurements.csv";
}

/// A published measurement, with the inputs for predicting it.
#[derive(Debug, Clone, Deserialize)]
pub struct Measurement {
    /// Number of the row.
    pub id: u32,
    /// Publication that the row is from: what is left out together, since its rows share an author and a way of measuring.
    pub publication: String,
    /// Name of an open-weight model.
    pub model: String,
    /// Id of an accelerator; empty if it is not in the reference data.
    pub accelerator: String,
    /// Engine and parallelism as published.
    pub engine: String,
    /// Phase that was measured.
    pub phase: MeasuredPhase,
    /// Chips that serve one copy of the model.
    pub chips: f64,
    /// Distribution of the model over the chips.
    pub spread: MeasuredSpread,
    /// w: bytes per parameter, scales included; of the experts where the rest has another width.
    pub weight_bytes_per_parameter: f64,
    /// Bytes per parameter of all but the experts, where that is another.
    pub other_bytes_per_parameter: Option<f64>,
    /// `b_kv`: bytes per element of the KV cache.
    pub kv_bytes_per_element: f64,
    /// Bytes per element in attention.
    pub attention_bytes_per_element: f64,
    /// Sequences per chip; if not published, the largest batch that fits is used.
    pub batch_per_chip: Option<f64>,
    /// Tokens of a prompt that are computed.
    pub prompt_tokens: Option<f64>,
    /// Tokens of a prompt that are found in a cache.
    pub cached_prompt_tokens: Option<f64>,
    /// Length of an answer.
    pub output_tokens: Option<f64>,
    /// Longest answer that is allowed, for which an engine keeps room; the length of an answer where all are alike.
    pub longest_output_tokens: Option<f64>,
    /// Mean context of a decode step.
    pub context_tokens: Option<f64>,
    /// Requests of the run, all sent at once.
    pub requests: Option<f64>,
    /// Speed at which throughput was measured, or the slowest that was allowed.
    pub tokens_per_second_per_user: Option<f64>,
    /// Quantity that was measured.
    pub measure: Measure,
    /// Measured value, in the unit of the quantity.
    pub value: f64,
    /// Purpose of the row.
    #[serde(rename = "use")]
    pub purpose: Purpose,
    /// Remarks, and reasons of a large prediction error.
    pub note: String,
    /// Source of the value.
    pub source: String,
}

/// Phase of serving that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredPhase {
    /// Prompts only.
    Prefill,
    /// Generated tokens only.
    Decode,
    /// Prompts and generated tokens on the same chips.
    Mixed,
    /// Prompts and generated tokens, in a benchmark with its own lengths and limits.
    Mlperf,
}

/// Distribution of a model over chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredSpread {
    /// Matrices cut into parts.
    Tensor,
    /// Matrices cut into parts, the cache distributed by tokens.
    #[serde(rename = "tensor_by_token")]
    TensorByToken,
    /// Experts distributed over the chips.
    Experts,
}

/// Quantity that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Prompt tokens per second and chip.
    PromptTokensPerSecondPerChip,
    /// Generated tokens per second and chip.
    OutputTokensPerSecondPerChip,
    /// Prompt and generated tokens together per second and chip.
    TotalTokensPerSecondPerChip,
    /// Time of a decode step.
    StepMilliseconds,
    /// Increase of the step time per context token.
    MillisecondsPerContextToken,
}

/// Purpose of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Fitted, and predicted by a fit that leaves its publication out.
    Fit,
    /// Fitted: the rise of a step's time with the context at batch 1.
    Slope,
    /// Fitted: the time of a step without context at batch 1.
    Intercept,
    /// Predicted in the same way, but not fitted.
    Report,
}
