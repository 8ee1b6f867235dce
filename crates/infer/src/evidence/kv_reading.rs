//! Bytes of cache that a step reads, by context: windows and selected entries stop growing, the rest does not.
//!
//! ```
//! use unroof_infer::evidence::kv_reading::KvReading;
//! use unroof_roofline::reference::AttentionKind;
//!
//! let grouped = KvReading::of_bytes(AttentionKind::Grouped, 70e3, 70e3);
//! assert_eq!(grouped.bytes_at(2_000.0), 2_000.0 * 70e3);
//! // With windows a step reads fewer bytes per token the longer the context is.
//! let windowed = KvReading::of_bytes(AttentionKind::Windowed, 70e3, 35e3);
//! assert!(windowed.bytes_at(200_000.0) < 200_000.0 * 70e3);
//! ```

use unroof_base::units::number::Number;
pub use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::reference::AttentionKind;

/// Window of a windowed layer, tokens; most have 128 to 4,096.
const WINDOW_TOKENS: f64 = 1_024.0;

/// Bytes read per further token of a very long context over those read per token at 8,192: index keys and coarse
/// entries alone. The medians of the open-weight models.
fn slope_over_read(kind: AttentionKind) -> f64 {
    match kind {
        AttentionKind::Sparse => 0.45,
        AttentionKind::Compressed => 0.37,
        AttentionKind::Grouped
        | AttentionKind::Latent
        | AttentionKind::Windowed
        | AttentionKind::HybridLinear => 1.0,
    }
}

/// log of the bytes read per further token of a very long context over those read per token at 8,192; `None` for
/// windowed attention, whose other layers read per token the bytes that they store.
pub(crate) fn log_slope_over_read(kind: AttentionKind) -> Option<f64> {
    (kind != AttentionKind::Windowed).then(|| slope_over_read(kind).ln())
}

/// Bytes that one decode step reads of a context of C tokens: slope·C + bounded·min(C, limit), at one byte per element.
///
/// At every context they are at most what is stored: a window is read as it is stored, a selection is a part of what is
/// stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvReading<N = f64> {
    /// Bytes per token at any context.
    slope: N,
    /// Further bytes per token up to the limit.
    bounded: N,
    /// Tokens up to which the further bytes are read.
    limit: N,
    /// Bytes stored per token at any context.
    stored: N,
    /// Further bytes stored per token up to the limit.
    windows: N,
}

impl<N: Number> KvReading<N> {
    /// From the kind of attention, log of the bytes read per token at 8,192 tokens, and log of the bytes stored per token of
    /// a long context.
    #[must_use]
    pub fn new(kind: AttentionKind, log_read: N, log_stored: N) -> Self {
        Self::of_bytes(kind, log_read.exp(), log_stored.exp())
    }

    /// Bytes read by context from the kind of attention, bytes read per token at 8,192 tokens and bytes stored per token.
    #[must_use]
    pub fn of_bytes(kind: AttentionKind, read: N, stored: N) -> Self {
        let zero = N::splat(0.0);
        match kind {
            AttentionKind::Grouped | AttentionKind::Latent | AttentionKind::HybridLinear => Self {
                slope: read,
                bounded: zero,
                limit: zero,
                stored,
                windows: zero,
            },
            AttentionKind::Windowed => {
                let slope = stored.min(read);
                let windows = (read - slope) * READ_CONTEXT_TOKENS / WINDOW_TOKENS;
                Self {
                    slope,
                    bounded: windows,
                    limit: N::splat(WINDOW_TOKENS),
                    stored: slope,
                    windows,
                }
            }
            AttentionKind::Sparse | AttentionKind::Compressed => {
                let stored = stored.max(read);
                let slope = read * slope_over_read(kind);
                Self {
                    slope,
                    bounded: stored - slope,
                    limit: (read - slope) * READ_CONTEXT_TOKENS / (stored - slope),
                    stored,
                    windows: zero,
                }
            }
        }
    }

    /// log of the bytes read per further token of a very long context.
    #[must_use]
    pub fn log_slope(self) -> N {
        self.slope.ln()
    }

    /// Bytes that a step reads at a context.
    #[must_use]
    pub fn bytes_at(self, context_tokens: N) -> N {
        self.slope * context_tokens + self.bounded * context_tokens.min(self.limit)
    }

