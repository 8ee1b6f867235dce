//! The one engine of times and costs: a pass over a model of given sizes on a machine, with its layers, kernels and
//! network, in seconds. [`super::Serving`] calls it for an architecture, the joint estimate for each of its draws; it
//! allocates nothing.

use super::machine::{HIDDEN_BYTES_PER_ELEMENT, Machine};
use super::network::{Traffic, UnitLogs, every_copy, merged};
use super::overheads::Overheads;
use super::shape::ModelShape;
use super::step::share_touched;
use super::{Efficiencies, Load, Overlap, StepTime};
use crate::reference::WeightFormats;
use crate::units::number::Number;
use crate::units::{Bytes, Seconds};

/// Sequential kernels in a dense layer: attention, MLP.
const STAGES_PER_DENSE_LAYER: f64 = 2.0;
/// Sequential kernels in a layer with experts: attention, router, sort, dispatch, gather, two of experts with the
/// activation between them, scatter, combine.
const STAGES_PER_EXPERT_LAYER: f64 = 10.0;
/// Prompt tokens of a pass whose size is not stated: per chip with expert parallelism, over all chips with tensor
/// parallelism.
const PASS_TOKENS: f64 = 16_384.0;

/// Work of attention for one sequence in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionWork<N = f64> {
    /// Multiply-adds, per token in a decode step, of the whole prompt in prefill.
    pub macs: N,
    /// Cache and linear state that are read and written.
    pub bytes: N,
}

/// Distribution of a model over chips. The KV cache is distributed evenly in both cases, by head or by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Every matrix is split over all chips; two all-reduces per layer.
    Tensor,
    /// Experts are distributed over the chips, all other weights are replicated; two all-to-all exchanges per layer with
    /// experts.
    Experts,
}

/// Drafting several tokens and checking them in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speculation {
    /// V: tokens accepted per step, including the one that is always correct.
    pub accepted: f64,
    /// γ: tokens drafted per step; the draft model's own time is left out.
    pub drafted: f64,
}

impl Speculation {
    /// One token per step.
    pub const NONE: Self = Self {
        accepted: 1.0,
        drafted: 0.0,
    };

    /// Tokens per sequence that a step computes, γ + 1.
    #[must_use]
    pub fn computed(&self) -> f64 {
        self.drafted + 1.0
    }
}

/// The time of a pass, by component.
#[derive(Debug, Clone, Copy)]
pub struct PassTime<N = f64> {
    /// The rooflines.
    pub step: StepTime<N>,
    /// Exchanges between chips.
    pub communication: Seconds<N>,
    /// Memory traffic in proportion to tokens that is neither weights nor cache.
    pub token_overhead: Seconds<N>,
    /// Latency between kernels.
    pub stage_overhead: Seconds<N>,
    /// The whole pass.
    pub total: Seconds<N>,
}

/// Memory of a serving unit, and its use.
#[derive(Debug, Clone, Copy)]
pub struct MemoryUse<N = f64> {
    /// C: HBM capacity.
    pub capacity: Bytes<N>,
    /// Memory that an engine leaves free, and that of a pass's hidden states.
    pub reserved: Bytes<N>,
    /// Weights; with distributed experts, the other weights are on every chip.
    pub weights: Bytes<N>,
    /// Cache and linear state of one sequence, with all copies.
    pub per_sequence: Bytes<N>,
}

impl<N: Number> MemoryUse<N> {
    /// Room for weights and caches.
    #[must_use]
    pub fn usable(&self) -> Bytes<N> {
        Bytes(self.capacity.0 - self.reserved.0)
    }

    /// Memory that a batch needs beyond it; negative where there is room.
    pub(crate) fn missing_bytes(&self, batch: N) -> N {
        self.weights.0 + batch * self.per_sequence.0 - self.usable().0
    }
}

impl MemoryUse {
    /// The largest batch whose caches fit beside the weights; none if the weights alone do not, or if a sequence leaves
    /// nothing, so that any batch fits.
    #[must_use]
    pub fn largest_batch(&self) -> Option<f64> {
        let free = self.usable().0 - self.weights.0;
        let is_bounded = free >= 0.0 && self.per_sequence.0 > 0.0;
        is_bounded.then(|| (free / self.per_sequence.0).floor())
    }

