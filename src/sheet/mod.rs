//! The canonical price sheet `pricesheet/v1`, and the formats it is read from.
//!
//! A sheet is one provider's offer of one model in one region over one validity interval: a list of rate cells, each
//! identified by service tier, context tier and schedule. Reading goes in two steps: [`json`] turns text into a tree,
//! and [`canonical`] or a catalog format such as [`litellm`] turns the tree into sheets, recording every fault.
//!
//! [`json`]: crate::input::json

pub mod canonical;
mod catalog;
mod content;
pub mod decision;
pub mod difference;
mod entry;
mod genai_prices;
pub mod litellm;
mod llm_prices;
mod models_dev;
mod names;
pub mod openrouter;
pub mod portkey;
mod price_sheet;
mod rate;
mod rules;
mod schema;
mod service_tier;
mod source;
#[cfg(test)]
mod testing;
pub mod timeline;

use serde_json::Map;

pub use catalog::{CATALOGS, Catalog, CatalogEntry, UnknownFormat, recognize};
pub use content::SheetId;
pub use names::{model_key, offer_id};
pub use price_sheet::{
    CacheWriteBilling, ContextTierMeasure, ContextTierSemantics, Limits, PriceSheet, SchemaName,
    Unit,
};
pub use rate::{Basis, CacheWrite, ContextTier, RateCell};
pub use schema::{CurrencyCode, json_schema};
pub use service_tier::{
    Schedule, ServiceLevelObjective, ServiceTier, SpeedBound, SpeedMetric, SpeedMultiplier, Window,
};
pub use source::{Modifier, OtherMeter, Source, SourceFormat};

type JsonObject = Map<String, serde_json::Value>;
