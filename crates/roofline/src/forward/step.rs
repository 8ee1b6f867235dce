//! Time of a decode step at the roofline: the longer of memory and arithmetic, in seconds.

use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, BytesPerSecond, BytesPerToken, MacPerSecond, Seconds};

/// The chips that serve one copy of a model together.
#[derive(Debug, Clone, Copy)]
pub struct ServingUnit<N = f64> {
    /// M: peak multiply-adds in the format the weights are multiplied in.
    pub multiply_rate: MacPerSecond<N>,
    /// `M_att`: the same in attention's format.
    pub attention_multiply_rate: MacPerSecond<N>,
    /// W: HBM bandwidth of the unit.
    pub bandwidth: BytesPerSecond<N>,
    /// C: HBM capacity of the unit.
    pub capacity: Bytes<N>,
    /// R: rental of the whole unit.
    pub rental_usd_per_second: N,
}

impl ServingUnit {
    /// τ = C/W, the time to sweep the whole HBM once \[T\].
    #[must_use]
    pub fn sweep_time(&self) -> Seconds {
        self.capacity / self.bandwidth
    }
}

/// Weights read by a step.
#[derive(Debug, Clone, Copy)]
pub enum WeightReads {
    /// Every parameter, as in the talk.
    All,
    /// Weights of the experts that a batch touches: `N_attn + (1 − (1 − 1/s)^B)·N_exp` \[E25\].
    Experts {
        /// `N_attn`: parameters every token reads, without the input embedding.
        always_read_parameters: f64,
        /// `N_exp`: routed experts.
        expert_parameters: f64,
        /// s: experts per layer over active experts per token.
        experts_over_active: f64,
    },
}

/// Model inputs of the forward model.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// `N_a`: active parameters per token.
    pub active_parameters: f64,
    /// `N_t`: total parameters.
    pub total_parameters: f64,
    /// w: bytes per parameter.
    pub weight_bytes_per_parameter: f64,
    /// Weights read by a step.
    pub weight_reads: WeightReads,
    /// `k_bw`: KV bytes read per generated token and context token, as served.
    pub kv_bytes_per_token: BytesPerToken,
    /// `a_dec`: attention multiply-adds per generated token and context token; 0 in the talk.
    pub attention_macs_per_token: f64,
    /// State of linear layers per sequence, read and written at each step.
    pub state_per_sequence: Bytes,
}

/// Shares of peak reached.
#[derive(Debug, Clone, Copy)]
pub struct Efficiencies<N = f64> {
    /// `η_pre`: share of peak arithmetic in prefill.
    pub prefill: N,
    /// `η_m`: share of HBM bandwidth in decoding.
    pub decode_bandwidth: N,
    /// `η_c`: share of peak arithmetic in decoding.
    pub decode_compute: N,
}

impl Efficiencies {
    /// All shares 1, as in the talk.
    pub const PEAK: Self = Self {
        prefill: 1.0,
        decode_bandwidth: 1.0,
        decode_compute: 1.0,
    };
}

impl<N: Number> Efficiencies<N> {
    /// Shares of peak in decode.
    #[must_use]
    pub fn decode(&self) -> PhaseEfficiency<N> {
        PhaseEfficiency {
            compute: self.decode_compute,
            bandwidth: self.decode_bandwidth,
        }
    }

    /// Shares of peak in prefill, with the bandwidth of decode.
    #[must_use]
    pub fn prefill(&self) -> PhaseEfficiency<N> {
        PhaseEfficiency {
            compute: self.prefill,
            bandwidth: self.decode_bandwidth,
        }
    }
}

/// Overlap of compute and memory time in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// E1: T = max(compute, memory) \[T\].
    Full,
    /// E1': attention never overlaps the MLP; T = max of each half \[SB\]. E1 ≤ E1' ≤ 2·E1.
    AttentionApart,
}

/// Operating point of a decode step.
#[derive(Debug, Clone, Copy)]
pub struct OperatingPoint {
    /// B: sequences that each get one token per step.
    pub batch: f64,
    /// L: tokens already in the KV cache.
    pub context_tokens: f64,
    /// Shares of peak reached.
    pub efficiencies: Efficiencies,
    /// Overlap of compute and memory.
    pub overlap: Overlap,
}

