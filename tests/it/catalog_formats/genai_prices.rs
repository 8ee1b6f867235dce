//! The version 2 data of genai-prices.

use std::path::Path;

use serde_json::Value;

use super::read_catalog;
use crate::support::{read_json, say};

#[test]
fn every_entry_of_genai_prices_gives_its_sheets_or_one_reason() {
    let Some(outcome) = read_catalog("genai-prices", "genai-prices.json") else {
        return;
    };
    // 1,466 models, of which 1,309 have a token price and 13 have prices from a day on.
    let refused: usize = outcome.refusals.values().sum();
    assert_eq!(outcome.sheets.len() + refused, 1_466);
    assert!(outcome.sheets.len() >= 1_300, "{}", outcome.sheets.len());
    let dated = outcome.sheets.values().filter(|sheets| sheets.len() > 1);
    assert_eq!(dated.count(), 13);
    for sheets in outcome.sheets.values() {
        for pair in sheets.windows(2) {
            assert!(pair[0].valid_to.is_some());
            assert_eq!(pair[0].valid_to, pair[1].valid_from);
        }
        let last = sheets.last().unwrap();
        assert_eq!((sheets[0].valid_from, last.valid_to), (None, None));
    }
    let with_tiers = outcome.sheets().filter(|sheet| sheet.rates.len() > 1);
    assert!(with_tiers.count() >= 20);
    let searches = outcome.sheets().filter(|sheet| {
        sheet
            .other_meters
            .iter()
            .any(|other| other.meter == "web_search")
    });
    assert!(searches.count() >= 20);
    let with_storage = outcome
        .sheets()
        .filter(|sheet| sheet.rates[0].cache_storage_per_hour.is_some());
    assert!(with_storage.count() >= 9);
    let o3 = &outcome.sheets["openai/o3"];
    let start = o3[1].valid_from.unwrap().to_string();
    assert_eq!(start, "2025-06-10T00:00:00Z");
    let deepseek = outcome.only("deepseek/deepseek-chat");
    assert_eq!(deepseek.schedules["peak"].windows[0].start, "00:30");
    assert!(deepseek.rates[0].schedule.is_none());
    let luna = &outcome.sheets["aws/openai.gpt-5.6-luna"];
    assert_eq!(luna[0].provider, "amazon-bedrock");
    assert_eq!((luna[0].rates.len(), luna[1].rates.len()), (1, 2));
}

#[test]
fn the_prices_that_the_schema_of_genai_prices_names_are_read_or_kept() {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with genai-prices.schema.json");
        return;
    };
    let schema = read_json(&Path::new(&folder).join("genai-prices.schema.json"));
    let prices = schema["$defs"]["ModelPrice"]["properties"]
        .as_object()
        .unwrap();
    assert!(prices.len() >= 50);
    let catalog: &unroof_price_sheet::catalog::Catalog = "genai-prices".parse().unwrap();
    for name in prices.keys() {
        let entry = format!(
            r#"{{"id": "m", "prices": {{"input_mtok": 7, "output_mtok": 8, "{name}": 3}}}}"#
        )
        .replace(&format!(r#""{name}": 7, "#), "")
        .replace(&format!(r#""{name}": 8, "#), "");
        let tree = unroof_base::input::json::parse(entry.as_bytes()).unwrap();
        let faults = unroof_base::input::cursor::Faults::default();
        let cursor = unroof_base::input::cursor::Cursor::root(&tree, &faults);
        let sheets = (catalog.read_entry)("x/m", &cursor).unwrap();
        let written = serde_json::to_value(&sheets[0]).unwrap();
        let has_three = ["/rates", "/other_meters"]
            .iter()
            .filter_map(|part| written.pointer(part))
            .map(Value::to_string)
            .any(|part| part.contains(r#":"3""#));
        assert!(has_three, "{name}: {written}");
    }
}
