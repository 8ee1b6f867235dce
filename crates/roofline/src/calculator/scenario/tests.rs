//! Every spelling of a model comes to an architecture.

use serde_json::{Value, json};

use super::*;
use crate::calculator::inputs::Inputs;
use crate::forward::KvCache;
use crate::reference::architecture::Architecture;
use crate::reference::open_model;
use unroof_base::input::body::{Rule, Source, value};
use unroof_base::input::cursor::{Cursor, Fault, Faults};
use unroof_base::input::json;

/// The model of a request that states nothing else.
fn filled(model: &Value) -> Result<Model, Vec<Fault>> {
    let tree = json::parse(json!({"model": model}).to_string().as_bytes()).unwrap();
    let faults = Faults::default();
    let root = Cursor::root(&tree, &faults);
    let fields = root.fields().unwrap();
    let object = Source {
        fields: Some(&fields),
        bare: None,
        prefix: "",
    };
    let inputs = Inputs::new(&root, &[]);
    let stated = value(ModelKind).read(object, "model").unwrap();
    let model = Model::fill(&stated, &inputs, 1.0);
    faults.result(model)
}

fn refusal(model: &Value) -> Fault {
    filled(model).unwrap_err().remove(0)
}

fn bytes_per_token(architecture: &Architecture) -> f64 {
    KvCache::new(architecture).stored_per_token(1.0).0
}

/// Fields of the published configuration of a model.
fn config(name: &str) -> Value {
    match name {
        "DeepSeek-V3" => json!({
            "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
            "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
            "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3, "moe_layer_freq": 1,
            "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
            "vocab_size": 129_280, "max_position_embeddings": 163_840, "torch_dtype": "bfloat16", "hidden_act": "silu",
            "tie_word_embeddings": false, "quantization_config": {"quant_method": "fp8", "fmt": "e4m3"},
        }),
        "Llama-3.1-70B" => json!({
            "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
            "intermediate_size": 28_672, "vocab_size": 128_256, "max_position_embeddings": 131_072, "torch_dtype": "bfloat16",
            "hidden_act": "silu", "rope_theta": 500_000.0, "architectures": ["LlamaForCausalLM"],
        }),
        "Mixtral-8x7B" => json!({
            "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14_336, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32_000,
            "sliding_window": null, "torch_dtype": "bfloat16",
        }),
        "gpt-oss-120b" => json!({
            "hidden_size": 2880, "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
            "intermediate_size": 2880, "num_local_experts": 128, "experts_per_token": 4, "vocab_size": 201_088,
            "sliding_window": 128, "layer_types": (["sliding_attention", "full_attention"].repeat(18)),
            "quantization_config": {"quant_method": "mxfp4"},
        }),
        "Gemma-3-27B" => json!({"text_config": {
            "model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
            "num_key_value_heads": 16, "head_dim": 128, "intermediate_size": 21_504, "vocab_size": 262_208,
            "sliding_window": 1024, "hidden_activation": "gelu_pytorch_tanh",
        }, "torch_dtype": "bfloat16"}),
        _ => json!({
            "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
            "intermediate_size": 12_288, "moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8,
            "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151_936, "use_sliding_window": false,
            "sliding_window": null,
        }),
    }
}

const CONFIGURED: [&str; 6] = [
    "DeepSeek-V3",
    "Llama-3.1-70B",
    "Mixtral-8x7B",
    "gpt-oss-120b",
    "Gemma-3-27B",
    "Qwen3-235B-A22B",
];

#[test]
fn a_configuration_is_the_architecture_of_the_reference_data() {
    for name in CONFIGURED {
        let model = filled(&json!({"config": config(name)})).unwrap();
        let known = open_model(name).unwrap();
        let (found, known_of) = (&model.architecture, &known.architecture);
        assert_eq!(found.attention, known_of.attention, "{name}");
        assert_eq!(found.layers, known_of.layers, "{name}");
        let near = |left: f64, right: f64, within: f64| (left / right - 1.0).abs() < within;
        let (total, active) = (found.total_parameters, found.active_parameters);
        assert!(
            near(total, known_of.total_parameters, 0.015),
            "{name}: {total:e}"
        );
        assert!(
            near(active, known_of.active_parameters, 0.12),
            "{name}: {active:e}"
        );
        let experts = found.expert_parameters();
        assert!(
            (experts - known_of.expert_parameters()).abs() <= 0.001 * total,
            "{name}: {experts:e}"
        );
        let width = model.served_formats.unwrap().mean(found);
        assert!(
            near(width, known.native_formats().mean(known_of), 0.01),
            "{name}: {width}"
        );
    }
}

