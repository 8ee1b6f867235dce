//! The whole of every published catalog that there is here, where there is any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{import, summary};
use crate::support::{TestDatabase, json_files, say};

/// The catalogs, without descriptions of their formats.
fn catalogs() -> Option<Vec<PathBuf>> {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with published catalogs");
        return None;
    };
    let mut files = json_files(Path::new(&folder));
    files.retain(|file| {
        !file
            .to_str()
            .is_some_and(|name| name.ends_with(".schema.json"))
    });
    assert!(files.len() >= 5, "{files:?}");
    Some(files)
}

/// A seller that the catalog lists. A router is the only one of its own catalog, which is cut to the models of one author.
fn seller_of(catalog: &mut Value) -> &'static str {
    let Some(models) = catalog.get_mut("data").and_then(Value::as_array_mut) else {
        return "deepseek";
    };
    models.retain(|model| {
        model["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("deepseek/"))
    });
    "openrouter"
}

#[tokio::test(flavor = "multi_thread")]
async fn every_catalog_is_recognised_and_a_part_of_it_imported_entry_by_entry() {
    let Some(files) = catalogs() else { return };
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let mut formats = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut catalog: Value = serde_json::from_str(&text).unwrap();
        let seller = seller_of(&mut catalog);
        // Without optimisation an estimate takes a tenth of a second: one seller of each catalog.
        for run in ["estimated", "unchanged"] {
            let lines = import(&api, &format!("?provider={seller}"), &catalog).await;
            let sum = summary(&lines);
            assert!(
                sum["sheets"].as_u64().unwrap() > 0,
                "{}: {sum}",
                file.display()
            );
            if run == "unchanged" {
                assert_eq!(sum["unchanged"], sum["sheets"], "{}: {sum}", file.display());
            }
            formats.insert(lines[0]["format"].as_str().unwrap().to_owned(), sum.clone());
        }
    }
    assert!(formats.len() >= 5, "{formats:#?}");
    // An offer has one price at a time, also where catalogs disagree.
    let overlaps = database
        .number(
            "SELECT count(*) FROM price_periods AS one JOIN price_periods AS other
             ON one.offer_id = other.offer_id AND (one.sequence, one.part) < (other.sequence, other.part)
             WHERE one.starts_at < coalesce(other.ends_at, '9999') AND other.starts_at < coalesce(one.ends_at, '9999')
               AND one.starts_at <> coalesce(one.ends_at, '') AND other.starts_at <> coalesce(other.ends_at, '')",
        )
        .await;
    assert_eq!(overlaps, 0);
}
