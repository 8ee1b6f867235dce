//! A model by its `config.json`, as Hugging Face keeps it beside the weights.

use std::ops::RangeInclusive;

use crate::reference::architecture::{
    Architecture, AttentionGroup, Experts, GroupedQuery, Latent, PARAMETERS, Sparse,
};
use crate::reference::{INT4_BYTES, MXFP4_BYTES, NVFP4_BYTES, WeightFormats};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Sizes of a configuration.
const SIZES: RangeInclusive<u32> = 1..=1 << 24;
/// Objects that hold the language model of one that reads images or sound too.
const NESTED: [&str; 3] = ["text_config", "llm_config", "language_config"];
/// Fields of layers that are not understood: each changes caches or parameters.
const NOT_UNDERSTOOD: [&str; 22] = [
    "altup_num_inputs",
    "attention_chunk_size",
    "attn_layer_period",
    "block_configs",
    "compress_ratios",
    "cross_attention_layers",
    "encoder_layers",
    "hybrid_override_pattern",
    "layers_block_type",
    "linear_attn_config",
    "linear_num_value_heads",
    "mamba_d_state",
    "mamba_num_heads",
    "moe_layers_enum",
    "moe_num_shared_experts_per_layer",
    "num_codebooks",
    "num_kv_shared_layers",
    "ssm_state_size",
    "state_size",
    "time_mix_extra_dim",
    "v_num_heads",
    "zero_expert_num",
];
/// Activations of layers with two matrices; all others have a gate too.
const WITHOUT_GATE: [&str; 6] = [
    "relu",
    "relu2",
    "gelu",
    "gelu_new",
    "gelu_fast",
    "quick_gelu",
];
/// Families whose windows alternate where the configuration does not say so: one layer of so many sees every token.
const ALTERNATING: [(&str, u32); 3] = [("gemma2", 2), ("gemma3", 6), ("gemma3_text", 6)];
const STATE_ARCHITECTURE: &str =
    "state the architecture with its list `attention` in place of `config`";
const STATE_WIDTH: &str =
    "leave it out, and state `precision.weight_bytes_per_parameter` as the weights are served";

/// Model that a configuration describes: architecture, longest context, width of its weights.
#[derive(Debug, Clone)]
pub struct Published {
    /// The architecture.
    pub architecture: Architecture,
    /// Longest context in tokens.
    pub longest_context: Option<f64>,
    /// Bytes per parameter of the weights.
    pub formats: WeightFormats,
}

impl Published {
    /// Reads the object `config`.
    pub(super) fn read(cursor: &Cursor<'_>) -> Option<Self> {
        Config::new(cursor)?.published()
    }

    /// The model with other parameters than the configuration implies; none if they do not go with its experts.
    pub(super) fn with_parameters(&self, total: Option<f64>, active: Option<f64>) -> Option<Self> {
        let mut published = self.clone();
        let of = &mut published.architecture;
        let experts = of.expert_parameters();
        if let Some(total) = total {
            let idle = of.total_parameters - of.active_parameters;
            of.total_parameters = total;
            of.active_parameters = total - idle;
            of.always_read_parameters = None;
        }
        of.active_parameters = active.unwrap_or(of.active_parameters);
        let held = experts + of.input_embedding_parameters;
        let of_token = of
            .experts
            .map_or(0.0, |with| experts / with.routed_over_active());
        let is_possible = held < of.total_parameters
            && of.active_parameters <= of.total_parameters
            && of.active_parameters >= of_token;
        is_possible.then_some(published)
    }
}

/// A configuration: the language model's fields, and those around it.
struct Config<'a> {
    text: Cursor<'a>,
    whole: Cursor<'a>,
}

impl<'a> Config<'a> {
    fn new(cursor: &Cursor<'a>) -> Option<Self> {
        if !matches!(cursor.json, Json::Object(_)) {
            return cursor.refuse(
                "expected the object of a `config.json`",
                "write the content of the file",
            );
        }
        let nested = NESTED.iter().find_map(|name| cursor.at(name));
        let nested = nested.filter(|nested| matches!(nested.json, Json::Object(_)));
        Some(Self {
            text: nested.unwrap_or_else(|| cursor.clone()),
            whole: cursor.clone(),
        })
    }

