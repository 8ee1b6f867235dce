//! Helpers for the tests of all catalogs: entries read, and a sheet in short lines.

use super::{Catalog, CatalogEntry};
use crate::sheet::{Basis, PriceSheet, RateCell, canonical};
use unroof_base::input::cursor::{Cursor, Fault, Faults};
use unroof_base::input::json;
use unroof_base::input::json::Json;

/// The sheets of an entry, after a check that each survives a round trip; or every fault.
pub(super) fn read_all(
    catalog: &Catalog,
    key: &str,
    entry: &str,
) -> Result<Vec<PriceSheet>, Vec<Fault>> {
    read_tree(catalog, key, &json::parse(entry.as_bytes()).unwrap())
}

/// Sheets of a parsed entry, each of which survives a round trip; or every fault.
pub(super) fn read_tree(
    catalog: &Catalog,
    key: &str,
    entry: &Json,
) -> Result<Vec<PriceSheet>, Vec<Fault>> {
    let faults = Faults::default();
    let sheets = (catalog.read_entry)(key, &Cursor::root(entry, &faults));
    let sheets = faults.result(sheets)?;
    for sheet in &sheets {
        let text = serde_json::to_string(sheet).unwrap();
        let again = canonical::read(&json::parse(text.as_bytes()).unwrap());
        assert_eq!(again.as_ref(), Ok(sheet), "{key}");
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
    only_fault(&read_all(catalog, key, entry).unwrap_err())
}

fn only_fault(faults: &[Fault]) -> String {
    let [fault] = faults else {
        panic!("{faults:?}");
    };
    assert!(!fault.hint.is_empty());
    format!("{}: {}", fault.pointer, fault.detail)
}

/// The keys of a whole catalog, or every fault.
pub(super) fn keys(catalog: &Catalog, document: &str) -> Result<Vec<String>, Vec<Fault>> {
    let tree = json::parse(document.as_bytes()).unwrap();
    let faults = Faults::default();
    let entries = (catalog.entries)(&Cursor::root(&tree, &faults));
    let key = |entry: CatalogEntry<'_>| {
        if entry.is_contradicted {
            format!("{} (contradicted)", entry.key)
        } else {
            entry.key
        }
    };
    let keys = entries.map(|entries| entries.into_iter().map(key).collect());
    faults.result(keys)
}

/// The only fault of a whole catalog, as `pointer: detail`.
pub(super) fn catalog_refusal(catalog: &Catalog, document: &str) -> String {
    only_fault(&keys(catalog, document).unwrap_err())
}

/// Whether a text is recognised as a whole catalog.
pub(super) fn is_catalog(catalog: &'static Catalog, document: &str) -> bool {
    catalog.recognizes(&json::parse(document.as_bytes()).unwrap())
}

/// `provider region model`
pub(super) fn offer(sheet: &PriceSheet) -> String {
    format!("{} {} {}", sheet.provider, sheet.region, sheet.model)
}

/// The keys of `unmapped`, sorted.
pub(super) fn kept(sheet: &PriceSheet) -> Vec<&str> {
    let mut keys: Vec<_> = sheet.unmapped.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// `web_search 10 per_1000_calls`, one for each price of something other than tokens of text.
pub(super) fn other_meters(sheet: &PriceSheet) -> Vec<String> {
    let meters = sheet.other_meters.iter();
    meters
        .map(|meter| format!("{} {} {}", meter.meter, meter.price, meter.unit))
        .collect()
}

/// `1,2 01:00-04:00`, one for each window of a schedule.
pub(super) fn windows(sheet: &PriceSheet, schedule: &str) -> Vec<String> {
    let windows = sheet.schedules[schedule].windows.iter();
    windows
        .map(|window| {
            let days: Vec<_> = window.days.iter().map(u8::to_string).collect();
            format!("{} {}-{}", days.join(","), window.start, window.end)
        })
        .collect()
}

/// `batch >200000 peak computed: input 1.25, output 10, write 1800s 2.5`, one for each cell.
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
    let basis = match cell.basis {
        Basis::Computed => " computed",
        Basis::Stated => "",
    };
    let prices = [
        ("input", &cell.input),
        ("output", &cell.output),
        ("reasoning", &cell.reasoning),
        ("read", &cell.cache_read),
        ("explicit read", &cell.cache_read_explicit),
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
        "{}{threshold}{}{basis}: {}",
        cell.service_tier,
        schedule.collect::<String>(),
        prices.chain(writes).collect::<Vec<_>>().join(", ")
    )
}