    /// Missing memory of a batch, in bytes; None if it fits.
    #[must_use]
    pub fn missing(&self, batch: f64) -> Option<Bytes> {
        let missing = self.missing_bytes(batch);
        (missing > 0.0).then_some(Bytes(missing))
    }
}

/// Bytes that a model and the caches of a batch need, by the number of chips.
#[derive(Debug, Clone, Copy)]
pub struct MemoryNeeds<N = f64> {
    experts: N,
    /// Routed experts that are distributed over the chips; none where they are not.
    routed_experts: Option<N>,
    /// All other weights.
    others: N,
    /// Copies of these for each chip; 0 where all chips have one together.
    copies_per_chip: f64,
    caches: N,
    usable_per_chip: N,
}

impl<N: Number> MemoryNeeds<N> {
    /// Bytes that a unit of so many chips lacks; negative where it has room.
    pub(crate) fn missing_on(&self, chips: f64) -> N {
        let experts = self.routed_experts.map_or(self.experts, |routed| {
            self.experts * ((routed / chips).ceil() * chips / routed)
        });
        let copies = (self.copies_per_chip * chips).max(1.0);
        experts + self.others * copies + self.caches - self.usable_per_chip * chips
    }
}

/// A model on a machine, with its operating settings.
#[derive(Debug, Clone, Copy)]
pub struct Engine<'a, N = f64> {
    /// The model.
    pub shape: ModelShape<N>,
    /// w: bytes per parameter, by component.
    pub weights: WeightFormats<N>,
    /// The chips.
    pub machine: Machine<N>,
    /// Logarithms of these.
    pub logs: UnitLogs<N>,
    /// Distribution of the model over the chips.
    pub spread: Spread,
    /// Shares of peak.
    pub efficiencies: Efficiencies,
    /// Costs that the rooflines leave out.
    pub overheads: &'a Overheads,
    /// Overlap of compute and memory.
    pub overlap: Overlap,
    /// Speculative decoding.
    pub speculation: Speculation,
}

/// Phase of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Decode,
    Prefill,
}

