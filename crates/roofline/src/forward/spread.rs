//! Distribution of a model's weights over the chips of a serving unit.

use unroof_base::units::number::Number;

/// Distribution of a model over chips. The KV cache is distributed evenly in both cases, by head or by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Every matrix is split over all chips; two all-reduces per layer.
    Tensor,
    /// Experts are distributed over the chips, all other weights are replicated; two all-to-all exchanges per layer with
    /// experts.
    Experts,
}

impl Spread {
    /// Copies of the weights outside of experts.
    pub(super) fn copies<N: Number>(self, chips: N) -> N {
        match self {
            Self::Tensor => N::splat(1.0),
            Self::Experts => chips,
        }
    }
}

/// Places for experts over experts, where every chip has a whole number of them: those that are left over hold copies, as
/// the 288 of DeepSeek on 144 chips do. One where experts have no places.
pub(super) fn places_over_experts<N: Number>(placed_experts: Option<N>, chips: N) -> N {
    placed_experts.map_or(N::splat(1.0), |experts| {
        (experts / chips).ceil() * chips / experts
    })
}
