//! The only file that calls the forward model: a model in a layout on chips, its decode steps, prefill passes and
//! memory.

use crate::calculator::scenario::Chip;
use crate::forward::{Machine, Overheads, PassTime, PromptTokens, Serving, Speculation, Spread};
use crate::plan::grid::Layout;
use crate::plan::question::request::Question;
use crate::reference::architecture::{Architecture, AttentionGroup};
use crate::reference::{Predicted, TimeRange, fitted_attainment};

/// Bytes of an element of a hidden state between stages.
const HIDDEN_BYTES: f64 = 2.0;

/// Times of a pass by part, in seconds.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct Parts {
    pub(crate) weight_compute_s: f64,
    pub(crate) attention_compute_s: f64,
    pub(crate) weight_memory_s: f64,
    pub(crate) kv_memory_s: f64,
    pub(crate) communication_s: f64,
    pub(crate) overhead_s: f64,
    /// The whole pass, with overlaps.
    pub(crate) total_s: f64,
}

impl Parts {
    fn of(pass: &PassTime) -> Self {
        Self {
            weight_compute_s: pass.step.weight_compute.0,
            attention_compute_s: pass.step.attention_compute.0,
            weight_memory_s: pass.step.weight_memory.0,
            kv_memory_s: pass.step.kv_memory.0,
            communication_s: pass.communication.0,
            overhead_s: pass.token_overhead.0 + pass.stage_overhead.0 + pass.draft.0,
            total_s: pass.total.0,
        }
    }

    /// The mean of passes with shares.
    pub(crate) fn mean(passes: &[(Self, f64)]) -> Self {
        let sum =
            |part: fn(&Self) -> f64| passes.iter().map(|(pass, share)| part(pass) * share).sum();
        Self {
            weight_compute_s: sum(|pass| pass.weight_compute_s),
            attention_compute_s: sum(|pass| pass.attention_compute_s),
            weight_memory_s: sum(|pass| pass.weight_memory_s),
            kv_memory_s: sum(|pass| pass.kv_memory_s),
            communication_s: sum(|pass| pass.communication_s),
            overhead_s: sum(|pass| pass.overhead_s),
            total_s: sum(|pass| pass.total_s),
        }
    }

    fn times(&self, factor: f64) -> Self {
        Self {
            weight_compute_s: self.weight_compute_s * factor,
            attention_compute_s: self.attention_compute_s * factor,
            weight_memory_s: self.weight_memory_s * factor,
            kv_memory_s: self.kv_memory_s * factor,
            communication_s: self.communication_s * factor,
            overhead_s: self.overhead_s * factor,
            total_s: self.total_s * factor,
        }
    }

    /// Name of the longest part.
    pub(crate) fn longest(&self) -> &'static str {
        let parts = [
            ("weight_arithmetic", self.weight_compute_s),
            ("attention_arithmetic", self.attention_compute_s),
            ("weight_reads", self.weight_memory_s),
            ("kv_cache_reads", self.kv_memory_s),
            ("exchanges", self.communication_s),
            ("overheads", self.overhead_s),
        ];
        let longest = parts
            .into_iter()
            .max_by(|left, right| left.1.total_cmp(&right.1));
        longest.map_or("", |(name, _)| name)
    }
}

/// Memory of one unit, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitMemory {
    pub(crate) capacity: f64,
    /// Memory without what engines leave free and passes need.
    pub(crate) usable: f64,
    pub(crate) weights: f64,
    /// Cache and state of one sequence.
    pub(crate) per_sequence: f64,
}

impl UnitMemory {
    /// Sequences whose caches fit beside the weights.
    pub(crate) fn largest_batch(&self) -> f64 {
        let free = self.usable - self.weights;
        if free < 0.0 {
            0.0
        } else if self.per_sequence > 0.0 {
            (free / self.per_sequence).floor()
        } else {
            1e9
        }
    }
}

