//! Models with closed weights, and the hosts that run them: everyone else who lists such a model resells it.
//!
//! ```
//! use unroof_price_sheet::closed_weights::runs_the_weights;
//!
//! assert_eq!(runs_the_weights("anthropic/claude-opus-5", "amazon-bedrock"), Some(true));
//! assert_eq!(runs_the_weights("anthropic/claude-opus-5", "acme"), Some(false));
//! // Open weights can be run by anyone.
//! assert_eq!(runs_the_weights("openai/gpt-oss-120b", "acme"), None);
//! ```

use crate::vendors::vendor;

/// Authors of closed weights, how the names of these models begin, and the vendors beside the author that run them, as the
/// clouds' own lists of models say (read on 29 November 2026).
const CLOSED: [(&str, &str, &str); 8] = [
    (
        "alibaba",
        "qwen-max qwen2.5-max qwen3-max qwen-plus qwen-turbo qwen-long",
        "",
    ),
    ("amazon", "nova titan", ""),
    ("anthropic", "claude", "amazon google microsoft"),
    ("google", "gemini", ""),
    ("mistral", "mistral-medium", "google ibm microsoft"),
    (
        "openai",
        "chatgpt codex gpt-3 gpt-4 gpt-5 gpt-6 o1 o3 o4",
        "amazon microsoft",
    ),
    ("perplexity", "sonar", ""),
    (
        "xai",
        "grok-3 grok-4 grok-5 grok-code",
        "amazon google microsoft oci",
    ),
];

/// Whether a seller runs the weights of a model, by its canonical name `author/model`; none where the weights are not known
/// to be closed.
#[must_use]
pub fn runs_the_weights(canonical_model: &str, provider: &str) -> Option<bool> {
    let (author, model) = canonical_model.split_once('/')?;
    let author = vendor(author);
    let is_closed = |names: &str| names.split(' ').any(|name| model.starts_with(name));
    let mut known = CLOSED.iter();
    let (_, _, hosts) = known.find(|(of, names, _)| *of == author && is_closed(names))?;
    let seller = vendor(provider);
    Some(seller == author || hosts.split(' ').any(|host| host == seller))
}
