//! Published measurements of serving.

use std::sync::LazyLock;

use serde::Deserialize;

use super::embedded_rows;

static MEASUREMENTS: LazyLock<Vec<Measurement>> = LazyLock::new(|| {
    embedded_rows(
        "serving_measurements.csv",
        include_str!("../../../../data/serving_measurements.csv"),
    )
});

/// Published measurements of serving, in the order of the data file.
#[must_use]
pub fn measurements() -> &'static [Measurement] {
    &MEASUREMENTS
}

/// A published measurement, with what the forward model must know to predict it.
#[derive(Debug, Clone, Deserialize)]
pub struct Measurement {
    /// Number of the row.
    pub id: u32,
    /// Name of an open-weight model.
    pub model: String,
    /// Id of an accelerator; empty where it is not among ours.
    pub accelerator: String,
    /// Accelerators that are left out together.
    pub generation: String,
    /// Engine and parallelism as published.
    pub engine: String,
    /// What was run.
    pub phase: MeasuredPhase,
    /// Chips that serve one copy of the model.
    pub chips: f64,
    /// How the model is spread over them.
    pub spread: MeasuredSpread,
    /// w
    pub weight_bytes_per_parameter: f64,
    /// `b_kv`
    pub kv_bytes_per_element: f64,
    /// Width of attention's arithmetic.
    pub attention_bytes_per_element: f64,
    /// Sequences per chip; the largest that fits where it is not published.
    pub batch_per_chip: Option<f64>,
    /// Length of a prompt.
    pub prompt_tokens: Option<f64>,
    /// Length of an answer.
    pub output_tokens: Option<f64>,
    /// Mean context of a decode step.
    pub context_tokens: Option<f64>,
    /// Speed at which throughput was measured.
    pub tokens_per_second_per_user: Option<f64>,
    /// What the value is.
    pub measure: Measure,
    /// The value.
    pub value: f64,
    /// What it is used for.
    #[serde(rename = "use")]
    pub purpose: Purpose,
    /// What else a reader should know; why the prediction is far off where it is.
    pub note: String,
    /// Where it was published.
    pub source: String,
}

/// What was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredPhase {
    /// Prompts only.
    Prefill,
    /// Generated tokens only.
    Decode,
    /// Both on the same chips.
    Mixed,
    /// Both, in a benchmark whose prompt lengths are not published with the result.
    Mlperf,
}

/// How a model was spread over chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredSpread {
    /// Matrices cut into parts.
    Tensor,
    /// Experts dealt out.
    Experts,
}

/// What a measured value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Prompt tokens per second and chip.
    PromptTokensPerSecondPerChip,
    /// Generated tokens per second and chip.
    OutputTokensPerSecondPerChip,
    /// Both together.
    TotalTokensPerSecondPerChip,
    /// Time of a decode step.
    StepMilliseconds,
    /// Rise of that time per context token.
    MillisecondsPerContextToken,
}

/// What a measurement is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Fitted, and scored when its generation is left out.
    Fit,
    /// Fitted: the rise of a step's time with the context at batch 1.
    Slope,
    /// Fitted: the time of a step without context at batch 1.
    Intercept,
    /// Only reported.
    Report,
}
