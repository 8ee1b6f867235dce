//! Reads the canonical form `pricesheet/v1` from a JSON tree.

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
    faults.into_result(sheet)
}

/// Reads one sheet; `None` or a fault recorded means that it cannot be used.
#[must_use]
pub fn read_sheet(sheet: &Cursor<'_>) -> Option<PriceSheet> {
    PriceSheet::read(sheet)
}
