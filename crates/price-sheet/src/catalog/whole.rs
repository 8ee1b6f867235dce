//! Whole published catalogs, read at once.

use super::{CATALOGS, CatalogEntry, recognize, resemblance};
use crate::sheet::PriceSheet;
use unroof_base::input::RequestError;
use unroof_base::input::cursor::{Cursor, Fault, Faults};
use unroof_base::input::json;

/// An entry of a published catalog after reading.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadEntry {
    /// Key of the entry, such as `gpt-5.4` of LiteLLM.
    pub key: String,
    /// Sheets of the entry, one per region and interval of validity, or the faults that rule them out.
    pub sheets: Result<Vec<PriceSheet>, Vec<Fault>>,
}

/// Reads a whole catalog of any format in [`CATALOGS`], entry by entry.
///
/// ```
/// let litellm = br#"{"gpt-5.4": {"litellm_provider": "openai", "mode": "chat",
///     "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05}}"#;
/// let entries = unroof_price_sheet::catalog::read_catalog(litellm).unwrap();
/// let sheets = entries[0].sheets.as_ref().unwrap();
/// assert_eq!(entries[0].key, "gpt-5.4");
/// assert_eq!(sheets[0].rates[0].input.as_ref().unwrap().to_string(), "2.5");
/// ```
///
/// # Errors
/// [`RequestError`] where the text is not JSON, or is a catalog of no known format.
pub fn read_catalog(text: &[u8]) -> Result<Vec<ReadEntry>, RequestError> {
    let tree = json::parse(text)?;
    let faults = Faults::default();
    let root = Cursor::root(&tree, &faults);
    let Some(catalog) = recognize(&tree) else {
        let formats = CATALOGS.map(super::Catalog::name).join(", ");
        root.fault(
            format!(
                "the document is a catalog of no known format; {}",
                resemblance(&tree)
            ),
            format!("the formats are {formats}"),
        );
        return faults.result(None).map_err(RequestError::Wrong);
    };
    let entries = faults.result((catalog.entries)(&root));
    let read = |entry: CatalogEntry<'_>| {
        if entry.is_contradicted {
            entry.cursor.fault(
                "another entry has the same key and other prices",
                "state each key once",
            );
        }
        let sheets = catalog.read(&entry.key, &entry.cursor);
        ReadEntry {
            key: entry.key,
            sheets: faults.result(sheets),
        }
    };
    let entries = entries.map_err(RequestError::Wrong)?;
    Ok(entries.into_iter().map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_is_refused_leaves_the_others_readable() {
        let text = br#"{"gpt-5.4": {"litellm_provider": "openai", "mode": "chat",
            "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05},
            "other": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": "free"}}"#;
        let entries = read_catalog(text).unwrap();
        let read = entries.iter().map(|entry| entry.sheets.is_ok());
        assert_eq!(read.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_document_that_is_no_catalog_is_refused_with_the_formats_that_are_read() {
        let Err(RequestError::Wrong(faults)) = read_catalog(br#"{"prices": 1}"#) else {
            panic!("it was read");
        };
        assert!(faults[0].hint.contains("litellm"), "{faults:?}");
        assert_eq!(
            faults[0].detail,
            "the document is a catalog of no known format; it is an object of 1 fields with `prices`"
        );
    }
}
