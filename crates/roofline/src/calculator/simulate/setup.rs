//! A model on a machine: what the load of a simulation is put on.

use super::hardware::Hardware;
use super::measured::Learned;
use super::measured::rows::MeasuredRow;
use crate::calculator::scenario::efficiency::Efficiency;
use crate::calculator::scenario::{Model, Precision};
use crate::forward::{
    KvCache, PromptTokens, Serving, ServingUnit, Speculation, compute_to_bandwidth, optimal_batch,
};
use unroof_base::units::Bytes;

/// Prompt tokens of a pass.
const PASS_TOKENS: f64 = 16_384.0;

/// A model on a machine.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) model: Model,
    pub(super) cache: KvCache,
    pub(super) precision: Precision,
    pub(super) hardware: Hardware,
    pub(super) efficiency: Efficiency,
    /// Efficiencies by rows of one's own benchmark.
    pub(super) learned: Option<Learned>,
}

impl Setup {
    /// The setup, where all of it is known.
    pub(super) fn of(
        model: Option<&Model>,
        precision: Option<Precision>,
        hardware: Option<&Hardware>,
        efficiency: Option<Efficiency>,
    ) -> Option<Self> {
        let (model, precision) = (model?.clone(), precision?);
        Some(Self {
            cache: precision.cache_of(&model.architecture),
            model,
            precision,
            hardware: hardware?.clone(),
            efficiency: efficiency?,
            learned: None,
        })
    }

    pub(super) fn unit(&self) -> &ServingUnit {
        &self.hardware.machine.unit
    }

    /// The model as it is served, with this way of decoding.
    pub(super) fn serving(&self, speculation: Speculation) -> Serving<'_> {
        self.serving_at(self.efficiency, speculation)
    }

    /// The setup with what rows of one's own benchmark say.
    pub(super) fn learning(self, speculation: Speculation, rows: &[MeasuredRow]) -> Self {
        let round_s = |efficiency, row: &MeasuredRow| self.round_s(efficiency, speculation, row);
        let learned = Learned::of(self.efficiency, rows, round_s);
        Self {
            efficiency: learned.efficiency(),
            learned: Some(learned),
            ..self
        }
    }

    /// Time in which every request gets a token, where the chips compute prompts and answers: a step, and for each of its
    /// tokens its share of a prompt.
    fn round_s(&self, efficiency: Efficiency, speculation: Speculation, row: &MeasuredRow) -> f64 {
        let serving = self.serving_at(efficiency, speculation);
        let context = row.input_tokens + row.output_tokens / 2.0;
        let step_s = serving.decode(row.concurrency, context).total.0 / speculation.accepted;
        let prompts = (PASS_TOKENS / row.input_tokens).max(1.0);
        let pass = serving.prefill(prompts, PromptTokens::fresh(row.input_tokens));
        step_s + row.concurrency * pass.total.0 / prompts / row.output_tokens
    }

    /// The model as it is served with other efficiencies.
    pub(super) fn serving_at(
        &self,
        efficiency: Efficiency,
        speculation: Speculation,
    ) -> Serving<'_> {
        Serving {
            architecture: &self.model.architecture,
            cache: self.cache.clone(),
            weights: self.precision.formats,
            kv_bytes_per_element: self.precision.cache,
            machine: self.hardware.machine,
            spread: self.hardware.spread,
            attention_chips: self.hardware.attention_chips,
            efficiencies: efficiency.efficiencies,
            overheads: efficiency.overheads,
            overlap: efficiency.overlap,
            speculation,
        }
    }

    /// ρ: peak multiply-adds per parameter read.
    pub(super) fn compute_to_bandwidth(&self) -> f64 {
        let (weights, unit) = (self.precision.weights, self.unit());
        compute_to_bandwidth(weights, unit.multiply_rate, unit.bandwidth)
    }

    /// w·`N_t`: bytes of all weights.
    pub(super) fn weights(&self) -> Bytes {
        Bytes(self.precision.weights * self.model.architecture.total_parameters)
    }

    /// The weights that a step may read: all but the input embedding.
    pub(super) fn readable_weights(&self) -> Bytes {
        let embedding = self.model.architecture.input_embedding_parameters;
        Bytes(self.weights().0 - self.precision.formats.embedding * embedding)
    }

    /// B* of plain decoding: the batch at which memory time and compute time are equal.
    pub(super) fn optimal_batch(&self) -> f64 {
        let sparsity = self.model.architecture.sparsity();
        optimal_batch(self.compute_to_bandwidth(), sparsity)
    }

    /// Bytes that a step reads and writes for one sequence: cache, and linear state twice.
    pub(super) fn kv_bytes_per_sequence(&self, context_tokens: f64) -> f64 {
        self.cache.read_elements(context_tokens) * self.precision.cache
            + 2.0 * self.cache.state_per_sequence().0
    }
}
