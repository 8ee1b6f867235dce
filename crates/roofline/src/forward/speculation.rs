//! Speculative decoding: tokens that a step checks, and those of them that it accepts.
//!
//! ```
//! use unroof_roofline::forward::{Speculation, token_acceptance};
//!
//! let drafts = Speculation::of(0.8, 3.0, 1.0);
//! let (second, third) = (0.8 * 0.96, 0.8 * 0.96 * 0.96);
//! assert!((drafts.accepted - (1.0 + 0.8 + 0.8 * second + 0.8 * second * third)).abs() < 1e-12);
//! assert!((token_acceptance(drafts.accepted, 3.0) - 0.8).abs() < 1e-9);
//! ```

/// Drafting several tokens and checking them in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speculation {
    /// V: tokens accepted per step, including the one that is always correct.
    pub accepted: f64,
    /// γ: tokens drafted per step.
    pub drafted: f64,
    /// Layers that draft a token, one after the other, of the size of the model's own; they cost nothing at peak.
    pub draft_layers: f64,
}

impl Speculation {
    /// One token per step.
    pub const NONE: Self = Self {
        accepted: 1.0,
        drafted: 0.0,
        draft_layers: 0.0,
    };

    /// Drafts of γ tokens, of which the first is accepted with chance α and each further one, where those before are, with
    /// 0.96 times the chance of the one before: V = 1 + Σ `α^i`·`0.96^(i·(i − 1)/2)`, i = 1 … γ.
    #[must_use]
    pub fn of(token_acceptance: f64, drafted: f64, draft_layers: f64) -> Self {
        Self {
            accepted: accepted(token_acceptance, drafted),
            drafted,
            draft_layers,
        }
    }

    /// Tokens per sequence that a step computes, γ + 1.
    #[must_use]
    pub fn computed(&self) -> f64 {
        self.drafted + 1.0
    }
}

/// Chance of a drafted token over that of the one before it: the median of drafts of 3 and of 7 tokens by the same drafter in
/// `draft_acceptance.csv`.
const DECAY: f64 = 0.96;

fn accepted(token_acceptance: f64, drafted: f64) -> f64 {
    let (mut tokens, mut reached, mut chance, mut left) = (1.0, 1.0, token_acceptance, drafted);
    while left > 0.0 && reached > 1e-12 {
        reached *= chance;
        tokens += reached * left.min(1.0);
        chance *= DECAY;
        left -= 1.0;
    }
    tokens
}

/// α: the chance with which the first drafted token is accepted, from the tokens per step.
#[must_use]
pub fn token_acceptance(accepted_per_step: f64, drafted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if accepted(middle, drafted) < accepted_per_step {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
