//! Model names: canonical names, regions in names, and keys for comparing names.

use uuid::Uuid;

use super::values::{is_name, renamed};
use crate::sheet::{PriceSheet, SheetId};

/// First-party providers: provider, author, and prefixes of their models' names.
const FIRST_PARTIES: [(&str, &str, &[&str]); 10] = [
    ("anthropic", "anthropic", &["claude-"]),
    ("deepseek", "deepseek", &["deepseek-"]),
    ("google", "google", &["gemini-", "gemma-"]),
    ("meta", "meta", &["muse-"]),
    ("minimax", "minimax", &["MiniMax-"]),
    (
        "mistral",
        "mistral",
        &[
            "codestral-",
            "devstral-",
            "magistral-",
            "ministral-",
            "mistral-",
            "pixtral-",
            "voxtral-",
        ],
    ),
    ("moonshotai", "moonshotai", &["kimi-"]),
    ("openai", "openai", &["gpt-", "o1", "o3", "o4"]),
    ("xai", "xai", &["grok-"]),
    // models.dev uses the name of the company, not of its service.
    ("zai", "zhipuai", &["glm-"]),
];

/// Parts of names that do not denote fixed weights.
const MOVING_PARTS: [&str; 5] = ["-latest", "-preview", "-exp", "-beta", "gemini-gemma-"];

/// `author/model` if the provider is the author and the name denotes one set of weights.
pub(super) fn canonical_model(provider: &str, name: &str) -> Option<String> {
    let (_, author, families) = FIRST_PARTIES
        .iter()
        .find(|(seller, _, _)| *seller == provider)?;
    of_family(author, families, name)
}

fn of_family(author: &str, families: &[&str], name: &str) -> Option<String> {
    let name = without_date(name);
    let is_certain = families.iter().any(|family| name.starts_with(family))
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && !MOVING_PARTS.iter().any(|part| name.contains(part));
    let canonical = format!("{author}/{name}");
    // With its author in front, a name can be too long.
    (is_certain && is_name(&canonical)).then_some(canonical)
}

/// Region groups that Bedrock puts before a model's name with a dot, and their names here. A name without one is served in
/// a single region and differs from `global`: names with `global.` have their own prices.
const BEDROCK_REGIONS: [(&str, &str); 10] = [
    ("apac", "apac"),
    ("au", "au"),
    ("ca", "ca"),
    ("eu", "eu"),
    ("global", "global"),
    ("in", "in"),
    ("jp", "jp"),
    ("regional", IN_REGION),
    ("us", "us"),
    ("us-gov", "us-gov"),
];

/// Region and model of a name as the provider spells it.
pub(super) fn split_region<'n>(provider: &str, name: &'n str) -> (&'static str, &'n str) {
    if provider != "amazon-bedrock" {
        return (PriceSheet::DEFAULT_REGION, name);
    }
    split_group(name).unwrap_or((IN_REGION, name))
}

/// Region of a name that is served in a single region, which it does not name.
pub(super) const IN_REGION: &str = "in-region";

/// Region group and model of a Bedrock name such as `us.anthropic.claude-opus-5`.
pub(super) fn split_group(name: &str) -> Option<(&'static str, &str)> {
    let (first, rest) = name.split_once('.')?;
    let (_, region) = BEDROCK_REGIONS
        .iter()
        .find(|(written, _)| *written == first)?;
    (!rest.is_empty()).then_some((*region, rest))
}

/// Whether a model is a Gemini, at any seller and in any spelling.
pub(super) fn is_gemini(model: &str) -> bool {
    model.to_ascii_lowercase().contains("gemini")
}

/// Authors in `OpenRouter` names whose provider has another name.
const ROUTED_AUTHORS: [(&str, &str); 3] =
    [("mistralai", "mistral"), ("x-ai", "xai"), ("z-ai", "zai")];
