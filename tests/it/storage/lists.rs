//! Lists: their order, their pages, what is the latest.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;
use unroof_store::{LatestKey, Order, Place, Selection, Times};
use uuid::Uuid;

use super::{Question, all_estimates, latest_of};
use crate::support::{NOW, TestDatabase, on_each_database, sheet, sheet_of, with};

#[tokio::test(flavor = "multi_thread")]
async fn latest_is_the_newest_without_stated_assumptions() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let stating = |chips: u32| json!({"price_sheet": sheet(), "assumptions": {"chips": chips}});
        let older = Question::new(&with(sheet(), "/rates/0/input", json!("2")));
        let newer = Question::new(&sheet());
        let stated = Question::new(&stating(8));
        older.save_at(&store, "2026-11-20T00:00:00Z").await;
        newer.save_at(&store, NOW).await;
        stated.save(&store).await;
        let latest = async || -> Vec<Uuid> {
            let rows = store
                .latest_estimates(latest_of(&Selection::default()), None, 10)
                .await
                .unwrap();
            rows.iter().map(|row| row.id).collect()
        };
        assert_eq!(latest().await, [newer.answer.id]);
        older.save(&store).await;
        assert_eq!(latest().await, [newer.answer.id], "a repeat is not news");
        Question::new(&stating(16)).save(&store).await;
        assert_eq!(latest().await, [newer.answer.id]);
    })
    .await;
}

