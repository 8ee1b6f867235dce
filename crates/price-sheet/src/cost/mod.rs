//! The exact cost of a usage by a price sheet, line by line. Prices, factors and sums are decimals; nothing is billed at
//! 0 because its price is unknown.
//!
//! ```
//! use unroof_price_sheet::cost::{SheetInForce, cost, read_cost};
//!
//! let request = read_cost(br#"{"price_sheet": {"schema": "pricesheet/v1", "provider": "acme", "model": "m-1",
//!     "region": "global", "currency": "USD", "unit": "per_1m_tokens", "valid_from": null, "valid_to": null,
//!     "rates": [{"service_tier": "standard", "input": "0.1", "output": "0.3", "source": 0}],
//!     "sources": [{"url": "https://example.com", "format": "manual", "locator": "prices"}]},
//!     "at": "2026-11-21T12:00:00Z", "usage": {"input_tokens": 1000, "output_tokens": 1}}"#)?;
//! let sheet = SheetInForce::stated(request.price_sheet.unwrap());
//! let cost = cost(None, &sheet, &request.usage, request.at.unwrap());
//! assert_eq!(cost.total.unwrap().to_string(), "0.0001003");
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod amount;
mod answer;
mod clock_window;
mod lines;
mod list;
mod prices;
mod request;
mod tariff;
mod usage;

pub use amount::Amount;
pub use answer::{CellUsed, Cost, CostLine, Factor, SheetUsed, SourceCost, TariffUsed};
pub use lines::{OtherSheet, SheetInForce, cost};
pub use list::{CostEntry, CostSum, CurrencyTotal, Tally};
pub use request::{CostRequest, OfferName, read_cost, usage_id};
pub use usage::{Meter, StoredTokens, Usage, WrittenTokens};
