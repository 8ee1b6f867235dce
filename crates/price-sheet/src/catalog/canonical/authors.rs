//! Authors of models, by the organisations and the families of models that stand for them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A family of models: the first words of their names, and their author.
pub(super) struct Family {
    first: Vec<&'static str>,
    pub(super) author: &'static str,
    /// Whether names without a digit denote the newest model; else the names denote fixed weights even without one, or
    /// a service with one model at a time.
    pub(super) needs_digit: bool,
}

/// Organisations before a slash, with the author that each stands for.
pub(super) static ORGANISATIONS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    rows()
        .flat_map(|(author, names, _)| names.split_whitespace().map(move |name| (name, author)))
        .collect()
});

/// Families in their order: of two that fit, the first counts.
static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    rows()
        .flat_map(|(author, _, families)| {
            families
                .split(',')
                .map(move |family| (author, family.trim()))
        })
        .filter(|(_, family)| !family.is_empty())
        .map(|(author, family)| Family::of(author, family))
        .collect()
});

/// The family of a name. Nvidia's models on Llama weights are its own.
pub(super) fn family_of(words: &[String]) -> Option<&'static Family> {
    let nemotron = ["nemotron".to_owned()];
    let is_nemotron =
        words.first().is_some_and(|word| word == "llama") && words.contains(&nemotron[0]);
    let words = if is_nemotron { &nemotron } else { words };
    FAMILIES.iter().find(|family| family.holds(words))
}

impl Family {
    fn of(author: &'static str, written: &'static str) -> Self {
        let fixed = written.strip_suffix('!');
        Self {
            first: fixed.unwrap_or(written).split(' ').collect(),
            author,
            needs_digit: fixed.is_none(),
        }
    }

    fn holds(&self, words: &[String]) -> bool {
        let fits = |(start, word): (&&str, &String)| match (
            start.strip_suffix('*'),
            start.strip_suffix('#'),
        ) {
            (Some(start), _) => word.starts_with(start),
            (_, Some(start)) => word.strip_prefix(start).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|letter: char| letter.is_ascii_digit())
            }),
            _ => word == start,
        };
        words.len() >= self.first.len() && self.first.iter().zip(words).all(fits)
    }
}

/// Author, organisations and families of each row.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    AUTHORS.lines().filter_map(|row| {
        let (author, known) = row.split_once(':')?;
        let (organisations, families) = known.split_once(';')?;
        Some((author, organisations, families))
    })
}

/// Rows of `author: organisations; families`. A family is the first words of names: `qwen*` begins so, `hy#` may end in
/// digits. One that ends in `!` needs no digit.
const AUTHORS: &str = "
openai: openai; gpt oss, gpt audio!, gpt realtime!, gpt image, gpt 2, gpt 3, gpt 35, gpt 4, gpt 4o, gpt 5
openai:; gpt 6, gpt 7, chatgpt, codex mini!, o1, o3, o4, computer use preview!, text embedding, text davinci
openai:; davinci 002, babbage 002, whisper, tts, sora
anthropic: anthropic; claude mythos!, claude
google: google; gemini, gemma, codegemma, medgemma, shieldgemma, veo, imagen, lyria, deep research pro preview!
writer: writer; palmyra!
aisingapore: aisingapore; llama sea lion
meta: codellama meta-llama meta; llama, codellama, muse
alibaba: alibaba qwen; qwen plus!, qwen max!, qwen turbo!, qwen flash!, qwen long!, qwen vl!, qwen mt!
alibaba:; qwen omni!, qwen math!, qwen coder!, qwq plus!, qvq max!, qwen*, qwq, qvq
deepseek: deepseek-ai deepseek; deepseek ocr!, deepseek
zhipuai: thudm z-ai zai-org zai zhipuai; glm, cogview
moonshotai: moonshot-ai moonshot moonshotai; kimi, moonshot v1
minimax: minimax minimaxai; minimax m2 her!, minimax
mistral: mistral mistralai; mistral nemo!, mistral saba!, mistral, open mistral nemo!, open mistral, mixtral
mistral:; ministral, magistral, codestral, devstral, pixtral, voxtral, mathstral
nvidia: nvidia; nemotron
xiaomi: mimo xiaomi-mimo xiaomi xiaomimimo; mimo!
xai: spacexai x-ai xai; grok
cohere: cohere; command!, c4ai, north!, embed v*, rerank v*
ai21: ai21; jamba
amazon: amazon; nova!, titan
microsoft: microsoft; phi, mai, wizardlm
nousresearch: nousresearch teknium; nous hermes, hermes
baidu: baidu; ernie
tencent: tencent; hunyuan, hy#
bytedance-seed: bytedance-seed bytedance; seed, doubao, seedream, seedance, ui tars
stepfun: stepfun-ai stepfun; step, step3
thinkingmachines: thinkingmachines; inkling!
perplexity: perplexity perplexityai; sonar!, r1 1776
arcee-ai: arcee-ai; trinity!, virtuoso!, maestro reasoning!
meituan: meituan; longcat
inclusionai: inclusionai; ling, ring
poolside: poolside; laguna
ibm: ibm-granite ibm; granite
allenai: allenai; olmo, molmo
liquid: liquid liquidai; lfm, lfm2
upstage: upstage; solar
inception: inception; mercury
morph: morph; morph v3
kwaipilot: kwaipilot; kat coder!
sakana: sakana; fugu!
rekaai: rekaai; reka
relace: relace; relace
databricks:; dbrx
01-ai: zero-one-ai; yi
aion-labs: aion-labs; aion
deepcogito: deepcogito; cogito
swiss-ai: swiss-ai; apertus
sarvam: sarvam; sarvam
deepreinforce:; ornith
perceptron: perceptron; perceptron
essentialai: essentialai; rnj
gryphe: gryphe; mythomax
undi95: undi95; remm slerp, toppy m
anthracite-org: anthracite-org; magnum
thedrummer: thedrummer; cydonia, skyfall, unslopnemo
opengvlab: opengvlab; internvl#
openbmb: openbmb; minicpm
baai: baai; bge
openchat: openchat; openchat
huggingfaceh4: huggingfaceh4; zephyr
vercel:; v0
cognitivecomputations: cognitivecomputations;
inference-net: inference-net;
neversleep: neversleep;
nex-agi: nex-agi;
sao10k: sao10k;
";