#[test]
fn what_a_configuration_says_that_is_not_understood_is_refused_where_it_is() {
    let with = |field: &str, value: Value| {
        let mut config = config("Llama-3.1-70B");
        config[field] = value;
        json!({"config": config})
    };
    let mut without = config("Llama-3.1-70B");
    without.as_object_mut().unwrap().remove("vocab_size");
    let rows = [
        (
            with("mamba_d_state", json!(128)),
            "/model/config/mamba_d_state",
        ),
        (
            with("layer_types", json!((["linear_attention"].repeat(80)))),
            "/model/config/layer_types/0",
        ),
        (with("layer_types", json!([])), "/model/config"),
        (
            with("torch_dtype", json!("int3")),
            "/model/config/torch_dtype",
        ),
        (
            with("quantization_config", json!({"quant_method": "odd"})),
            "/model/config/quantization_config",
        ),
        (with("num_key_value_heads", json!(7)), "/model/config"),
        (
            with("num_hidden_layers", json!("many")),
            "/model/config/num_hidden_layers",
        ),
        (json!({"config": without}), "/model/config"),
        (json!({"config": []}), "/model/config"),
        (
            json!({"config": config("Mixtral-8x7B"), "total_parameters": 1e9}),
            "/model/total_parameters",
        ),
    ];
    for (model, pointer) in rows {
        let fault = refusal(&model);
        assert_eq!(fault.pointer, pointer, "{fault:?}");
        assert!(!fault.hint.is_empty(), "{fault:?}");
    }
    let published = json!({"config": config("Mixtral-8x7B"), "total_parameters": 46.7e9, "active_parameters": 12.9e9});
    let of = filled(&published).unwrap().architecture;
    assert!((of.active_parameters - 12.9e9).abs() < 1.0);
}

#[test]
fn sizes_alone_are_those_of_the_nearest_open_weight_model() {
    let of = |model: Value| filled(&model).unwrap().architecture;
    let deepseek = &open_model("DeepSeek-V3").unwrap().architecture;
    let same = of(json!({"total_parameters": 671e9, "active_parameters": 37e9}));
    assert_eq!((same.layers, same.hidden_dimension), (61, 7_168));
    assert_eq!(same.attention, deepseek.attention);
    assert_eq!(of(json!({"layers": 61})), same);
    let larger = of(json!({"total_parameters": 8.0 * 671e9, "active_parameters": 8.0 * 37e9}));
    assert!(larger.layers > 61 && larger.hidden_dimension > 7_168);
    let dense = of(json!({"active_parameters": 7e10}));
    assert!(dense.experts.is_none() && dense.total_parameters > 6.9e10);
    let cached =
        of(json!({"total_parameters": 7e10, "layers": 80, "kv_bytes_per_token_stored": 163_840}));
    assert!((bytes_per_token(&cached) - 163_840.0).abs() < 1.0);
    let experts = of(json!({"experts": {"routed": 384, "active": 8, "layers": 50}}));
    let experts = experts.experts.unwrap();
    assert_eq!(
        (experts.routed, experts.active, experts.layers),
        (384, 8, 50)
    );
}

#[test]
fn sizes_that_contradict_each_other_are_refused() {
    let rows = [
        (json!({}), "/model"),
        (
            json!({"total_parameters": 1e9, "active_parameters": 2e9}),
            "/model/active_parameters",
        ),
        (
            json!({"total_parameters": 1e9, "experts": {"routed": 8}}),
            "/model/experts/routed",
        ),
        (json!({"experts": {"routed": 16}}), "/model/experts/routed"),
        (
            json!({"layers": 8, "experts": {"layers": 9}}),
            "/model/experts/layers",
        ),
        (json!({"name": "DeepSeek-V3", "layers": 8}), "/model/layers"),
    ];
    for (model, pointer) in rows {
        assert_eq!(refusal(&model).pointer, pointer, "{model}");
    }
}
