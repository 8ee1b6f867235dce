//! Token prices.

use serde::Serialize;
use utoipa::ToSchema;

use crate::input::schema::Name;
use crate::units::Decimal;

/// Prices for one service tier, context tier and schedule, each in the sheet's currency per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateCell {
    /// Name of the service tier.
    #[schema(required = false, value_type = Name, default = "standard")]
    pub service_tier: String,
    /// Prompt length from which the prices apply.
    #[schema(required = false, default = json!({"min_prompt_tokens": 0}))]
    pub context_tier: ContextTier,
    /// Name of the schedule; left out for all times without a schedule.
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
    /// Reasoning tokens, if priced separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasoning: Option<Decimal>,
    /// Prompt tokens found in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cache_read: Option<Decimal>,
    /// Prompt tokens found in an explicit cache, if cheaper than in an implicit one.
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

    /// Key that identifies a cell in its sheet and defines the order: standard and unscheduled cells first.
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

/// Whether a price is in the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It does.
    #[default]
    Stated,
    /// It was computed.
    Computed,
}
