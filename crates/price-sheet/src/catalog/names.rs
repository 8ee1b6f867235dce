//! Model names: regions in names, and keys for comparing names.

use uuid::Uuid;

use crate::sheet::{PriceSheet, SheetId};

/// Region groups that Bedrock puts before a model's name with a dot. A name without one is served in a single region, as one
/// with `regional` is, and differs from `global`: names with `global.` have their own prices.
const BEDROCK_REGIONS: &str = "apac au ca eu global in jp regional us us-gov";

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
    let region = match BEDROCK_REGIONS.split(' ').find(|region| *region == first)? {
        "regional" => IN_REGION,
        region => region,
    };
    (!rest.is_empty()).then_some((region, rest))
}

/// Whether a model is a Gemini, at any seller and in any spelling.
pub(super) fn is_gemini(model: &str) -> bool {
    model.to_ascii_lowercase().contains("gemini")
}

/// The name without a date at the end, such as `-20250929` or `-2026-03-05`.
fn without_date(name: &str) -> &str {
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

/// The name without what follows an `@`: a version or a host. `@cf/…` is an organisation.
pub(super) fn without_version(name: &str) -> &str {
    let mut places = name.match_indices('@').map(|(place, _)| place);
    let version = places.find(|place| *place > 0 && !name[..*place].ends_with('/'));
    version.map_or(name, |place| &name[..place])
}

/// Identity of an offer: the same names give the same id on every machine.
#[must_use]
pub fn offer_id(provider: &str, model: &str, region: &str) -> Uuid {
    // Names contain no control characters.
    SheetId::digest(format!("{provider}\n{model}\n{region}").as_bytes())
}

/// Whether a word is in a text of words.
pub(super) fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Authors that Bedrock puts before a model's name, with a dot.
const DOTTED_AUTHORS: &str = "\
    ai21 amazon anthropic cohere deepseek google luma meta minimax minimaxai mistral moonshot \
    moonshotai nvidia openai qwen stability twelvelabs writer xai zai";

/// The name without the region group and the author that Bedrock puts before it, each with a dot.
pub(super) fn without_prefixes(name: &str) -> &str {
    [BEDROCK_REGIONS, DOTTED_AUTHORS]
        .into_iter()
        .fold(name, |name, prefixes| {
            let split = name.split_once('.');
            let split = split.filter(|(first, _)| has_word(prefixes, first));
            split.map_or(name, |(_, rest)| rest)
        })
}

/// Normalised model name, without provider, author, region, date and word separators. Equal keys may still be different
/// models; their prices must agree too.
#[must_use]
pub fn model_key(name: &str) -> String {
    let lower = name.to_lowercase();
    // A version as in `@20250929`, or a host as in `@deepinfra/fp8`.
    let lower = without_version(&lower);
    let name = lower
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or(lower);
    let name = without_prefixes(name);
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
            &[
                "@cf/meta/llama-3.1-8b-instruct",
                "cloudflare/@cf/meta/llama-3.1-8b-instruct",
                "llama-3.1-8b-instruct",
            ],
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
}
