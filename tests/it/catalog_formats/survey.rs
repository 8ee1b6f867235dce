//! Survey of a whole catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json;
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;
use unroof_price_sheet::catalog::{Catalog, recognize};
use unroof_price_sheet::sheet::{PriceSheet, canonical, json_schema};

use crate::support::say;

/// The folder with the catalogs; none where it is not named.
pub(super) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("UNROOF_TEST_CATALOGS");
    if folder.is_none() {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with catalogs");
    }
    folder.map(PathBuf::from)
}

/// Survey of a catalog.
pub(super) struct Survey {
    pub(super) entries: usize,
    /// The sheets, by the keys of their entries.
    pub(super) sheets: BTreeMap<String, Vec<PriceSheet>>,
    /// Refused entries, by reason up to the first semicolon.
    pub(super) refusals: BTreeMap<String, usize>,
    /// Sheets with an unmapped field, by the first part of its path.
    unmapped: BTreeMap<String, usize>,
}

impl Survey {
    pub(super) fn count(&self) -> usize {
        self.sheets.values().map(Vec::len).sum()
    }

    /// The prices of the first cells of an entry's first sheet: input, output.
    pub(super) fn prices(&self, key: &str) -> Vec<String> {
        let price =
            |price: &Option<Decimal>| price.as_ref().map_or("-".to_owned(), ToString::to_string);
        let cells = self.sheets[key][0].rates.iter();
        cells
            .map(|cell| {
                let (tier, start) = (&cell.service_tier, cell.context_tier.min_prompt_tokens);
                format!(
                    "{tier} {start}: {} {}",
                    price(&cell.input),
                    price(&cell.output)
                )
            })
            .collect()
    }
}

/// Reads every entry of a catalog, and holds every sheet against the canonical reader and its JSON Schema.
pub(super) fn survey(format: &str, file: &Path) -> Survey {
    let tree = json::parse(&std::fs::read(file).unwrap()).unwrap();
    let format: &Catalog = format.parse().unwrap();
    assert_eq!(recognize(&tree).map(Catalog::name), Some(format.name()));
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&json_schema())
        .unwrap();
    let faults = Faults::default();
    let entries = (format.entries)(&Cursor::root(&tree, &faults)).unwrap();
    let mut survey = Survey {
        entries: entries.len(),
        sheets: BTreeMap::new(),
        refusals: BTreeMap::new(),
        unmapped: BTreeMap::new(),
    };
    let keys: BTreeSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys.len(), entries.len(), "a key is repeated");
    for entry in &entries {
        let faults = Faults::default();
        let pointer = entry.cursor.pointer();
        let cursor = Cursor::root_at(&pointer, entry.cursor.json, &faults);
        let sheets = (format.read_entry)(&entry.key, &cursor);
        match faults.result(sheets) {
            Ok(sheets) => {
                assert!(!sheets.is_empty(), "{}", entry.key);
                for sheet in &sheets {
                    check_round_trip(&entry.key, sheet, &validator);
                    let names: BTreeSet<_> =
                        sheet.unmapped.keys().map(|path| first_part(path)).collect();
                    for name in names {
                        *survey.unmapped.entry(name.to_owned()).or_default() += 1;
                    }
                }
                survey.sheets.insert(entry.key.clone(), sheets);
            }
            Err(faults) => {
                assert_eq!(faults.len(), 1, "{}: {faults:?}", entry.key);
                assert!(!faults[0].hint.is_empty());
                let reason = faults[0].detail.split(';').next().unwrap_or_default();
                *survey.refusals.entry(reason.to_owned()).or_default() += 1;
            }
        }
    }
    say(&format!(
        "{}: {} entries, {} sheets of {} entries, refused: {:#?}, unmapped: {:#?}",
        format.name(),
        survey.entries,
        survey.count(),
        survey.sheets.len(),
        survey.refusals,
        survey.unmapped
    ));
    survey
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn check_round_trip(key: &str, sheet: &PriceSheet, validator: &jsonschema::Validator) {
    let written = serde_json::to_value(sheet).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&written)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{key}: {errors:#?}");
    let tree = json::parse(written.to_string().as_bytes()).unwrap();
    assert_eq!(canonical::read(&tree).as_ref(), Ok(sheet), "{key}");
}

/// The offers that more than one sheet is of, at the same time.
pub(super) fn overlaps(survey: &Survey) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut twice = Vec::new();
    for sheet in survey.sheets.values().flatten() {
        let offer = (
            &sheet.provider,
            &sheet.upstream_provider,
            &sheet.model,
            &sheet.region,
            &sheet.quantization,
            sheet.valid_from,
        );
        if !seen.insert(offer) {
            twice.push(format!(
                "{} {} {}",
                sheet.provider, sheet.region, sheet.model
            ));
        }
    }
    twice
}

#[test]
fn every_catalog_is_recognised_as_one_format_only() {
    let Some(folder) = folder() else {
        return;
    };
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let tree: Json = json::parse(&std::fs::read(&path).unwrap()).unwrap();
            let formats: Vec<_> = unroof_price_sheet::catalog::CATALOGS
                .into_iter()
                .filter(|catalog| catalog.recognizes(&tree))
                .map(Catalog::name)
                .collect();
            assert!(formats.len() <= 1, "{}: {formats:?}", path.display());
            found.extend(formats.first().map(|name| (*name, path)));
        }
    }
    say(&format!("recognised: {found:#?}"));
    assert!(found.contains_key("litellm"));
}
