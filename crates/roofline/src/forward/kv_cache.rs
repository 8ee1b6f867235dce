//! Bytes of KV cache and arithmetic of attention, for every kind of attention.

use super::PromptTokens;
use crate::reference::architecture::{Architecture, AttentionGroup, Sparse};
use unroof_base::units::{Bytes, BytesPerToken};

/// Context at which bytes read per token are stated, tokens.
pub const READ_CONTEXT_TOKENS: f64 = 8_192.0;

/// Entries of one kind in a layer's cache: size, number per context, number read per step, and multiply-adds of a query
/// with one.
///
/// Every kind of attention is a list of these, so that sizes and arithmetic are the same sums for all kinds.
#[derive(Debug, Clone, Copy)]
struct Entries {
    layers: f64,
    /// Elements of one entry.
    elements: f64,
    /// Entries per context token.
    per_token: f64,
    /// Limit of kept entries, if any.
    kept: f64,
    /// Whether the kept entries are those of one chunk, of which a token sees those before it.
    are_chunks: bool,
    /// Limit of entries read per step, if any.
    read: f64,
    /// Multiply-adds of a generated token with one entry.
    decode_macs: f64,
    /// Multiply-adds of a prompt token with one entry.
    prefill_macs: f64,
    /// Heads that an entry is made of: the most chips it can be cut over.
    heads: f64,
    /// Whether these are the keys of an indexer, which every chip multiplies with all its heads.
    are_index_keys: bool,
}

/// Arithmetic of attention's kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionKernels {
    /// Chips over which heads are cut: each has the whole indexer.
    pub chips: f64,
    /// Whether a token that may select k entries is multiplied with k, also where its context has fewer: kernels of sparse
    /// attention take a list of k indices per token (`indices` of `FlashMLA`, where those that are missing are -1).
    pub fill_selections: bool,
}

impl AttentionKernels {
    /// Nothing but what has to be multiplied.
    pub const IDEAL: Self = Self {
        chips: 1.0,
        fill_selections: false,
    };
}

impl Entries {
    fn all(layers: u32, elements: f64) -> Self {
        Self {
            layers: f64::from(layers),
            elements,
            per_token: 1.0,
            kept: f64::INFINITY,
            are_chunks: false,
            read: f64::INFINITY,
            decode_macs: 0.0,
            prefill_macs: 0.0,
            heads: 1.0,
            are_index_keys: false,
        }
    }

    fn of_heads(self, heads: u32) -> Self {
        Self {
            heads: f64::from(heads),
            ..self
        }
    }

    fn with_macs(self, decode_macs: f64, prefill_macs: f64) -> Self {
        Self {
            decode_macs,
            prefill_macs,
            ..self
        }
    }

    fn within(self, window: Option<u32>) -> Self {
        Self {
            kept: window.map_or(self.kept, f64::from),
            ..self
        }
    }

    fn in_chunks(self, are_chunks: bool) -> Self {
        Self { are_chunks, ..self }
    }

    fn one_per(self, tokens: u32) -> Self {
        Self {
            per_token: 1.0 / f64::from(tokens),
            ..self
        }
    }

    /// Adds an indexer that selects the best of these entries by its keys.
    fn picked_by(self, sparse: Option<Sparse>) -> Vec<Self> {
        let Some(sparse) = sparse else {
            return vec![self];
        };
        let index_macs = f64::from(sparse.index_heads) * f64::from(sparse.index_dimension);
        let keys = Self {
            elements: f64::from(sparse.index_dimension),
            decode_macs: index_macs,
            prefill_macs: index_macs,
            heads: 1.0,
            are_index_keys: true,
            ..self
        };
        let picked = Self {
            read: f64::from(sparse.top_k),
            ..self
        };
        vec![picked, keys]
    }

    /// Copies of an entry over chips that cut it by heads.
    fn copies(&self, chips: f64) -> f64 {
        (chips / self.heads).max(1.0)
    }

    fn kept_at(&self, context_tokens: f64) -> f64 {
        (context_tokens * self.per_token).min(self.kept)
    }

    /// Entries that a token reads: of a chunk that is not the first, half of it in the mean.
    fn read_at(&self, context_tokens: f64) -> f64 {
        let kept = self.kept_at(context_tokens).min(self.read);
        let is_later_chunk = self.are_chunks && context_tokens * self.per_token > self.kept;
        if is_later_chunk { kept / 2.0 } else { kept }
    }

    /// Chips that each do all multiply-adds with these entries.
    fn repeated(&self, kernels: AttentionKernels) -> f64 {
        if self.are_index_keys {
            kernels.chips
        } else {
            1.0
        }
    }

