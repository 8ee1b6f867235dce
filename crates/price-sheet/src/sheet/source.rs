//! Factors on rates, other meters, and the sources of prices with their formats.

use super::JsonObject;
use super::fields::{MOST_SOURCES, verbatim};
use unroof_base::input::body::document::{
    Choices, choice, choices, decimal, document, filled, maybe, name, text,
};
use unroof_base::input::body::{List, Object, object, plain, value};
use unroof_base::units::Decimal;

document! {
    /// A factor on many prices.
    #[derive(PartialEq)]
    pub struct Modifier {
        /// Name of the modifier.
        name: String = plain(value(name()).hint("name the modifier")),
        /// The conditions under which it applies.
        when: JsonObject = filled(verbatim()),
        /// Factor on the prices.
        multiplier: Decimal = plain(value(decimal()).hint("write the factor, such as \"1.1\"")),
        /// Prices to which the factor applies.
        applies_to: Vec<String> = filled(List::entries(name())),
    }

    /// The price of something that is not a text token.
    #[derive(PartialEq, Eq)]
    pub struct OtherMeter {
        /// Item that is metered.
        meter: String = plain(value(name()).hint("name what is metered")),
        /// Unit of the price.
        unit: String = plain(value(name()).hint("say what the price is for")),
        /// Price of one unit of the item.
        price: Decimal = plain(value(decimal()).hint("write the price")),
        /// Remark on the price.
        note: Option<String> = maybe(text()),
    }

    /// Publication that states prices.
    #[derive(PartialEq, Eq)]
    pub struct Source {
        /// Address of the publication.
        url: String = plain(value(text()).hint("write the address")),
        /// Format in which it was read.
        format: SourceFormat = plain(value(choice()).hint("write \"official\" for the provider's own page")),
        /// Time at which it was read.
        retrieved_at: Option<String> = maybe(text()),
        /// Time at which it was published.
        published_at: Option<String> = maybe(text()),
        /// Digest of what was read.
        sha256: Option<String> = maybe(text()),
        /// Place within the publication.
        locator: Option<String> = maybe(text()),
    }
}

impl Source {
    /// The publication of a catalog's entry.
    pub(crate) fn entry(format: SourceFormat, url: &str, key: &str) -> Self {
        Self {
            url: url.to_owned(),
            format,
            retrieved_at: None,
            published_at: None,
            sha256: None,
            locator: Some(key.to_owned()),
        }
    }

    /// The publications of a sheet: one or more.
    pub(super) fn list() -> List<Object<Self>> {
        List::of(object(), 1..=MOST_SOURCES).called("sources")
    }
}

impl SourceFormat {
    /// Name of the format, as sheets write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, format)| *format == self);
        named.map_or("", |(name, _)| name)
    }
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
            vercel Vercel "vercel" "List of Vercel's AI Gateway."
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
        choices! {
            /// A format in which prices are published.
            pub enum SourceFormat {
                $( #[doc = $meaning] $variant = $name, )+
            }
        }
    };
}

catalog_table!(declare_formats);