/// More pages than any list here has: a list without an end fails instead of continuing.
const MOST_PAGES: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn pages_over_250_rows_that_grow_meanwhile_repeat_none_and_skip_none() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let mut there_from_the_start = BTreeSet::new();
        for number in 0..250 {
            let question = Question::new(&sheet_of(&format!("m-{:03}", number * 7 % 250)));
            question.save(&store).await;
            there_from_the_start.insert(question.answer.id);
        }
        let none = Selection::default();
        let mut added = 0;
        let mut insert = async || {
            // Before, among and after the names that are there.
            for place in ["a", "m-125", "z"] {
                Question::new(&sheet_of(&format!("{place}-{added}")))
                    .save(&store)
                    .await;
                added += 1;
            }
        };
        let (mut by_time, mut sheets, mut by_offer) = (Vec::new(), Vec::new(), Vec::new());
        let mut below = None;
        for _ in 0..MOST_PAGES {
            let page = store
                .estimates(&none, &Times::default(), Order::NEWEST, below.as_ref(), 40)
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            below = Some(Place::Stored(last.sequence));
            by_time.extend(page.iter().map(|row| row.id));
            insert().await;
        }
        let mut below = None;
        for _ in 0..MOST_PAGES {
            let page = store
                .price_sheets(&none, &Times::default(), Order::NEWEST, below.as_ref(), 40)
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            below = Some(Place::Stored(last.sequence));
            sheets.extend(page.iter().map(|row| row.model.clone()));
            insert().await;
        }
        let mut after: Option<LatestKey> = None;
        for _ in 0..MOST_PAGES {
            let page = store
                .latest_estimates(latest_of(&none), after.as_ref(), 40)
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            after = Some(LatestKey {
                provider: last.provider.clone(),
                model: last.model.clone(),
                region: last.region.clone(),
            });
            by_offer.extend(page.iter().map(|row| row.id));
            if by_offer.len() < 250 {
                insert().await;
            }
        }
        for (name, ids) in [("by time", &by_time), ("by offer", &by_offer)] {
            let distinct: BTreeSet<Uuid> = ids.iter().copied().collect();
            assert_eq!(distinct.len(), ids.len(), "{name}: a row twice");
            assert!(
                distinct.is_superset(&there_from_the_start),
                "{name}: a row skipped"
            );
        }
        assert_eq!(
            by_time.len(),
            250,
            "what came later is above the first page"
        );
        let distinct: BTreeSet<&String> = sheets.iter().collect();
        assert_eq!(distinct.len(), sheets.len(), "a sheet twice");
        assert!(
            (0..250).all(|number| distinct.contains(&format!("m-{number:03}"))),
            "a sheet skipped"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_list_names_in_the_order_of_their_bytes() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let names = [
            "é", "a", "_", "B", "b", "A", "ä", "1", "-", "a b", "aB", "Z", "z", "😀", "模", "10",
            "9", "e\u{301}",
        ];
        for name in names {
            let sheet = with(
                with(sheet_of(name), "/provider", json!(name)),
                "/region",
                json!(name),
            );
            Question::new(&sheet).save(&store).await;
        }
        let mut sorted = names;
        sorted.sort_unstable();
        let rows = store
            .latest_estimates(latest_of(&Selection::default()), None, 100)
            .await
            .unwrap();
        let listed: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
        assert_eq!(listed, sorted);
        // The second page begins where the first ends, in that order.
        let key = LatestKey {
            provider: "a".to_owned(),
            model: "a".to_owned(),
            region: "a".to_owned(),
        };
        let rest = store
            .latest_estimates(latest_of(&Selection::default()), Some(&key), 100)
            .await
            .unwrap();
        let place = sorted.iter().position(|name| *name == "a").unwrap();
        assert_eq!(rest.len(), names.len() - place - 1);
        assert_eq!(rest[0].model, sorted[place + 1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_survive_to_the_microsecond_and_order_correctly() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        // In their order; as texts of varying length they would be in another.
        let times = [
            "1970-01-01T00:00:00Z",
            "2026-11-21T12:00:00Z",
            "2026-11-21T12:00:00.000001Z",
            "2026-11-21T12:00:00.1Z",
            "2026-11-21T12:00:00.123456Z",
            "2026-11-21T12:00:00.5Z",
            "2026-11-21T12:00:01Z",
            "9999-12-30T21:59:59.999999Z",
        ];
        for time in times.iter().rev() {
            let sheet = with(sheet_of(time), "/valid_from", json!(time));
            Question::new(&sheet).save_at(&store, time).await;
        }
        for row in all_estimates(&store).await {
            let sent: Timestamp = row.model.parse().unwrap();
            assert_eq!(Timestamp::from(row.observed_at), sent);
            assert_eq!(row.valid_from.map(Timestamp::from), Some(sent));
            assert_eq!(row.valid_to.map(Timestamp::from), None);
        }
        for sql in [
            "SELECT model FROM estimate_listings ORDER BY observed_at",
            "SELECT model FROM estimate_listings ORDER BY valid_from",
            "SELECT model FROM price_sheets ORDER BY observed_at",
        ] {
            assert_eq!(database.texts(sql).await, times, "{sql}");
        }
        // What is finer is cut, in the same way on both.
        Question::new(&sheet_of("fine"))
            .save_at(&store, "2026-11-21T12:00:00.123456999Z")
            .await;
        let newest = &all_estimates(&store).await[0];
        assert_eq!(Timestamp::from(newest.observed_at).to_string(), NOW);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_between_two_times_finds_every_row_however_late_it_was_stored() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        // Older catalogs are imported after newer ones.
        let days = [20, 21, 3, 22, 4, 4, 23, 1, 24];
        let at = |day: u32| format!("2026-01-{day:02}T00:00:00Z");
        for (number, day) in days.into_iter().enumerate() {
            Question::new(&sheet_of(&format!("m-{number}")))
                .save_at(&store, &at(day))
                .await;
            // Far apart, so that the rows are in several blocks of the table of times.
            let apart = "UPDATE store_version SET version = version + 4000";
            database.execute(apart).await;
        }
        let bound = |day: u32| Some(at(day).parse::<Timestamp>().unwrap().into());
        let bounds = [0, 1, 2, 4, 5, 20, 22, 24, 25].map(|day| (day > 0).then_some(day));
        let ascending = Order {
            is_descending: false,
            ..Order::NEWEST
        };
        for (from, to) in bounds.iter().flat_map(|from| bounds.map(|to| (*from, to))) {
            let is_between =
                |day: &u32| from.is_none_or(|from| from <= *day) && to.is_none_or(|to| *day < to);
            let expected = days.iter().filter(|day| is_between(day)).count();
            let times = Times {
                from: from.and_then(bound),
                to: to.and_then(bound),
                as_of: None,
            };
            for order in [ascending, Order::NEWEST] {
                let none = Selection::default();
                let estimates = store.estimates(&none, &times, order, None, 99).await;
                let sheets = store.price_sheets(&none, &times, order, None, 99).await;
                let found = (estimates.unwrap().len(), sheets.unwrap().len());
                assert_eq!(found, (expected, expected), "{from:?} to {to:?}");
            }
        }
        let rows = all_estimates(&store).await;
        let sequences: BTreeSet<i64> = rows.iter().map(|row| row.sequence / 4096).collect();
        assert!(sequences.len() > 4, "{sequences:?}");
    })
    .await;
}