/// Authors without a first-party provider: `OpenRouter`'s name, the usual name, and prefixes of their models' names.
const ROUTED_FAMILIES: [(&str, &str, &str); 4] = [
    ("meta-llama", "meta", "llama-"),
    ("nvidia", "nvidia", "nemotron-"),
    ("qwen", "alibaba", "qwen"),
    ("xiaomi", "xiaomi", "mimo-"),
];
/// Suffixes of `OpenRouter` names with the same weights.
const SAME_WEIGHTS: [&str; 2] = [":batch", ":free"];

/// Canonical name of an `OpenRouter` name, which includes the author: `anthropic/claude-opus-4.7:free`.
pub(super) fn canonical_model_of_router(name: &str) -> Option<String> {
    let (author, name) = name.split_once('/')?;
    let name = SAME_WEIGHTS
        .iter()
        .find_map(|variant| name.strip_suffix(variant))
        .unwrap_or(name);
    // Other variants have a different context or effort, and `-fast` has its own prices.
    if name.contains(':') || (author == "anthropic" && name.ends_with("-fast")) {
        return None;
    }
    if let Some((_, author, family)) = ROUTED_FAMILIES.iter().find(|(slug, _, _)| *slug == author) {
        return of_family(author, &[family], name);
    }
    let shop = renamed(&ROUTED_AUTHORS, author);
    match shop {
        "anthropic" => canonical_model(shop, &name.replace('.', "-")),
        // OpenRouter uses lower case; the capitals of longer names are unknown.
        "minimax" if !name.trim_start_matches("minimax-").contains('-') => {
            canonical_model(shop, &name.replace("minimax-m", "MiniMax-M"))
        }
        _ => canonical_model(shop, name),
    }
}

/// The name without a date at the end, such as `-20250929` or `-2026-03-05`.
pub(super) fn without_date(name: &str) -> &str {
    let dated = |length: usize| {
        let (rest, date) = name.split_at_checked(name.len().checked_sub(length)?)?;
        let digits = date.bytes().filter(u8::is_ascii_digit).count();
        let is_date = date.starts_with("-20")
            && digits == 8
            && (length == 9 || date.matches('-').count() == 3);
        is_date.then_some(rest)
    };
    dated(9).or_else(|| dated(11)).unwrap_or(name)
}

/// Identity of an offer: the same names give the same id on every machine.
#[must_use]
pub fn offer_id(provider: &str, model: &str, region: &str) -> Uuid {
    // Names contain no control characters.
    SheetId::digest(format!("{provider}\n{model}\n{region}").as_bytes())
}

/// Authors that Bedrock puts before a model's name, with a dot.
const DOTTED_AUTHORS: [&str; 21] = [
    "ai21",
    "amazon",
    "anthropic",
    "cohere",
    "deepseek",
    "google",
    "luma",
    "meta",
    "minimax",
    "minimaxai",
    "mistral",
    "moonshot",
    "moonshotai",
    "nvidia",
    "openai",
    "qwen",
    "stability",
    "twelvelabs",
    "writer",
    "xai",
    "zai",
];

