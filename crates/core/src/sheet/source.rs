//! Factors on rates, other meters, and the sources of prices with their formats.

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

/// Passes the table of catalogs to a macro: for each its module in `catalog/`, its variant and name as a format, and what
/// it is, in the order in which catalogs are recognised.
macro_rules! catalog_table {
    ($macro:ident) => {
        $macro! {
            genai_prices GenaiPrices "genai-prices" "genai-prices catalog."
            litellm Litellm "litellm" "`LiteLLM` catalog."
            llm_prices LlmPrices "llm-prices" "llm-prices catalog."
            models_dev ModelsDev "models.dev" "models.dev catalog."
            openrouter Openrouter "openrouter" "`OpenRouter` API."
            portkey Portkey "portkey" "Portkey catalog."
        }
    };
}
pub(crate) use catalog_table;

macro_rules! declare_formats {
    ($( $module:ident $variant:ident $name:tt $meaning:tt )+) => {
        source_formats! {
            Official "official" "The provider's own page."
            $( $variant $name $meaning )+
            Helicone "helicone" "Helicone catalog."
            Langfuse "langfuse" "Langfuse catalog."
            Truefoundry "truefoundry" "`TrueFoundry` catalog."
            Manual "manual" "Typed in by a person."
        }
    };
}

macro_rules! source_formats {
    ($( $variant:ident $name:tt $meaning:tt )+) => {
        /// A format in which prices are published.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        pub enum SourceFormat {
            $( #[doc = $meaning] #[serde(rename = $name)] $variant, )+
        }

        impl SourceFormat {
            /// Every format by its name.
            pub const ALL: [(&'static str, Self); [$( $name ),+].len()] = [$( ($name, Self::$variant) ),+];

            /// Its name, as sheets write it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }
    };
}

catalog_table!(declare_formats);
