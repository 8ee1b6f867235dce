//! The price sheet.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Map;
use utoipa::ToSchema;

use super::{
    CurrencyCode, JsonObject, Modifier, OtherMeter, RateCell, Schedule, ServiceTier, Source,
};
use crate::input::schema::{Name, Text};

/// One provider's offer of one model in one region over one validity interval.
///
/// Prices are exact decimals in `currency` per million tokens, written as strings. Absent means not published; "0"
/// means stated free.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSheet {
    /// `pricesheet/v1`
    pub schema: SchemaName,
    /// Billing provider: anthropic, amazon-bedrock, openrouter, ...
    #[schema(value_type = Name)]
    pub provider: String,
    /// Serving provider, if a router bills.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub upstream_provider: Option<String>,
    /// Model id as the provider spells it.
    #[schema(value_type = Name)]
    pub model: String,
    /// Canonical name, `author/model`, the same at all hosts of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub canonical_model: Option<String>,
    /// Other ids of the same offer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub aliases: Vec<String>,
    /// Region in which the model is served.
    #[schema(required = false, value_type = Name, default = "global")]
    pub region: String,
    /// Quantization of the served weights, if stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub quantization: Option<String>,
    /// Currency as an ISO 4217 code.
    #[schema(value_type = CurrencyCode)]
    pub currency: String,
    /// `per_1m_tokens`
    pub unit: Unit,
    /// Inclusive start of validity; null if unknown.
    #[schema(
        required = false,
        value_type = Option<String>,
        format = DateTime,
        pattern = "^(19[7-9]|[2-9][0-9]{2})[0-9]-",
        example = "2026-01-01T00:00:00Z"
    )]
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of validity; null if open.
    #[schema(
        required = false,
        value_type = Option<String>,
        format = DateTime,
        pattern = "^(19[7-9]|[2-9][0-9]{2})[0-9]-",
        example = "2027-01-01T00:00:00Z"
    )]
    pub valid_to: Option<Timestamp>,
    /// Token limits of the offer.
    #[serde(skip_serializing_if = "Limits::is_empty")]
    #[schema(required = false)]
    pub limits: Limits,
    /// Whether a context tier reprices the whole request or only the tokens above the threshold.
    #[schema(required = false, default = "whole_request")]
    pub context_tier_semantics: ContextTierSemantics,
    /// Tokens counted against a context threshold.
    #[schema(required = false, default = "prompt_tokens")]
    pub context_tier_measure: ContextTierMeasure,
    /// Billing of cache writes.
    #[schema(required = false, default = "not_published")]
    pub cache_write_billing: CacheWriteBilling,
    /// Times of day and week at which other rates apply, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, value_type = BTreeMap<Name, Schedule>)]
    pub schedules: BTreeMap<String, Schedule>,
    /// Service tiers, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, value_type = BTreeMap<Name, ServiceTier>)]
    pub service_tiers: BTreeMap<String, ServiceTier>,
    /// The prices.
    #[schema(min_items = 1, max_items = 128)]
    pub rates: Vec<RateCell>,
    /// Factors that apply to many prices at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64)]
    pub modifiers: Vec<Modifier>,
    /// Prices other than for text tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64)]
    pub other_meters: Vec<OtherMeter>,
    /// Publications of the prices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = true, min_items = 1, max_items = 64)]
    pub sources: Vec<Source>,
    /// Remarks for a reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Text>, max_items = 64)]
    pub notes: Vec<String>,
    /// Source fields without a field above, unchanged.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(required = false, value_type = Object)]
    pub unmapped: JsonObject,
}

impl PriceSheet {
    /// Region of an offer that names none.
    pub const DEFAULT_REGION: &'static str = "global";

    /// A sheet in US dollars with these prices and nothing else.
    #[must_use]
    pub fn new(provider: &str, model: &str, rates: Vec<RateCell>) -> Self {
        Self {
            schema: SchemaName::V1,
            provider: provider.to_owned(),
            upstream_provider: None,
            model: model.to_owned(),
            canonical_model: None,
            aliases: Vec::new(),
            region: Self::DEFAULT_REGION.to_owned(),
            quantization: None,
            currency: "USD".to_owned(),
            unit: Unit::PerMillionTokens,
            valid_from: None,
            valid_to: None,
            limits: Limits::default(),
            context_tier_semantics: ContextTierSemantics::default(),
            context_tier_measure: ContextTierMeasure::default(),
            cache_write_billing: CacheWriteBilling::default(),
            schedules: BTreeMap::new(),
            service_tiers: BTreeMap::new(),
            rates,
            modifiers: Vec::new(),
            other_meters: Vec::new(),
            sources: Vec::new(),
            notes: Vec::new(),
            unmapped: JsonObject::new(),
        }
    }

    /// The base prices: standard, unscheduled, for the shortest prompts.
    #[must_use]
    pub fn base_rate(&self) -> Option<&RateCell> {
        let is_base =
            |rate: &&RateCell| rate.service_tier == RateCell::STANDARD && rate.schedule.is_none();
        self.rates
            .iter()
            .filter(is_base)
            .min_by_key(|rate| rate.context_tier.min_prompt_tokens)
    }

    /// Most rate cells a sheet has.
    pub const MOST_RATE_CELLS: usize = 128;
    /// Most sources a sheet keeps.
    pub const MOST_SOURCES: usize = 64;
}

/// The name of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub enum SchemaName {
    /// Version 1.
    #[serde(rename = "pricesheet/v1")]
    V1,
}

/// Unit of all prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub enum Unit {
    /// One million tokens.
    #[serde(rename = "per_1m_tokens")]
    PerMillionTokens,
}

/// Token limits of an offer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Limit of prompt and answer together, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub context: Option<u32>,
    /// Limit of the prompt, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub max_input: Option<u32>,
    /// Limit of the answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub max_output: Option<u32>,
    /// Shortest cacheable prefix, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub cache_min_tokens: Option<u32>,
}

impl Limits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a context tier reprices the whole request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextTierSemantics {
    /// All tokens of a request beyond the threshold.
    #[default]
    WholeRequest,
    /// Only the tokens above the threshold.
    Marginal,
    /// Not stated.
    Unknown,
}

/// Tokens counted against a context threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextTierMeasure {
    /// Uncached input, cache reads and cache writes.
    #[default]
    PromptTokens,
    /// Prompt and answer.
    PromptPlusOutputTokens,
    /// A whole session.
    Session,
    /// Not stated.
    Unknown,
}

/// Billing of cache writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheWriteBilling {
    /// At a separate price.
    Priced,
    /// At the input rate.
    AsInput,
    /// Not stated.
    #[default]
    NotPublished,
}
