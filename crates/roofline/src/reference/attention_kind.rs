//! Kinds of attention, as far as they decide how much cache a model stores and reads.

use serde::{Deserialize, Serialize};

use super::architecture::AttentionGroup;

/// The kind of attention of a whole model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Every layer keeps keys and values of all tokens, per head or per group of heads.
    Grouped,
    /// Every layer keeps one latent of all tokens (MLA).
    Latent,
    /// Some layers keep a window of the last tokens alone.
    Windowed,
    /// An indexer selects the entries that a step reads (DSA, MSA).
    Sparse,
    /// Most layers have a state of constant size instead of a cache (Mamba, linear attention).
    HybridLinear,
    /// Entries stand for several tokens each (CSA, HCA).
    Compressed,
}

impl AttentionKind {
    /// Number of kinds of attention.
    pub const COUNT: usize = Self::ALL.len();
    /// Every kind, in a fixed order.
    pub const ALL: [Self; 6] = [
        Self::Grouped,
        Self::Latent,
        Self::Windowed,
        Self::Sparse,
        Self::HybridLinear,
        Self::Compressed,
    ];

    /// The kind of a model with these layers: the one that says most about its cache.
    #[must_use]
    pub fn of(attention: &[AttentionGroup]) -> Self {
        let has = |is_such: fn(&AttentionGroup) -> bool| attention.iter().any(is_such);
        if has(|group| matches!(group, AttentionGroup::Compressed(_))) {
            Self::Compressed
        } else if has(is_sparse) {
            Self::Sparse
        } else if has(|group| matches!(group, AttentionGroup::Linear(_))) {
            Self::HybridLinear
        } else if has(is_windowed) {
            Self::Windowed
        } else if has(|group| matches!(group, AttentionGroup::Latent(_))) {
            Self::Latent
        } else {
            Self::Grouped
        }
    }

    /// The kind that a column names by its layers, such as `gqa+swa`.
    #[must_use]
    pub fn of_layers(named: &str) -> Self {
        const WORDS: [(AttentionKind, &[&str]); 5] = [
            (AttentionKind::Compressed, &["csa", "hca"]),
            (AttentionKind::Sparse, &["dsa", "msa", "indexer"]),
            (
                AttentionKind::HybridLinear,
                &["mamba", "delta", "kda", "linear", "lightning"],
            ),
            (AttentionKind::Windowed, &["swa", "chunked", "window"]),
            (AttentionKind::Latent, &["mla"]),
        ];
        let named = named.to_lowercase();
        WORDS
            .into_iter()
            .find(|(_, words)| words.iter().any(|word| named.contains(word)))
            .map_or(Self::Grouped, |(kind, _)| kind)
    }

    /// Whether a step reads another number of bytes per token at 8,192 tokens than is stored per token of long contexts.
    #[must_use]
    pub fn reads_other_than_stored(self) -> bool {
        matches!(self, Self::Windowed | Self::Sparse | Self::Compressed)
    }

    /// Name of the kind in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grouped => "grouped",
            Self::Latent => "latent",
            Self::Windowed => "windowed",
            Self::Sparse => "sparse",
            Self::HybridLinear => "hybrid linear",
            Self::Compressed => "compressed",
        }
    }
}

fn is_sparse(group: &AttentionGroup) -> bool {
    match group {
        AttentionGroup::GroupedQuery(group) => group.sparse.is_some(),
        AttentionGroup::Latent(group) => group.sparse.is_some(),
        _ => false,
    }
}

fn is_windowed(group: &AttentionGroup) -> bool {
    matches!(group, AttentionGroup::GroupedQuery(group) if group.window.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::open_model;

    #[test]
    fn the_kind_follows_from_the_layers() {
        for (name, kind) in [
            ("Llama-3.1-70B", AttentionKind::Grouped),
            ("DeepSeek-V3", AttentionKind::Latent),
            ("gpt-oss-120b", AttentionKind::Windowed),
            ("DeepSeek-V3.2", AttentionKind::Sparse),
            ("Qwen3-Next-80B-A3B", AttentionKind::HybridLinear),
            ("DeepSeek-V4-Pro", AttentionKind::Compressed),
        ] {
            let model = open_model(name).expect("it is listed");
            assert_eq!(
                AttentionKind::of(&model.architecture.attention),
                kind,
                "{name}"
            );
        }
        assert_eq!(
            AttentionKind::of_layers("csa+indexer+swa+hca"),
            AttentionKind::Compressed
        );
        assert_eq!(
            AttentionKind::of_layers("mla+kda"),
            AttentionKind::HybridLinear
        );
        assert_eq!(AttentionKind::of_layers("gqa"), AttentionKind::Grouped);
    }
}
