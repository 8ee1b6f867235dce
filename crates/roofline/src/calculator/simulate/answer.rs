//! Answer of `/simulate`: rooflines, memory, decode step and prefill pass of a machine.

use serde::Serialize;
use utoipa::ToSchema;

use super::measured::LearnedItem;
use super::price_sheet::ImpliedSheet;
use crate::calculator::inputs::{EquationUsed, InputUsed, NoValue, equations};
use crate::reference::FigureInterval;
use crate::reference::architecture::Architecture;
use unroof_base::units::{Bytes, BytesPerToken, Seconds};

/// Time, memory and cost of a model on a machine.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SimulationAnswer {
    /// Ratios and sizes that do not depend on the efficiencies.
    pub roofline: Roofline,
    /// Contents of the memory of the serving unit.
    pub memory: Memory,
    /// A decode step of the batch.
    pub decode: Decode,
    /// A pass of prompts.
    pub prefill: Prefill,
    /// Intervals of the predicted times, speeds and costs, by the errors on measurements that the fit had not seen; those of
    /// the series are in proportion. Empty at peak.
    pub intervals: Vec<FigureInterval>,
    /// Changes by the rows of one's own benchmark, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub learned: Option<LearnedItem>,
    /// Decode and prefill over the grid, one flat row per point; the operating point alone where no grid is stated.
    pub series: Vec<SeriesItem>,
    /// The price sheet that the machine implies, where its terms are stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub price_sheet: Option<ImpliedSheet>,
    /// The model that was simulated.
    pub architecture: Architecture,
    /// Values that are null, and why.
    pub not_defined: Vec<NoValue>,
    /// Caveats about the answer, as sentences.
    pub caveats: Vec<String>,
    /// Equations behind the answer.
    pub equations: &'static [EquationUsed],
    /// Every value used, and where it comes from.
    pub inputs: Vec<InputUsed>,
}

/// The textbook's quantities, at peak.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Roofline {
    /// ρ = w·M/W: peak multiply-adds per parameter read.
    pub compute_to_bandwidth: f64,
    /// `N_t`/`N_a`: total over active parameters.
    pub sparsity: f64,
    /// E15: `k_st`, bytes stored per context token at long context.
    pub kv_bytes_per_token_stored: BytesPerToken,
    /// `k_bw`: bytes that one generated token reads of a context of 8,192 tokens, over 8,192.
    pub kv_bytes_per_token_read: BytesPerToken,
    /// `k_∞`: bytes that one generated token reads per further token of a very long context.
    pub kv_bytes_per_token_read_slope: BytesPerToken,
    /// Bytes of cache stored for one sequence at this context, windows included.
    pub kv_bytes_stored_per_sequence: Bytes,
    /// State of linear layers of one sequence.
    pub state_bytes_per_sequence: Bytes,
    /// Bytes one generated token reads of them.
    pub kv_bytes_read_per_generated_token: Bytes,
    /// `a_dec`: multiply-adds of attention per generated token and token of context.
    pub attention_macs_per_token_decode: f64,
    /// `a_pre`: multiply-adds of attention per prompt token and token of context.
    pub attention_macs_per_token_prefill: f64,
    /// E6: B* = ρ·`N_t`/`N_a`, divided by γ + 1 with speculative decoding (U10).
    pub optimal_batch: f64,
    /// B/B* without speculative decoding, as readings take it.
    pub batch_over_optimal_batch: f64,
    /// E7: `B*_L`; none at or beyond the crossover.
    pub optimal_batch_at_context: Option<f64>,
    /// E7: L0 = w·`N_a`/(ρ·`k_bw`); none where reading does not grow with the context.
    pub crossover_context_tokens: Option<f64>,
    /// r(L) = B*/B + L/L0, over γ + 1.
    pub memory_time_over_compute_time: f64,
    /// Limit of a decode step at the reached efficiencies: `memory` or `compute`.
    pub decode_bound: Bound,
    /// Attention of a decode step.
    pub attention: AttentionBound,
    /// E4: `T_min` = w·`N_t`/W.
    pub latency_floor_seconds: Seconds,
    /// `T_min` with only the experts of one token.
    pub latency_floor_of_one_sequence_seconds: Seconds,
    /// τ = C/W: time to read the whole memory once.
    pub sweep_time_seconds: Seconds,
    /// E8: 2τ, worst-case latency.
    pub worst_case_latency_seconds: Seconds,
}

