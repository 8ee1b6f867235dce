//! Reads the canonical form `pricesheet/v1` from a JSON tree.
//!
//! ```
//! use unroof_base::input::json;
//! use unroof_price_sheet::sheet::canonical;
//!
//! let tree = json::parse(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "region": "global",
//!     "currency": "USD", "unit": "per_1m_tokens", "valid_from": null, "valid_to": null,
//!     "rates": [{"service_tier": "standard", "input": 3, "source": 0}],
//!     "sources": [{"url": "https://example.com", "format": "manual", "locator": "prices"}]}"#)?;
//! // Money is written as a text: a number may have lost digits.
//! assert_eq!(canonical::read(&tree).unwrap_err()[0].pointer, "/rates/0/input");
//! # Ok::<(), json::JsonError>(())
//! ```

use super::PriceSheet;
use unroof_base::input::body::Body;
use unroof_base::input::cursor::{Cursor, Fault, Faults};
use unroof_base::input::json::Json;

/// Reads a whole document that is one sheet.
///
/// # Errors
/// Every fault of the document.
pub fn read(json: &Json) -> Result<PriceSheet, Vec<Fault>> {
    let faults = Faults::default();
    let sheet = read_sheet(&Cursor::root(json, &faults));
    faults.result(sheet)
}

/// Reads one sheet; `None` or a fault recorded means that it cannot be used.
#[must_use]
pub fn read_sheet(sheet: &Cursor<'_>) -> Option<PriceSheet> {
    PriceSheet::read(sheet)
}
