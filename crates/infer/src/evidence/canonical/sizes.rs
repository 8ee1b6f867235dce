//! The sizes that a canonical model is made of.

pub(super) use crate::evidence::kv_reading::{KvReading, READ_CONTEXT_TOKENS};
use unroof_roofline::forward::KvCache;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::architecture::Architecture;

/// The sizes that a draw of the joint estimate has; natural logarithms, KV in elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes<N = f64> {
    /// log `N_a`: active parameters.
    pub log_active: N,
    /// log `N_t`, at least log `N_a`
    pub log_total: N,
    /// log `k_bw`, of a context of 8,192 tokens
    pub log_kv_read: N,
    /// log `k_st`: KV bytes stored per token.
    pub log_kv_stored: N,
    /// Whether the model is dense.
    pub is_dense: bool,
    /// Kind of attention of the model.
    pub attention: AttentionKind,
}

impl Sizes {
    /// The sizes of an architecture.
    #[must_use]
    pub(crate) fn of(architecture: &Architecture) -> Self {
        let cache = KvCache::new(architecture);
        let stored = cache.stored_elements_per_token();
        Self {
            log_active: architecture.active_parameters.ln(),
            log_total: architecture.total_parameters.ln(),
            log_kv_read: (cache.read_elements(READ_CONTEXT_TOKENS) / READ_CONTEXT_TOKENS).ln(),
            log_kv_stored: stored.ln(),
            is_dense: architecture.experts.is_none(),
            attention: AttentionKind::of(&architecture.attention),
        }
    }

    /// Elements that a step reads, and those stored, by context.
    pub(super) fn reading(&self) -> KvReading {
        KvReading::new(self.attention, self.log_kv_read, self.log_kv_stored)
    }
}