/// The time of a decode step, by component.
#[derive(Debug, Clone, Copy)]
pub struct StepTime<N = f64> {
    /// Time of multiplying with weights.
    pub weight_compute: Seconds<N>,
    /// Time of multiplying in attention.
    pub attention_compute: Seconds<N>,
    /// Time of reading weights.
    pub weight_memory: Seconds<N>,
    /// Reading the KV cache and linear state.
    pub kv_memory: Seconds<N>,
    /// Time of the whole step.
    pub total: Seconds<N>,
}

impl StepTime {
    /// E2: `t_comp` = B·(`N_a`/M + a·L/`M_att`)/`η_c`.
    #[must_use]
    pub fn compute(&self) -> Seconds {
        Seconds(self.weight_compute.0 + self.attention_compute.0)
    }

    /// E3: `t_mem` = (w·`N_read` + B·L·k + 2·B·state)/(`η_m`·W).
    #[must_use]
    pub fn memory(&self) -> Seconds {
        Seconds(self.weight_memory.0 + self.kv_memory.0)
    }
}

/// ρ = w·M/W: multiply-adds per second × bytes per parameter ÷ bytes per second, "the 300" of the talk \[T\].
#[must_use]
pub fn compute_to_bandwidth(
    weight_bytes_per_parameter: f64,
    multiply_rate: MacPerSecond,
    bandwidth: BytesPerSecond,
) -> f64 {
    weight_bytes_per_parameter * multiply_rate.0 / bandwidth.0
}

impl WeightReads {
    /// `N_read`(B): the number of `all` parameters that a step of this many tokens reads.
    #[must_use]
    pub fn parameters(&self, batch: f64, all: f64) -> f64 {
        match self {
            Self::All => all,
            Self::Experts {
                always_read_parameters,
                expert_parameters,
                experts_over_active,
            } => {
                let share_touched = share_touched(*experts_over_active, batch);
                always_read_parameters + share_touched * expert_parameters
            }
        }
    }
}

/// 1 − (1 − 1/s)^B: share of the experts that a batch touches, of s times as many as are active \[E25\].
#[must_use]
pub(super) fn share_touched<N: Number>(experts_over_active: N, batch: N) -> N {
    let one = N::splat(1.0);
    one - (one - one / experts_over_active).power(batch)
}

impl Model {
    /// `N_read`(B): parameters a step reads.
    #[must_use]
    pub fn parameters_read(&self, batch: f64) -> f64 {
        self.weight_reads.parameters(batch, self.total_parameters)
    }
}

/// Work of a step on the whole serving unit.
#[derive(Debug, Clone, Copy)]
pub struct Load<N = f64> {
    /// Multiply-adds with weights.
    pub weight_macs: N,
    /// Multiply-adds in attention.
    pub attention_macs: N,
    /// Multiply-adds with routed experts, a part of these.
    pub expert_macs: N,
    /// Bytes of weights that are read.
    pub weight_bytes: Bytes<N>,
    /// Bytes of routed experts, a part of these.
    pub expert_bytes: Bytes<N>,
    /// Share of the shorter of reading routed experts and multiplying with them that the longer does not hide.
    pub exposed_weights: f64,
    /// KV cache and linear state, read and written.
    pub kv_bytes: Bytes<N>,
}

/// Shares of peak reached in one phase.
#[derive(Debug, Clone, Copy)]
pub struct PhaseEfficiency<N = f64> {
    /// `η_c`, or `η_pre` in prefill.
    pub compute: N,
    /// `η_m`: share of peak bandwidth.
    pub bandwidth: N,
}