impl<N: Number> Engine<'_, N> {
    /// Replaces the chips, and with them their logarithms.
    pub fn put_on(&mut self, machine: Machine<N>, logs: UnitLogs<N>) {
        self.machine = machine;
        self.logs = logs;
    }

    /// A decode step: E1 or E1' with what a batch reads, then the exchanges, which are not hidden.
    ///
    /// With speculative decoding a step computes γ + 1 tokens per sequence and reads memory once (U10).
    #[must_use]
    pub fn decode(&self, batch: N, attention: AttentionWork<N>) -> PassTime<N> {
        let tokens = batch * self.speculation.computed();
        let load = Load {
            weight_macs: self.weight_macs(tokens, tokens),
            attention_macs: tokens * attention.macs / self.overheads.attention_compute_ratio,
            weight_bytes: self.weights_read(tokens),
            kv_bytes: Bytes(batch * attention.bytes),
        };
        self.pass(Phase::Decode, &load, tokens)
    }

    /// A prefill pass of this many prompts of this many tokens to compute. Exchanges of distributed experts are hidden,
    /// since two halves of a pass alternate between links and arithmetic; those of cut matrices are not.
    #[must_use]
    pub fn prefill(&self, prompts: N, fresh_tokens: N, attention: AttentionWork<N>) -> PassTime<N> {
        let tokens = prompts * fresh_tokens;
        let load = Load {
            weight_macs: self.weight_macs(tokens, prompts),
            attention_macs: prompts * attention.macs / self.overheads.attention_compute_ratio,
            weight_bytes: self.weights_read(tokens),
            kv_bytes: Bytes(prompts * attention.bytes),
        };
        self.pass(Phase::Prefill, &load, tokens)
    }

    /// Memory use with this many bytes of cache and state per sequence.
    #[must_use]
    pub fn memory(&self, per_sequence: Bytes<N>) -> MemoryUse<N> {
        self.memory_on(self.machine.chips, per_sequence)
    }

    /// The same on a unit of another number of these chips.
    #[must_use]
    pub fn memory_on(&self, chips: N, per_sequence: Bytes<N>) -> MemoryUse<N> {
        let experts =
            self.weights.experts * self.shape.expert_parameters * self.places_over_experts(chips);
        let others = self.shape.others_bytes(self.weights) * self.copies(chips);
        let capacity = self.machine.unit.capacity * (chips / self.machine.chips);
        let headroom = capacity.0 * self.overheads.memory_headroom;
        let of_chip = Bytes(capacity.0 / chips);
        let hidden = self.shape.hidden_dimension;
        let activations = self.overheads.activation_bytes(hidden, of_chip).0 * chips;
        MemoryUse {
            capacity,
            reserved: Bytes(headroom + activations),
            weights: Bytes(experts + others),
            per_sequence,
        }
    }

    /// Memory for weights and the caches of a batch on any number of these chips.
    #[must_use]
    pub fn memory_needs(&self, batch: N, per_sequence: Bytes<N>) -> MemoryNeeds<N> {
        let chip = self.memory_on(N::splat(1.0), per_sequence);
        MemoryNeeds {
            experts: self.weights.experts * self.shape.expert_parameters,
            routed_experts: self.has_places().then_some(self.shape.routed_experts),
            others: self.shape.others_bytes(self.weights),
            copies_per_chip: if self.spread == Spread::Experts {
                1.0
            } else {
                0.0
            },
            caches: batch * per_sequence.0,
            usable_per_chip: chip.usable().0,
        }
    }

    fn pass(&self, phase: Phase, load: &Load<N>, tokens: N) -> PassTime<N> {
        let efficiency = match phase {
            Phase::Decode => self.efficiencies.decode(),
            Phase::Prefill => self.efficiencies.prefill(),
        };
        let step = load.time(&self.machine.unit, efficiency, self.overlap);
        let token_bytes = tokens
            * self.shape.hidden_dimension
            * HIDDEN_BYTES_PER_ELEMENT
            * self.vectors_per_token();
        let token_overhead =
            Bytes(token_bytes) / self.machine.unit.bandwidth / N::splat(efficiency.bandwidth);
        let stage_overhead = Seconds(self.stages() * self.overheads.per_stage.0);
        let communication = self.communication(phase, tokens);
        let on_chip = step.total.0 + token_overhead.0 + stage_overhead.0;
        let total = match phase {
            _ if self.spread == Spread::Tensor => on_chip + communication.0,
            Phase::Decode => {
                let hidden = on_chip.min(communication.0);
                on_chip.max(communication.0) + hidden * self.overheads.exposed_exchange
            }
            Phase::Prefill => on_chip.max(communication.0),
        };
        PassTime {
            step,
            communication,
            token_overhead,
            stage_overhead,
            total: Seconds(total),
        }
    }

    fn communication(&self, phase: Phase, tokens: N) -> Seconds<N> {
        let Some(reached) = self.overheads.network else {
            return Seconds(N::splat(0.0));
        };
        let (shape, machine) = (&self.shape, &self.machine);
        let to_experts = |copies| Traffic::all_to_all(shape, machine, tokens, copies);
        let traffic = match (self.spread, phase) {
            (Spread::Tensor, _) => Traffic::all_reduce(shape, machine, tokens),
            (Spread::Experts, Phase::Decode) => {
                to_experts(every_copy(shape.active_experts, machine))
            }
            (Spread::Experts, Phase::Prefill) => {
                to_experts(merged(shape.active_experts, machine, &self.logs))
            }
        };
        Seconds(traffic.time(&self.machine).0 / reached + self.exchange_latency().0)
    }

    /// Latency of two all-reduces per layer. Dispatch and combine of experts are among the kernels of their layer.
    fn exchange_latency(&self) -> Seconds<N> {
        let (none, one) = (N::splat(0.0), N::splat(1.0));
        if self.spread == Spread::Experts {
            return Seconds(none);
        }
        let where_several =
            |parts: N, seconds: Seconds| one.if_less(parts, N::splat(seconds.0), none);
        let exchange = where_several(self.machine.chips, self.overheads.per_exchange);
        let hop = where_several(self.machine.domains(), self.overheads.per_hop);
        Seconds(self.shape.layers * 2.0 * (exchange + hop))
    }

    /// Hidden vectors of a token that pass through memory, over all layers: those of every layer, and those of every copy
    /// that goes to an expert.
    fn vectors_per_token(&self) -> N {
        let copies = self.shape.active_experts * self.shape.expert_layers;
        self.shape.layers * self.overheads.vectors_per_token_and_layer
            + copies * self.overheads.vectors_per_expert_copy
    }

    /// Multiply-adds with weights, in units of those at M and at the share of dense matrices. Of the tokens, those that a
    /// next token is wanted for pass the output head.
    fn weight_macs(&self, tokens: N, headed: N) -> N {
        let experts = self.shape.active_expert_parameters;
        let slowness = self.imbalance(tokens) / self.overheads.expert_compute_ratio;
        let with_others = if self.overheads.counts_kernels {
            let head = self.shape.output_head_parameters();
            (self.shape.always_read_parameters - head) * tokens + head * headed.min(tokens)
        } else {
            (self.shape.active_parameters - experts) * tokens
        };
        with_others / self.machine.other_rate
            + tokens * experts * slowness / self.machine.expert_rate
    }

    /// Load of the chip with the most tokens for its experts over the mean. Experts drawn at random give n copies per chip
    /// with a spread of √n, and the largest of G such numbers is about √(2·ln G) spreads above the mean \[D\].
    fn imbalance(&self, tokens: N) -> N {
        let chips = self.machine.chips;
        let one = N::splat(1.0);
        let Some(popularity) = self.overheads.expert_imbalance else {
            return one;
        };
        if !self.shape.has_experts || self.spread == Spread::Tensor {
            return one;
        }
        let copies_per_chip = tokens * self.shape.active_experts / chips;
        let by_chance = (self.logs.chips * 2.0 / copies_per_chip).sqrt() + 1.0;
        one.if_less(chips, (by_chance * popularity).min(chips), one)
    }

    fn stages(&self) -> N {
        let with_experts = self.shape.expert_layers;
        let dense = (self.shape.layers - with_experts).max(N::splat(0.0));
        dense * STAGES_PER_DENSE_LAYER + with_experts * STAGES_PER_EXPERT_LAYER
    }

    /// Copies of the non-expert weights.
    fn copies(&self, chips: N) -> N {
        match self.spread {
            Spread::Tensor => N::splat(1.0),
            Spread::Experts => chips,
        }
    }

    /// w·`N_read`, over all chips.
    fn weights_read(&self, tokens: N) -> Bytes<N> {
        let (shape, chips) = (&self.shape, self.machine.chips);
        let always = self.weights.others * (shape.always_read_parameters * self.copies(chips));
        if !shape.has_experts {
            return Bytes(always);
        }
        let touched = share_touched(shape.routed_experts / shape.active_experts, tokens);
        let experts = touched * shape.expert_parameters * self.places_over_experts(chips);
        Bytes(always + self.weights.experts * experts)
    }

    /// Whether every chip has places for experts.
    fn has_places(&self) -> bool {
        self.shape.has_experts && self.spread == Spread::Experts && self.overheads.counts_kernels
    }

    /// Places for experts over experts: every chip has as many, and those that are left over hold copies, as the 288 of
    /// DeepSeek on 144 chips do.
    fn places_over_experts(&self, chips: N) -> N {
        if !self.has_places() {
            return N::splat(1.0);
        }
        let routed = self.shape.routed_experts;
        (routed / chips).ceil() * chips / routed
    }

    /// Prompt tokens of a pass whose size is not stated.
    #[must_use]
    pub fn pass_tokens(spread: Spread, chips: N) -> N {
        match spread {
            Spread::Experts => chips * PASS_TOKENS,
            Spread::Tensor => N::splat(PASS_TOKENS),
        }
    }
}
