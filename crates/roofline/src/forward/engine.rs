//! The one engine of times and costs: a pass over a model of given sizes on a machine, with its layers, kernels and
//! network, in seconds. [`super::Serving`] calls it for an architecture, the joint estimate for each of its draws; it
//! allocates nothing.

use super::machine::{HIDDEN_BYTES_PER_ELEMENT, Machine};
use super::memory::{MemoryByChips, MemoryUse};
use super::network::{Traffic, UnitLogs, every_copy, merged};
use super::overheads::Overheads;
use super::shape::ModelShape;
use super::speculation::Speculation;
use super::spread::{Spread, places_over_experts};
use super::step::share_touched;
use super::{Efficiencies, Load, Overlap, StepTime};
use crate::reference::WeightFormats;
use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, Seconds};

/// Prompt tokens of a pass whose size is not stated: per chip with expert parallelism, over all chips with tensor
/// parallelism.
const PASS_TOKENS: f64 = 16_384.0;

/// S: tokens of a prompt that are taken where none are stated, in simulations, plans and estimates.
pub const USUAL_PROMPT_TOKENS: f64 = 4_096.0;

/// Work of attention for one sequence in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionWork<N = f64> {
    /// Multiply-adds, per token in a decode step, of the whole prompt in prefill.
    pub macs: N,
    /// Cache and linear state that are read and written.
    pub bytes: N,
}

/// The time of a pass, by component.
#[derive(Debug, Clone, Copy)]
pub struct PassTime<N = f64> {
    /// Time of the rooflines.
    pub step: StepTime<N>,
    /// Time of exchanges between chips.
    pub communication: Seconds<N>,
    /// Memory traffic in proportion to tokens that is neither weights nor cache.
    pub token_overhead: Seconds<N>,
    /// Latency between kernels of the pass.
    pub stage_overhead: Seconds<N>,
    /// Time of drafting tokens before the pass checks them.
    pub draft: Seconds<N>,
    /// Time of the whole pass.
    pub total: Seconds<N>,
}

/// A model on a machine, with its operating settings.
#[derive(Debug, Clone, Copy)]
pub struct Engine<'a, N = f64> {
    /// Sizes of the model.
    pub shape: ModelShape<N>,
    /// w: bytes per parameter, by component.
    pub weights: WeightFormats<N>,
    /// Chips that serve the model.
    pub machine: Machine<N>,
    /// Logarithms of the numbers of chips and domains.
    pub logs: UnitLogs<N>,
    /// Distribution of the model over the chips.
    pub spread: Spread,
    /// Shares of peak that are reached.
    pub efficiencies: Efficiencies<N>,
    /// Costs that the rooflines leave out.
    pub overheads: &'a Overheads,
    /// Latency per sequential kernel: that of `overheads`, or of each lane's chips.
    pub per_stage: Seconds<N>,
    /// Overlap of compute and memory.
    pub overlap: Overlap,
    /// Speculative decoding of the engine.
    pub speculation: Speculation,
}

/// Tokens that a pass computes.
#[derive(Debug, Clone, Copy)]
enum Tokens<N> {
    /// A decode step.
    Decode(N),
    /// A prefill pass.
    Prefill(N),
    /// A decode step with chunks of prompts.
    Mixed { answers: N, prompts: N },
}

impl<N: Number> Tokens<N> {
    fn all(self) -> N {
        match self {
            Self::Decode(tokens) | Self::Prefill(tokens) => tokens,
            Self::Mixed { answers, prompts } => answers + prompts,
        }
    }
}

impl Engine<'_> {
    /// Memory use with this many bytes of cache and state per sequence.
    #[must_use]
    pub fn memory(&self, per_sequence: Bytes) -> MemoryUse {
        self.memory_by_chips().on(self.machine.chips, per_sequence)
    }
}

