//! Answer of `/layout`: experts on racks, pipeline stages and the memory of a GPU.

use serde::Serialize;
use utoipa::ToSchema;

use crate::calculator::inputs::{EquationUsed, InputUsed, NoValue, equations};
use unroof_base::units::{Bytes, BytesPerToken, Seconds};

/// Layout of a model on racks of chips.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LayoutAnswer {
    /// Placement of the experts.
    pub experts: ExpertPlacement,
    /// Expert traffic between chips.
    pub all_to_all: AllToAll,
    /// Largest expert layer that one scale-up domain holds.
    pub largest_expert_layer: LargestExpertLayer,
    /// Costs of pipeline stages.
    pub pipeline: PipelineCosts,
    /// Memory use of a chip.
    pub memory: MemoryPerChip,
    /// The layout over the number of stages.
    pub series: Vec<StagesItem>,
    /// The values that are null, and why.
    pub not_defined: Vec<NoValue>,
    /// The equations behind the values.
    pub equations: &'static [EquationUsed],
    /// Every value used, and where it comes from.
    pub inputs: Vec<InputUsed>,
}

/// Placement of the experts of a layer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExpertPlacement {
    /// E10: experts of a layer per chip, in the mean.
    pub experts_per_chip: f64,
    /// Experts of a layer on the fullest chip.
    pub experts_per_chip_rounded_up: u32,
    /// Whether every chip holds the same number of experts.
    pub divides_evenly: bool,
    /// Q: scale-up domains (racks) that hold the experts.
    pub scale_up_domains: u32,
    /// E11: (Q − 1)/Q, share of expert traffic that leaves its domain.
    pub share_leaving_domain: f64,
    /// SU/SO: bandwidth inside the domain over bandwidth out of it.
    pub scale_up_over_scale_out: Option<f64>,
}

/// Traffic between a chip and the experts in one decode step, both directions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AllToAll {
    /// Total bytes, per chip and step.
    pub bytes_per_chip_and_step: Bytes,
    /// Bytes that stay in the domain.
    pub bytes_inside_domain: Bytes,
    /// Bytes that leave the domain.
    pub bytes_leaving_domain: Bytes,
    /// Time if all traffic stayed in the domain.
    pub seconds_at_scale_up: Option<Seconds>,
    /// Time if all traffic left the domain.
    pub seconds_at_scale_out: Option<Seconds>,
    /// Time as laid out: both networks at once, the longer of the two.
    pub seconds: Option<Seconds>,
}

/// Largest expert layer that one scale-up domain holds: traffic between all pairs of chips is fast only inside it, so
/// the domain bounds the layer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LargestExpertLayer {
    /// HBM of the whole domain.
    pub domain_capacity_bytes: Bytes,
    /// Parameters of one expert of one layer.
    pub parameters_per_expert: Option<f64>,
    /// Parameters that every token reads.
    pub always_read_parameters: Option<f64>,
    /// Experts per layer when one domain holds the whole model.
    pub experts: Option<f64>,
    /// Parameters of these experts, per layer.
    pub parameters: Option<f64>,
    /// Bytes of these experts, per layer.
    pub bytes: Option<Bytes>,
    /// Experts per layer when one domain holds one of the pipeline stages.
    pub experts_with_a_stage_per_domain: Option<f64>,
    /// Whether the layer of the request fits with a stage per domain.
    pub fits_with_a_stage_per_domain: Option<bool>,
}

/// Costs of pipeline stages.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PipelineCosts {
    /// Layers of a stage, in the mean.
    pub layers_per_stage: f64,
    /// E20: time of a stage's expert traffic over the time of its transfer to the next rack.
    pub expert_time_over_hand_over_time: Option<f64>,
    /// E20: whether that is 1 or more, so that stages in different racks cost no time.
    pub free_across_racks: Option<bool>,
    /// Share of a training step in which a stage waits.
    pub training_bubble_share: f64,
    /// E22: time to read weights and KV cache once, over all stages: a lower bound on the time between tokens.
    pub seconds_per_token: Seconds,
    /// E22: time between tokens with the transfers between stages, and from the last to the first for the next token.
    pub seconds_per_token_with_hops: Seconds,
    /// E22: the same with all layers in one stage of as many chips.
    pub seconds_per_token_in_one_stage: Seconds,
}

