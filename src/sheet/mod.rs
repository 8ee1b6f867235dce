//! The canonical price sheet `pricesheet/v1`, and the formats it is read from.
//!
//! A sheet is one provider's offer of one model in one region over one validity interval: a list of rate cells, each
//! identified by service tier, context tier and schedule. Reading goes in two steps: [`json`] turns text into a tree,
//! and [`canonical`] or a catalog format such as [`litellm`] turns the tree into a sheet, recording every fault.

pub mod canonical;
mod content;
pub mod decision;
pub mod litellm;
mod schema;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Map;
use utoipa::ToSchema;

pub use content::SheetId;
pub use schema::{CurrencyCode, json_schema};

use crate::input::schema::{Name, Text};
use crate::units::Decimal;

/// A published catalog: how one of its entries is read.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// Its name in `?format=` and `--format`.
    pub name: &'static str,
    /// A field that every entry has, and that neither a catalog nor a canonical sheet has.
    pub mark: &'static str,
    /// Reads one entry by its key. `None` means that a fault is recorded.
    pub read_entry: fn(&str, &crate::input::cursor::Cursor<'_>) -> Option<PriceSheet>,
}

/// The catalogs that are read: one file in this folder each.
pub const CATALOGS: [&Catalog; 1] = [&litellm::CATALOG];

/// The catalog of this name.
#[must_use]
pub fn catalog(name: &str) -> Option<&'static Catalog> {
    CATALOGS.into_iter().find(|catalog| catalog.name == name)
}

type JsonObject = Map<String, serde_json::Value>;

/// One provider's offer of one model in one region over one validity interval.
///
/// Prices are exact decimals in `currency` per million tokens, written as strings. Absent means not published; "0"
/// means stated free.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSheet {
    /// `pricesheet/v1`
    pub schema: SchemaName,
    /// Who bills: anthropic, amazon-bedrock, openrouter, ...
    #[schema(value_type = Name)]
    pub provider: String,
    /// Who serves, when a router bills.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub upstream_provider: Option<String>,
    /// The model's id as the provider spells it.
    #[schema(value_type = Name)]
    pub model: String,
    /// author/model: joins the hosts of one model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub canonical_model: Option<String>,
    /// Other ids of the same offer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub aliases: Vec<String>,
    /// Where it is served.
    #[schema(required = false, value_type = Name, default = "global")]
    pub region: String,
    /// How the weights are served, where the provider says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub quantization: Option<String>,
    /// ISO 4217 code.
    #[schema(value_type = CurrencyCode)]
    pub currency: String,
    /// `per_1m_tokens`
    pub unit: Unit,
    /// Inclusive start of validity; null is unknown or open.
    #[schema(
        required = false,
        value_type = Option<String>,
        format = DateTime,
        pattern = "^(19[7-9]|[2-9][0-9]{2})[0-9]-",
        example = "2026-01-01T00:00:00Z"
    )]
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of validity; null is open.
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
    /// What is counted against a threshold.
    #[schema(required = false, default = "prompt_tokens")]
    pub context_tier_measure: ContextTierMeasure,
    /// How a token written to the cache is billed.
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
    /// Prices of what is not a text token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64)]
    pub other_meters: Vec<OtherMeter>,
    /// Where the prices were published.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = true, min_items = 1, max_items = 64)]
    pub sources: Vec<Source>,
    /// Remarks for a reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Text>, max_items = 64)]
    pub notes: Vec<String>,
    /// Fields of the source that no field above carries, kept as they stood.
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
    /// The only version there is.
    #[serde(rename = "pricesheet/v1")]
    V1,
}

/// What a price is for.
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
    /// Prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub context: Option<u32>,
    /// Prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub max_input: Option<u32>,
    /// Answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub max_output: Option<u32>,
    /// Shortest prefix that is cached.
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
    /// Not said.
    Unknown,
}

/// What is counted against a context threshold.
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
    /// Not said.
    Unknown,
}

/// How a token written to the cache is billed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheWriteBilling {
    /// At a price of its own.
    Priced,
    /// At the input rate.
    AsInput,
    /// Not said.
    #[default]
    NotPublished,
}

/// Times of day and week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// IANA time zone.
    #[schema(value_type = Name)]
    pub timezone: String,
    /// When it applies; one is enough.
    #[schema(min_items = 1)]
    pub windows: Vec<Window>,
    /// Calendar of days on which it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub except_calendar: Option<String>,
}

/// A window of a day; one that ends before it starts runs past midnight, equal ends mean the whole day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Days on which it starts, Monday is 1; none means every day.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<i64>, schema_with = days_schema)]
    pub days: Vec<u8>,
    /// HH:MM, inclusive.
    #[schema(pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]
    pub start: String,
    /// HH:MM, exclusive.
    #[schema(pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]
    pub end: String,
}

fn days_schema() -> utoipa::openapi::schema::Array {
    use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
    let day = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(7));
    ArrayBuilder::new()
        .items(day)
        .description(Some("days on which it starts, Monday is 1"))
        .build()
}