    /// Whether a token is multiplied with as many entries as it may select, whatever its context.
    fn are_filled(&self, kernels: AttentionKernels) -> bool {
        kernels.fill_selections && self.read.is_finite()
    }

    fn multiplied_at(&self, context_tokens: f64, kernels: AttentionKernels) -> f64 {
        let entries = if self.are_filled(kernels) {
            self.read
        } else {
            self.read_at(context_tokens)
        };
        entries * self.repeated(kernels)
    }

    fn multiplied_over(&self, prompt: PromptTokens, kernels: AttentionKernels) -> f64 {
        let entries = if self.are_filled(kernels) {
            self.read * prompt.fresh
        } else {
            self.read_over(prompt)
        };
        entries * self.repeated(kernels)
    }

    fn grows_in_storage(&self) -> bool {
        self.kept.is_infinite()
    }

    fn grows_in_reading(&self) -> bool {
        self.grows_in_storage() && self.read.is_infinite()
    }

    /// ∫ of the entries read over the contexts of a prompt's tokens.
    fn read_over(&self, prompt: PromptTokens) -> f64 {
        let most = self.kept.min(self.read);
        let up_to = |tokens: f64| {
            let bounded_from = (most / self.per_token).min(tokens);
            let bounded = if tokens > bounded_from && self.are_chunks {
                let (whole, rest) = ((tokens / most).floor() - 1.0, tokens % most);
                f64::midpoint(whole * most * most, rest * rest)
            } else if tokens > bounded_from {
                most * (tokens - bounded_from)
            } else {
                0.0
            };
            self.per_token * bounded_from * bounded_from / 2.0 + bounded
        };
        up_to(prompt.cached + prompt.fresh) - up_to(prompt.cached)
    }
}

fn entries(group: &AttentionGroup) -> Vec<Entries> {
    match group {
        AttentionGroup::GroupedQuery(group) => {
            let head = f64::from(group.key_dimension) + f64::from(group.value_dimension);
            let macs = f64::from(group.query_heads) * head;
            Entries::all(group.layers, f64::from(group.kv_heads) * head)
                .of_heads(group.kv_heads)
                .with_macs(macs, macs)
                .within(group.window)
                .in_chunks(group.chunked == Some(true))
                .picked_by(group.sparse)
        }
        AttentionGroup::Latent(group) => {
            let heads = f64::from(group.query_heads);
            let (latent, rope) = (
                f64::from(group.kv_lora_rank),
                f64::from(group.rope_dimension),
            );
            let absorbed = heads * (2.0 * latent + rope);
            let expanded =
                heads * (f64::from(group.nope_dimension) + rope + f64::from(group.value_dimension));
            // Tokens that are picked one by one cannot share an expansion, so sparse prefill is absorbed too.
            let prefill = if group.sparse.is_some() {
                absorbed
            } else {
                expanded
            };
            Entries::all(group.layers, latent + rope)
                .with_macs(absorbed, prefill)
                .picked_by(group.sparse)
        }
        AttentionGroup::Compressed(group) => {
            let size = f64::from(group.head_dimension);
            let macs = 2.0 * f64::from(group.query_heads) * size;
            let raw = Entries::all(group.layers, size).with_macs(macs, macs);
            let compressed = group
                .compression
                .map(|tokens| raw.one_per(tokens).picked_by(group.sparse));
            let mut entries = compressed.unwrap_or_default();
            entries.push(raw.within(Some(group.window)));
            entries
        }
        AttentionGroup::Linear(_) => Vec::new(),
    }
}

/// The KV cache of a model, and attention's arithmetic with it.
#[derive(Debug, Clone)]
pub struct KvCache {
    entries: Vec<Entries>,
    state: Bytes,
}

impl KvCache {
    /// The cache of an architecture.
    #[must_use]
    pub fn new(architecture: &Architecture) -> Self {
        let state = |group: &AttentionGroup| match group {
            AttentionGroup::Linear(group) => {
                f64::from(group.layers) * group.state_elements * group.state_bytes_per_element
            }
            _ => 0.0,
        };
        Self {
            entries: architecture.attention.iter().flat_map(entries).collect(),
            state: Bytes(
                architecture
                    .attention
                    .iter()
                    .map(state)
                    .fold(0.0, |sum, of_group| sum + of_group),
            ),
        }
    }

    /// Cache with index keys of another width: their elements are counted in elements of the cache.
    #[must_use]
    pub fn with_index_keys(mut self, width_over_cache: f64) -> Self {
        let keys = self
            .entries
            .iter_mut()
            .filter(|entries| entries.are_index_keys);
        keys.for_each(|entries| entries.elements *= width_over_cache);
        self
    }

