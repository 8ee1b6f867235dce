//! Modes of one model: offers whose names end in a speed or in an effort of thinking, of the weights of the name before it.
//!
//! ```
//! use unroof_price_sheet::catalog::canonical::{Mode, canonical_model, mode_of};
//!
//! assert_eq!(mode_of("claude-opus-4.7-fast"), Some(Mode::Speed));
//! assert_eq!(canonical_model("claude-opus-4.7-fast"), canonical_model("claude-opus-4.7"));
//! // xAI's Grok 4 Fast is a model of its own.
//! assert_eq!(mode_of("grok-4-fast"), None);
//! ```

use super::{take_apart, without_author};

/// The difference between an offer of a mode and the plain offer of the same weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Tokens come faster: a smaller batch, drafts, or other machines.
    Speed,
    /// The model thinks for more or fewer tokens, or not at all.
    Effort,
}

/// Words at the end of a name, their mode, and the beginnings of the names whose weights they do not change. A family is named
/// where its author says so, where it sells one set of weights for all efforts, or where the weights are open and hosts name their
/// own ways to serve them. `-thinking` of Kimi K2 and of the first Qwen 3, and `-turbo` of GLM-5, GPT and Qwen's own names,
/// are weights of their own.
const MODES: [(&str, Mode, &str); 15] = [
    (
        "fast",
        Mode::Speed,
        "claude deepseek gemma glm gpt grok-3 kimi ling-3 llama minimax nemotron o1 o3 o4 qwen2 qwen3",
    ),
    ("highspeed", Mode::Speed, "glm kimi minimax"),
    ("lightning", Mode::Speed, "minimax"),
    (
        "turbo",
        Mode::Speed,
        "deepseek-r1 deepseek-v3 gemma-4 glm-4-6 gpt-oss kimi-k2-thinking llama minimax-m2 qwen2 qwen3",
    ),
    (
        "nitro",
        Mode::Speed,
        "deepseek glm kimi llama minimax qwen3",
    ),
    ("non-reasoning", Mode::Effort, "grok-4"),
    ("reasoning", Mode::Effort, "grok-4"),
    ("no-thinking", Mode::Effort, THINK_ON_DEMAND),
    ("nothinking", Mode::Effort, THINK_ON_DEMAND),
    ("thinking", Mode::Effort, THINK_ON_DEMAND),
    ("minimal", Mode::Effort, HAVE_EFFORTS),
    ("low", Mode::Effort, HAVE_EFFORTS),
    ("medium", Mode::Effort, HAVE_EFFORTS),
    ("high", Mode::Effort, HAVE_EFFORTS),
    ("xhigh", Mode::Effort, HAVE_EFFORTS),
];

/// Families whose models think where they are asked to.
const THINK_ON_DEMAND: &str = "\
    claude deepseek-v3-1 deepseek-v3-2 deepseek-v4 gemini-2-5 gemini-3 gemma-4 glm-4-5 glm-4-5v \
    glm-4-6 glm-4-7 glm-5 glm-5v gpt-5 gpt-6 hermes-4 kimi-k2-5 kimi-k2-6 kimi-k2-7 kimi-k3 ling-3 \
    minimax-m3 mistral-medium-3-5 mistral-small-4 nemotron-3 nemotron-3-5 qwen3-5 qwen3-6 qwen3-7 \
    qwen3-8";

/// Families whose effort a request states.
const HAVE_EFFORTS: &str = "claude gemini-3 gpt-5 gpt-6 o1 o3 o4";

/// The mode that a seller's model name states; none of a plain name.
#[must_use]
pub fn mode_of(name: &str) -> Option<Mode> {
    let (_, words) = take_apart(name)?;
    take_mode(&mut without_author(words))
}

/// Takes the words of modes from the end of a name; the last one that is taken is the mode.
pub(super) fn take_mode(words: &mut Vec<String>) -> Option<Mode> {
    let mut found = None;
    while let Some((mode, plain)) = mode_at_end(words) {
        words.truncate(plain);
        // A fast offer that also thinks is priced as a fast one.
        found = if found == Some(Mode::Speed) {
            found
        } else {
            Some(mode)
        };
    }
    found
}

/// The mode at the end of a name, and the number of words before it.
fn mode_at_end(words: &[String]) -> Option<(Mode, usize)> {
    let name = words.join("-");
    let (ending, mode, _) = MODES.iter().find(|(ending, _, families)| {
        let plain = name
            .strip_suffix(ending)
            .and_then(|plain| plain.strip_suffix('-'));
        plain.is_some_and(|plain| is_of_families(plain, families))
    })?;
    Some((*mode, words.len() - ending.split('-').count()))
}

/// Whether a name begins with one of these, at the end of a word.
fn is_of_families(name: &str, families: &str) -> bool {
    let starts = |family: &str| {
        let rest = name.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    families.split(' ').any(starts)
}
