//! Answer of `/training`: compute of the phases of a model's life, and what it buys.

use serde::Serialize;
use utoipa::ToSchema;

use crate::calculator::inputs::{EquationUsed, InputUsed, NoValue, equations};
use crate::forward::ScalingLaw;
use crate::reference::{PublishedEquivalent, RoutedLaw};
use unroof_base::units::{Bytes, FlopPerSecond};

/// Compute of training a model, and of serving it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TrainingAnswer {
    /// Pretraining, reinforcement learning and inference, in this order.
    pub phases: Vec<TrainingPhaseItem>,
    /// Compute of the three phases together.
    pub total: TotalCompute,
    /// Training tokens over the compute-optimal number.
    pub overtraining: Overtraining,
    /// The best size and tokens for the compute of pretraining and inference together, by each published law of loss,
    /// beside the rule of equal costs.
    pub optimum: Vec<OptimumItem>,
    /// Cost of a token of reinforcement learning over that of one of pretraining.
    pub reinforcement: ReinforcementCost,
    /// Ways to keep activations, from most memory to least.
    pub activations: Vec<ActivationsItem>,
    /// Dense equivalent of a sparse model.
    pub quality: SparseQuality,
    /// Dense equivalents over sparsity.
    pub series: Vec<QualityItem>,
    /// The chips that it is trained on.
    pub machine: ClusterRate,
    /// The values that are null, and why.
    pub not_defined: Vec<NoValue>,
    /// The equations behind the values.
    pub equations: &'static [EquationUsed],
    /// Every value used, and where it comes from.
    pub inputs: Vec<InputUsed>,
}

/// Phase that compute is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainingPhase {
    /// Pretraining: reading text.
    Pretraining,
    /// Generating and learning from what was generated.
    ReinforcementLearning,
    /// Inference: serving the trained model.
    Inference,
}

/// The best model for a budget that pays for inference too, by one law.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OptimumItem {
    /// The law of loss.
    pub law: ScalingLaw,
    /// Compute of pretraining and inference of the request, which both models cost.
    pub compute_flop: f64,
    /// N of least loss.
    pub parameters: f64,
    /// D that the budget leaves for it.
    pub pretraining_tokens: f64,
    /// D/(20·N): tokens over those of a compute-optimal model.
    pub overtraining: f64,
    /// Share of the budget that inference takes.
    pub inference_share: f64,
    /// Loss of the model of least loss.
    pub loss: f64,
    /// Loss of the model of the request, which costs as much.
    pub loss_of_request: f64,
}

/// Origin of the tokens of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokensFrom {
    /// The request states them.
    Stated,
    /// The tokens cost as much as those of inference (E24).
    Equalised,
    /// Traffic × lifetime × share (E26).
    Demand,
}

/// Compute of one phase of the model's life.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TrainingPhaseItem {
    /// Phase of the model's life.
    pub phase: TrainingPhase,
    /// D: tokens of the phase.
    pub tokens: f64,
    /// Origin of the tokens.
    pub tokens_from: TokensFrom,
    /// E24: tokens that cost as much as those of inference.
    pub tokens_of_equal_compute: f64,
    /// Tokens at which training as a whole costs as much as inference, half of it pretraining.
    pub tokens_of_equal_halves: f64,
    /// D over that of pretraining.
    pub tokens_over_pretraining: f64,
    /// FLOP per active parameter and token.
    pub flops_per_parameter_and_token: f64,
    /// η: utilisation over that of pretraining.
    pub relative_utilisation: f64,
    /// Operations that the phase carries out.
    pub arithmetic_flop: f64,
    /// E23: C, operations that pretraining carries out in the same machine time.
    pub compute_flop: f64,
    /// Share of the compute of all three phases.
    pub share_of_compute: f64,
    /// Time of one chip.
    pub chip_hours: f64,
    /// Days on all chips together.
    pub days: f64,
    /// Rent of the chips; none where it is not known.
    pub usd: Option<f64>,
}

/// Compute of all phases together.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TotalCompute {
    /// Training: pretraining and reinforcement learning.
    pub training_compute_flop: f64,
    /// Compute of training and inference.
    pub compute_flop: f64,
    /// Days of training on the stated accelerators.
    pub training_days: f64,
    /// Rent of the training.
    pub training_usd: Option<f64>,
    /// Rent of all three phases.
    pub usd: Option<f64>,
}

/// E26: tokens over those of a compute-optimal model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Overtraining {
    /// 20·`N_a`: tokens of a compute-optimal model.
    pub chinchilla_tokens: f64,
    /// `D_pre`: tokens of pretraining.
    pub pretraining_tokens: f64,
    /// `D_pre`/(20·`N_a`): tokens over those of a compute-optimal model.
    pub overtraining: f64,
}

