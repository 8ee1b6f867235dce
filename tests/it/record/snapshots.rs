//! Published snapshots of several catalogs on top of each other, in several orders of arrival: what some sellers list.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{PERIODS, all_rows, import, in_force, mirror, offer_of};
use crate::support::{Api, TestDatabase, read_json, say};

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

/// Observations of all sources.
const OPEN: &str = "
    SELECT source || ' ' || provider || ' ' || model || ' ' || hex(sheet_id) || ' ' || first_at || ' '
           || coalesce(last_at, '')
    FROM observations AS seen JOIN (SELECT id, provider, model FROM price_sheets) AS sheet ON sheet.id = seen.sheet_id
    ORDER BY 1";

/// A catalog as it was published at a time.
struct Snapshot {
    at: &'static str,
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
fn snapshots() -> Option<Vec<Snapshot>> {
    let Some(catalogs) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with published catalogs");
        return None;
    };
    let read = |(at, name): (&'static str, &str)| Snapshot {
        at,
        catalog: part_of(read_json(&Path::new(&catalogs).join(name))),
    };
    let mut all: Vec<Snapshot> = SNAPSHOTS.map(read).into();
    let catalog = edited(all[2].catalog.clone());
    all.insert(
        3,
        Snapshot {
            at: EDITED,
            catalog,
        },
    );
    Some(all)
}

/// All that is known, whatever the order in which it came.
async fn state(database: &TestDatabase, api: &Api) -> Vec<Vec<String>> {
    let latest = all_rows(api, "/estimates/latest?limit=2000").await;
    let latest = latest
        .iter()
        .map(|row| format!("{} {} {}", offer_of(row), row["id"], row["duplicate_of"]));
    let snapshots = "SELECT source || ' ' || scope || ' ' || at FROM snapshots ORDER BY 1";
    vec![
        database.texts(PERIODS).await,
        database.texts(OPEN).await,
        database.texts(snapshots).await,
        latest.collect::<BTreeSet<_>>().into_iter().collect(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn published_catalogs_in_any_order_give_one_state() {
    let Some(snapshots) = snapshots() else {
        return;
    };
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

/// An import before another one changes nothing that holds: its news are facts of the past, or of the model.
const OF_THE_PAST: [&str; 4] = [
    "history.backfilled",
    "limits.changed",
    "identity.changed",
    "offer.retiring",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_older_than_what_is_known_is_no_news() {
    let Some(mut snapshots) = snapshots() else {
        return;
    };
    snapshots.truncate(4);
    let api = TestDatabase::sqlite().api().await;
    let mut since = Value::from(0);
    for (number, snapshot) in snapshots.iter().rev().enumerate() {
        let query = format!("?observed_at={}", snapshot.at);
        import(&api, &query, &snapshot.catalog).await;
        let news = all_rows(&api, &format!("/changes?limit=2000&since={since}")).await;
        if let Some(last) = news.last() {
            since = last["sequence"].clone();
        }
        if number > 0 {
            let is_past = |row: &Value| OF_THE_PAST.contains(&row["kind"].as_str().unwrap());
            assert!(news.iter().all(is_past), "{news:#?}");
        }
    }
    let newest = all_rows(&api, &format!("/price-sheets?as_of={EDITED}&limit=2000")).await;
    let newest: BTreeSet<String> = newest.iter().map(offer_of).collect();
    assert!(!newest.is_empty());
    assert_eq!(
        in_force(&api).await.into_keys().collect::<BTreeSet<_>>(),
        newest
    );
}
