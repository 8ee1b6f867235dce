//! Words and spellings of model names; lists are texts of words.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Hosts, routes and commitments before a slash.
pub(super) const NEUTRAL_ORGANISATIONS: &str = "\
    1-month-commitment 6-month-commitment aws-bedrock aws-mantle azure azure-ai-foundry \
    azure-anthropic bailian baseten canopywave cerebras claude_platform cline-pass cloudflare \
    codestral databricks deepinfra embercloud fireworks fireworks-ai fireworks_ai flexai foundry \
    gemini gonka24 google-ai-studio google-vertex grok groq huggingface kimi lightning-ai mantle \
    meta-models models nanogpt nebius novita openrouter ovhcloud perplexity palm pro public \
    routers runware scaleway scx-ai scx-ai-gp siliconflow tee together-ai togethercomputer vercel \
    vertex vertex-anthropic vertex-openai volcengine";

/// Authors and sellers, as words before a family.
pub(super) const AUTHORS_AS_WORDS: &str = "\
    anthropic openai zai z ai xai moonshot meta databricks nvidia umans xiaomi google cohere \
    amazon aws alibaba azure sakana tencent bytedance bedrock vertex hf perplexity microsoft";

/// Words of names whose weights change.
pub(super) const MOVING_WORDS: &str = "latest auto";

/// Names whose weights have changed without another name.
pub(super) const MOVING_NAMES: &str = "\
    deepseek-chat deepseek-reasoner gemini-gemma-2-27b-it gemini-gemma-2-9b-it";

/// Words of models that others have tuned.
pub(super) const REWORKED: &str = "\
    abliterated uncensored derestricted heretic roleplay rp rpr unhinged nsfw finetune finetuned \
    lora ft openorca celeste inferor nidum storm lumimaid euryale arliai nitral venice";

/// Words at the end that do not change the weights: FP8 and BF16 storage, a free price group, weights converted for a library, an enclave.
pub(super) const SAME_WEIGHTS: &str = "bf16 fp8 free hf tee";

/// Words of Meta's own names.
pub(super) const LLAMA_WORDS: &str = "\
    llama instruct chat vision turbo maverick scout guard prompt preview instant versatile fast \
    lite fp8 bf16 base hf tee dynamic thinking v1 8192 awq int4 int8 nvfp4 fp4";

/// Spellings at the start of a name: written, ours.
pub(super) const SPELLINGS: [(&str, &str); 8] = [
    ("deepseek-chat-v3", "deepseek-v3"),
    ("doubao-seed", "seed"),
    ("lfm2", "lfm-2"),
    ("solar-pro3", "solar-pro-3"),
    ("solar-pro4", "solar-pro-4"),
    ("step3", "step-3"),
    ("nous-hermes-llama2", "nous-hermes-llama-2"),
    ("nous-hermes-4", "hermes-4"),
];

/// Names with several dated versions, so that the date belongs to the name.
pub(super) const SEVERAL_DATES: &str = "\
    claude-3-5-sonnet gpt-4o gpt-4o-audio-preview gpt-5-chat gpt-4o-realtime-preview \
    gpt-4o-mini-tts gpt-4o-mini-transcribe gpt-4o-transcribe gpt-audio-mini gpt-realtime-mini";

/// Names that sellers write, with ours of the same weights.
pub(super) static ALIASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let rows = SAME_MODELS.lines().filter_map(|row| row.split_once(": "));
    rows.flat_map(|(ours, written)| written.split(' ').map(move |name| (name, ours)))
        .collect()
});

