//! Every entry of whole real catalogs, where there are any.

mod genai_prices;
mod llm_prices;
mod models_dev;
mod openrouter;
mod portkey;
mod recognition;
mod survey;
mod vercel;

use std::collections::BTreeMap;
use std::path::Path;

use jsonschema::Validator;
use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json;
use unroof_base::input::json::Json;
use unroof_price_sheet::catalog::{CATALOGS, Catalog, recognize};
use unroof_price_sheet::sheet::{PriceSheet, canonical, json_schema};

use crate::support::say;

/// Result of reading a whole catalog.
struct Outcome {
    /// The sheets of each entry that gave any, by its key.
    sheets: BTreeMap<String, Vec<PriceSheet>>,
    /// Refused entries by reason, without names.
    refusals: BTreeMap<String, usize>,
    /// Sheets with an unmapped field, by field name without numbers.
    unmapped: BTreeMap<String, usize>,
    /// Number of sheets by note.
    notes: BTreeMap<String, usize>,
}

/// Reads every entry of a catalog, each sheet of which is read again and held against the JSON Schema. `None` where there
/// is no such file.
fn read_catalog(name: &str, file: &str) -> Option<Outcome> {
    let document = document(file)?;
    let recognized: Vec<_> = CATALOGS
        .iter()
        .filter(|catalog| catalog.recognizes(&document))
        .map(|catalog| catalog.name())
        .collect();
    assert_eq!(recognized, [name]);
    assert_eq!(recognize(&document).unwrap().name(), name);
    let catalog: &Catalog = name.parse().unwrap();
    let faults = Faults::default();
    let entries: Vec<_> = (catalog.entries)(&Cursor::root(&document, &faults))
        .unwrap()
        .into_iter()
        .map(|entry| (entry.key, entry.cursor.json))
        .collect();
    let schema = validator();
    let mut outcome = Outcome {
        sheets: BTreeMap::new(),
        refusals: BTreeMap::new(),
        unmapped: BTreeMap::new(),
        notes: BTreeMap::new(),
    };
    for (key, entry) in entries {
        let faults = Faults::default();
        let sheets = (catalog.read_entry)(&key, &Cursor::root(entry, &faults));
        match faults.result(sheets) {
            Ok(sheets) => {
                assert!(!sheets.is_empty(), "{key}");
                for sheet in &sheets {
                    outcome.count(&schema, sheet);
                }
                let before = outcome.sheets.insert(key, sheets);
                assert!(before.is_none(), "a key is repeated");
            }
            Err(faults) => {
                assert_eq!(faults.len(), 1, "{key}: {faults:?}");
                let reason = faults[0].detail.split(';').next().unwrap_or_default();
                *outcome.refusals.entry(reason.to_owned()).or_default() += 1;
            }
        }
    }
    outcome.say(file);
    outcome.assert_no_overlap();
    Some(outcome)
}

fn document(file: &str) -> Option<Json> {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say(&format!(
            "skipped: UNROOF_TEST_CATALOGS names no folder with {file}"
        ));
        return None;
    };
    let text = std::fs::read(Path::new(&folder).join(file)).unwrap();
    Some(json::parse(&text).unwrap())
}

fn validator() -> Validator {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&json_schema())
        .unwrap()
}

impl Outcome {
    fn count(&mut self, schema: &Validator, sheet: &PriceSheet) {
        let written = serde_json::to_string(sheet).unwrap();
        let again = canonical::read(&json::parse(written.as_bytes()).unwrap());
        assert_eq!(again.as_ref(), Ok(sheet));
        let value = serde_json::from_str(&written).unwrap();
        if let Err(error) = schema.validate(&value) {
            panic!("{}: {error} in {written}", error.instance_path());
        }
        for name in sheet.unmapped.keys() {
            let name = name.replace(|letter: char| letter.is_ascii_digit(), "0");
            *self.unmapped.entry(name).or_default() += 1;
        }
        for note in &sheet.notes {
            *self.notes.entry(note.clone()).or_default() += 1;
        }
    }

    fn sheets(&self) -> impl Iterator<Item = &PriceSheet> {
        self.sheets.values().flatten()
    }

    fn say(&self, file: &str) {
        const MOST_SHOWN: usize = 25;
        let shown = |counts: &BTreeMap<String, usize>| {
            let mut counts: Vec<_> = counts.iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            counts.truncate(MOST_SHOWN);
            let lines = counts
                .iter()
                .map(|(name, count)| format!("\n  {count} {name}"));
            lines.collect::<String>()
        };
        say(&format!(
            "{file}: {} entries give {} sheets of {} cells; refused:{}\nunmapped:{}\nnotes:{}",
            self.sheets.len(),
            self.sheets().count(),
            self.sheets().map(|sheet| sheet.rates.len()).sum::<usize>(),
            shown(&self.refusals),
            shown(&self.unmapped),
            shown(&self.notes),
        ));
    }

    /// No two sheets of one offer hold at one time.
    fn assert_no_overlap(&self) {
        let mut offers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (key, sheets) in &self.sheets {
            for sheet in sheets {
                let offer = (&sheet.provider, &sheet.model, &sheet.region);
                let interval = (sheet.valid_from, sheet.valid_to);
                offers.entry(offer).or_default().push((interval, key));
            }
        }
        for (offer, mut intervals) in offers {
            intervals.sort();
            for pair in intervals.windows(2) {
                let ((_, end), (start, _)) = (pair[0].0, pair[1].0);
                let is_apart = end.is_some() && end <= start;
                assert!(is_apart, "{offer:?}: {pair:?}");
            }
        }
    }

    /// The only sheet of an entry.
    fn only(&self, key: &str) -> &PriceSheet {
        let sheets = &self.sheets[key];
        assert_eq!(sheets.len(), 1, "{key}");
        &sheets[0]
    }
}