/// A way to be served: its price as a multiplier where the source states one, and its speed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceTier {
    /// Request fields that select it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(required = false, value_type = Object)]
    pub request: JsonObject,
    /// Other names of the tier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub aliases: Vec<String>,
    /// Only where the source states a multiplier instead of prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub price_multiplier: Option<Decimal>,
    /// Speed against the standard tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub speed_multiplier: Option<SpeedMultiplier>,
    /// What the provider promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub slo: Option<ServiceLevelObjective>,
    /// Time within which a batch completes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub completion_window_seconds: Option<u32>,
    /// What cannot be combined with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub excludes: Vec<String>,
    /// What can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub stacks_with: Vec<String>,
}

/// Speed of a service tier against the standard tier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedMultiplier {
    /// The factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub value: Option<Decimal>,
    /// Whether the factor is a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bound: Option<SpeedBound>,
    /// What becomes faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub metric: Option<SpeedMetric>,
}

/// Whether a speed claim is a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpeedBound {
    /// At most.
    UpTo,
    /// At least.
    AtLeast,
    /// As a rule.
    Typical,
}

/// What a speed claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpeedMetric {
    /// Decoding speed of one user.
    OutputTokensPerSecond,
    /// Wait for the first token.
    TimeToFirstToken,
    /// Wait for the whole answer.
    EndToEndLatency,
}

/// What a provider promises for a service tier.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceLevelObjective {
    /// Slowest decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1e-99, maximum = 1e9)]
    pub output_tokens_per_second_min: Option<f64>,
    /// Share of requests it holds for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1e-99, maximum = 100)]
    pub percentile: Option<f64>,
    /// Availability.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1e-99, maximum = 100)]
    pub uptime_percent: Option<f64>,
}

/// Prices for one service tier, context tier and schedule, each in the sheet's currency per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateCell {
    /// Which way to be served.
    #[schema(required = false, value_type = Name, default = "standard")]
    pub service_tier: String,
    /// From which prompt length on.
    #[schema(required = false, default = json!({"min_prompt_tokens": 0}))]
    pub context_tier: ContextTier,
    /// At which times; none means whenever no schedule applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Name>, nullable = false)]
    pub schedule: Option<String>,
    /// Fresh prompt tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub input: Option<Decimal>,
    /// Generated tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output: Option<Decimal>,
    /// Reasoning tokens, where they are priced apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasoning: Option<Decimal>,
    /// Prompt tokens found in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cache_read: Option<Decimal>,
    /// The same for explicit caches, where they are cheaper than implicit ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cache_read_explicit: Option<Decimal>,
    /// Tokens written to the cache: the full price, by time to live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 64)]
    pub cache_write: Vec<CacheWrite>,
    /// Per million tokens held for one hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cache_storage_per_hour: Option<Decimal>,
    /// Whether the source states these prices or they were computed from others; only stated ones are evidence.
    #[schema(required = false, default = "stated")]
    pub basis: Basis,
    /// Index into `sources`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 63, nullable = false)]
    pub source: Option<u32>,
}

impl RateCell {
    /// Service tier of a cell that names none.
    pub const STANDARD: &'static str = "standard";

    /// An empty cell of a service tier, context tier and schedule.
    #[must_use]
    pub fn new(service_tier: &str, context_tier: ContextTier, schedule: Option<&str>) -> Self {
        Self {
            service_tier: service_tier.to_owned(),
            context_tier,
            schedule: schedule.map(str::to_owned),
            input: None,
            output: None,
            reasoning: None,
            cache_read: None,
            cache_read_explicit: None,
            cache_write: Vec::new(),
            cache_storage_per_hour: None,
            basis: Basis::Stated,
            source: None,
        }
    }

    /// What tells cells of one sheet apart, in the order in which they are listed: standard and unscheduled first.
    #[must_use]
    pub fn key(&self) -> (bool, &str, Option<&str>, u32) {
        let tier = self.service_tier.as_str();
        (
            tier != Self::STANDARD,
            tier,
            self.schedule.as_deref(),
            self.context_tier.min_prompt_tokens,
        )
    }

    /// Whether the cell prices any token at all.
    #[must_use]
    pub fn prices_tokens(&self) -> bool {
        self.input.is_some()
            || self.output.is_some()
            || self.cache_read.is_some()
            || !self.cache_write.is_empty()
    }
}

/// The prompt lengths a cell is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextTier {
    /// Threshold in prompt tokens.
    #[schema(minimum = 0, maximum = 2_147_483_647)]
    pub min_prompt_tokens: u32,
    /// Whether a prompt of exactly the threshold is in the tier.
    #[schema(required = false, default = false)]
    pub inclusive: bool,
}

/// Price of a token written to the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheWrite {
    /// Time to live; null where it is not published.
    #[schema(required = false, minimum = 1, maximum = 2_147_483_647)]
    pub ttl_seconds: Option<u32>,
    /// Full price of a written token, not a surcharge.
    pub price: Decimal,
}

/// Whether a price stands in the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It does.
    #[default]
    Stated,
    /// It was computed.
    Computed,
}

/// A factor on many prices.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// What it is called.
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
    /// What is metered.
    #[schema(value_type = Name)]
    pub meter: String,
    /// What the price is for.
    #[schema(value_type = Name)]
    pub unit: String,
    /// The price.
    pub price: Decimal,
    /// A remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub note: Option<String>,
}

/// Where prices were published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Address.
    #[schema(value_type = Text)]
    pub url: String,
    /// Format in which it was read.
    pub format: SourceFormat,
    /// When it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Text>, nullable = false)]
    pub retrieved_at: Option<String>,
    /// When it was published.
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
