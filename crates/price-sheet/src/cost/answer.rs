//! The cost of a usage: lines, total, the cells and the sources behind them.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::amount::Amount;
use super::usage::Meter;
use crate::sheet::{ContextTierMeasure, ContextTierSemantics, RateCell};
use unroof_base::units::Decimal;

/// The cost of one usage.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Cost {
    /// The request's own name for the usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// ISO 4217 code of all amounts.
    #[schema(example = "USD")]
    pub currency: String,
    /// Exact sum of the lines; null where a line has no price.
    pub total: Option<Amount>,
    /// Exact sum of the lines that have a price.
    pub priced: Amount,
    /// Whether an amount has digits without end, and is rounded to 30 digits after the point.
    pub is_rounded: bool,
    /// Time whose prices apply.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The lines: one per used meter, in the order of the request.
    pub lines: Vec<CostLine>,
    /// The choice of cells; null where the sheet has none for the usage.
    pub tariff: Option<TariffUsed>,
    /// Sheet whose prices apply.
    pub sheet: SheetUsed,
    /// Cost of the usage by the sheet of each source of the offer's price.
    pub sources: Vec<SourceCost>,
    /// Assumptions and contradictions, as sentences.
    pub notes: Vec<String>,
    /// Modifiers of the sheet that the usage does not name, and which therefore do not apply.
    pub modifiers_left_out: Vec<String>,
    /// Other meters of the sheet, such as searches and fees per request, which are not part of the total.
    pub other_meters_left_out: Vec<String>,
}

/// Tokens of one meter at one price.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CostLine {
    /// Meter of the tokens.
    pub meter: Meter,
    /// Number of tokens that are charged.
    #[schema(example = 1_200)]
    pub tokens: u64,
    /// Time to live of written tokens, or the time for which stored tokens are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub seconds: Option<u32>,
    /// Price in `currency` per million tokens, or per million tokens and hour of storage; null where there is none.
    pub price: Option<Decimal>,
    /// Meter whose price it is, where this one has no price of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Meter>, nullable = false)]
    pub priced_as: Option<Meter>,
    /// Factors on the price.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub factors: Vec<Factor>,
    /// Index of the cell in the sheet's `rates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cell: Option<usize>,
    /// `tokens × price × factors / 1,000,000`, and for storage times hours; null where there is no price.
    pub amount: Option<Amount>,
    /// Reason for a missing price.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        example = "the cell of the tier `standard` states no price of `cache_read`"
    )]
    pub reason: Option<String>,
    /// A way to a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<String>,
}

/// A factor on a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Factor {
    /// Name of the service tier or modifier.
    #[schema(example = "data_residency")]
    pub name: String,
    /// Factor on the price.
    pub multiplier: Decimal,
}

/// The choice of cells.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TariffUsed {
    /// Service tier, as the sheet names it.
    #[schema(example = "standard")]
    pub service_tier: String,
    /// Schedule that applies at the time; null outside all of them.
    pub schedule: Option<String>,
    /// Tokens counted against the thresholds of context tiers.
    pub context_tokens: u64,
    /// Kind of these tokens.
    pub context_tier_measure: ContextTierMeasure,
    /// Whether a context tier reprices the whole request.
    pub context_tier_semantics: ContextTierSemantics,
    /// Cells of the sheet that apply.
    pub cells: Vec<CellUsed>,
}

/// A cell of the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CellUsed {
    /// Index in the sheet's `rates`.
    pub index: usize,
    /// Cell of the sheet.
    pub rate: RateCell,
}

/// The sheet, and the period in which it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SheetUsed {
    /// Id of the pricing content, as in `/price-sheets/{id}`.
    #[schema(value_type = String, format = Uuid)]
    pub id: String,
    /// Provider that bills for the sheet's offer.
    #[schema(example = "openai")]
    pub provider: String,
    /// Model, as the provider spells it.
    #[schema(example = "gpt-6-sol")]
    pub model: String,
    /// Region in which the model is served.
    #[schema(example = "global")]
    pub region: String,
    /// Inclusive start of the period; null where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of the period; null until further notice.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_to: Option<Timestamp>,
    /// Source whose price is in force; null for a sheet of the request.
    pub source: Option<String>,
}

/// Cost of the usage by the sheet of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SourceCost {
    /// The source: a catalog, or `official` for the provider's own page.
    #[schema(example = "litellm")]
    pub source: String,
    /// Id of the sheet that states the price.
    #[schema(value_type = String, format = Uuid)]
    pub sheet_id: String,
    /// Currency, an ISO 4217 code.
    pub currency: String,
    /// The cost by its sheet; null where it lacks a price, or agrees on the prices that it states and is silent about those that
    /// count here.
    pub total: Option<Amount>,
    /// Whether it gives the same total; true of the source of the sheet itself.
    pub agrees: bool,
}