impl<N: Number> Load<N> {
    /// E1, E1', E2, E3: the time this takes on a unit.
    #[must_use]
    pub fn time(
        &self,
        unit: &ServingUnit<N>,
        efficiency: PhaseEfficiency<N>,
        overlap: Overlap,
    ) -> StepTime<N> {
        let bandwidth = unit.bandwidth.0 * efficiency.bandwidth;
        let multiply_rate = unit.multiply_rate.0 * efficiency.compute;
        let weight_compute_s = self.weight_macs / multiply_rate;
        let attention_compute_s =
            self.attention_macs / (unit.attention_multiply_rate.0 * efficiency.compute);
        let weight_memory_s = self.weight_bytes.0 / bandwidth;
        let kv_memory_s = self.kv_bytes.0 / bandwidth;
        let total_s = match overlap {
            Overlap::Full => {
                (weight_compute_s + attention_compute_s).max(weight_memory_s + kv_memory_s)
            }
            Overlap::AttentionApart => {
                let of_experts = self.expert_bytes.0 / bandwidth;
                let exposed = of_experts.min(self.expert_macs / multiply_rate);
                kv_memory_s.max(attention_compute_s)
                    + weight_memory_s.max(weight_compute_s)
                    + exposed * self.exposed_weights
            }
        };
        StepTime {
            weight_compute: Seconds(weight_compute_s),
            attention_compute: Seconds(attention_compute_s),
            weight_memory: Seconds(weight_memory_s),
            kv_memory: Seconds(kv_memory_s),
            total: Seconds(total_s),
        }
    }
}

/// E1, E1', E2, E3: the time of one decode step.
#[must_use]
pub fn step_time(model: &Model, unit: &ServingUnit, point: &OperatingPoint) -> StepTime {
    let batch = point.batch;
    let kv_bytes =
        model.kv_bytes_per_token.0 * point.context_tokens + 2.0 * model.state_per_sequence.0;
    let load = Load {
        weight_macs: batch * model.active_parameters,
        expert_macs: 0.0,
        attention_macs: batch * model.attention_macs_per_token * point.context_tokens,
        weight_bytes: Bytes(model.weight_bytes_per_parameter * model.parameters_read(batch)),
        expert_bytes: Bytes(0.0),
        exposed_weights: 0.0,
        kv_bytes: Bytes(batch * kv_bytes),
    };
    load.time(unit, point.efficiencies.decode(), point.overlap)
}

/// E4: `T_min` = w·`N_t`/W, the shortest step there is when every one of these weights is read \[T\].
#[must_use]
pub fn latency_floor(weights: Bytes, unit: &ServingUnit) -> Seconds {
    weights / unit.bandwidth
}

/// E6: B* = ρ·`N_t`/`N_a`, the batch at which reading weights takes as long as multiplying with them \[T\].
#[must_use]
pub fn optimal_batch(compute_to_bandwidth: f64, sparsity: f64) -> f64 {
    compute_to_bandwidth * sparsity
}

/// E7: L0 = w·`N_a`/(ρ·k), the context at which reading the KV cache alone takes as long as the multiplies \[T\].
///
/// With efficiencies, ρ becomes ρ·`η_c`/`η_m`.
#[must_use]
pub fn crossover_context(
    weight_bytes_per_parameter: f64,
    active_parameters: f64,
    compute_to_bandwidth: f64,
    kv_bytes_per_token: BytesPerToken,
) -> f64 {
    weight_bytes_per_parameter * active_parameters / (compute_to_bandwidth * kv_bytes_per_token.0)
}

/// E7: `B*_L` = B*/(1 − L/L0), the balanced batch at a context; none at or beyond the crossover.
#[must_use]
pub fn optimal_batch_at_context(
    optimal_batch: f64,
    context_tokens: f64,
    crossover_context_tokens: f64,
) -> Option<f64> {
    (context_tokens < crossover_context_tokens)
        .then(|| optimal_batch / (1.0 - context_tokens / crossover_context_tokens))
}

/// r(L) = B*/B + L/L0, the ideal ratio of memory time to compute time \[D\].
#[must_use]
pub fn memory_time_over_compute_time(
    batch_over_optimal_batch: f64,
    context_over_crossover: f64,
) -> f64 {
    1.0 / batch_over_optimal_batch + context_over_crossover
}

/// E8: a request that just missed a step waits for one and runs in the next, 2τ at most \[T\].
#[must_use]
pub fn worst_case_latency(step: Seconds) -> Seconds {
    step * 2.0
}

/// E8: tokens per second of a serving unit, B/τ \[T\].
#[must_use]
pub fn throughput(batch: f64, step: Seconds) -> f64 {
    batch / step.0
}
