//! Helpers for the tests of all catalogs.

use super::Catalog;
use crate::input::cursor::{Cursor, Fault, Faults};
use crate::input::json;
use crate::sheet::{PriceSheet, RateCell, canonical};

/// The sheets of an entry, after a check that each survives a round trip; or every fault.
pub(super) fn read_all(
    catalog: &Catalog,
    key: &str,
    entry: &str,
) -> Result<Vec<PriceSheet>, Vec<Fault>> {
    let tree = json::parse(entry.as_bytes()).unwrap();
    let faults = Faults::default();
    let sheets = (catalog.read_entry)(key, &Cursor::root(&tree, &faults));
    let sheets = faults.into_result(sheets)?;
    for sheet in &sheets {
        let text = serde_json::to_string(sheet).unwrap();
        let again = canonical::read(&json::parse(text.as_bytes()).unwrap());
        assert_eq!(again.as_ref(), Ok(sheet));
    }
    Ok(sheets)
}

/// The only sheet of an entry.
pub(super) fn read_one(catalog: &Catalog, key: &str, entry: &str) -> PriceSheet {
    let sheets = read_all(catalog, key, entry).unwrap();
    let [sheet] = <[PriceSheet; 1]>::try_from(sheets).unwrap();
    sheet
}

/// The only fault of an entry, as `pointer: detail`.
pub(super) fn refusal(catalog: &Catalog, key: &str, entry: &str) -> String {
    let faults = read_all(catalog, key, entry).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(!faults[0].hint.is_empty());
    format!("{}: {}", faults[0].pointer, faults[0].detail)
}

/// The keys of a whole catalog, or every fault.
pub(super) fn keys(catalog: &Catalog, document: &str) -> Result<Vec<String>, Vec<Fault>> {
    let tree = json::parse(document.as_bytes()).unwrap();
    let faults = Faults::default();
    let entries = (catalog.entries)(&Cursor::root(&tree, &faults));
    let keys = entries.map(|entries| entries.into_iter().map(|entry| entry.key).collect());
    faults.into_result(keys)
}

/// Whether a text is recognised as a whole catalog.
pub(super) fn is_catalog(catalog: &Catalog, document: &str) -> bool {
    (catalog.recognizes)(&json::parse(document.as_bytes()).unwrap())
}

/// `batch >200000 peak: input 1.25, output 10, write 1800s 2.5`, one for each cell.
pub(super) fn cells(sheet: &PriceSheet) -> Vec<String> {
    sheet.rates.iter().map(written).collect()
}

fn written(cell: &RateCell) -> String {
    let tier = cell.context_tier;
    let threshold = match (tier.min_prompt_tokens, tier.inclusive) {
        (0, _) => String::new(),
        (tokens, true) => format!(" >={tokens}"),
        (tokens, false) => format!(" >{tokens}"),
    };
    let schedule = cell.schedule.iter().map(|name| format!(" {name}"));
    let prices = [
        ("input", &cell.input),
        ("output", &cell.output),
        ("reasoning", &cell.reasoning),
        ("read", &cell.cache_read),
        ("storage", &cell.cache_storage_per_hour),
    ];
    let prices = prices
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} {}", price.as_ref()?)));
    let writes = cell.cache_write.iter().map(|write| {
        let lifetime = write.ttl_seconds.map(|seconds| format!("{seconds}s "));
        format!("write {}{}", lifetime.unwrap_or_default(), write.price)
    });
    format!(
        "{}{threshold}{}: {}",
        cell.service_tier,
        schedule.collect::<String>(),
        prices.chain(writes).collect::<Vec<_>>().join(", ")
    )
}