    /// The sum over entries of some kind.
    fn sum_where(
        &self,
        counts: impl Fn(&Entries) -> bool,
        of_entries: impl Fn(&Entries) -> f64,
    ) -> f64 {
        self.sum(|entries| {
            if counts(entries) {
                of_entries(entries)
            } else {
                0.0
            }
        })
    }

    fn sum(&self, of_entries: impl Fn(&Entries) -> f64) -> f64 {
        let amounts = self
            .entries
            .iter()
            .map(|entries| entries.layers * of_entries(entries));
        // The empty sum of floats is -0.
        amounts.fold(0.0, |sum, amount| sum + amount)
    }

    /// E15: `k_st`, elements stored per context token once every window is full: Σ layers · elements per entry.
    ///
    /// Multi-head and grouped-query attention: layers · KV heads · (`d_qk` + `d_v`); MLA: layers · (rank + `d_rope`).
    #[must_use]
    pub fn stored_elements_per_token(&self) -> f64 {
        self.sum_where(Entries::grows_in_storage, |entries| {
            entries.elements * entries.per_token
        })
    }

    /// `k_bw`: elements read per generated token and context token, where windows and picked entries are constant.
    #[must_use]
    pub fn read_elements_per_token(&self) -> f64 {
        self.sum_where(Entries::grows_in_reading, |entries| {
            entries.elements * entries.per_token
        })
    }

    /// Elements of the selected entries that sparse attention reads, at any context length.
    #[must_use]
    pub fn picked_elements(&self) -> f64 {
        let are_picked = |entries: &Entries| entries.read.is_finite();
        self.sum_where(are_picked, |entries| entries.elements * entries.read)
    }

    /// Elements stored for a context: Σ layers · elements · min(entries, window).
    #[must_use]
    pub fn stored_elements(&self, context_tokens: f64) -> f64 {
        self.sum(|entries| entries.elements * entries.kept_at(context_tokens))
    }

    /// Elements that one generated token reads at a context.
    #[must_use]
    pub fn read_elements(&self, context_tokens: f64) -> f64 {
        self.sum(|entries| entries.elements * entries.read_at(context_tokens))
    }

    /// Elements that a sequence stores at a context over chips that cut a cache by heads: each further chip holds a copy of a head.
    /// A latent and an index key belong to all heads, so every chip has its own.
    #[must_use]
    pub fn stored_elements_cut(&self, context_tokens: f64, chips: f64) -> f64 {
        self.sum(|entries| {
            entries.copies(chips) * entries.elements * entries.kept_at(context_tokens)
        })
    }

    /// Elements that one generated token reads over such chips: each reads its own copy.
    #[must_use]
    pub fn read_elements_cut(&self, context_tokens: f64, chips: f64) -> f64 {
        self.sum(|entries| {
            entries.copies(chips) * entries.elements * entries.read_at(context_tokens)
        })
    }

    /// Bytes of cache stored per context token at long context.
    #[must_use]
    pub fn stored_per_token(&self, bytes_per_element: f64) -> BytesPerToken {
        BytesPerToken(self.stored_elements_per_token() * bytes_per_element)
    }

    /// Bytes of cache read per generated token and token of a context.
    #[must_use]
    pub fn read_per_token_at(&self, context_tokens: f64, bytes_per_element: f64) -> BytesPerToken {
        BytesPerToken(self.read_elements(context_tokens) / context_tokens * bytes_per_element)
    }

    /// Bytes of cache read per generated token and further context token at long context.
    #[must_use]
    pub fn read_per_token(&self, bytes_per_element: f64) -> BytesPerToken {
        BytesPerToken(self.read_elements_per_token() * bytes_per_element)
    }

    /// State of linear layers per sequence, as large at any context.
    #[must_use]
    pub fn state_per_sequence(&self) -> Bytes {
        self.state
    }

    /// `a_dec`: multiply-adds per generated token and context token at long context; MLA with absorbed projections.
    #[must_use]
    pub fn decode_macs_per_token(&self) -> f64 {
        self.growing_macs(|entries| entries.decode_macs)
    }

    /// `a_pre`: multiply-adds per prompt token and context token at long context.
    #[must_use]
    pub fn prefill_macs_per_token(&self) -> f64 {
        self.growing_macs(|entries| entries.prefill_macs)
    }

    fn growing_macs(&self, macs: impl Fn(&Entries) -> f64) -> f64 {
        self.sum_where(Entries::grows_in_reading, |entries| {
            macs(entries) * entries.per_token
        })
    }