/// Tokens that are learnt from must be generated first, at the utilisation of decoding.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReinforcementCost {
    /// 1/η: machine time over that of the same arithmetic in pretraining.
    pub time_over_pretraining_arithmetic: f64,
    /// (factor/η)/6: machine time of a token over that of a token of pretraining.
    pub compute_per_token_over_pretraining: f64,
}

/// A way to keep activations for the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationScheme {
    /// All activations are kept.
    AllKept,
    /// The inputs of each layer are kept, and the rest is computed again.
    InputsKept,
    /// None is kept: reversible layers compute their inputs from their outputs.
    Reversible,
}

impl ActivationScheme {
    /// Name of the scheme in a report.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::AllKept => "all kept",
            Self::InputsKept => "inputs kept",
            Self::Reversible => "reversible",
        }
    }
}

/// A scheme for keeping activations.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ActivationsItem {
    /// Scheme by which activations are kept.
    pub scheme: ActivationScheme,
    /// Activations kept per micro-batch.
    pub bytes: Bytes,
    /// Ratio to the bytes of `all_kept`.
    pub bytes_over_all_kept: f64,
    /// FLOP per active parameter and token.
    pub flops_per_parameter_and_token: f64,
    /// Ratio to the 6 FLOP of `all_kept`.
    pub compute_over_all_kept: f64,
    /// C of pretraining with this scheme.
    pub pretraining_compute_flop: f64,
}

/// Dense equivalent of a sparse model, by the published law.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SparseQuality {
    /// Law of the loss of routed models.
    pub law: RoutedLaw,
    /// The model of the request.
    pub at: QualityItem,
    /// Factor by which it is larger, or smaller, than the models of the fit; 1 inside.
    pub size_beyond_published: f64,
    /// Factor by which it has more experts; 1 inside.
    pub experts_beyond_published: f64,
    /// Whether it exceeds the size at which experts add nothing, by the same source.
    pub beyond_cutoff: bool,
    /// Models published with their dense equivalent, and the law's predictions for them.
    pub published: Vec<PublishedItem>,
}

/// A sparse model and the dense one that is as good: one row of the series.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct QualityItem {
    /// Experts over active experts.
    pub experts_over_active: f64,
    /// N: active parameters.
    pub active_parameters: f64,
    /// Ê: number of experts, saturated by the law.
    pub saturated_experts: f64,
    /// N̄: parameters of a dense model with the same loss.
    pub dense_equivalent_parameters: f64,
    /// N̄/N: dense-equivalent over active parameters.
    pub dense_equivalent_over_active: f64,
    /// Whether models of this size and sparsity were published.
    pub inside_published_range: bool,
}

/// A published model, and the law's prediction.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PublishedItem {
    /// Equivalent as published.
    #[serde(flatten)]
    pub published: PublishedEquivalent,
    /// Dense-equivalent parameters by the law of the chosen routing.
    pub dense_equivalent_parameters_by_law: f64,
}

/// Compute rate of the chips.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClusterRate {
    /// Id of the accelerator.
    pub accelerator: String,
    /// Number of chips.
    pub chips: u32,
    /// Peak of one chip in the format of the multiplies.
    pub peak_flops_per_second: FlopPerSecond,
    /// Compute rate of all chips, at the stated utilisation.
    pub reached_flops_per_second: FlopPerSecond,
}

equations! {
    "E23" "C_pre = 6·N_a·D_pre; C_RL = (2..6)·N_a·D_RL/η; C_inf = 2·N_a·D_inf/η" "T" =>
        "phases.compute_flop", "total.compute_flop";
    "E24" "C_pre = C_RL = C_inf; with 3 and η = 1/3, 6·D_pre = 9·D_RL = 6·D_inf" "T" =>
        "phases.tokens_of_equal_compute";
    "E24" "C_pre + C_RL = C_inf, C_pre = C_RL" "T" => "phases.tokens_of_equal_halves";
    "E26" "D_inf = traffic·lifetime·share·P(served)" "T" => "phases.tokens";
    "" "least E + A/N^α + B/D^β with 6·N·D + 2·N·D_inf/η = C" "D" => "optimum.parameters", "optimum.pretraining_tokens";
    "E26" "D_chinchilla = 20·N_a; overtraining = D_pre/D_chinchilla" "T" =>
        "overtraining.chinchilla_tokens", "overtraining.overtraining";
    "E27" "layers·tokens·d_model·values·bytes, reversible tokens·d_model·values·bytes; 6 → 8 FLOP per parameter and token" "T" =>
        "activations.bytes", "activations.compute_over_all_kept";
    "" "log N̄ = ((a + c·log Ê)·log N + b·log(Ê/E_start))/(a + c·log E_start), 1/Ê = 1/(E − 1 + 1/(1/E_start − 1/E_max)) + 1/E_max" "CL22" =>
        "quality.at.dense_equivalent_parameters", "series.dense_equivalent_parameters";
    "" "chip-hours = C/(peak·utilisation·3600)" "D" => "phases.chip_hours";
}
