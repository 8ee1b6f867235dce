//! Imports that are undone: what is served and what is recorded is as before them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{act, catalog, ids, import, imported, in_force, of_outcome};
use crate::support::{Api, TestDatabase, clock, on_each_database, sheet, sheet_of, with};

/// Facts and what follows from them, but for the numbers of rows.
const RECORDED: [&str; 5] = [
    "SELECT seen.source || ' ' || sheet.provider || ' ' || sheet.model || ' ' || sheet.input_price || ' ' || seen.first_at || ' '
            || coalesce(CAST(seen.last_at AS text), '') || ' ' || coalesce(seen.entry, '')
     FROM observations AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id ORDER BY 1",
    "SELECT period.provider || ' ' || period.model || ' ' || sheet.input_price || ' ' || period.starts_at || ' '
            || coalesce(CAST(period.ends_at AS text), '') || ' ' || coalesce(ending, '') || ' ' || start_basis || ' '
            || coalesce(CAST(not_before AS text), '') || ' ' || period.catalog
     FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id ORDER BY 1",
    "SELECT source || ' ' || scope || ' ' || at FROM snapshots ORDER BY 1",
    "SELECT source || ' ' || entry || ' ' || at FROM unparsed_entries ORDER BY 1",
    "SELECT provider || ' ' || model || ' ' || sheet.input_price
     FROM price_sheets AS sheet WHERE sheet.observed = TRUE ORDER BY 1",
];

/// The lists that are served.
const SERVED: [&str; 5] = [
    "/price-sheets?limit=2000",
    "/price-sheets?as_of=2026-11-22T00:00:00Z&limit=2000",
    "/estimates?limit=2000",
    "/estimates/latest?limit=2000",
    "/disagreements?limit=2000",
];

/// All that an import may change, in an order of its own.
async fn state(database: &TestDatabase, api: &Api) -> BTreeMap<&'static str, Vec<String>> {
    let mut state = BTreeMap::new();
    for sql in RECORDED {
        let mut rows = database.texts(sql).await;
        rows.sort();
        state.insert(sql, rows);
    }
    for path in SERVED {
        let mut rows = api.get(path).await.rows();
        if path.starts_with("/disagreements") {
            // One that is found again is a new one.
            for row in &mut rows {
                row.as_object_mut()
                    .unwrap()
                    .retain(|name, _| name != "id" && name != "observed_at");
            }
        }
        let mut rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        rows.sort();
        state.insert(path, rows);
    }
    state
}

