//! Modifiers, other meters and sources of a sheet.

use serde::Serialize;
use serde_json::Map;
use utoipa::ToSchema;

use super::JsonObject;
use crate::input::schema::{Name, Text};
use crate::units::Decimal;

/// A factor on many prices.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// Name of the modifier.
    #[schema(value_type = Name)]
    pub name: String,
    /// The conditions under which it applies.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(required = false, value_type = Object)]
    pub when: JsonObject,
    /// The factor.
    pub multiplier: Decimal,
    /// Which prices it applies to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub applies_to: Vec<String>,
}

/// The price of something that is not a text token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherMeter {
    /// Metered item.
    #[schema(value_type = Name)]
    pub meter: String,
    /// Unit of the price.
    #[schema(value_type = Name)]
    pub unit: String,
    /// The price.
    pub price: Decimal,
    /// A remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub note: Option<String>,
}

/// Publication of prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Address.
    #[schema(value_type = Text)]
    pub url: String,
    /// Format in which it was read.
    pub format: SourceFormat,
    /// Time at which it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub retrieved_at: Option<String>,
    /// Time at which it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub published_at: Option<String>,
    /// Digest of what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub sha256: Option<String>,
    /// Place within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub locator: Option<String>,
}

/// A format in which prices are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceFormat {
    /// The provider's own page.
    Official,
    /// `LiteLLM` catalog.
    Litellm,
    /// models.dev catalog.
    #[serde(rename = "models.dev")]
    ModelsDev,
    /// genai-prices catalog.
    GenaiPrices,
    /// llm-prices catalog.
    LlmPrices,
    /// `OpenRouter` API.
    Openrouter,
    /// Portkey catalog.
    Portkey,
    /// Helicone catalog.
    Helicone,
    /// Langfuse catalog.
    Langfuse,
    /// `TrueFoundry` catalog.
    Truefoundry,
    /// Typed in by a person.
    Manual,
}

impl SourceFormat {
    /// Every format by its name.
    pub const ALL: [(&'static str, Self); 11] = [
        ("official", Self::Official),
        ("litellm", Self::Litellm),
        ("models.dev", Self::ModelsDev),
        ("genai-prices", Self::GenaiPrices),
        ("llm-prices", Self::LlmPrices),
        ("openrouter", Self::Openrouter),
        ("portkey", Self::Portkey),
        ("helicone", Self::Helicone),
        ("langfuse", Self::Langfuse),
        ("truefoundry", Self::Truefoundry),
        ("manual", Self::Manual),
    ];

    /// Its name, as sheets write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find_map(|(name, format)| (format == self).then_some(name))
            .unwrap_or_default()
    }
}
