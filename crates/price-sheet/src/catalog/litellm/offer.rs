//! Provider, model and region from the key of an entry.

use crate::catalog::names::{IN_REGION, split_group};
use crate::catalog::offer::{Offer, Renamed, renamed_provider};
use crate::sheet::PriceSheet;

/// Provider names that differ here.
const PROVIDERS: [Renamed; 20] = [
    ("azure_ai", "azure", ""),
    ("azure_text", "azure", ""),
    ("bedrock", "amazon-bedrock", ""),
    ("bedrock_converse", "amazon-bedrock", ""),
    ("bedrock_mantle", "amazon-bedrock", "mantle/"),
    ("cloudflare", "cloudflare-workers-ai", ""),
    ("codestral", "mistral", "codestral/"),
    ("cohere_chat", "cohere", ""),
    ("friendliai", "friendli", ""),
    ("gemini", "google", ""),
    ("gmi", "gmicloud", ""),
    ("moonshot", "moonshotai", ""),
    ("novita", "novita-ai", ""),
    ("sagemaker", "amazon-sagemaker", ""),
    ("text-completion-codestral", "mistral", "codestral/"),
    ("text-completion-inception", "inception", ""),
    ("text-completion-openai", "openai", ""),
    ("together_ai", "togetherai", ""),
    ("vercel_ai_gateway", "vercel", ""),
    ("vertex_ai", "google-vertex", ""),
];

const AZURE_REGIONS: [&str; 6] = ["apac", "eu", "global", "global-standard", "us", "us-gov"];

/// Bedrock APIs that `LiteLLM` puts before a model's name; they have the same prices.
const BEDROCK_ROUTES: [&str; 2] = ["converse", "invoke"];

/// Sellers all of whose models are of `OpenAI`. `LiteLLM` has one rate for writes of 5 and of 30 minutes.
const OPENAI_SELLERS: [&str; 4] = ["azure", "azure_text", "openai", "text-completion-openai"];

/// Splits the key of an entry.
pub(super) fn offer(key: &str, litellm_provider: &str) -> Offer {
    let known = match litellm_provider {
        models if models.starts_with("vertex_ai-") => "vertex_ai",
        other => other,
    };
    let plain = litellm_provider.replace('_', "-");
    let (provider, door) = renamed_provider(&PROVIDERS, known).unwrap_or((&plain, ""));
    let name = split_region(provider, without_provider(key, &plain));
    let is_openai = OPENAI_SELLERS.contains(&litellm_provider);
    Offer::new((provider, door), name, is_openai)
}

/// `azure/gpt-5` of `azure_text`, `vertex_ai/x` of `vertex_ai-qwen_models`, `amazon-nova/x` of `amazon_nova`.
fn without_provider<'k>(key: &'k str, provider: &str) -> &'k str {
    let Some((first, rest)) = key.split_once('/') else {
        return key;
    };
    let names_provider = provider
        .strip_prefix(&first.replace('_', "-"))
        .is_some_and(|more| more.is_empty() || more.starts_with('-'));
    if names_provider && !rest.is_empty() {
        rest
    } else {
        key
    }
}

fn split_region<'k>(provider: &str, name: &'k str) -> (&'k str, &'k str) {
    match provider {
        "azure" => split_first(name, |first| AZURE_REGIONS.contains(&first)),
        "amazon-bedrock" => return split_bedrock_region(name),
        _ => None,
    }
    .unwrap_or((PriceSheet::DEFAULT_REGION, name))
}

fn split_bedrock_region(name: &str) -> (&str, &str) {
    let name =
        split_first(name, |first| BEDROCK_ROUTES.contains(&first)).map_or(name, |(_, rest)| rest);
    if let Some((_, rest)) = split_first(name, |first| first == "*") {
        return (IN_REGION, rest);
    }
    let bare = if name.contains('/') {
        PriceSheet::DEFAULT_REGION
    } else {
        IN_REGION
    };
    split_first(name, is_aws_region)
        .or_else(|| split_group(name).filter(|(region, _)| *region != IN_REGION))
        .unwrap_or((bare, name))
}

fn split_first(name: &str, is_meant: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    name.split_once('/')
        .filter(|(first, rest)| is_meant(first) && !rest.is_empty())
}

