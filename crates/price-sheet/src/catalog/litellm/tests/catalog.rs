//! Every text entry of a real catalog, if one is available.

use std::collections::BTreeMap;
use std::path::Path;

use super::CATALOG;
use crate::catalog::testing::read_tree;
use unroof_base::input::json;
use unroof_base::input::json::Json;

/// Keys of one offer that `LiteLLM` prices differently, or not in every tier: it is the catalog that is uneven.
const MOST_UNEVEN_COPIES: usize = 40;

fn is_text_model(entry: &Json) -> bool {
    let Json::Object(fields) = entry else {
        return false;
    };
    let Some(Json::Text(mode)) = fields.get("mode") else {
        return false;
    };
    ["chat", "completion", "responses"].contains(&&**mode)
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "says what was found, or that it was skipped"
)]
fn every_text_entry_of_a_real_catalog_gives_a_sheet_or_one_reason() {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        println!("skipped: UNROOF_TEST_CATALOGS names no folder with litellm.json");
        return;
    };
    let catalog = std::fs::read(Path::new(&folder).join("litellm.json")).unwrap();
    let Json::Object(catalog) = json::parse(&catalog).unwrap() else {
        panic!("the catalog is not an object");
    };
    let mut sheets = Vec::new();
    let mut reasons: BTreeMap<_, usize> = BTreeMap::new();
    for (name, entry) in &catalog {
        match read_tree(&CATALOG, name, entry) {
            Ok(read) => {
                if is_text_model(entry) {
                    sheets.extend(read);
                }
            }
            Err(faults) => {
                assert_eq!(faults.len(), 1, "{name}: {faults:?}");
                if is_text_model(entry) {
                    *reasons.entry(faults[0].detail.clone()).or_default() += 1;
                }
            }
        }
    }
    println!("{} sheets, refused: {reasons:#?}", sheets.len());
    assert!(sheets.len() >= 3_300);
    let mut copies: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for sheet in &sheets {
        let place = (&sheet.provider, &sheet.model, &sheet.region);
        copies.entry(place).or_default().push(sheet.id());
    }
    copies.retain(|_, ids| ids.iter().any(|id| *id != ids[0]));
    println!("uneven copies: {:#?}", copies.keys());
    assert!(copies.len() <= MOST_UNEVEN_COPIES);
}