/// Resource that bounds a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Reading memory takes longer.
    Memory,
    /// Arithmetic takes longer.
    Compute,
}

impl Bound {
    pub(super) fn of(memory_s: f64, compute_s: f64) -> Self {
        if memory_s >= compute_s {
            Self::Memory
        } else {
            Self::Compute
        }
    }
}

/// Attention's arithmetic against its memory reads, at peak.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AttentionBound {
    /// FLOP per byte of cache that a generated token reads; none without a cache.
    pub flop_per_kv_byte: Option<f64>,
    /// FLOP per second over bytes per second in attention's format.
    pub ridge_flop_per_byte: f64,
    /// The longer of the two times.
    pub bound: Option<Bound>,
}

/// Memory of the serving unit.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Memory {
    /// C: HBM capacity of the serving unit, bytes.
    pub capacity_bytes: Bytes,
    /// Memory that an engine leaves free, and that of a pass's hidden states; none of it at peak.
    pub reserved_bytes: Bytes,
    /// Weights over all chips; with distributed experts, the other weights count once per chip.
    pub weights_bytes: Bytes,
    /// Cache and state of the batch, with the copies of what has fewer heads than there are chips.
    pub kv_bytes: Bytes,
    /// Weights and caches of the serving unit, bytes.
    pub used_bytes: Bytes,
    /// Weights and caches per chip, bytes.
    pub used_bytes_per_chip: Bytes,
    /// The largest batch whose caches fit; none if the weights alone do not, or if any batch does.
    pub largest_batch: Option<f64>,
    /// Missing memory, where weights and batch do not fit.
    pub does_not_fit: Option<DoesNotFit>,
}

/// Memory that is missing where weights and batch do not fit.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DoesNotFit {
    /// Bytes over the capacity less what is reserved.
    pub missing_bytes: Bytes,
    /// Fewest chips of this kind that hold this batch; none if more chips do not help, since each holds a copy.
    pub fewest_chips: Option<f64>,
    /// Reason in words.
    pub detail: String,
}

/// Time of a pass by part; parts that run at the same time are not added up.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Split {
    /// Time of multiplying with weights.
    pub weight_compute_seconds: Seconds,
    /// Time of multiplying in attention.
    pub attention_compute_seconds: Seconds,
    /// Time of reading weights.
    pub weight_memory_seconds: Seconds,
    /// Reading and writing the KV cache and linear state.
    pub kv_memory_seconds: Seconds,
    /// Time of exchanges between chips.
    pub communication_seconds: Seconds,
    /// Memory traffic per token beside weights and cache, seconds.
    pub token_overhead_seconds: Seconds,
    /// Time of waiting between kernels.
    pub stage_overhead_seconds: Seconds,
    /// Drafting the tokens that the step checks.
    pub draft_seconds: Seconds,
    /// Total time, with overlaps.
    pub total_seconds: Seconds,
}

/// A decode step of the batch.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Decode {
    /// Sequences over all chips.
    pub batch: f64,
    /// L: tokens of context.
    pub context_tokens: f64,
    /// Time of the step by part.
    pub time: Split,
    /// Speed of one sequence, 1/TPOT.
    pub tokens_per_second_per_user: f64,
    /// Throughput of one chip.
    pub tokens_per_second_per_chip: f64,
    /// Throughput of all chips.
    pub tokens_per_second: f64,
    /// Users that fill the batch: B over the share of the time for which a user has a request under way.
    pub users_to_fill_batch: f64,
    /// Throughput over that of the provider.
    pub share_of_provider_traffic: f64,
    /// γ: tokens drafted per step.
    pub drafted_tokens: f64,
    /// V: tokens accepted per step.
    pub accepted_tokens_per_step: f64,
    /// E5: USD per million generated tokens; none without a rental.
    pub cost_usd_per_mtok: Option<f64>,
    /// Cost of arithmetic alone: the lower bound at any batch.
    pub cost_compute_limit_usd_per_mtok: Option<f64>,
    /// Cost of reading the cache alone: the limit at an infinite batch.
    pub cost_kv_limit_usd_per_mtok: Option<f64>,
}