/// Whether a segment is a region of AWS, such as `us-east-1`, `us-gov-west-1`.
fn is_aws_region(segment: &str) -> bool {
    let parts: Vec<_> = segment.split('-').collect();
    let is_word =
        |part: &&str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    match parts.as_slice() {
        [country, words @ .., number] => {
            country.len() == 2
                && is_word(country)
                && !words.is_empty()
                && words.iter().all(is_word)
                && number.len() == 1
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `provider region model`
    fn names(key: &str, litellm_provider: &str) -> String {
        let offer = offer(key, litellm_provider);
        format!("{} {} {}", offer.provider, offer.region, offer.model)
    }

    #[test]
    fn a_key_is_taken_apart_into_provider_region_and_model() {
        let cases = [
            ("gpt-5.4", "openai", "openai global gpt-5.4"),
            ("gemini/gemini-3.1", "gemini", "google global gemini-3.1"),
            (
                "vertex_ai/qwen/qwen3",
                "vertex_ai-qwen_models",
                "google-vertex global qwen/qwen3",
            ),
            (
                "azure_ai/deepseek-r1",
                "azure_ai",
                "azure global deepseek-r1",
            ),
            (
                "azure/gpt-35-turbo",
                "azure_text",
                "azure global gpt-35-turbo",
            ),
            ("azure/eu/gpt-5", "azure", "azure eu gpt-5"),
            ("azure/us-gov/gpt-5.1", "azure", "azure us-gov gpt-5.1"),
            (
                "azure/global-standard/gpt-5",
                "azure",
                "azure global-standard gpt-5",
            ),
            ("azure/us/", "azure", "azure global us/"),
            (
                "amazon-nova/nova-pro",
                "amazon_nova",
                "amazon-nova global nova-pro",
            ),
            (
                "perplexity/perplexity/sonar",
                "perplexity",
                "perplexity global perplexity/sonar",
            ),
            (
                "codestral/codestral-2405",
                "codestral",
                "mistral global codestral/codestral-2405",
            ),
            (
                "groq/openai/gpt-oss-20b",
                "groq",
                "groq global openai/gpt-oss-20b",
            ),
            ("openai/", "openai", "openai global openai/"),
        ];
        for (key, litellm_provider, expected) in cases {
            assert_eq!(names(key, litellm_provider), expected, "{key}");
        }
    }

    #[test]
    fn the_region_of_a_bedrock_name_is_before_a_slash_or_a_dot() {
        let cases = [
            ("us.anthropic.claude-opus-5", "us anthropic.claude-opus-5"),
            (
                "us-gov.anthropic.claude-opus-5",
                "us-gov anthropic.claude-opus-5",
            ),
            ("global.moonshotai.kimi-k3", "global moonshotai.kimi-k3"),
            ("moonshotai.kimi-k3", "in-region moonshotai.kimi-k3"),
            (
                "bedrock/us-gov-east-1/meta.llama3",
                "us-gov-east-1 meta.llama3",
            ),
            ("bedrock/us.anthropic.claude-3", "us anthropic.claude-3"),
            (
                "bedrock/invoke/anthropic.claude-3",
                "in-region anthropic.claude-3",
            ),
            (
                "bedrock/claude_platform/claude-opus-5",
                "global claude_platform/claude-opus-5",
            ),
        ];
        for (key, expected) in cases {
            assert_eq!(
                names(key, "bedrock"),
                format!("amazon-bedrock {expected}"),
                "{key}"
            );
        }
        let mantle = names(
            "bedrock_mantle/us-gov-west-1/xai.grok-4.6",
            "bedrock_mantle",
        );
        assert_eq!(mantle, "amazon-bedrock us-gov-west-1 mantle/xai.grok-4.6");
    }

    #[test]
    fn a_commitment_stays_visible_in_the_model() {
        let monthly = names(
            "bedrock/us-east-1/1-month-commitment/anthropic.claude-v1",
            "bedrock",
        );
        assert_eq!(
            monthly,
            "amazon-bedrock us-east-1 1-month-commitment/anthropic.claude-v1"
        );
        let anywhere = names("bedrock/*/6-month-commitment/cohere.command", "bedrock");
        assert_eq!(
            anywhere,
            "amazon-bedrock in-region 6-month-commitment/cohere.command"
        );
    }

    #[test]
    fn the_canonical_model_is_left_out_where_it_is_not_certain() {
        let canonical = |key, provider| offer(key, provider).canonical_model;
        let certain = [
            (
                "claude-sonnet-4-5-20250929",
                "anthropic",
                "anthropic/claude-sonnet-4-5",
            ),
            ("gpt-5.4-2026-03-05", "openai", "openai/gpt-5.4"),
            ("gemini/gemini-2.5-pro", "gemini", "google/gemini-2.5-pro"),
            (
                "deepseek/deepseek-v4-pro",
                "deepseek",
                "deepseek/deepseek-v4-pro",
            ),
            ("zai/glm-5.3", "zai", "zhipuai/glm-5.3"),
            ("moonshot/kimi-k3", "moonshot", "moonshotai/kimi-k3"),
            (
                "mistral/mistral-large-2512",
                "mistral",
                "mistral/mistral-large-2512",
            ),
            ("azure/gpt-5.4", "azure", "openai/gpt-5.4"),
            ("groq/openai/gpt-oss-20b", "groq", "openai/gpt-oss-20b"),
            ("mistral/zai-glm-5-2", "mistral", "zhipuai/glm-5.2"),
        ];
        for (key, provider, model) in certain {
            assert_eq!(canonical(key, provider).as_deref(), Some(model), "{key}");
        }
        let uncertain = [
            ("ft:gpt-4o-2024-08-06", "openai"),
            ("gpt-5.1-chat-latest", "openai"),
            ("deepseek/deepseek-chat", "deepseek"),
            ("deepseek-reasoner", "deepseek"),
            ("groq/acme/gpt-oss-20b", "groq"),
        ];
        for (key, provider) in uncertain {
            assert_eq!(canonical(key, provider), None, "{key}");
        }
    }

    #[test]
    fn openai_keeps_what_is_written_for_half_an_hour_wherever_it_is_sold() {
        let lifetime = |key, provider| offer(key, provider).write_lifetime_s;
        assert_eq!(lifetime("chat-latest", "openai"), 1_800);
        assert_eq!(lifetime("azure/o3", "azure"), 1_800);
        assert_eq!(lifetime("us.openai.gpt-6-sol", "bedrock_converse"), 1_800);
        assert_eq!(lifetime("azure_ai/claude-opus-5", "azure_ai"), 300);
        assert_eq!(
            lifetime("databricks/databricks-gpt-oss-20b", "databricks"),
            300
        );
        assert_eq!(lifetime("claude-opus-5", "anthropic"), 300);
    }
}
