use crate::units::BytesPerToken;

/// Layers of ordinary attention: multi-head, grouped-query or multi-query.
#[derive(Debug, Clone, Copy)]
pub struct AttentionLayers {
    /// Layers with a cache of their own.
    pub layers: u32,
    /// KV heads per layer.
    pub kv_heads: u32,
    /// Size of a key per head.
    pub key_dimension: u32,
    /// Size of a value per head.
    pub value_dimension: u32,
}

impl AttentionLayers {
    /// E15: `k_st` = layers · KV heads · (`d_qk` + `d_v`) · bytes per element.
    #[must_use]
    pub fn kv_bytes_per_token(&self, bytes_per_element: f64) -> BytesPerToken {
        let elements = f64::from(self.layers)
            * f64::from(self.kv_heads)
            * (f64::from(self.key_dimension) + f64::from(self.value_dimension));
        BytesPerToken(elements * bytes_per_element)
    }
}

/// Layers of multi-head latent attention (MLA).
#[derive(Debug, Clone, Copy)]
pub struct LatentAttention {
    /// Layers with a cache of their own.
    pub layers: u32,
    /// Rank of the shared latent.
    pub kv_lora_rank: u32,
    /// Size of the shared rotary key.
    pub rope_dimension: u32,
}

impl LatentAttention {
    /// E15: `k_st` = layers · (`kv_lora_rank` + `d_rope`) · bytes per element.
    #[must_use]
    pub fn kv_bytes_per_token(&self, bytes_per_element: f64) -> BytesPerToken {
        let elements = f64::from(self.layers)
            * (f64::from(self.kv_lora_rank) + f64::from(self.rope_dimension));
        BytesPerToken(elements * bytes_per_element)
    }
}