    /// The first of these fields that is present and not null.
    fn find(&self, names: &[&str]) -> Option<Cursor<'a>> {
        let at = |object: &Cursor<'a>| {
            let mut found = names.iter().filter_map(|name| object.at(name));
            found.find(|field| !field.is_null())
        };
        at(&self.text).or_else(|| at(&self.whole))
    }

    /// A size that is there under one of these names.
    fn size(&self, names: &[&str]) -> Option<u32> {
        let Some(field) = self.find(names) else {
            let name = names[0];
            return self.text.refuse(
                format!("the field `{name}` is missing"),
                format!("state `{name}`; {STATE_ARCHITECTURE} if the model has none"),
            );
        };
        field.whole_number(SIZES)
    }

    /// A size, or another value where none of these names is there.
    fn size_or(&self, names: &[&str], other: u32) -> Option<u32> {
        self.find(names)
            .map_or(Some(other), |field| field.whole_number(0..=*SIZES.end()))
    }

    fn is_true(&self, name: &str) -> Option<bool> {
        self.find(&[name]).and_then(|field| field.unrecorded(truth))
    }

    fn name(&self, name: &str) -> String {
        let text = self.find(&[name]).and_then(|field| field.unrecorded(text));
        text.unwrap_or_default()
    }

    fn published(&self) -> Option<Published> {
        for name in NOT_UNDERSTOOD {
            if let Some(field) = self.find(&[name]).filter(|field| !is_nothing(field)) {
                return field.refuse(format!("`{name}` is not understood"), STATE_ARCHITECTURE);
            }
        }
        if self.is_true("is_encoder_decoder") == Some(true) {
            let detail = "a model with an encoder and a decoder is not understood";
            return self.whole.refuse(detail, STATE_ARCHITECTURE);
        }
        let architecture = self.architecture()?;
        let context = self.size_or(&["max_position_embeddings"], 0)?;
        Some(Published {
            architecture,
            longest_context: (context > 0).then(|| f64::from(context)),
            formats: self.formats()?,
        })
    }

    fn architecture(&self) -> Option<Architecture> {
        let hidden_dimension = self.size(&["hidden_size", "d_model", "n_embd"]);
        let layers = self.size(&["num_hidden_layers", "num_layers", "n_layer"]);
        let vocabulary = self.size(&["vocab_size", "padded_vocab_size"]);
        let (hidden_dimension, layers) = (hidden_dimension?, layers?);
        let hidden = f64::from(hidden_dimension);
        let (attention, of_attention) = self.attention(hidden_dimension, layers)?;
        let (experts, shared) = self.experts(hidden, layers)?;
        let sparse_layers = experts.map_or(0, |experts| experts.layers);
        let of_experts = experts
            .and_then(|experts| experts.parameters)
            .unwrap_or(0.0);
        let dense_layers = layers - sparse_layers;
        let of_dense = if dense_layers > 0 {
            let width = self.size(&["intermediate_size", "ffn_hidden_size", "n_inner"])?;
            f64::from(dense_layers) * self.matrices() * hidden * f64::from(width)
        } else {
            0.0
        };
        let table = f64::from(vocabulary?) * hidden;
        let is_tied = self.is_true("tie_word_embeddings");
        let is_tied = is_tied.unwrap_or_else(|| self.name("model_type").starts_with("gemma"));
        let embedding = if is_tied { 0.0 } else { table };
        let always_read = of_attention + of_dense + shared + table;
        let total = always_read + of_experts + embedding;
        if !PARAMETERS.contains(&total) {
            let detail = format!("the sizes make {total:e} parameters");
            return self
                .text
                .refuse(detail, "state the sizes as they are published");
        }
        let idle = experts.map_or(0.0, |experts| {
            of_experts * (1.0 - 1.0 / experts.routed_over_active())
        });
        // As published figures do, those of a dense model count the input embedding among the active parameters.
        let active = if experts.is_some() {
            total - idle - embedding
        } else {
            total
        };
        Some(Architecture {
            total_parameters: total,
            active_parameters: active,
            layers,
            hidden_dimension,
            input_embedding_parameters: embedding,
            always_read_parameters: experts.is_some().then_some(always_read),
            experts,
            attention,
        })
    }

    /// Matrices of a layer's perceptron.
    fn matrices(&self) -> f64 {
        let activation = ["hidden_act", "mlp_hidden_act", "activation_function"];
        let activation = activation.map(|name| self.name(name));
        let has_gate = !activation
            .iter()
            .any(|name| WITHOUT_GATE.contains(&name.as_str()));
        if has_gate { 3.0 } else { 2.0 }
    }

    /// Layers with a cache, and the parameters of attention.
    fn attention(&self, hidden_dimension: u32, layers: u32) -> Option<(Vec<AttentionGroup>, f64)> {
        let query_heads = self.size(&["num_attention_heads", "n_head"])?;
        let sparse = self.sparse()?;
        let hidden = f64::from(hidden_dimension);
        let (heads, all) = (f64::from(query_heads), f64::from(layers));
        let rank = self.size_or(&["kv_lora_rank"], 0)?;
        if rank > 0 {
            return self.latent(rank, (hidden_dimension, layers, query_heads), sparse);
        }
        let kv_heads = self
            .size_or(&["num_key_value_heads", "n_head_kv"], query_heads)?
            .max(1);
        if !query_heads.is_multiple_of(kv_heads) {
            let detail =
                format!("{query_heads} query heads cannot share {kv_heads} KV heads evenly");
            return self.text.refuse(detail, STATE_ARCHITECTURE);
        }
        let usual = (hidden_dimension / query_heads).max(1);
        let key_dimension = self.size_or(&["head_dim", "kv_channels"], usual)?.max(1);
        let value_dimension = self.size_or(&["v_head_dim"], key_dimension)?.max(1);
        let (key, value) = (f64::from(key_dimension), f64::from(value_dimension));
        let parameters = all * hidden * (heads + f64::from(kv_heads)) * (key + value);
        let windowed = self.windowed_layers(layers)?;
        let window = self.size_or(&["sliding_window", "sliding_window_size"], 0)?;
        let group = |layers: u32, window: Option<u32>| {
            let group = GroupedQuery {
                layers,
                query_heads,
                kv_heads,
                key_dimension,
                value_dimension,
                window,
                chunked: None,
                sparse,
            };
            (layers > 0).then_some(AttentionGroup::GroupedQuery(group))
        };
        let groups = [
            group(layers - windowed, None),
            group(windowed, Some(window)),
        ];
        Some((groups.into_iter().flatten().collect(), parameters))
    }

    /// Layers with latent attention, and the parameters of it.
    fn latent(
        &self,
        rank: u32,
        (hidden_dimension, layers, query_heads): (u32, u32, u32),
        sparse: Option<Sparse>,
    ) -> Option<(Vec<AttentionGroup>, f64)> {
        let [hidden, all, heads] = [hidden_dimension, layers, query_heads].map(f64::from);
        let rope_dimension = self.size_or(&["qk_rope_head_dim"], 0)?;
        let nope_dimension = self.size(&["qk_nope_head_dim"])?;
        let value_dimension = self.size(&["v_head_dim"])?;
        let of_query = self.size_or(&["q_lora_rank"], 0)?;
        let [kv, rope, nope, value, query] = [
            rank,
            rope_dimension,
            nope_dimension,
            value_dimension,
            of_query,
        ]
        .map(f64::from);
        let queries = if query > 0.0 {
            hidden * query + query * heads * (nope + rope)
        } else {
            hidden * heads * (nope + rope)
        };
        let keys = hidden * (kv + rope) + kv * heads * (nope + value);
        let group = Latent {
            layers,
            query_heads,
            kv_lora_rank: rank,
            rope_dimension,
            nope_dimension,
            value_dimension,
            sparse,
        };
        let parameters = all * (queries + keys + heads * value * hidden);
        Some((vec![AttentionGroup::Latent(group)], parameters))
    }

    /// The indexer of sparse attention, if there is one.
    #[expect(
        clippy::option_option,
        reason = "the outer one is a recorded fault, the inner one a model without an indexer"
    )]
    fn sparse(&self) -> Option<Option<Sparse>> {
        let top_k = self.size_or(&["index_topk"], 0)?;
        let index_heads = self.size_or(&["index_n_heads"], 0)?;
        let index_dimension = self.size_or(&["index_head_dim"], 0)?;
        Some((top_k > 0).then_some(Sparse {
            top_k,
            index_heads,
            index_dimension,
        }))
    }

    /// Layers that see a window of the latest tokens only.
    fn windowed_layers(&self, layers: u32) -> Option<u32> {
        if let Some(kinds) = self.find(&["layer_types"]) {
            let kinds = kinds.items()?;
            if kinds.len() != layers as usize {
                let detail = format!("{} kinds for {layers} layers", kinds.len());
                return self
                    .text
                    .refuse(detail, "list a kind for each layer in `layer_types`");
            }
            let known = [("full_attention", 0_u32), ("sliding_attention", 1)];
            let mut windowed = 0;
            for kind in kinds {
                let Some(kind) = kind.unrecorded(|kind| kind.one_of(&known)) else {
                    return kind.refuse("this kind of layer is not understood", STATE_ARCHITECTURE);
                };
                windowed += kind;
            }
            return Some(windowed);
        }
        let window = self.size_or(&["sliding_window"], 0)?;
        if window == 0 || self.is_true("use_sliding_window") == Some(false) {
            return Some(0);
        }
        let family = self.name("model_type");
        let of_family = ALTERNATING.iter().find(|(name, _)| *name == family);
        let pattern = self.size_or(
            &["sliding_window_pattern"],
            of_family.map_or(0, |(_, pattern)| *pattern),
        )?;
        if let Some(full) = layers.checked_div(pattern) {
            return Some(layers - full);
        }
        let first = self.size_or(&["max_window_layers"], 0)?;
        Some(
            layers.saturating_sub(if self.is_true("use_sliding_window").is_some() {
                first
            } else {
                0
            }),
        )
    }

    /// The routed experts, and the parameters of shared ones and of routers.
    fn experts(&self, hidden: f64, layers: u32) -> Option<(Option<Experts>, f64)> {
        let names = [
            "n_routed_experts",
            "num_local_experts",
            "num_experts",
            "moe_num_experts",
        ];
        let routed = self.size_or(&names, 0)?;
        let with_experts = self.layers_with_experts(layers)?;
        if routed < 2 || with_experts == 0 {
            return Some((None, 0.0));
        }
        let active = self.size(&[
            "num_experts_per_tok",
            "num_experts_per_token",
            "experts_per_token",
            "moe_topk",
            "moe_k",
        ])?;
        if active >= routed {
            let detail = format!("{active} of {routed} experts are active");
            return self
                .text
                .refuse(detail, "state fewer active experts than there are");
        }
        let width = self.size(&[
            "moe_intermediate_size",
            "expert_ffn_hidden_size",
            "intermediate_size",
        ])?;
        let of_expert = self.matrices() * hidden * f64::from(width);
        let shared = self.size_or(
            &[
                "n_shared_experts",
                "num_shared_experts",
                "moe_num_shared_experts",
            ],
            0,
        )?;
        let own_width = self.size_or(&["shared_expert_intermediate_size"], 0)?;
        let of_shared = if own_width > 0 {
            self.matrices() * hidden * f64::from(own_width)
        } else {
            f64::from(shared) * of_expert
        };
        let all = f64::from(with_experts);
        let experts = Experts {
            routed,
            active,
            layers: with_experts,
            parameters: Some(all * f64::from(routed) * of_expert),
        };
        Some((
            Some(experts),
            all * (of_shared + hidden * f64::from(routed)),
        ))
    }

    fn layers_with_experts(&self, layers: u32) -> Option<u32> {
        if let Some(frequencies) = self.find(&["moe_layer_freq"])
            && matches!(frequencies.json, Json::Array(_))
        {
            let each = frequencies.list_of(|layer| layer.whole_number(0..=1))?;
            return Some(each.iter().sum::<u32>().min(layers));
        }
        let dense = self
            .size_or(&["first_k_dense_replace", "num_dense_layers"], 0)?
            .min(layers);
        let step = self
            .size_or(&["moe_layer_freq", "decoder_sparse_step"], 1)?
            .max(1);
        let listed = self.find(&["mlp_only_layers"]);
        let listed = listed.map_or(Some(Vec::new()), |listed| {
            listed.list_of(|layer| layer.whole_number(0..=*SIZES.end()))
        })?;
        let steps = layers / step - dense / step;
        let dense_besides = listed
            .iter()
            .filter(|layer| **layer >= dense && (**layer + 1).is_multiple_of(step));
        let dense_besides = u32::try_from(dense_besides.count()).ok()?;
        Some(steps.saturating_sub(dense_besides))
    }

    /// Bytes per parameter of the weights as they are published.
    fn formats(&self) -> Option<WeightFormats> {
        if let Some(quantized) = self.find(&["quantization_config"]) {
            return Self::quantized(&quantized);
        }
        let Some(format) = self.find(&["torch_dtype", "dtype"]) else {
            return Some(WeightFormats::uniform(2.0));
        };
        let bytes = match format.text()?.as_str() {
            "bfloat16" | "float16" => 2.0,
            "float32" => 4.0,
            "float8_e4m3fn" | "float8_e5m2" => 1.0,
            _ => return format.refuse("this format of weights is not understood", STATE_WIDTH),
        };
        Some(WeightFormats::uniform(bytes))
    }

    fn quantized(quantized: &Cursor<'a>) -> Option<WeightFormats> {
        let named = |name: &str| {
            let named = quantized.at(name).and_then(|field| field.unrecorded(text));
            named.unwrap_or_default().to_lowercase()
        };
        let bits = quantized
            .at("bits")
            .and_then(|field| field.unrecorded(|field| field.whole_number(1..=64)));
        let experts = |experts: f64| WeightFormats {
            experts,
            others: 2.0,
            embedding: 2.0,
        };
        let layers = |bytes: f64| WeightFormats {
            experts: bytes,
            others: bytes,
            embedding: 2.0,
        };
        let (method, algorithm) = (named("quant_method"), named("quant_algo"));
        match (method.as_str(), algorithm.as_str(), bits) {
            ("fp8" | "fbgemm_fp8", _, _) | (_, "fp8", _) => Some(WeightFormats::uniform(1.0)),
            ("mxfp4", ..) => Some(experts(MXFP4_BYTES)),
            (_, "nvfp4", _) => Some(layers(NVFP4_BYTES)),
            ("awq" | "gptq", _, Some(4)) => Some(layers(INT4_BYTES)),
            ("awq" | "gptq", _, Some(8)) => Some(layers(1.0)),
            _ => quantized.refuse("this quantization is not understood", STATE_WIDTH),
        }
    }
}

/// Whether a field switches off what it names.
fn is_nothing(field: &Cursor<'_>) -> bool {
    match field.json {
        Json::Number(number) => number.parse::<f64>().is_ok_and(|number| number <= 0.0),
        Json::Array(items) => items.is_empty(),
        Json::Bool(truth) => !truth,
        _ => false,
    }
}

/// The truth value of a field.
fn truth(field: &Cursor<'_>) -> Option<bool> {
    field.truth()
}

/// The text of a field.
fn text(field: &Cursor<'_>) -> Option<String> {
    field.text()
}
