//! Time of a decode step on a serving unit, with its layers, kernels and network, in seconds.

use super::engine::{AttentionWork, Engine, PassTime};
use super::groups;
use super::machine::Machine;
use super::memory::MemoryUse;
use super::network::UnitLogs;
use super::overheads::Overheads;
use super::speculation::Speculation;
use super::spread::Spread;
use super::{AttentionKernels, Efficiencies, KvCache, Overlap, PromptTokens};
use crate::reference::architecture::Architecture;
use crate::reference::{Attainment, WeightFormats};
use unroof_base::units::{Bytes, Seconds};

impl From<Attainment> for Efficiencies {
    fn from(attainment: Attainment) -> Self {
        Self {
            prefill: attainment.compute,
            decode_bandwidth: attainment.bandwidth,
            decode_compute: attainment.compute,
        }
    }
}

/// A model on a serving unit, with its operating settings.
#[derive(Debug, Clone)]
pub struct Serving<'a> {
    /// Architecture of the model.
    pub architecture: &'a Architecture,
    /// KV cache of the model.
    pub cache: KvCache,
    /// w: bytes per parameter, by component.
    pub weights: WeightFormats,
    /// `b_kv`: bytes per element of the KV cache.
    pub kv_bytes_per_element: f64,
    /// Chips that serve the model.
    pub machine: Machine,
    /// Distribution of the model over the chips.
    pub spread: Spread,
    /// Chips that share a copy of attention's weights where experts are distributed.
    pub attention_chips: f64,
    /// Shares of peak that are reached.
    pub efficiencies: Efficiencies,
    /// Costs that the rooflines leave out.
    pub overheads: Overheads,
    /// Overlap of compute and memory.
    pub overlap: Overlap,
    /// Speculative decoding of the engine.
    pub speculation: Speculation,
}

impl Serving<'_> {
    /// A decode step: E1 or E1' with what a batch reads at a context, then the exchanges, which are not hidden.
    ///
    /// With speculative decoding a step computes γ + 1 tokens per sequence and reads memory once (U10).
    #[must_use]
    pub fn decode(&self, batch: f64, context_tokens: f64) -> PassTime {
        let work = self.work_of_answer(context_tokens);
        let step = self.engine().decode(batch, work);
        self.with_group_exchange(step, batch * self.speculation.computed())
    }

    /// A decode step of answers at a context that also computes chunks of so many prompts.
    #[must_use]
    pub fn mixed(
        &self,
        batch: f64,
        context_tokens: f64,
        chunks: f64,
        chunk: PromptTokens,
    ) -> PassTime {
        let step = self.engine().mixed(
            batch,
            self.work_of_answer(context_tokens),
            [chunks, chunk.fresh],
            self.work_of_prompt(chunk),
        );
        let answers = batch * self.speculation.computed();
        self.with_group_exchange(step, answers + chunks * chunk.fresh)
    }

    /// A step with the exchanges of the groups that share attention, which are not hidden.
    fn with_group_exchange(&self, step: PassTime, tokens: f64) -> PassTime {
        let exchange = self.group_exchange(tokens);
        PassTime {
            communication: Seconds(step.communication.0 + exchange.0),
            total: Seconds(step.total.0 + exchange.0),
            ..step
        }
    }

    fn group_exchange(&self, tokens: f64) -> Seconds {
        if !self.has_groups() {
            return Seconds(0.0);
        }
        let (architecture, chips) = (self.architecture, self.attention_chips);
        groups::exchange(architecture, &self.overheads, &self.machine, chips, tokens)
    }

    /// Whether chips share attention but not experts.
    fn has_groups(&self) -> bool {
        self.spread == Spread::Experts && self.attention_chips > 1.0
    }

    /// Bytes of an element of the cache, with its copies among the chips that share attention. Where every matrix is cut, copies
    /// are counted with the elements.
    fn element_bytes(&self) -> f64 {
        if !self.has_groups() || !self.overheads.cache_copies {
            return self.kv_bytes_per_element;
        }
        self.kv_bytes_per_element * groups::cache_copies(self.architecture, self.attention_chips)
    }

    fn work_of_answer(&self, context_tokens: f64) -> AttentionWork {
        let elements = (self.cache).read_elements_cut(context_tokens, self.cache_cuts());
        let state = self.cache.state_per_sequence().0;
        AttentionWork {
            macs: self.cache.decode_macs_of(context_tokens, self.kernels()),
            bytes: elements * self.element_bytes() + 2.0 * state,
        }
    }

    /// A prefill pass of this many prompts, with the arithmetic of prompts. Exchanges of distributed experts are hidden,
    /// since two halves of a pass alternate between links and arithmetic; those of cut matrices are not.
    #[must_use]
    pub fn prefill(&self, prompts: f64, prompt: PromptTokens) -> PassTime {
        let work = self.work_of_prompt(prompt);
        let pass = self.engine().prefill(prompts, prompt.fresh, work);
        let exchange = self.group_exchange(prompts * prompt.fresh);
        let communication = pass.communication.0 + exchange.0;
        PassTime {
            communication: Seconds(communication),
            total: Seconds(pass.total.0.max(communication)),
            ..pass
        }
    }

    fn work_of_prompt(&self, prompt: PromptTokens) -> AttentionWork {
        let cached = self.stored_elements(prompt.cached);
        let written = self.stored_elements(prompt.cached + prompt.fresh) - cached;
        let state = self.cache.state_per_sequence().0;
        // State is written once per prompt, and read where a cached prefix has left one.
        let states = if prompt.cached > 0.0 { 2.0 } else { 1.0 };
        AttentionWork {
            macs: self.cache.prefill_macs_of(prompt, self.kernels()),
            bytes: (cached + written) * self.element_bytes() + states * state,
        }
    }

    /// The engine behind its times.
    #[must_use]
    pub fn engine(&self) -> Engine<'_> {
        let machine = if self.has_groups() {
            groups::of_groups(&self.machine, self.attention_chips)
        } else {
            self.machine
        };
        Engine {
            shape: self.architecture.into(),
            weights: self.weights,
            machine,
            logs: UnitLogs::of(&machine),
            spread: self.spread,
            efficiencies: self.efficiencies,
            overheads: &self.overheads,
            per_stage: self.overheads.per_stage,
            overlap: self.overlap,
            speculation: self.speculation,
        }
    }

    fn kernels(&self) -> AttentionKernels {
        if !self.overheads.counts_kernels {
            return AttentionKernels::IDEAL;
        }
        AttentionKernels {
            chips: self.cache_cuts(),
            fill_selections: true,
        }
    }

    /// Chips over which a cache is cut by heads. With distributed experts, and at peak, it is distributed evenly.
    fn cache_cuts(&self) -> f64 {
        let is_cut = self.spread == Spread::Tensor && self.overheads.cache_copies;
        if is_cut { self.machine.chips } else { 1.0 }
    }

    fn stored_elements(&self, context_tokens: f64) -> f64 {
        self.cache
            .stored_elements_cut(context_tokens, self.cache_cuts())
    }

    /// Memory use with caches of this many tokens per sequence.
    #[must_use]
    pub fn memory(&self, context_tokens: f64) -> MemoryUse {
        let cache = self.stored_elements(context_tokens) * self.element_bytes();
        let per_sequence = Bytes(cache + self.cache.state_per_sequence().0);
        self.engine().memory(per_sequence)
    }
}
