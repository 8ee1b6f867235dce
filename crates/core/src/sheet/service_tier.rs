//! Ways to be served, and the times of day and week at which other rates apply.

use serde::Serialize;
use serde_json::Map;
use utoipa::ToSchema;

use super::JsonObject;
use crate::input::schema::Name;
use crate::units::Decimal;

/// Times of day and week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// IANA time zone.
    #[schema(value_type = Name)]
    pub timezone: String,
    /// Conditions of the tier; one is enough.
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
    /// Promise of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub slo: Option<ServiceLevelObjective>,
    /// Time within which a batch completes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    pub completion_window_seconds: Option<u32>,
    /// Features that cannot be combined with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<Name>, max_items = 64)]
    pub excludes: Vec<String>,
    /// Features that can be combined with it.
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
    /// Phase to which the speed claim applies.
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

/// Phase to which a speed claim applies.
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

/// Promise of a provider for a service tier.
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
