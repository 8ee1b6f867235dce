//! Published snapshots of several catalogs on top of each other, in several orders of arrival, compared with what
//! `scripts/diff-catalogs` reads in them without this program. All of the snapshots are checked by `--check` of that script;
//! here it is what some sellers list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PERIODS, all_rows, import, in_force, mirror, offer_of};
use crate::support::{Api, TestDatabase, read_json, repository, say};

/// Names of some sellers in all catalogs.
const SELLERS: [&str; 3] = ["deepseek", "x-ai", "xai"];

/// Snapshots by the time at which they were published. Those of models.dev come first.
const SNAPSHOTS: [(&str, &str); 9] = [
    ("2025-09-11T00:00:00Z", "earlier/models.dev-2025-09-11.json"),
    ("2026-07-17T00:00:00Z", "earlier/models.dev-2026-07-17.json"),
    ("2026-09-30T22:40:10Z", "models.dev.json"),
    ("2025-11-18T00:00:00Z", "earlier/litellm-1.80.0.json"),
    ("2026-06-27T00:00:00Z", "earlier/litellm-1.90.0.json"),
    ("2026-09-10T00:00:00Z", "earlier/litellm-1.103.0.json"),
    ("2026-11-12T01:59:54Z", "litellm.json"),
    ("2026-08-21T20:02:24Z", "genai-prices.json"),
    (
        "2026-08-05T00:00:00Z",
        "earlier/llmprices-historical-v1.json",
    ),
];

/// Time of a snapshot that is made from the last one of models.dev.
const EDITED: &str = "2026-10-20T00:00:00Z";

const TIMES: [&str; 8] = [
    "2025-10-01T00:00:00Z",
    "2026-01-01T00:00:00Z",
    "2026-07-20T00:00:00Z",
    "2026-07-31T00:00:00Z",
    "2026-08-25T00:00:00Z",
    "2026-10-01T00:00:00Z",
    "2026-10-25T00:00:00Z",
    "2026-11-21T00:00:00Z",
];

/// Sightings of all sources.
const OPEN: &str = "
    SELECT source || ' ' || provider || ' ' || model || ' ' || hex(sheet_id) || ' ' || first_at || ' '
           || coalesce(last_at, '')
    FROM sightings AS seen JOIN (SELECT id, provider, model FROM price_sheets) AS sheet ON sheet.id = seen.sheet_id
    ORDER BY 1";

/// A snapshot, with its file for the script.
struct Snapshot {
    at: &'static str,
    file: PathBuf,
    catalog: Value,
}

fn is_wanted(seller: &str) -> bool {
    SELLERS.contains(&seller)
}

/// Entries of some sellers.
fn part_of(catalog: Value) -> Value {
    match catalog {
        Value::Object(mut fields) if fields.contains_key("prices") => {
            let rows = fields["prices"].as_array_mut().unwrap();
            rows.retain(|row| is_wanted(row["vendor"].as_str().unwrap()));
            let mut keys = BTreeSet::new();
            let key = |row: &Value| ["vendor", "id", "from_date"].map(|name| row[name].to_string());
            rows.retain(|row| keys.insert(key(row)));
            Value::Object(fields)
        }
        Value::Object(mut entries) => {
            entries.retain(|key, entry| {
                entry["litellm_provider"]
                    .as_str()
                    .map_or_else(|| is_wanted(key), is_wanted)
            });
            Value::Object(entries)
        }
        Value::Array(mut sellers) => {
            sellers.retain(|seller| is_wanted(seller["id"].as_str().unwrap()));
            Value::Array(sellers)
        }
        other => other,
    }
}

/// Every seventh offer is gone, and every fifth has another price.
fn edited(mut catalog: Value) -> Value {
    let mut number = 0;
    for (_, seller) in catalog.as_object_mut().unwrap() {
        let models = seller["models"].as_object_mut().unwrap();
        models.retain(|_, model| {
            number += 1;
            if number % 5 == 0
                && let Some(price) = model["cost"]["input"].as_f64()
            {
                model["cost"]["input"] = json!(price * 1.5);
            }
            number % 7 != 0
        });
    }
    catalog
}

