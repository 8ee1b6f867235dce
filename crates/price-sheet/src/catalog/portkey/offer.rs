//! Provider, model, region and context tier from the key of an entry.

use crate::catalog::names::{IN_REGION, split_group};
use crate::catalog::offer::{Offer, Renamed, renamed_provider};
use crate::catalog::values::thousands;
use crate::sheet::PriceSheet;

/// Provider names that differ here.
const PROVIDERS: [Renamed; 20] = [
    ("azure-ai", "azure", "foundry/"),
    ("azure-openai", "azure", ""),
    ("bedrock", "amazon-bedrock", ""),
    ("bedrock-mantle", "amazon-bedrock", "mantle/"),
    ("claude-platform-aws", "amazon-bedrock", "claude_platform/"),
    ("dashscope", "alibaba", ""),
    ("jina", "jina-ai", ""),
    ("mistral-ai", "mistral", ""),
    ("moonshot", "moonshotai", ""),
    ("oracle", "oci", ""),
    ("palm", "google", "palm/"),
    ("perplexity-ai", "perplexity", ""),
    ("sagemaker", "amazon-sagemaker", ""),
    ("stability-ai", "stability", ""),
    ("together-ai", "togetherai", ""),
    ("vertex-ai", "google-vertex", ""),
    ("workers-ai", "cloudflare-workers-ai", ""),
    ("x-ai", "xai", ""),
    ("z-ai", "zai", ""),
    ("zhipu", "zhipuai", ""),
];

/// The offer of a model in a provider's file.
pub(super) fn offer(slug: &str, model: &str) -> Offer {
    let (provider, door) = renamed_provider(&PROVIDERS, slug).unwrap_or((slug, ""));
    let name = match slug {
        "bedrock" => split_geography(model),
        "bedrock-mantle" => (IN_REGION, model),
        _ => (PriceSheet::DEFAULT_REGION, model),
    };
    Offer::new((provider, door), name, provider == "openai")
}

/// Region and name without its region group; a name without one differs from `global`, whose names have prices of their own.
fn split_geography(model: &str) -> (&str, &str) {
    let split = split_group(model).filter(|(region, _)| *region != IN_REGION);
    split.unwrap_or((IN_REGION, model))
}

/// A name for the prices of a model for prompts up to or beyond a length: `gemini-2.5-pro-gt-128k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TierName<'n> {
    pub(super) model: &'n str,
    /// Prompt length in the name, in tokens.
    pub(super) length: u32,
    /// Whether it is for prompts beyond it.
    pub(super) is_beyond: bool,
}

impl<'n> TierName<'n> {
    /// Separators of model and length.
    pub(super) const MARKS: [(&'static str, bool); 2] = [("-gt-", true), ("-lte-", false)];

    pub(super) fn parse(name: &'n str) -> Option<Self> {
        Self::MARKS.iter().find_map(|(mark, is_beyond)| {
            let (model, length) = name.rsplit_once(mark)?;
            Some(Self {
                model,
                length: thousands(length)?,
                is_beyond: *is_beyond,
            })
            .filter(|_| !model.is_empty())
        })
    }

    /// Prompt length from which the prices apply, in tokens.
    pub(super) fn threshold(self) -> u32 {
        if self.is_beyond { self.length } else { 0 }
    }
}

/// The threshold of a tier named `gt-272k` or `lte-272k`.
pub(super) fn tier_threshold(name: &str) -> Option<u32> {
    if let Some(length) = name.strip_prefix("gt-") {
        return thousands(length);
    }
    thousands(name.strip_prefix("lte-")?).map(|_| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `provider region model`
    fn names(slug: &str, model: &str) -> String {
        let offer = offer(slug, model);
        format!("{} {} {}", offer.provider, offer.region, offer.model)
    }

    #[test]
    fn a_key_is_taken_apart_into_provider_region_and_model() {
        let cases = [
            ("openai", "gpt-5.4", "openai global gpt-5.4"),
            ("azure-openai", "gpt-4", "azure global gpt-4"),
            ("azure-ai", "gpt-4", "azure global foundry/gpt-4"),
            ("x-ai", "grok-4.6", "xai global grok-4.6"),
            ("z-ai", "glm-5.2", "zai global glm-5.2"),
            (
                "bedrock",
                "us.anthropic.claude-opus-5",
                "amazon-bedrock us anthropic.claude-opus-5",
            ),
            (
                "bedrock",
                "anthropic.claude-opus-5",
                "amazon-bedrock in-region anthropic.claude-opus-5",
            ),
            (
                "bedrock-mantle",
                "xai.grok-4.6",
                "amazon-bedrock in-region mantle/xai.grok-4.6",
            ),
            ("bedrock", "us.", "amazon-bedrock in-region us."),
            (
                "together-ai",
                "openai/gpt-oss-20b",
                "togetherai global openai/gpt-oss-20b",
            ),
        ];
        for (slug, model, expected) in cases {
            assert_eq!(names(slug, model), expected);
        }
    }

    #[test]
    fn the_canonical_model_is_stated_where_it_is_certain() {
        let canonical = |slug, model| offer(slug, model).canonical_model;
        assert_eq!(
            canonical("vertex-ai", "gemini-2.5-pro").as_deref(),
            Some("google/gemini-2.5-pro")
        );
        assert_eq!(canonical("mistral-ai", "mistral-large-latest"), None);
        assert_eq!(
            canonical("google", "gemini-2.5-pro").as_deref(),
            Some("google/gemini-2.5-pro")
        );
        assert_eq!(
            canonical("openrouter", "anthropic/claude-opus-4.7").as_deref(),
            Some("anthropic/claude-opus-4-7")
        );
    }

    #[test]
    fn the_name_of_a_tier_says_model_and_length() {
        let parts = |name| TierName::parse(name).map(|tier| (tier.model, tier.threshold()));
        assert_eq!(
            parts("gemini-2.5-pro-gt-128k"),
            Some(("gemini-2.5-pro", 128_000))
        );
        assert_eq!(
            parts("gemini-2.5-pro-lte-128k"),
            Some(("gemini-2.5-pro", 0))
        );
        assert_eq!(parts("x-gt-1k-lte-2k"), Some(("x-gt-1k", 0)));
        for name in [
            "moonshot-v1-128k",
            "-gt-128k",
            "x-gt-k",
            "x-gt-0k",
            "x-gt-+1k",
            "x-gt-9999999999k",
            "x-gt-2147484k",
            "gt-128k",
            "",
        ] {
            assert_eq!(parts(name), None, "{name}");
        }
        assert_eq!(tier_threshold("gt-272k"), Some(272_000));
        assert_eq!(tier_threshold("lte-272k"), Some(0));
        assert_eq!(tier_threshold("272k"), None);
    }
}