/// Normalised model name, without provider, author, region, date and word separators. Equal keys may still be different
/// models; their prices must agree too.
#[must_use]
pub fn model_key(name: &str) -> String {
    let lower = name.to_lowercase();
    // A version as in `@20250929`, or a host as in `@deepinfra/fp8`.
    let lower = match lower.find('@') {
        Some(place) if place > 0 => &lower[..place],
        _ => &lower,
    };
    let mut name = lower
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or(lower);
    let is_region = |word: &str| BEDROCK_REGIONS.iter().any(|(written, _)| *written == word);
    let is_author = |word: &str| DOTTED_AUTHORS.contains(&word);
    for is_meant in [&is_region as &dyn Fn(&str) -> bool, &is_author] {
        if let Some((first, rest)) = name.split_once('.')
            && is_meant(first)
        {
            name = rest;
        }
    }
    // Bedrock's versions, `:0` and `-v1`.
    let name = name.split(':').next().unwrap_or(name);
    let name = name
        .strip_suffix("-v1")
        .or_else(|| name.strip_suffix("-v2"))
        .unwrap_or(name);
    let words = without_date(name).split(|letter: char| !letter.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_one_model_have_one_key() {
        for names in [
            &[
                "claude-sonnet-4-5",
                "claude-sonnet-4-5-20250929",
                "claude-sonnet-4.5",
                "anthropic/claude-sonnet-4.5",
                "anthropic.claude-sonnet-4-5-20250929-v1:0",
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5@20250929",
            ][..],
            &[
                "MiniMaxAI/MiniMax-M2.5",
                "minimax-m2.5",
                "accounts/fireworks/models/minimax-m2-5",
            ],
            &["gpt-5.4", "gpt-5.4-2026-03-05", "openai/gpt-5.4"],
            &["deepseek/deepseek-v4-pro@deepinfra/fp8", "deepseek-v4-pro"],
            &["@cf/meta/llama-3.1-8b-instruct", "llama-3.1-8b-instruct"],
        ] {
            for name in names {
                assert_eq!(model_key(name), model_key(names[0]), "{name}");
            }
        }
        assert_ne!(model_key("gpt-5.4"), model_key("gpt-5.4-mini"));
        assert_ne!(model_key("llama-3.1-8b"), model_key("llama-3.1-70b"));
        assert_eq!(model_key("/"), "");
    }

    #[test]
    fn an_offer_has_an_id_of_its_own() {
        assert_eq!(offer_id("a", "b", "c"), offer_id("a", "b", "c"));
        assert_ne!(offer_id("a", "b", "c"), offer_id("a", "bc", ""));
    }

    #[test]
    fn the_region_of_a_bedrock_name_is_before_its_first_dot() {
        let cases = [
            (
                "us.anthropic.claude-opus-5",
                ("us", "anthropic.claude-opus-5"),
            ),
            (
                "us-gov.openai.gpt-oss-20b-1:0",
                ("us-gov", "openai.gpt-oss-20b-1:0"),
            ),
            ("global.openai.gpt-6-sol", ("global", "openai.gpt-6-sol")),
            (
                "regional.amazon.nova-2-lite-v1:0",
                ("in-region", "amazon.nova-2-lite-v1:0"),
            ),
            ("openai.gpt-6-sol", ("in-region", "openai.gpt-6-sol")),
            ("eu.", ("in-region", "eu.")),
        ];
        for (name, split) in cases {
            assert_eq!(split_region("amazon-bedrock", name), split, "{name}");
        }
        assert_eq!(split_region("openai", "us.x"), ("global", "us.x"));
    }

    #[test]
    fn a_name_of_a_router_joins_the_shop_of_its_author() {
        let cases = [
            ("anthropic/claude-opus-4.7", "anthropic/claude-opus-4-7"),
            ("deepseek/deepseek-v4-pro:free", "deepseek/deepseek-v4-pro"),
            (
                "meta-llama/llama-3.3-70b-instruct",
                "meta/llama-3.3-70b-instruct",
            ),
            ("minimax/minimax-m2.5", "minimax/MiniMax-M2.5"),
            ("mistralai/mistral-large-2512", "mistral/mistral-large-2512"),
            ("openai/gpt-oss-120b:batch", "openai/gpt-oss-120b"),
            ("qwen/qwen3.8-27b", "alibaba/qwen3.8-27b"),
            ("x-ai/grok-4.6", "xai/grok-4.6"),
            ("z-ai/glm-5.2", "zhipuai/glm-5.2"),
        ];
        for (name, canonical) in cases {
            assert_eq!(canonical_model_of_router(name).as_deref(), Some(canonical));
        }
        let uncertain = [
            "~google/gemini-pro-latest",
            "google/gemini-3-flash-preview",
            "anthropic/claude-opus-4.7-fast",
            "qwen/qwen-plus-2025-07-28:thinking",
            "minimax/minimax-m2-her",
            "openrouter/auto",
            "gpt-5.4",
            "",
        ];
        for name in uncertain {
            assert_eq!(canonical_model_of_router(name), None, "{name}");
        }
    }
}
