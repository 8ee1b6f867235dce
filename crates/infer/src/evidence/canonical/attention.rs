//! Attention of a canonical model, by what its cache reads and stores.

use crate::evidence::kv_reading::KvReading;
use unroof_base::units::number::Number;
use unroof_roofline::forward::{AttentionKernels, KvCache, PromptTokens};

/// Attention of a model: what it reads and stores of a context, and its arithmetic.
#[derive(Debug, Clone, Copy)]
pub enum Attention<N = f64> {
    /// Attention in proportion to the elements that are read.
    Proportional {
        /// Elements that are read and stored, by context.
        reading: KvReading<N>,
        /// Multiply-adds of a generated token per element that it reads.
        decode_macs: N,
        /// Multiply-adds of a prompt token per element that it would read if computed alone.
        prefill_macs: N,
        /// Bytes of linear state per sequence.
        state_bytes: N,
    },
    /// Attention of an open-weight model.
    Known(&'static KvCache),
}

/// Arithmetic of kernels over chips that cut a cache by heads.
fn kernels(chips: f64) -> AttentionKernels {
    AttentionKernels {
        chips,
        fill_selections: true,
    }
}

impl<N: Number> Attention<N> {
    /// Elements that a step reads of a sequence, and its multiply-adds with them; over chips that cut a cache by heads.
    #[must_use]
    pub fn decode(&self, context_tokens: N, chips: N) -> (N, N) {
        match *self {
            Self::Proportional {
                reading,
                decode_macs,
                ..
            } => {
                let read = reading.bytes_at(context_tokens);
                (read, decode_macs * read)
            }
            Self::Known(cache) => {
                let read =
                    |lane| cache.read_elements_cut(context_tokens.lane(lane), chips.lane(lane));
                let macs = |lane| {
                    cache.decode_macs_of(context_tokens.lane(lane), kernels(chips.lane(lane)))
                };
                (N::of_lanes(read), N::of_lanes(macs))
            }
        }
    }

    /// Elements that a prompt reads and writes, and its multiply-adds with them.
    #[must_use]
    pub fn prefill(&self, prompt: PromptTokens<N>, chips: N) -> (N, N) {
        match *self {
            Self::Proportional {
                reading,
                prefill_macs,
                ..
            } => {
                let tokens = prompt.cached + prompt.fresh;
                let read = reading.read_up_to(tokens) - reading.read_up_to(prompt.cached);
                (self.stored(tokens, chips), prefill_macs * read)
            }
            Self::Known(cache) => {
                let macs = |lane| {
                    let prompt = PromptTokens {
                        fresh: prompt.fresh.lane(lane),
                        cached: prompt.cached.lane(lane),
                    };
                    cache.prefill_macs_of(prompt, kernels(chips.lane(lane)))
                };
                let stored = self.stored(prompt.cached + prompt.fresh, chips);
                (stored, N::of_lanes(macs))
            }
        }
    }

    /// Elements stored for a context.
    #[must_use]
    pub fn stored(&self, context_tokens: N, chips: N) -> N {
        match *self {
            Self::Proportional { reading, .. } => reading.stored_at(context_tokens),
            Self::Known(cache) => N::of_lanes(|lane| {
                cache.stored_elements_cut(context_tokens.lane(lane), chips.lane(lane))
            }),
        }
    }

    /// Whether it is stored by heads, of which a chip has a whole number.
    #[must_use]
    pub fn has_heads(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// Bytes of linear state per sequence.
    #[must_use]
    pub fn state_bytes(&self) -> N {
        match *self {
            Self::Proportional { state_bytes, .. } => state_bytes,
            Self::Known(cache) => N::splat(cache.state_per_sequence().0),
        }
    }
}