    /// Bytes stored of a context, windows included.
    #[must_use]
    pub fn stored_at(self, context_tokens: N) -> N {
        self.stored * context_tokens + self.windows * context_tokens.min(self.limit)
    }

    /// Bytes that steps at all contexts up to this one read together, ∫ `bytes_at`, times tokens.
    #[must_use]
    pub fn read_up_to(self, context_tokens: N) -> N {
        let within = context_tokens.min(self.limit);
        let beyond = context_tokens - within;
        self.slope * 0.5 * context_tokens * context_tokens
            + self.bounded * within * (within * 0.5 + beyond)
    }

    /// Context at which a step reads this many bytes.
    #[must_use]
    pub fn context_of(self, bytes: N) -> N {
        let within = bytes / (self.slope + self.bounded);
        let beyond = (bytes - self.bounded * self.limit) / self.slope;
        self.limit.if_less(within, beyond, within)
    }
}

impl KvReading {
    /// Whether a model of this kind can read and store as much.
    #[must_use]
    pub fn is_possible(kind: AttentionKind, log_read: f64, log_stored: f64) -> bool {
        match kind {
            AttentionKind::Windowed => log_read >= log_stored,
            AttentionKind::Sparse | AttentionKind::Compressed => log_read <= log_stored,
            AttentionKind::Grouped | AttentionKind::Latent | AttentionKind::HybridLinear => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_read_agree_at_8192_tokens_and_have_an_inverse() {
        for (kind, read, stored) in [
            (AttentionKind::Grouped, 1e5, 1e5),
            (AttentionKind::Windowed, 1.65e5, 1e5),
            (AttentionKind::Sparse, 21_216.0, 54_912.0),
            (AttentionKind::Compressed, 4e3, 7e3_f64),
        ] {
            let reading = KvReading::new(kind, f64::ln(read), f64::ln(stored));
            let at = reading.bytes_at(READ_CONTEXT_TOKENS);
            assert!(
                (at / (read * READ_CONTEXT_TOKENS) - 1.0).abs() < 1e-9,
                "{kind:?}"
            );
            for context in [64.0, 1_000.0, 5_000.0, 1e6] {
                let back = reading.context_of(reading.bytes_at(context));
                assert!((back / context - 1.0).abs() < 1e-9, "{kind:?} {context}");
            }
        }
    }

    #[test]
    fn sparse_attention_reads_no_more_than_is_stored() {
        let reading = KvReading::new(AttentionKind::Sparse, f64::ln(21_216.0), f64::ln(54_912.0));
        for context in [1.0, 100.0, 2_048.0, 8_192.0, 1e6] {
            assert!(reading.bytes_at(context) <= 54_912.0 * context * (1.0 + 1e-12));
        }
        // 78 layers that select 2,048 entries of 576 and read index keys of 128.
        assert!((reading.bytes_at(2_048.0) / (2_048.0 * 54_912.0) - 1.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn a_step_reads_no_more_than_is_stored_at_any_context_and_of_any_further_token(
            kind in proptest::sample::select(AttentionKind::ALL.to_vec()),
            log_read in 2.0..16.0_f64,
            log_stored in 2.0..16.0_f64,
            log_context in 0.0..16.0_f64,
        ) {
            let log_read = if kind.reads_other_than_stored() { log_read } else { log_stored };
            prop_assume!(KvReading::is_possible(kind, log_read, log_stored));
            let reading = KvReading::new(kind, log_read, log_stored);
            let context = log_context.exp();
            let (read, stored) = (reading.bytes_at(context), reading.stored_at(context));
            prop_assert!(read <= stored * (1.0 + 1e-12), "{kind:?} {context}: {read} of {stored}");
            prop_assert!(reading.log_slope() <= log_stored + 1e-12);
            prop_assert!(reading.log_slope() <= log_read + 1e-12);
            let between = reading.read_up_to(1.01 * context) - reading.read_up_to(context);
            let middle = 0.01 * context * reading.bytes_at(1.005 * context);
            prop_assert!((between / middle).ln().abs() < 0.01, "{kind:?} {context}");
            let far = 1e9;
            let further = reading.bytes_at(2.0 * far) - reading.bytes_at(far);
            prop_assert!((further / far).ln() - reading.log_slope() < 1e-6);
        }
    }
}