/// E21: contents of the memory of a chip.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MemoryPerChip {
    /// Weights.
    pub weights_bytes_per_chip: Bytes,
    /// KV cache.
    pub kv_bytes_per_chip: Bytes,
    /// Bytes of weights and of the KV cache together.
    pub total_bytes_per_chip: Bytes,
    /// HBM of a chip.
    pub capacity_bytes_per_chip: Bytes,
    /// Whether both fit.
    pub fits: bool,
    /// Bytes that do not fit.
    pub missing_bytes_per_chip: Bytes,
    /// chips of all stages.
    pub chips: u64,
}

/// The layout with another number of pipeline stages: one row of the series.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StagesItem {
    /// P: pipeline stages.
    pub pipeline_stages: u32,
    /// E·P
    pub chips: u64,
    /// Layers of a stage, in the mean.
    pub layers_per_stage: f64,
    /// B = P·b, sequences in flight.
    pub batch_sequences: f64,
    /// k/P: KV bytes per token in one stage. P micro-batches are in flight, so P cancels.
    pub kv_bytes_per_token_and_stage: BytesPerToken,
    /// w·`N_t`/(E·P)
    pub weights_bytes_per_chip: Bytes,
    /// b·L·k/E, at the sequences per micro-batch of the request: the same for every P.
    pub kv_bytes_per_chip: Bytes,
    /// Weights and KV cache.
    pub total_bytes_per_chip: Bytes,
    /// Whether they fit.
    pub fits: bool,
    /// Bytes that do not fit.
    pub missing_bytes_per_chip: Bytes,
    /// B·L·k/(E·P), at the sequences in all of the request: halves when P doubles.
    pub kv_bytes_per_chip_at_fixed_batch: Bytes,
    /// Weights and that KV cache.
    pub total_bytes_per_chip_at_fixed_batch: Bytes,
    /// E20
    pub expert_time_over_hand_over_time: Option<f64>,
    /// (P − 1)/(m + P − 1)
    pub training_bubble_share: f64,
    /// Time to read the weights and the KV cache of one stage.
    pub seconds_per_stage: Seconds,
    /// E22: P times that, the same for every P.
    pub seconds_per_token: Seconds,
    /// Time between tokens with P transfers between stages; none with one stage.
    pub seconds_per_token_with_hops: Seconds,
}

equations! {
    "E10" "experts per chip = n_experts/G_used" "T" => "experts.experts_per_chip";
    "E11" "share leaving = (Q − 1)/Q, Q = ⌈G_used/domain⌉" "T" => "experts.share_leaving_domain";
    "" "bytes per chip and step = B_local·n_act·d_model·(b_dispatch + b_combine)·n_moe_layers" "DS6, D" =>
        "all_to_all.bytes_per_chip_and_step";
    "" "parameters per expert = (N_t − N_a)/((n_experts − n_act)·n_moe_layers)" "D" =>
        "largest_expert_layer.parameters_per_expert";
    "" "experts = ⌊(domain·HBM − w·N_always)/(w·parameters per expert·n_moe_layers)⌋; with a stage per domain, N_always/P and n_moe_layers/P" "D" =>
        "largest_expert_layer.experts", "largest_expert_layer.experts_with_a_stage_per_domain";
    "E20" "t_scale-up/t_scale-out = (SO/SU)·n_act·layers per stage·2" "T" => "pipeline.expert_time_over_hand_over_time";
    "E21" "memory per chip = w·N_t/(E·P) + b·L·k/E, B = P·b" "T" =>
        "memory.weights_bytes_per_chip", "memory.kv_bytes_per_chip", "series";
    "E22" "P·(w·N_t/(E·P) + b·L·(k/P)/E)/BW does not depend on P" "T" =>
        "pipeline.seconds_per_token", "pipeline.seconds_per_token_in_one_stage";
    "" "time per token = P·(stage time) + P·hop, from two stages on" "T" =>
        "pipeline.seconds_per_token_with_hops";
    "" "bubble share = (P − 1)/(m + P − 1)" "T" => "pipeline.training_bubble_share";
}
