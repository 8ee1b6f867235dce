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
    let name = without_date(name);
    let is_certain = families.iter().any(|family| name.starts_with(family))
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && !MOVING_PARTS.iter().any(|part| name.contains(part));
    is_certain.then(|| format!("{author}/{name}"))
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
