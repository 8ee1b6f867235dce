//! Host of an endpoint from its tag, such as `google-vertex/us-east5`, `deepinfra/fp8` or `openai/flex`.

use crate::catalog::entry::Entry;
use crate::catalog::values::{is_name, renamed};
use crate::sheet::RateCell;
use unroof_base::input::cursor::{LONGEST_NAME, Recorded, shortened};
use unroof_base::input::json::Json;

/// Host names that differ here: `OpenRouter`'s, ours.
const PROVIDERS: [(&str, &str); 11] = [
    ("cloudflare", "cloudflare-workers-ai"),
    ("fireworks", "fireworks-ai"),
    ("google-ai-studio", "google"),
    ("inference-net", "inference"),
    ("moonshot", "moonshotai"),
    ("novita", "novita-ai"),
    ("oracle", "oci"),
    ("together", "togetherai"),
    ("x-ai", "xai"),
    ("z-ai", "zai"),
    ("zhipu", "zhipuai"),
];
/// Service tiers that may be in the tag while their field is null.
const SERVICE_TIERS: [&str; 4] = ["batch", "flex", "priority", "ultrafast"];
/// Names of the default service tier.
const STANDARD: [&str; 3] = ["default", "standard", "auto"];
const REGIONS: [&str; 11] = [
    "apac", "asia", "au", "ca", "eu", "europe", "global", "in", "jp", "uk", "us",
];

/// Host, region, quantization and service tier of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Upstream {
    pub(super) provider: String,
    pub(super) region: Option<String>,
    pub(super) quantization: Option<String>,
    pub(super) service_tier: String,
}

impl Upstream {
    /// The host of an endpoint; None for a model.
    ///
    /// # Errors
    /// [`Recorded`] if a fault is recorded.
    pub(super) fn take(entry: &mut Entry<'_>) -> Result<Option<Self>, Recorded> {
        let name = entry.look_at("provider_name").cloned();
        let tag = entry.look_at("tag").cloned();
        let Some(field) = tag.as_ref().or(name.as_ref()) else {
            return Ok(None);
        };
        let is_empty = matches!(field.json, Json::Text(text) if text.is_empty());
        let named = name.as_ref().filter(|_| is_empty).unwrap_or(field);
        let tag = named.name().ok_or(Recorded)?;
        let mut text = |name: &str| -> Result<Option<String>, Recorded> {
            let field = entry.take(name);
            field.map(|field| field.name().ok_or(Recorded)).transpose()
        };
        let quantization = text("quantization")?.filter(|name| name != "unknown");
        let service_tier = text("service_tier")?;
        let upstream = Self::of_tag(&tag, quantization, service_tier);
        // Our name of a host can be longer.
        if !is_name(&upstream.provider) {
            field.fault(
                format!("`{}` does not name an endpoint", shortened(&tag)),
                format!("write 1 to {LONGEST_NAME} characters, such as deepinfra/fp8"),
            );
            return Err(Recorded);
        }
        Ok(Some(upstream))
    }

    fn of_tag(tag: &str, quantization: Option<String>, service_tier: Option<String>) -> Self {
        let tag = tag.to_lowercase();
        let mut segments = tag.split('/').filter(|segment| !segment.is_empty());
        let host = segments.next().unwrap_or(&tag);
        let mut upstream = Self {
            provider: renamed(&PROVIDERS, host).to_owned(),
            region: None,
            quantization,
            service_tier: service_tier
                .filter(|tier| !STANDARD.contains(&tier.as_str()))
                .unwrap_or_else(|| RateCell::STANDARD.to_owned()),
        };
        for segment in segments {
            if upstream.quantization.as_deref() == Some(segment) || upstream.service_tier == segment
            {
                continue;
            }
            if SERVICE_TIERS.contains(&segment) && upstream.service_tier == RateCell::STANDARD {
                segment.clone_into(&mut upstream.service_tier);
            } else if upstream.region.is_none() && is_region(segment) {
                upstream.region = Some(segment.to_owned());
            } else {
                upstream.provider = format!("{}/{segment}", upstream.provider);
            }
        }
        upstream
    }
}

/// Whether a segment is a region, such as `global`, `us-east5`, `eu-west-1`.
fn is_region(segment: &str) -> bool {
    let without_number = segment.trim_end_matches(|last: char| last.is_ascii_digit());
    let words = without_number.strip_suffix('-').unwrap_or(without_number);
    let is_word = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_numbered = without_number.len() < segment.len()
        && words.contains('-')
        && words.split('-').all(is_word);
    REGIONS.contains(&segment) || is_numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `provider region service tier`
    fn read(tag: &str, quantization: Option<&str>, service_tier: Option<&str>) -> String {
        let upstream = Upstream::of_tag(
            tag,
            quantization.map(str::to_owned),
            service_tier.map(str::to_owned),
        );
        format!(
            "{} {} {}",
            upstream.provider,
            upstream.region.as_deref().unwrap_or("-"),
            upstream.service_tier
        )
    }

    #[test]
    fn a_tag_is_taken_apart_into_host_region_and_service_tier() {
        let cases = [
            ("deepinfra/fp8", Some("fp8"), None, "deepinfra - standard"),
            (
                "DeepInfra/Turbo",
                Some("fp4"),
                None,
                "deepinfra/turbo - standard",
            ),
            ("together", None, None, "togetherai - standard"),
            (
                "google-vertex/global",
                None,
                None,
                "google-vertex global standard",
            ),
            (
                "google-vertex/us-east5",
                None,
                None,
                "google-vertex us-east5 standard",
            ),
            (
                "amazon-bedrock/eu-west-1",
                None,
                None,
                "amazon-bedrock eu-west-1 standard",
            ),
            (
                "google-vertex/global/flex",
                None,
                None,
                "google-vertex global flex",
            ),
            ("openai/flex", None, Some("flex"), "openai - flex"),
            ("openai", None, Some("default"), "openai - standard"),
            (
                "novita/z-ai/glm-5",
                None,
                None,
                "novita-ai/z-ai/glm-5 - standard",
            ),
            ("//", None, None, "// - standard"),
        ];
        for (tag, quantization, service_tier, expected) in cases {
            assert_eq!(read(tag, quantization, service_tier), expected, "{tag}");
        }
    }
}
