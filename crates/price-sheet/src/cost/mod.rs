//! The exact cost of a usage by a price sheet, line by line. Prices, factors and sums are decimals; nothing is billed at
//! 0 because its price is unknown.

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