    /// Multiply-adds of one generated token with the cache of a context.
    #[must_use]
    pub fn decode_macs(&self, context_tokens: f64) -> f64 {
        self.decode_macs_of(context_tokens, AttentionKernels::IDEAL)
    }

    /// Multiply-adds of one generated token with the cache of a context, as kernels do it.
    #[must_use]
    pub fn decode_macs_of(&self, context_tokens: f64, kernels: AttentionKernels) -> f64 {
        self.sum(|entries| entries.decode_macs * entries.multiplied_at(context_tokens, kernels))
    }

    /// Multiply-adds of a whole prompt with the contexts of its tokens; dense: `a_pre`·S·(`P_c` + S/2).
    #[must_use]
    pub fn prefill_macs(&self, prompt: PromptTokens) -> f64 {
        self.prefill_macs_of(prompt, AttentionKernels::IDEAL)
    }

    /// Multiply-adds of a whole prompt with the contexts of its tokens, as kernels do it.
    #[must_use]
    pub fn prefill_macs_of(&self, prompt: PromptTokens, kernels: AttentionKernels) -> f64 {
        self.sum(|entries| entries.prefill_macs * entries.multiplied_over(prompt, kernels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::open_model;

    fn cache(name: &str) -> KvCache {
        KvCache::new(&open_model(name).unwrap().architecture)
    }

    #[test]
    fn a_step_at_8192_tokens_reads_windows_selected_entries_and_index_keys() {
        const CONTEXT: f64 = 8_192.0;
        for (name, elements_per_token) in [
            ("GLM-5", 21_216.0),
            // 57 of its 78 layers take the selection of another, and have no index keys.
            ("GLM-5.2", 13_920.0),
            ("gpt-oss-120b", 18_720.0),
            ("Gemma-3-27B", 67_584.0),
        ] {
            let read = cache(name).read_elements(CONTEXT) / CONTEXT;
            assert!(
                (read / elements_per_token - 1.0).abs() < 1e-12,
                "{name}: {read}"
            );
        }
    }

    #[test]
    fn a_token_reads_half_of_a_later_chunk_in_the_mean() {
        // 36 of its 48 layers see chunks of 8,192 tokens; 8 KV heads of 128 + 128 elements.
        let (entry, cache) = (8.0 * 256.0, cache("Llama-4-Scout"));
        let read = |context: f64| cache.read_elements(context) / entry;
        assert!((read(8_000.0) / (48.0 * 8_000.0) - 1.0).abs() < 1e-12);
        assert!((read(1e5) / (12.0 * 1e5 + 36.0 * 4_096.0) - 1.0).abs() < 1e-12);
        assert!((cache.stored_elements(1e5) / entry - (12.0 * 1e5 + 36.0 * 8_192.0)).abs() < 1.0);
        // Every token of a prompt of two and a half chunks, against the sum over its tokens.
        let [local, prompt] = [36.0, 20_480.0];
        let tokens = PromptTokens::fresh(prompt);
        let of_chunk = |tokens: f64| tokens * tokens / 2.0;
        let local = local * (2.0 * of_chunk(8_192.0) + of_chunk(4_096.0));
        let multiplied = cache.prefill_macs_of(tokens, AttentionKernels::IDEAL);
        let macs_of_entry = 40.0 * 256.0;
        let expected = macs_of_entry * (12.0 * prompt * prompt / 2.0 + local);
        assert!(
            (multiplied / expected - 1.0).abs() < 1e-9,
            "{multiplied} {expected}"
        );
    }

    #[test]
    fn index_keys_have_a_width_of_their_own() {
        let model = open_model("DeepSeek-V3.2").unwrap();
        let (same, narrow) = (
            KvCache::new(&model.architecture),
            KvCache::new(&model.architecture).with_index_keys(0.5),
        );
        let keys = 61.0 * 128.0;
        let stored = |cache: &KvCache| cache.stored_elements_per_token();
        assert!((stored(&same) - stored(&narrow) - keys / 2.0).abs() < 1e-9);
        let macs = |cache: &KvCache| cache.decode_macs_per_token().to_bits();
        assert_eq!(macs(&same), macs(&narrow));
    }

    #[test]
    fn no_model_reads_more_than_it_stores_at_a_context() {
        for model in crate::reference::open_models() {
            let cache = KvCache::new(&model.architecture);
            for context in [128.0, 2_048.0, 8_192.0, 131_072.0] {
                let (read, stored) = (cache.read_elements(context), cache.stored_elements(context));
                assert!(
                    read <= stored,
                    "{} at {context}: {read} {stored}",
                    model.name
                );
            }
        }
    }
}
