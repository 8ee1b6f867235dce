//! Families of models, by the first words of their names.

/// The family of a name. Nvidia's models on Llama weights are its own.
pub(super) fn family_of(words: &[String]) -> Option<&'static Family> {
    let nemotron = ["nemotron".to_owned()];
    let is_nemotron =
        words.first().is_some_and(|word| word == "llama") && words.contains(&nemotron[0]);
    let words = if is_nemotron { &nemotron } else { words };
    FAMILIES.iter().find(|family| family.holds(words))
}

/// A family of models: the first words of their names, and their author.
pub(super) struct Family {
    first: &'static str,
    pub(super) author: &'static str,
    /// Whether names without a digit denote whatever is newest.
    pub(super) needs_digit: bool,
}

impl Family {
    fn holds(&self, words: &[String]) -> bool {
        let mut first = self.first.split(' ');
        let mut words = words.iter();
        first.all(|start| {
            let Some(word) = words.next() else {
                return false;
            };
            match (start.strip_suffix('*'), start.strip_suffix('#')) {
                (Some(start), _) => word.starts_with(start),
                (_, Some(start)) => word.strip_prefix(start).is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(|letter: char| letter.is_ascii_digit())
                }),
                _ => word == start,
            }
        })
    }
}

/// A family whose names denote fixed weights even without a digit, or a service with one model at a time.
const fn fixed(first: &'static str, author: &'static str) -> Family {
    Family {
        first,
        author,
        needs_digit: false,
    }
}

/// A family whose names without a digit denote whatever is newest.
const fn numbered(first: &'static str, author: &'static str) -> Family {
    Family {
        first,
        author,
        needs_digit: true,
    }
}

