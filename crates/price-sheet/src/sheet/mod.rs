//! The canonical price sheet `pricesheet/v1`.
//!
//! A sheet is one provider's offer of one model in one region over one validity interval: a list of rate cells, each
//! identified by service tier, context tier and schedule. Reading goes in two steps: [`json`] turns text into a tree,
//! and [`canonical`] or a format of [`catalog`](crate::catalog) turns the tree into sheets, recording every fault.
//!
//! [`json`]: unroof_base::input::json
//!
//! ```
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! cell.input = Some("3.00".parse()?);
//! let sheet = PriceSheet::new("acme", "m-1", vec![cell.clone()]);
//! // Prices are exact, and a sheet is known by its content: 3.00 and 3 are one price.
//! cell.input = Some("3".parse()?);
//! assert_eq!(sheet.id(), PriceSheet::new("acme", "m-1", vec![cell]).id());
//! # Ok::<(), unroof_base::units::DecimalError>(())
//! ```

pub mod canonical;
mod capacity;
pub mod compare;
mod currency;
mod evidence;
mod fields;
mod price_sheet;
mod rate;
mod schema;
mod service_tier;
mod source;

use serde_json::Map;

pub use capacity::CapacityOffer;
pub use compare::SheetId;
pub use currency::CurrencyCode;
pub use evidence::{ArchitectureWord, Benchmark, EvidenceItem, EvidenceKind, ReasoningEffort};
pub use fields::MOST_SOURCES;
pub(crate) use fields::timestamp;
pub(crate) use fields::{MOST_COUNT, MOST_RATE_CELLS};
pub use price_sheet::{
    CacheWriteBilling, ContextTierMeasure, ContextTierSemantics, Limits, OfferStatus, PriceSheet,
    SchemaName, Unit,
};
pub use rate::{Basis, CacheWrite, ContextTier, RateCell};
pub use schema::json_schema;
pub use service_tier::{
    MeasuredSpeed, Percentiles, Schedule, ServiceLevelObjective, ServiceTier, SpeedBound,
    SpeedMetric, SpeedMultiplier, Window,
};
pub(crate) use source::catalog_table;
pub use source::{Modifier, OtherMeter, Source, SourceFormat};

pub(crate) type JsonObject = Map<String, serde_json::Value>;