/// Rows of `ours: names that sellers write`. Only where no base model or other version is sold under them.
const SAME_MODELS: &str = "
llama-3-3-70b-instruct: llama-3-3-70b llama-3-3-70b-versatile
llama-3-1-8b-instruct: llama-3-1-8b-instant
llama-3-2-11b-vision-instruct: llama-3-2-11b-instruct llama-3-2-11b-vision
llama-3-2-90b-vision-instruct: llama-3-2-90b-instruct llama-3-2-90b-vision
llama-4-maverick-17b-128e-instruct: llama-4-maverick llama-4-maverick-instruct llama-4-maverick-17b
llama-4-maverick-17b-128e-instruct: llama-4-maverick-17b-instruct llama-4-maverick-17b-128e
llama-4-scout-17b-16e-instruct: llama-4-scout llama-4-scout-instruct llama-4-scout-17b llama-4-scout-17b-instruct
llama-4-scout-17b-16e-instruct: llama-4-scout-17b-16e
llama-3-8b-instruct: llama-3-8b-chat
llama-3-70b-instruct: llama-3-70b-chat
gemma-4-26b-a4b-it: gemma-4-26b-it
mistral-nemo: mistral-nemo-instruct-2407 mistral-nemo-instruct mistral-nemo-2407 mistral-nemo-12b
mistral-nemo: mistral-nemo-12b-instruct mistral-nemo-12b-instruct-2407 open-mistral-nemo open-mistral-nemo-2407
mistral-small-24b-instruct-2501: mistral-small-2501 mistral-small-3 mistral-small-24b-2501
mistral-small-24b-instruct-2501: mistral-small-3-24b-instruct mistral-small-3-24b-instruct-2501
mistral-small-24b-instruct-2501: mistral-small-24b-instruct
mistral-small-3-1-24b-instruct: mistral-small-3-1-24b-instruct-2503 mistral-small-2503 mistral-small-3-1
mistral-small-3-1-24b-instruct: mistral-small-3-1-24b
mistral-small-3-2-24b-instruct: mistral-small-3-2-24b-instruct-2506 mistral-small-2506 mistral-small-3-2
mistral-small-3-2-24b-instruct: mistral-small-3-2-24b mistral-small-3-2-2506
mistral-small-4: mistral-small-4-119b-2603 mistral-small-2603 mistral-small-4-119b
mistral-large-2512: mistral-large-3 mistral-large-3-675b-instruct mistral-large-3-675b-instruct-2512
mistral-large-2512: mistral-large-3-2512
mistral-medium-3: mistral-medium-2505
mistral-medium-3-1: mistral-medium-2508
ministral-3-14b-instruct-2512: ministral-14b-2512 ministral-14b ministral-14b-instruct-2512 ministral-3-14b
ministral-3-14b-instruct-2512: ministral-3-14b-instruct
ministral-3-8b-instruct-2512: ministral-8b-2512 ministral-8b-instruct-2512 ministral-3-8b ministral-3-8b-instruct
ministral-3-3b-instruct-2512: ministral-3b-2512 ministral-3b-instruct-2512 ministral-3-3b ministral-3-3b-instruct
devstral-2512: devstral-2 devstral-2-123b devstral-2-123b-instruct devstral-2-123b-instruct-2512 devstral-2-2512
pixtral-12b: pixtral-12b-2409
mixtral-8x7b-instruct: mixtral-8x7b-instruct-v0-1
mixtral-8x22b-instruct: mixtral-8x22b-instruct-v0-1
kimi-k2: kimi-k2-instruct kimi-k2-0711 kimi-k2-0711-preview kimi-k2-instruct-0711
kimi-k2-0905: kimi-k2-instruct-0905 kimi-k2-0905-preview
qwen3-235b-a22b-instruct-2507: qwen3-235b-a22b-2507
qwen3-coder-480b-a35b-instruct: qwen3-coder-480b-a35b qwen3-coder-480b
qwen3-coder-30b-a3b-instruct: qwen3-coder-30b-a3b qwen3-coder-30b
phi-4-mini-instruct: phi-4-mini
phi-4-multimodal-instruct: phi-4-multimodal
gemini-2-0-flash: gemini-2-0-flash-001
gemini-2-0-flash-lite: gemini-2-0-flash-lite-001
gpt-5-6-sol: gpt-5-6
grok-4: grok-4-0709
nemotron-3-nano-30b-a3b: nemotron-3-nano-30b
nemotron-3-super-120b-a12b: nemotron-3-super nemotron-3-super-120b
nemotron-3-ultra-550b-a55b: nemotron-3-ultra nemotron-3-ultra-550b
claude-3-5-sonnet-20241022: claude-3-5-sonnet-v2 claude-3-5-sonnet-20241022-v2
claude-3-5-sonnet-20240620: claude-3-5-sonnet-20240620-v1
";