/// A pass of prompts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Prefill {
    /// Chips that the pass runs on.
    pub chips: f64,
    /// Tokens of a prompt, those found in the cache included.
    pub input_tokens: f64,
    /// `P_c`: tokens of it that are found in the cache.
    pub cached_input_tokens: f64,
    /// Prompts of a pass.
    pub prompts_per_pass: f64,
    /// Time of the pass by part.
    pub time: Split,
    /// Throughput of one chip.
    pub tokens_per_second_per_chip: f64,
    /// Throughput of all chips.
    pub tokens_per_second: f64,
    /// Pass of one prompt alone; with distributed experts, of one per chip, since a prompt's attention stays on its chip.
    pub time_to_first_token_seconds: Seconds,
    /// E16: USD per million prompt tokens; none without a rental.
    pub cost_usd_per_mtok: Option<f64>,
}

/// One point of the grid.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SeriesItem {
    /// B, over all chips.
    pub batch: f64,
    /// L: tokens of context.
    pub context_tokens: f64,
    /// The whole decode step.
    pub step_seconds: f64,
    /// E2: both kinds of arithmetic.
    pub compute_seconds: f64,
    /// E3: both kinds of reading.
    pub memory_seconds: f64,
    /// Time of multiplying with weights, seconds.
    pub weight_compute_seconds: f64,
    /// Time of multiplying in attention, seconds.
    pub attention_compute_seconds: f64,
    /// Time of reading weights, seconds.
    pub weight_memory_seconds: f64,
    /// Time of reading the cache, seconds.
    pub kv_memory_seconds: f64,
    /// Time of exchanges between chips, seconds.
    pub communication_seconds: f64,
    /// Overheads per token and per kernel.
    pub overhead_seconds: f64,
    /// E4: latency floor, without the input embedding, which no step reads.
    pub latency_floor_seconds: f64,
    /// Speed of one sequence.
    pub tokens_per_second_per_user: f64,
    /// Throughput of one chip.
    pub tokens_per_second_per_chip: f64,
    /// E5: generated tokens.
    pub cost_output_usd_per_mtok: Option<f64>,
    /// Cost of arithmetic alone, in USD per million tokens: the lower bound at any batch.
    pub cost_compute_limit_usd_per_mtok: Option<f64>,
    /// Cost of reading the cache alone, in USD per million tokens: the limit at an infinite batch.
    pub cost_kv_limit_usd_per_mtok: Option<f64>,
    /// E16: prompt tokens, of a prompt as long as the context.
    pub cost_input_usd_per_mtok: Option<f64>,
    /// r(L): memory time over compute time, at peak.
    pub memory_time_over_compute_time: f64,
    /// Resource that bounds the step by the rooflines.
    pub bound: Bound,
    /// Whether memory overtakes compute here: the point was added to the grid.
    pub is_kink: bool,
    /// Whether weights and caches fit.
    pub fits: bool,
    /// Whether no other fitting point of this context is both faster and cheaper.
    pub on_speed_cost_front: bool,
}

equations! {
    "E1" "T = max(t_comp, t_mem)" "T" => "decode.time.total_seconds with overlap full";
    "E1'" "T = max(B·L·k_bw/(η_m·W), B·a_dec·L/(η_c·M_att)) + max(w·N_read/(η_m·W), B·N_a/(η_c·M))" "SB" =>
        "decode.time.total_seconds with overlap attention_apart";
    "E2" "t_comp = B·(N_a/M + a_dec·L/M_att)/η_c" "T" =>
        "decode.time.weight_compute_seconds", "decode.time.attention_compute_seconds";
    "E3" "t_mem = (w·N_read(B) + B·L·k_bw + 2·B·state_bytes)/(η_m·W)" "T, E25" =>
        "decode.time.weight_memory_seconds", "decode.time.kv_memory_seconds";
    "E4" "T_min = w·N_t/W" "T" => "roofline.latency_floor_seconds";
    "E5" "c_out(L) = R·T/B" "T" => "decode.cost_usd_per_mtok";
    "E6" "B* = ρ·N_t/N_a" "T" => "roofline.optimal_batch";
    "E7" "B*_L = B*/(1 − L/L0), L0 = w·N_a/(ρ·k)" "T" =>
        "roofline.optimal_batch_at_context", "roofline.crossover_context_tokens";
    "E16" "c_in(S | P_c) = R·(N_a + a_pre·(P_c + S/2))/(η_pre·M)" "D" =>
        "prefill.cost_usd_per_mtok at peak, where attention runs in the format of the weights";
}