/// The snapshots, where there are any; the edited one is the fourth.
fn snapshots(folder: &TempDir) -> Option<Vec<Snapshot>> {
    let Some(catalogs) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with published catalogs");
        return None;
    };
    if Command::new("python3").arg("--version").output().is_err() {
        say("skipped: scripts/diff-catalogs needs python3");
        return None;
    }
    let read = |name: &str| part_of(read_json(&Path::new(&catalogs).join(name)));
    let mut all: Vec<(&'static str, Value)> = SNAPSHOTS.map(|(at, name)| (at, read(name))).into();
    all.insert(3, (EDITED, edited(all[2].1.clone())));
    let write = |(number, (at, catalog)): (usize, (&'static str, Value))| {
        let file = folder.path().join(format!("{number}.json"));
        std::fs::write(&file, catalog.to_string()).unwrap();
        Snapshot { at, file, catalog }
    };
    Some(all.into_iter().enumerate().map(write).collect())
}

/// Findings of the script in snapshots.
fn independent(snapshots: &[Snapshot]) -> Value {
    let mut script = Command::new(repository().join("scripts/diff-catalogs"));
    script.arg("--json");
    for time in TIMES {
        script.args(["--as-of", time]);
    }
    for snapshot in snapshots {
        script.arg(format!("{}={}", snapshot.at, snapshot.file.display()));
    }
    let ended = script.output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{errors}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

/// Name of an offer, `provider region model`.
fn name_of(offer: &[Value]) -> String {
    let words: Vec<&str> = offer[..3]
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    words.join(" ")
}

fn is_same(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => (left - right).abs() <= 1e-9 * left.abs().max(right.abs()),
        (left, right) => left == right,
    }
}

const PRICES: [&str; 3] = ["input_per_mtok", "output_per_mtok", "cache_read_per_mtok"];

/// The offers whose prices at a time are not those of the script.
async fn differing(api: &Api, time: &str, expected: &Value) -> Vec<String> {
    let rows = all_rows(api, &format!("/price-sheets?as_of={time}&limit=2000")).await;
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for row in rows {
        let offer = offer_of(&row);
        assert_eq!(
            found.insert(offer.clone(), row),
            None,
            "two prices of {offer}"
        );
    }
    let expected = expected["as_of"][time].as_array().unwrap();
    assert!(expected.len() > 10, "{time}: {expected:?}");
    let mut differing = Vec::new();
    for offer in expected {
        let offer = offer.as_array().unwrap();
        let name = name_of(offer);
        let Some(row) = found.remove(&name) else {
            differing.push(format!("{time} {name}: missing"));
            continue;
        };
        let is_it = |prices: &Value| {
            let mut pairs = PRICES.iter().zip(prices.as_array().unwrap());
            pairs.all(|(price, expected)| is_same(&row[*price], expected))
        };
        if !offer[3].as_array().unwrap().iter().any(is_it) {
            let prices = PRICES.map(|price| row[price].to_string());
            differing.push(format!("{time} {name}: {prices:?}, not {}", offer[3]));
        }
    }
    differing.extend(
        found
            .into_keys()
            .map(|name| format!("{time} {name}: not listed")),
    );
    differing
}

/// All that is known, whatever the order in which it came.
async fn state(database: &TestDatabase, api: &Api) -> Vec<Vec<String>> {
    let latest = all_rows(api, "/estimates/latest?limit=2000").await;
    let latest = latest
        .iter()
        .map(|row| format!("{} {} {}", offer_of(row), row["id"], row["duplicate_of"]));
    let looks = "SELECT source || ' ' || scope || ' ' || at FROM looks ORDER BY 1";
    vec![
        database.texts(PERIODS).await,
        database.texts(OPEN).await,
        database.texts(looks).await,
        latest.collect::<BTreeSet<_>>().into_iter().collect(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_in_any_order_give_one_state_which_is_what_the_snapshots_say() {
    let folder = tempfile::tempdir().unwrap();
    let Some(snapshots) = snapshots(&folder) else {
        return;
    };
    let expected = independent(&snapshots);
    let mut states = Vec::new();
    let orders = [
        [0, 4, 5, 1, 9, 8, 6, 2, 3, 7],
        [7, 3, 2, 6, 8, 9, 1, 5, 4, 0],
        [2, 8, 0, 7, 5, 3, 9, 1, 6, 4],
    ];
    for order in orders {
        let database = TestDatabase::sqlite();
        let api = database.api().await;
        for index in order {
            let query = format!("?only_changed=true&observed_at={}", snapshots[index].at);
            import(&api, &query, &snapshots[index].catalog).await;
        }
        let mut wrong = Vec::new();
        for time in TIMES {
            wrong.extend(differing(&api, time, &expected).await);
        }
        assert!(wrong.is_empty(), "{order:?}: {wrong:#?}");
        assert_eq!(mirror(&api).await, in_force(&api).await, "{order:?}");
        states.push(state(&database, &api).await);
    }
    for other in &states[1..] {
        for (one, other) in states[0].iter().zip(other) {
            let differing: Vec<_> = one.iter().filter(|row| !other.contains(row)).collect();
            assert!(differing.is_empty(), "{differing:#?}");
            assert_eq!(one.len(), other.len());
        }
    }
}

/// The news of an import: kind, offer, and what changed.
async fn news_since(api: &Api, place: &mut i64) -> Vec<Value> {
    let rows = all_rows(api, &format!("/changes?limit=2000&since={place}")).await;
    if let Some(last) = rows.last() {
        *place = last["sequence"].as_i64().unwrap();
    }
    rows
}

fn offers_of(rows: &[Value], kinds: &[&str]) -> BTreeSet<String> {
    let is_meant = |row: &&Value| kinds.contains(&row["kind"].as_str().unwrap());
    rows.iter().filter(is_meant).map(offer_of).collect()
}

fn names_of(pair: &Value, what: &str) -> BTreeSet<String> {
    let offers = pair[what].as_array().unwrap();
    offers
        .iter()
        .map(|offer| name_of(offer.as_array().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_of_one_catalog_says_what_differs_between_its_snapshots_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut snapshots) = snapshots(&folder) else {
        return;
    };
    snapshots.truncate(4);
    let expected = independent(&snapshots);
    let differences = expected["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 3);
    let api = TestDatabase::sqlite().api().await;
    let mut place = 0;
    let mut kinds = BTreeSet::new();
    for (number, snapshot) in snapshots.iter().enumerate() {
        import(
            &api,
            &format!("?observed_at={}", snapshot.at),
            &snapshot.catalog,
        )
        .await;
        let news = news_since(&api, &mut place).await;
        kinds.extend(
            news.iter()
                .map(|row| row["kind"].as_str().unwrap().to_owned()),
        );
        let added = offers_of(&news, &["offer.added", "offer.relisted"]);
        let Some(pair) = number.checked_sub(1).map(|number| &differences[number]) else {
            assert_eq!(news.len(), added.len(), "{news:#?}");
            continue;
        };
        assert_eq!(added, names_of(pair, "appeared"));
        assert_eq!(
            offers_of(&news, &["offer.delisted"]),
            names_of(pair, "gone")
        );
        let mut changed: BTreeMap<(String, String), (Value, Value)> = BTreeMap::new();
        for row in news.iter().filter(|row| row["kind"] == "price.changed") {
            assert!(
                row["in_force"] == true && row["valid_from"] == snapshot.at,
                "{row}"
            );
            let cell = row["cell"].as_str().unwrap_or_default();
            if ["input", "output", "cache read"].contains(&cell) {
                let cell = (offer_of(row), cell.replace(' ', "_"));
                changed.insert(cell, (row["old_value"].clone(), row["new_value"].clone()));
            }
        }
        for offer in pair["changed"].as_array().unwrap() {
            let name = name_of(offer[0].as_array().unwrap());
            for (cell, values) in offer[1].as_object().unwrap() {
                let (old, new) = changed
                    .remove(&(name.clone(), cell.clone()))
                    .unwrap_or_else(|| panic!("{name} {cell} is missing"));
                assert!(
                    is_same(&old, &values[0]) && is_same(&new, &values[1]),
                    "{name} {cell}"
                );
            }
        }
        assert!(changed.is_empty(), "{changed:#?}");
    }
    assert!(
        kinds.contains("price.changed") && kinds.contains("offer.delisted"),
        "{kinds:?}"
    );
    let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert!(!names.contains(&"history.backfilled"), "{names:?}");

    // The other way round nothing but the newest snapshot is news.
    let api = TestDatabase::sqlite().api().await;
    for (number, snapshot) in snapshots.iter().rev().enumerate() {
        let known = all_rows(&api, "/changes?limit=2000").await;
        let mut since = known
            .last()
            .map_or(0, |row| row["sequence"].as_i64().unwrap());
        import(
            &api,
            &format!("?observed_at={}", snapshot.at),
            &snapshot.catalog,
        )
        .await;
        let news = news_since(&api, &mut since).await;
        if number > 0 {
            let kinds: BTreeSet<&str> = news
                .iter()
                .map(|row| row["kind"].as_str().unwrap())
                .collect();
            let is_past = |kind: &&str| {
                [
                    "history.backfilled",
                    "limits.changed",
                    "identity.changed",
                    "offer.retiring",
                ]
                .contains(kind)
            };
            assert!(kinds.iter().all(is_past), "{kinds:?}");
        }
    }
    // No dead offer is in force.
    let dead: BTreeSet<String> = differences
        .iter()
        .flat_map(|pair| names_of(pair, "gone"))
        .collect();
    let listed = in_force(&api).await;
    let newest = all_rows(&api, "/price-sheets?as_of=2026-10-20T00:00:00Z&limit=2000").await;
    let newest: BTreeSet<String> = newest.iter().map(offer_of).collect();
    assert_eq!(listed.into_keys().collect::<BTreeSet<_>>(), newest);
    assert!(!dead.is_empty());
    let expected = &expected["as_of"]["2026-11-21T00:00:00Z"];
    let expected = expected.as_array().unwrap().iter();
    let expected: BTreeSet<String> = expected
        .map(|offer| name_of(offer.as_array().unwrap()))
        .collect();
    assert_eq!(newest, expected);
}