/// A model in a layout on one unit.
#[derive(Debug, Clone)]
pub(crate) struct Engine<'a> {
    pub(crate) layout: Layout,
    pub(crate) chip: &'a Chip,
    serving: Serving<'a>,
    /// Multiply-adds that expand one cached token.
    expansion_macs: f64,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(question: &'a Question, chip: &'a Chip, layout: Layout) -> Self {
        let precision = question.precision;
        let stage_chips = f64::from(layout.tensor * layout.data);
        let spread = if layout.distributes_experts() {
            Spread::Experts
        } else {
            Spread::Tensor
        };
        let reached = question.efficiency_of(chip);
        Self {
            layout,
            chip,
            serving: Serving {
                architecture: &question.model.architecture,
                cache: precision.cache_of(&question.model.architecture),
                weights: precision.formats,
                kv_bytes_per_element: precision.cache,
                machine: machine_of(chip, question, stage_chips),
                spread,
                attention_chips: f64::from(layout.tensor),
                efficiencies: reached.efficiencies,
                overheads: reached.overheads,
                overlap: reached.overlap,
                speculation: question.speculation,
            },
            expansion_macs: if reached.overheads.counts_kernels {
                expansion_macs(&question.model.architecture)
            } else {
                0.0
            },
        }
    }

    /// Errors of what is predicted of such units; none of the bare rooflines.
    pub(crate) fn time_range(&self) -> Option<&'static TimeRange> {
        if self.serving.overheads == Overheads::NONE {
            return None;
        }
        let of = Predicted {
            has_experts: self.serving.architecture.experts.is_some(),
            distributes_experts: self.layout.distributes_experts(),
        };
        fitted_attainment().time_range(of, &self.chip.row.generation)
    }

    fn stages(&self) -> f64 {
        f64::from(self.layout.pipeline)
    }

    /// Time of the stage with most layers over the mean: layers are not cut, and the others wait for it.
    fn slowest_stage(&self) -> f64 {
        if !self.serving.overheads.counts_kernels {
            return 1.0;
        }
        let layers = f64::from(self.serving.architecture.layers);
        (layers / self.stages()).ceil() * self.stages() / layers
    }

    /// A decode step of a unit that holds this many sequences; with pipeline stages, each stage works on its share of
    /// them and a token passes through all stages.
    pub(crate) fn step(&self, batch: f64, context_tokens: f64) -> Parts {
        let in_stage = batch / self.stages();
        let step = self.serving.decode(in_stage, context_tokens);
        self.through_stages(&step, in_stage * self.serving.speculation.computed())
    }

    /// A decode step that also computes a chunk of a prompt for each group of chips, and in each stage.
    pub(crate) fn mixed_step(&self, batch: f64, context_tokens: f64, chunk: PromptTokens) -> Parts {
        let (in_stage, chunks) = (batch / self.stages(), f64::from(self.layout.data));
        let step = self.serving.mixed(in_stage, context_tokens, chunks, chunk);
        let tokens = in_stage * self.serving.speculation.computed() + chunks * chunk.fresh;
        let mut parts = self.through_stages(&step, tokens);
        let expansion = chunks * self.expansion_s(chunk.cached);
        parts.weight_compute_s += expansion;
        parts.total_s += expansion;
        parts
    }

    /// A step of so many tokens after the exchanges of stages.
    fn through_stages(&self, step: &PassTime, tokens: f64) -> Parts {
        let mut parts = Parts::of(step).times(self.slowest_stage());
        let added = self.hops_s(tokens, self.stages());
        parts.communication_s += added;
        parts.total_s += added;
        parts
    }

    /// A prefill pass of these prompts. Stages work on different passes at once.
    pub(crate) fn pass(&self, prompts: f64, fresh: f64, cached: f64) -> Parts {
        let prompt = PromptTokens { fresh, cached };
        let pass = Parts::of(&self.serving.prefill(prompts, prompt));
        let mut parts = pass.times(self.slowest_stage());
        let expansion = prompts * self.expansion_s(cached);
        parts.weight_compute_s += expansion;
        parts.total_s += expansion;
        let tokens = prompts * fresh;
        let hops = self.hops_s(tokens, self.stages() - 1.0);
        parts.total_s = parts.total_s.max(parts.communication_s) + hops;
        parts.communication_s += hops;
        parts
    }

    /// A pass in which each sequence of a batch computes some tokens: as a step does, which multiplies with the latents
    /// of latent attention, or as prefill, which expands them, whichever is faster.
    pub(crate) fn long_pass(&self, batch: f64, tokens: f64, context_tokens: f64) -> Parts {
        let speculation = Speculation {
            accepted: tokens,
            drafted: tokens - 1.0,
            draft_layers: 0.0,
        };
        let engine = Self {
            serving: Serving {
                speculation,
                ..self.serving.clone()
            },
            ..self.clone()
        };
        let step = engine.step(batch, context_tokens + tokens / 2.0);
        let pass = self.pass(batch, tokens, context_tokens);
        if step.total_s <= pass.total_s {
            step
        } else {
            pass
        }
    }

    /// Time of expanding a cached prefix: prompts of latent attention multiply with whole keys and values, which are computed
    /// again from the latents of the cache (`kv_b_proj` of `_compute_prefill_context` in vLLM's MLA backend).
    fn expansion_s(&self, cached: f64) -> f64 {
        let machine = &self.serving.machine;
        let rate = machine.unit.multiply_rate.0 * machine.other_rate;
        cached * self.expansion_macs / (rate * self.serving.efficiencies.prefill)
    }

    /// Time of handing hidden states from stage to stage.
    fn hops_s(&self, tokens: f64, hops: f64) -> f64 {
        let Some(share) = self.serving.overheads.network else {
            return 0.0;
        };
        if self.layout.pipeline == 1 {
            return 0.0;
        }
        let machine = &self.serving.machine;
        let bytes = tokens * f64::from(self.serving.architecture.hidden_dimension) * HIDDEN_BYTES;
        let link = machine
            .scale_out
            .or(machine.scale_up)
            .map_or(f64::INFINITY, |link| link.0);
        let transfer = bytes / (link * machine.chips * share);
        hops * (transfer + self.serving.overheads.per_hop.0)
    }

    /// Memory of the unit with caches of this many tokens per sequence.
    pub(crate) fn memory(&self, context_tokens: f64) -> UnitMemory {
        let held = self.serving.memory(context_tokens);
        UnitMemory {
            capacity: held.capacity.0 * self.stages(),
            usable: held.usable().0 * self.stages(),
            weights: held.weights.0,
            per_sequence: held.per_sequence.0,
        }
    }

    /// Bytes of the cache of a context, once.
    pub(crate) fn cache_bytes(&self, context_tokens: f64) -> f64 {
        let elements = self.serving.cache.stored_elements(context_tokens);
        elements * self.serving.kv_bytes_per_element + self.serving.cache.state_per_sequence().0
    }

    /// Chips of a unit.
    pub(crate) fn chips(&self) -> f64 {
        f64::from(self.layout.chips())
    }
}

/// Multiply-adds that compute keys and values of one token from its latents, over all layers; none where a prompt multiplies
/// with the latents themselves.
fn expansion_macs(architecture: &Architecture) -> f64 {
    let of_group = |group: &AttentionGroup| match group {
        AttentionGroup::Latent(group) if group.sparse.is_none() => {
            let expanded = f64::from(group.nope_dimension) + f64::from(group.value_dimension);
            let heads = f64::from(group.layers) * f64::from(group.query_heads);
            heads * f64::from(group.kv_lora_rank) * expanded
        }
        _ => 0.0,
    };
    architecture.attention.iter().map(of_group).sum()
}

/// The chips of a stage or a group.
fn machine_of(chip: &Chip, question: &Question, chips: f64) -> Machine {
    chip.machine(&question.model, &question.precision, chips)
}
