//! Memory of a serving unit, and what a model and its caches take of it.

use super::spread::{Spread, places_over_experts};
use unroof_base::units::Bytes;
use unroof_base::units::number::Number;

/// Memory of a serving unit, and its use.
#[derive(Debug, Clone, Copy)]
pub struct MemoryUse {
    /// C: HBM capacity of the unit.
    pub capacity: Bytes,
    /// Memory that an engine leaves free, and that of a pass's hidden states.
    pub reserved: Bytes,
    /// Weights; with distributed experts, the other weights are on every chip.
    pub weights: Bytes,
    /// Cache and linear state of one sequence, with all copies.
    pub per_sequence: Bytes,
}

impl MemoryUse {
    /// Room for weights and caches.
    #[must_use]
    pub fn usable(&self) -> Bytes {
        Bytes(self.capacity.0 - self.reserved.0)
    }

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
        let missing = self.weights.0 + batch * self.per_sequence.0 - self.usable().0;
        (missing > 0.0).then_some(Bytes(missing))
    }
}

/// Memory of units of any number of chips, and what weights take of it.
#[derive(Debug, Clone, Copy)]
pub struct MemoryByChips<N = f64> {
    /// HBM capacity of a chip.
    pub(super) capacity: Bytes<N>,
    /// Memory of a chip that is not for weights and caches.
    pub(super) reserved: Bytes<N>,
    /// Bytes of all experts, each once.
    pub(super) experts: N,
    /// Bytes of all other weights, once.
    pub(super) others: N,
    /// Routed experts, where every chip has a whole number of places for them.
    pub(super) placed_experts: Option<N>,
    pub(super) spread: Spread,
}

impl<N: Number> MemoryByChips<N> {
    /// Weights, with all copies.
    fn weights(&self, chips: f64) -> N {
        let chips = N::splat(chips);
        let experts = self.experts * places_over_experts(self.placed_experts, chips);
        experts + self.others * self.spread.copies(chips)
    }

    /// Bytes that a unit of this many chips lacks for weights and these caches; negative where it has room.
    pub fn missing(&self, chips: f64, caches: Bytes<N>) -> N {
        let usable = self.capacity.0 * chips - self.reserved.0 * chips;
        self.weights(chips) + caches.0 - usable
    }
}

impl MemoryByChips {
    /// Memory use of a unit of this many chips, with this many bytes of cache and state per sequence.
    pub(super) fn on(&self, chips: f64, per_sequence: Bytes) -> MemoryUse {
        MemoryUse {
            capacity: self.capacity * chips,
            reserved: self.reserved * chips,
            weights: Bytes(self.weights(chips)),
            per_sequence,
        }
    }
}