/// Families by the first words of their names: `qwen*` begins so, `hy#` may end in digits. Of two that fit, the first
/// counts.
const FAMILIES: [Family; 148] = [
    numbered("gpt oss", "openai"),
    fixed("gpt audio", "openai"),
    fixed("gpt realtime", "openai"),
    numbered("gpt image", "openai"),
    numbered("gpt 2", "openai"),
    numbered("gpt 3", "openai"),
    numbered("gpt 35", "openai"),
    numbered("gpt 4", "openai"),
    numbered("gpt 4o", "openai"),
    numbered("gpt 5", "openai"),
    numbered("gpt 6", "openai"),
    numbered("gpt 7", "openai"),
    numbered("chatgpt", "openai"),
    fixed("codex mini", "openai"),
    numbered("o1", "openai"),
    numbered("o3", "openai"),
    numbered("o4", "openai"),
    fixed("computer use preview", "openai"),
    numbered("text embedding", "openai"),
    numbered("text davinci", "openai"),
    numbered("davinci 002", "openai"),
    numbered("babbage 002", "openai"),
    numbered("whisper", "openai"),
    numbered("tts", "openai"),
    numbered("sora", "openai"),
    fixed("claude mythos", "anthropic"),
    numbered("claude", "anthropic"),
    numbered("gemini", "google"),
    numbered("gemma", "google"),
    numbered("codegemma", "google"),
    numbered("medgemma", "google"),
    numbered("shieldgemma", "google"),
    numbered("veo", "google"),
    numbered("imagen", "google"),
    numbered("lyria", "google"),
    fixed("deep research pro preview", "google"),
    fixed("palmyra", "writer"),
    numbered("llama sea lion", "aisingapore"),
    numbered("gemma sea lion", "aisingapore"),
    numbered("llama", "meta"),
    numbered("codellama", "meta"),
    numbered("muse", "meta"),
    fixed("qwen plus", "alibaba"),
    fixed("qwen max", "alibaba"),
    fixed("qwen turbo", "alibaba"),
    fixed("qwen flash", "alibaba"),
    fixed("qwen long", "alibaba"),
    fixed("qwen vl", "alibaba"),
    fixed("qwen mt", "alibaba"),
    fixed("qwen omni", "alibaba"),
    fixed("qwen math", "alibaba"),
    fixed("qwen coder", "alibaba"),
    fixed("qwq plus", "alibaba"),
    fixed("qvq max", "alibaba"),
    numbered("qwen*", "alibaba"),
    numbered("qwq", "alibaba"),
    numbered("qvq", "alibaba"),
    fixed("deepseek ocr", "deepseek"),
    numbered("deepseek", "deepseek"),
    numbered("glm", "zhipuai"),
    numbered("cogview", "zhipuai"),
    numbered("kimi", "moonshotai"),
    numbered("moonshot v1", "moonshotai"),
    fixed("minimax m2 her", "minimax"),
    numbered("minimax", "minimax"),
    fixed("mistral nemo", "mistral"),
    fixed("mistral saba", "mistral"),
    numbered("mistral", "mistral"),
    fixed("open mistral nemo", "mistral"),
    numbered("open mistral", "mistral"),
    numbered("mixtral", "mistral"),
    numbered("ministral", "mistral"),
    numbered("magistral", "mistral"),
    numbered("codestral", "mistral"),
    numbered("devstral", "mistral"),
    numbered("pixtral", "mistral"),
    numbered("voxtral", "mistral"),
    numbered("mathstral", "mistral"),
    numbered("nemotron", "nvidia"),
    fixed("mimo", "xiaomi"),
    numbered("grok", "xai"),
    fixed("command", "cohere"),
    numbered("c4ai", "cohere"),
    fixed("north", "cohere"),
    numbered("embed v*", "cohere"),
    numbered("rerank v*", "cohere"),
    numbered("jamba", "ai21"),
    fixed("nova", "amazon"),
    numbered("titan", "amazon"),
    numbered("phi", "microsoft"),
    numbered("mai", "microsoft"),
    numbered("wizardlm", "microsoft"),
    numbered("nous hermes", "nousresearch"),
    numbered("hermes", "nousresearch"),
    numbered("ernie", "baidu"),
    numbered("hunyuan", "tencent"),
    numbered("hy#", "tencent"),
    numbered("seed", "bytedance-seed"),
    numbered("doubao", "bytedance-seed"),
    numbered("seedream", "bytedance-seed"),
    numbered("seedance", "bytedance-seed"),
    numbered("step", "stepfun"),
    numbered("step3", "stepfun"),
    fixed("inkling", "thinkingmachines"),
    fixed("sonar", "perplexity"),
    numbered("r1 1776", "perplexity"),
    fixed("trinity", "arcee-ai"),
    fixed("virtuoso", "arcee-ai"),
    fixed("maestro reasoning", "arcee-ai"),
    numbered("longcat", "meituan"),
    numbered("ling", "inclusionai"),
    numbered("ring", "inclusionai"),
    numbered("laguna", "poolside"),
    numbered("granite", "ibm"),
    numbered("olmo", "allenai"),
    numbered("molmo", "allenai"),
    numbered("lfm", "liquid"),
    numbered("lfm2", "liquid"),
    numbered("solar", "upstage"),
    numbered("mercury", "inception"),
    numbered("morph v3", "morph"),
    fixed("kat coder", "kwaipilot"),
    fixed("fugu", "sakana"),
    numbered("reka", "rekaai"),
    numbered("relace", "relace"),
    numbered("dbrx", "databricks"),
    numbered("yi", "01-ai"),
    numbered("aion", "aion-labs"),
    numbered("cogito", "deepcogito"),
    numbered("ui tars", "bytedance-seed"),
    numbered("apertus", "swiss-ai"),
    numbered("sarvam", "sarvam"),
    numbered("ornith", "deepreinforce"),
    numbered("perceptron", "perceptron"),
    numbered("rnj", "essentialai"),
    numbered("mythomax", "gryphe"),
    numbered("remm slerp", "undi95"),
    numbered("toppy m", "undi95"),
    numbered("magnum", "anthracite-org"),
    numbered("cydonia", "thedrummer"),
    numbered("skyfall", "thedrummer"),
    numbered("unslopnemo", "thedrummer"),
    numbered("internvl#", "opengvlab"),
    numbered("minicpm", "openbmb"),
    numbered("bge", "baai"),
    numbered("openchat", "openchat"),
    numbered("zephyr", "huggingfaceh4"),
    numbered("v0", "vercel"),
];