/// Differences between two states, to be read where they are not equal.
fn assert_same(
    before: &BTreeMap<&'static str, Vec<String>>,
    after: &BTreeMap<&'static str, Vec<String>>,
    what: &str,
) {
    for (part, before) in before {
        let after = &after[part];
        let lost: Vec<&String> = before.iter().filter(|row| !after.contains(row)).collect();
        let new: Vec<&String> = after.iter().filter(|row| !before.contains(row)).collect();
        assert!(
            lost.is_empty() && new.is_empty(),
            "{what}: {part}\nlost {lost:#?}\nnew {new:#?}"
        );
        assert_eq!(before.len(), after.len(), "{what}: {part}");
    }
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A file that is cut, whose prices are swapped, or whose entries are of other sellers; some entries cannot be read.
fn file(numbers: &mut Numbers) -> Value {
    let (first, count) = (numbers.below(6), 1 + numbers.below(8));
    let prices: Vec<u32> = (0..count).map(|_| [5, 6, 20][numbers.below(3)]).collect();
    let mut file = catalog((first..).zip(prices));
    for (_, entry) in file.as_object_mut().unwrap() {
        if numbers.below(9) == 0 {
            entry["input_cost_per_token"] = json!({});
        }
    }
    file
}

/// Imports a file, and accepts it where it is held.
async fn import_anyway(api: &Api, query: &str, file: &Value) {
    let last = import(api, query, file).await;
    if last["type"] == "held" {
        let accepted = act(api, &last["id"], "accept").await;
        assert_eq!(accepted.status, 200, "{}", accepted.text());
    } else {
        assert_eq!(last["type"], "done", "{last}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn undoing_imports_of_cut_swapped_and_shuffled_files_gives_the_state_before_each() {
    on_each_database(async |database: &TestDatabase| {
        for seed in 0..if database.name == "SQLite" { 6 } else { 1 } {
            let own = TestDatabase::sqlite();
            let database = if database.name == "SQLite" {
                &own
            } else {
                database
            };
            let api = database.api().await;
            let mut numbers = Numbers(seed * 7919 + 3);
            let mut states = Vec::new();
            for number in 0..5 {
                let query = match numbers.below(4) {
                    0 => "?partial=true".to_owned(),
                    1 => format!("?observed_at=2026-11-{:02}T00:00:00Z", 1 + number),
                    _ => String::new(),
                };
                let (file, before) = (file(&mut numbers), state(database, &api).await);
                let known: Vec<Value> = ids(&api).await;
                import_anyway(&api, &query, &file).await;
                let new = ids(&api).await.into_iter().find(|id| !known.contains(id));
                states.push((
                    new.unwrap(),
                    before,
                    format!("seed {seed}, import {number}{query} of {file}"),
                ));
                if numbers.below(3) == 0 {
                    api.infer(&with(sheet_of("m-1"), "/provider", json!("seller-1")))
                        .await;
                    states.clear();
                }
            }
            for (id, before, what) in states.into_iter().rev() {
                let undone = act(&api, &id, "undo").await;
                if undone.status == 409 && undone.text().contains("recorded nothing") {
                    continue;
                }
                assert_eq!(undone.status, 204, "{what}: {}", undone.text());
                let store = database.store().await;
                let checked = store.check_histories(Uuid::nil(), 100, clock().now()).await;
                assert_eq!(checked.unwrap().faults, [], "{what}");
                assert_same(&before, &state(database, &api).await, &what);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_import_is_listed_so_and_the_feed_says_what_came_back() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
        let next = catalog((0..9).map(|seller| (seller, 5)).chain([(30, 5)]));
        let id = imported(&api, "", &next).await;
        let last = api.get("/changes").await.json()["next_since"].clone();
        assert_eq!(act(&api, &id, "undo").await.status, 204);
        assert_eq!(
            (
                in_force(&api).await,
                of_outcome(&api, "undone").await[0]["id"].clone()
            ),
            (10, id.clone())
        );
        let news = api.get(&format!("/changes?since={last}")).await.rows();
        let news: Vec<_> = news
            .iter()
            .map(|row| {
                (
                    row["kind"].as_str().unwrap(),
                    row["provider"].as_str().unwrap(),
                )
            })
            .collect();
        assert!(news.contains(&("offer.delisted", "seller-30")), "{news:?}");
        assert!(news.contains(&("offer.relisted", "seller-9")), "{news:?}");
        assert_eq!(news.len(), 2);
        let summaries = api.get(&format!("/changes?since={last}")).await;
        assert!(
            summaries.text().contains("an import is undone: "),
            "{}",
            summaries.text()
        );
        act(&api, &id, "undo").await.problem(409);
        assert_eq!(api.get("/audit").await.rows()[0]["action"], "import.undone");
        act(&api, &json!(Uuid::nil().to_string()), "undo")
            .await
            .problem(404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_a_later_one_depends_on_is_undone_after_it() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let mut runs = Vec::new();
        for price in [5, 6, 7] {
            runs.push(imported(&api, "", &catalog([(0, price)])).await);
        }
        let problem = act(&api, &runs[0], "undo").await.problem(409);
        let detail = problem["detail"].as_str().unwrap();
        let [_, second, third] = [0, 1, 2].map(|run| runs[run].as_str().unwrap());
        assert!(
            detail.ends_with(&format!("2 of them: {third}, {second}")),
            "{detail}"
        );
        for run in runs.iter().rev() {
            assert_eq!(act(&api, run, "undo").await.status, 204);
        }
        assert_eq!(in_force(&api).await, 0);
        assert!(api.get("/estimates").await.rows().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_list_of_sheets_is_undone_unless_one_was_posted_since() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        api.infer(&sheet()).await;
        let before = state(database, &api).await;
        let list = json!([with(sheet(), "/rates/0/input", json!("2")), sheet_of("m-2")]);
        let id = imported(&api, "", &list).await;
        assert_eq!(act(&api, &id, "undo").await.status, 204);
        assert_same(&before, &state(database, &api).await, "a list");
        let id = imported(&api, "", &list).await;
        api.infer(&with(sheet_of("m-2"), "/rates/0/input", json!("3")))
            .await;
        let problem = act(&api, &id, "undo").await.problem(409);
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("posted since: 1"),
            "{problem}"
        );
    })
    .await;
}
