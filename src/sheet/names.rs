//! Which model a name means, whoever sells it.

/// Who sells models of their own: provider, author, and how the names of those models begin.
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
    // models.dev joins hosts by the name of the company, not by that of its shop.
    ("zai", "zhipuai", &["glm-"]),
];

/// Parts of a name that move from one model to another, or name what has no weights yet.
const MOVING_PARTS: [&str; 5] = ["-latest", "-preview", "-exp", "-beta", "gemini-gemma-"];

/// `author/model` where the provider is the author and the name is that of one set of weights.
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
    is_certain.then(|| format!("{author}/{name}"))
}

/// Authors as `OpenRouter` writes them, where the shop of the author is called otherwise.
const ROUTED_AUTHORS: [(&str, &str); 3] =
    [("mistralai", "mistral"), ("x-ai", "xai"), ("z-ai", "zai")];
/// Authors that have no shop in the table above: as `OpenRouter` writes them, as others do, and how their models begin.
const ROUTED_FAMILIES: [(&str, &str, &str); 4] = [
    ("meta-llama", "meta", "llama-"),
    ("nvidia", "nvidia", "nemotron-"),
    ("qwen", "alibaba", "qwen"),
    ("xiaomi", "xiaomi", "mimo-"),
];
/// Variants of a name on `OpenRouter` that are served by the same weights.
const SAME_WEIGHTS: [&str; 2] = [":batch", ":free"];

/// The same for a name of `OpenRouter`, which carries the author: `anthropic/claude-opus-4.7:free`.
pub(super) fn canonical_model_of_router(name: &str) -> Option<String> {
    let (author, name) = name.split_once('/')?;
    let name = SAME_WEIGHTS
        .iter()
        .find_map(|variant| name.strip_suffix(variant))
        .unwrap_or(name);
    // Other variants think longer or read more, and what is fast has a price of its own.
    if name.contains(':') || (author == "anthropic" && name.ends_with("-fast")) {
        return None;
    }
    if let Some((_, author, family)) = ROUTED_FAMILIES.iter().find(|(slug, _, _)| *slug == author) {
        return of_family(author, &[family], name);
    }
    let shop = ROUTED_AUTHORS
        .iter()
        .find(|(slug, _)| *slug == author)
        .map_or(author, |(_, shop)| shop);
    match shop {
        "anthropic" => canonical_model(shop, &name.replace('.', "-")),
        // Its models are written in small letters here; of a name with more words nobody knows how it is written there.
        "minimax" if !name.trim_start_matches("minimax-").contains('-') => {
            canonical_model(shop, &name.replace("minimax-m", "MiniMax-M"))
        }
        _ => canonical_model(shop, name),
    }
}

/// Cuts `-20250929` or `-2026-03-05` off the end.
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

#[cfg(test)]
mod tests {
    use super::*;

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