impl<N: Number> Engine<'_, N> {
    /// Replaces the chips, and with them their logarithms.
    pub fn put_on(&mut self, machine: Machine<N>, logs: UnitLogs<N>) {
        self.machine = machine;
        self.logs = logs;
    }

    /// A decode step: E1 or E1' with what a batch reads, then the exchanges, which are not hidden.
    ///
    /// With speculative decoding a step computes γ + 1 tokens per sequence and reads memory once (U10), after γ passes over
    /// the layers that draft: γ·(draft layers/layers)·T(1 token per sequence).
    #[must_use]
    pub fn decode(&self, batch: N, attention: AttentionWork<N>) -> PassTime<N> {
        let step = self.step(batch, self.speculation.computed(), attention);
        self.after_drafts(step, batch, attention)
    }

    /// A decode step that also computes chunks of so many prompts, of so many tokens each: both share the weights that are
    /// read, and the exchanges are not hidden.
    #[must_use]
    pub fn mixed(
        &self,
        batch: N,
        attention: AttentionWork<N>,
        [chunks, chunk_tokens]: [N; 2],
        of_chunk: AttentionWork<N>,
    ) -> PassTime<N> {
        let answers = batch * self.speculation.computed();
        let prompts = chunks * chunk_tokens;
        let once = N::splat(1.0);
        let work = AttentionWork {
            macs: answers * attention.macs + chunks * of_chunk.macs,
            bytes: batch * attention.bytes + chunks * of_chunk.bytes,
        };
        let load = self.load(answers + prompts, answers + chunks, [once, once], work);
        let step = self.pass(Tokens::Mixed { answers, prompts }, &load);
        self.after_drafts(step, batch, attention)
    }

    /// A step after the passes that draft its tokens.
    fn after_drafts(
        &self,
        step: PassTime<N>,
        batch: N,
        attention: AttentionWork<N>,
    ) -> PassTime<N> {
        let drafted = self.speculation.drafted * self.speculation.draft_layers;
        if drafted <= 0.0 || !self.overheads.counts_kernels {
            return step;
        }
        let plain = self.step(batch, 1.0, attention);
        let draft = plain.total.0 / self.shape.layers * drafted;
        PassTime {
            draft: Seconds(draft),
            total: Seconds(step.total.0 + draft),
            ..step
        }
    }

    /// A pass that computes this many tokens of each sequence of a batch.
    fn step(&self, batch: N, of_each: f64, attention: AttentionWork<N>) -> PassTime<N> {
        let tokens = batch * of_each;
        let load = self.load(tokens, tokens, [tokens, batch], attention);
        self.pass(Tokens::Decode(tokens), &load)
    }

    /// A prefill pass of this many prompts of this many tokens to compute. Exchanges of distributed experts are hidden,
    /// since two halves of a pass alternate between links and arithmetic; those of cut matrices are not.
    #[must_use]
    pub fn prefill(&self, prompts: N, fresh_tokens: N, attention: AttentionWork<N>) -> PassTime<N> {
        let tokens = prompts * fresh_tokens;
        let load = self.load(tokens, prompts, [prompts, prompts], attention);
        self.pass(Tokens::Prefill(tokens), &load)
    }

    /// Work of a pass: tokens, those of them that a next token is wanted for, how often attention multiplies and how often
    /// it reads, and what it does each time.
    fn load(
        &self,
        tokens: N,
        headed: N,
        [multiplied, read]: [N; 2],
        attention: AttentionWork<N>,
    ) -> Load<N> {
        let expert_macs = self.expert_macs(tokens);
        let expert_bytes = self.experts_read(tokens);
        Load {
            weight_macs: self.other_macs(tokens, headed) + expert_macs,
            expert_macs,
            attention_macs: multiplied * attention.macs / self.overheads.attention_compute_ratio,
            weight_bytes: Bytes(self.others_read() + expert_bytes),
            expert_bytes: Bytes(expert_bytes),
            exposed_weights: self.overheads.exposed_weights,
            kv_bytes: Bytes(read * attention.bytes),
        }
    }

    /// The memory of units of any number of these chips.
    #[must_use]
    pub fn memory_by_chips(&self) -> MemoryByChips<N> {
        let of_chip = self.machine.unit.capacity / self.machine.chips;
        let headroom = of_chip.0 * self.overheads.memory_headroom;
        let hidden = self.shape.hidden_dimension;
        let activations = self.overheads.activation_bytes(hidden, of_chip);
        MemoryByChips {
            capacity: of_chip,
            reserved: Bytes(headroom + activations.0),
            experts: self.weights.experts * self.shape.expert_parameters,
            others: self.shape.others_bytes(self.weights),
            placed_experts: self.placed_experts(),
            spread: self.spread,
        }
    }

    fn pass(&self, tokens: Tokens<N>, load: &Load<N>) -> PassTime<N> {
        let efficiency = match tokens {
            Tokens::Prefill(_) => self.efficiencies.prefill(),
            _ => self.efficiencies.decode(),
        };
        let step = load.time(&self.machine.unit, efficiency, self.overlap);
        let token_bytes = tokens.all()
            * self.shape.hidden_dimension
            * HIDDEN_BYTES_PER_ELEMENT
            * self.vectors_per_token();
        let token_overhead =
            Bytes(token_bytes) / self.machine.unit.bandwidth / efficiency.bandwidth;
        let stage_overhead = Seconds(self.stages() * self.per_stage.0);
        let communication = self.communication(tokens);
        let on_chip = step.total.0 + token_overhead.0 + stage_overhead.0;
        let total = match tokens {
            _ if self.spread == Spread::Tensor => on_chip + communication.0,
            Tokens::Prefill(_) => on_chip.max(communication.0),
            _ => {
                let hidden = on_chip.min(communication.0);
                on_chip.max(communication.0) + hidden * self.overheads.exposed_exchange
            }
        };
        PassTime {
            step,
            communication,
            token_overhead,
            stage_overhead,
            draft: Seconds(N::splat(0.0)),
            total: Seconds(total),
        }
    }

    fn communication(&self, tokens: Tokens<N>) -> Seconds<N> {
        let Some(reached) = self.overheads.network else {
            return Seconds(N::splat(0.0));
        };
        let transfer = |traffic: Traffic<N>| traffic.time(&self.machine).0 / reached;
        Seconds(match self.spread {
            Spread::Tensor => {
                let traffic = Traffic::all_reduce(&self.shape, &self.machine, tokens.all());
                transfer(traffic) + self.all_reduce_latency().0
            }
            Spread::Experts => {
                let sent = match tokens {
                    Tokens::Decode(tokens) => transfer(self.every_copy(tokens)),
                    Tokens::Prefill(tokens) => transfer(self.merged_copies(tokens)),
                    Tokens::Mixed { answers, prompts } => {
                        transfer(self.every_copy(answers)) + transfer(self.merged_copies(prompts))
                    }
                };
                sent.max(self.all_to_all_latency().0)
            }
        })
    }

    /// Tokens on their way to experts and back in decoding.
    fn every_copy(&self, tokens: N) -> Traffic<N> {
        let copies = every_copy(self.shape.active_experts, &self.machine);
        Traffic::all_to_all(&self.shape, &self.machine, tokens, copies)
    }

    /// Tokens on their way to experts and back in prefill.
    fn merged_copies(&self, tokens: N) -> Traffic<N> {
        let copies = merged(self.shape.active_experts, &self.machine, &self.logs);
        Traffic::all_to_all(&self.shape, &self.machine, tokens, copies)
    }

    /// Latency of sending tokens to experts and back: it grows with every doubling of the chips.
    fn all_to_all_latency(&self) -> Seconds<N> {
        let doublings = self.logs.chips * std::f64::consts::LOG2_E;
        Seconds(self.shape.expert_layers * doublings * self.overheads.per_dispatch.0)
    }

    /// Latency of two all-reduces per layer.
    fn all_reduce_latency(&self) -> Seconds<N> {
        let (none, one) = (N::splat(0.0), N::splat(1.0));
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

    /// Multiply-adds with all weights but experts, in units of those at M. Of the tokens, those that a next token is wanted
    /// for pass the output head.
    fn other_macs(&self, tokens: N, headed: N) -> N {
        let with_others = if self.overheads.counts_kernels {
            let head = self.shape.output_head_parameters();
            (self.shape.always_read_parameters - head) * tokens + head * headed.min(tokens)
        } else {
            let experts = self.shape.active_expert_parameters;
            (self.shape.active_parameters - experts) * tokens
        };
        with_others / self.machine.other_rate
    }

    /// Multiply-adds with experts, in units of those at M and at the share of dense matrices.
    fn expert_macs(&self, tokens: N) -> N {
        let experts = self.shape.active_expert_parameters;
        let slowness = self.imbalance(tokens) / self.overheads.expert_compute_ratio;
        tokens * experts * slowness / self.machine.expert_rate
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
        dense * self.overheads.stages_per_dense_layer
            + with_experts * self.machine.stages_per_expert_layer
            + self.shape.attention_stages
    }

    /// w·`N_attn`, over all chips.
    fn others_read(&self) -> N {
        let copies = self.spread.copies(self.machine.chips);
        self.weights.others * (self.shape.always_read_parameters * copies)
    }

    /// w·(1 − (1 − 1/s)^B)·`N_exp`, over all chips.
    fn experts_read(&self, tokens: N) -> N {
        let shape = &self.shape;
        if !shape.has_experts {
            return N::splat(0.0);
        }
        let touched = share_touched(shape.routed_experts / shape.active_experts, tokens);
        let places = places_over_experts(self.placed_experts(), self.machine.chips);
        self.weights.experts * (touched * shape.expert_parameters * places)
    }

    /// Routed experts, where every chip has a whole number of places for them; none where experts are cut, or kernels are
    /// not counted.
    fn placed_experts(&self) -> Option<N> {
        let are_placed = self.shape.has_experts
            && self.spread == Spread::Experts
            && self.overheads.counts_kernels;
        are_placed.then_some(self.shape.routed_experts)
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
