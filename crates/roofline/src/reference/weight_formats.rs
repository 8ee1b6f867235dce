//! Bytes per parameter of a model's weights, by component.

use super::architecture::Architecture;
use unroof_base::units::Bytes;

/// Bytes per parameter in memory, by component, scales included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightFormats<N = f64> {
    /// Bytes per parameter of the routed experts.
    pub experts: N,
    /// Everything else but the input embedding: attention, shared experts, dense layers, the output head.
    pub others: N,
    /// Bytes per parameter of the input embedding.
    pub embedding: N,
}

impl<N: Copy> WeightFormats<N> {
    /// One width for all.
    #[must_use]
    pub fn uniform(bytes: N) -> Self {
        Self {
            experts: bytes,
            others: bytes,
            embedding: bytes,
        }
    }
}

impl WeightFormats {
    /// All weights of a model, once.
    #[must_use]
    pub fn bytes_of(&self, architecture: &Architecture) -> Bytes {
        let (experts, embedding) = (
            architecture.expert_parameters(),
            architecture.input_embedding_parameters,
        );
        let others = architecture.total_parameters - experts - embedding;
        Bytes(self.experts * experts + (self.others * others + self.embedding * embedding))
    }

    /// w: bytes per parameter in the mean over a model.
    #[must_use]
    pub fn mean(&self, architecture: &Architecture) -> f64 {
        if self.experts.total_cmp(&self.others).is_eq()
            && self.others.total_cmp(&self.embedding).is_eq()
        {
            return self.others;
        }
        self.bytes_of(architecture).0 / architecture.total_parameters
    }
}
