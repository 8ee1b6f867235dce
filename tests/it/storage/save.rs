//! Saving and reading back.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use unroof_store::access::Actor;
use unroof_store::{Effect, ObservedBy, Order, Saved, Selection, Times};
use uuid::Uuid;

use super::{Question, all_estimates};
use crate::support::{NOW, TestDatabase, examples, on_each_database, sheet, sheet_of, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_estimate_is_read_back_byte_for_byte() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let mut sheets: Vec<Value> = examples().into_iter().map(|(_, sheet)| sheet).collect();
        sheets.push(sheet_of("模型 😀 \" \\ ' e\u{301} \u{2028}"));
        for sheet in sheets {
            let question = Question::new(&sheet);
            let saved = question.save(&store).await;
            assert!(saved.is_new && saved.version.is_some());
            let stored = store.estimate(question.answer.id, None).await.unwrap();
            assert_eq!(stored.as_deref(), Some(question.document.as_str()));
            let stored = store.price_sheet(question.sheet_id(), None).await.unwrap();
            assert_eq!(
                stored,
                Some(serde_json::to_string(&question.request.sheets[0]).unwrap())
            );
        }
        assert_eq!(store.estimate(Uuid::nil(), None).await.unwrap(), None);
        assert_eq!(store.price_sheet(Uuid::nil(), None).await.unwrap(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_is_one_row_and_new_once() {
    on_each_database(async |database: &TestDatabase| {
        let (store, replica) = (database.store().await, database.store().await);
        let question = Question::new(&sheet());
        assert!(question.save(&store).await.is_new);
        for again in [&store, &replica] {
            let known = Saved {
                is_new: false,
                version: None,
                effects: vec![Effect::InForce],
            };
            assert_eq!(question.save_at(again, NOW).await, known);
        }
        let rows = all_estimates(&replica).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(Timestamp::from(rows[0].observed_at).to_string(), NOW);
        // Another question about the same sheet is another estimate, not another sheet.
        let stated = json!({"price_sheet": sheet(), "assumptions": {"chips": 8}});
        assert!(Question::new(&stated).save(&store).await.is_new);
        assert_eq!(all_estimates(&store).await.len(), 2);
        let sheets = store
            .price_sheets(
                &Selection::default(),
                &Times::default(),
                Order::NEWEST,
                None,
                10,
            )
            .await
            .unwrap();
        assert_eq!(sheets.len(), 1);
        assert_eq!(
            database
                .number("SELECT count(*) FROM estimate_sheets")
                .await,
            2
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_saves_at_nearly_the_same_moment_exactly_one_is_new_and_audited() {
    on_each_database(async |database: &TestDatabase| {
        let replicas = [database.store().await, database.store().await];
        let saves: Vec<_> = (0..20_u8)
            .map(|number| {
                let store = replicas[usize::from(number % 2)].clone();
                tokio::spawn(async move {
                    let question = Question::new(&sheet());
                    let mut estimate = question.estimate_at(NOW);
                    estimate.observed_at += i64::from(number).milliseconds();
                    estimate.recorded_at = estimate.observed_at;
                    estimate.waits_for_others = number % 4 < 2;
                    let post = ObservedBy::post(true);
                    estimate.observed_by = Some(post.sent_by(Actor::COMMAND_LINE));
                    store.save(estimate).await.unwrap()
                })
            })
            .collect();
        let mut new = 0;
        for save in saves {
            new += usize::from(save.await.unwrap().is_new);
        }
        assert_eq!(new, 1);
        assert_eq!(all_estimates(&replicas[1]).await.len(), 1);
        assert_eq!(replicas[1].audit(None, 20).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn estimates_that_wait_for_others_are_stored_with_those_that_come_a_moment_later() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let save_after = async |question: &Question, pause| {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let mut estimate = question.estimate_at(NOW);
            estimate.waits_for_others = true;
            let saved = store.save(estimate).await.unwrap();
            assert!(saved.is_new);
            saved.version
        };
        // A common transaction may begin between two of them, but hardly each time.
        for attempt in 0..20 {
            let questions = [0, 1, 2]
                .map(|number| Question::new(&sheet_of(&format!("model {attempt}.{number}"))));
            let [first, second, third] = &questions;
            let versions = tokio::join!(
                save_after(first, 0),
                save_after(second, 10),
                save_after(third, 20)
            );
            if versions.0 == versions.1 && versions.1 == versions.2 {
                return;
            }
        }
        panic!("no three estimates were stored together");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_source_of_known_content_is_added_to_the_stored_sheet_and_nothing_else_changes() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let mut first = with(sheet(), "/notes", json!(["the first note"]));
        for (pointer, value) in [
            ("/rates/0/input", json!("1.250")),
            ("/rates/0/source", json!(0)),
            ("/aliases", json!(["one"])),
            ("/unmapped", json!({"rate": 0.1, "tenth": 1.1e-7, "third": 0.333_333_333_333_333_3, "list": [1, "a", null]})),
        ] {
            first = with(first, pointer, value);
        }
        let first = Question::new(&first);
        first.save(&store).await;
        let before = store.price_sheet(first.sheet_id(), None).await.unwrap().unwrap();
        let row_before = all_estimates(&store).await;
        let source = json!({"url": "https://other.example/prices", "format": "manual", "retrieved_at": "2026-11-20"});
        let second = Question::new(&with(sheet(), "/sources", json!([sheet()["sources"][0], source])));
        let saved = second.save_at(&store, "2027-01-01T00:00:00Z").await;
        assert!(!saved.is_new && saved.version.is_some(), "{saved:?}");
        let after = store.price_sheet(first.sheet_id(), None).await.unwrap().unwrap();
        let added = format!(",{}]", serde_json::to_string(&second.request.sheets[0].sources[1]).unwrap());
        let expected = before.replacen("\"format\":\"official\"}]", &format!("\"format\":\"official\"}}{added}"), 1);
        assert_ne!(before, expected);
        assert_eq!(after, expected);
        assert_eq!(format!("{:?}", all_estimates(&store).await), format!("{row_before:?}"));
        assert_eq!(store.estimate(first.answer.id, None).await.unwrap(), Some(first.document.clone()));
        assert_eq!(second.save(&store).await, Saved { is_new: false, version: None, effects: vec![Effect::InForce] });
        // What a question names is not a source.
        let third = with(sheet(), "/sources/0/url", json!("https://third.example"));
        let stated = Question::new(&json!({"price_sheet": third, "assumptions": {"chips": 8}}));
        assert!(stated.save(&store).await.is_new);
        let stored = store.price_sheet(first.sheet_id(), None).await.unwrap().unwrap();
        let stored: Value = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored["sources"].as_array().unwrap().len(), 2);
        assert_eq!(stored["notes"], json!(["the first note"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_sent_at_the_same_moment_are_all_kept() {
    on_each_database(async |database: &TestDatabase| {
        let replicas = [database.store().await, database.store().await];
        let source_of = |number: usize| {
            with(
                sheet(),
                "/sources/0/url",
                json!(format!("https://acme.example/{number}")),
            )
        };
        let saves: Vec<_> = (0..12)
            .map(|number| {
                let (store, sheet) = (replicas[number % 2].clone(), source_of(number));
                tokio::spawn(async move { Question::new(&sheet).save(&store).await })
            })
            .collect();
        for save in saves {
            save.await.unwrap();
        }
        let stored = replicas[0]
            .price_sheet(Question::new(&sheet()).sheet_id(), None)
            .await
            .unwrap()
            .unwrap();
        let stored: Value = serde_json::from_str(&stored).unwrap();
        let urls: BTreeSet<&str> = stored["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| source["url"].as_str().unwrap())
            .collect();
        assert_eq!(urls.len(), 12);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_are_stored_in_the_digits_they_were_sent_in() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        for price in [
            "3.00",
            "0.000000000000000001",
            "999999999999.999999999999999999",
            "0",
            "0.00",
            "0.30",
            "123456789012",
        ] {
            let sheet = with(sheet_of(price), "/rates/0/input", json!(price));
            let question = Question::new(&sheet);
            question.save(&store).await;
            let stored = store
                .price_sheet(question.sheet_id(), None)
                .await
                .unwrap()
                .unwrap();
            let stored: Value = serde_json::from_str(&stored).unwrap();
            assert_eq!(stored["rates"][0]["input"], price);
            let of_price = Selection {
                model: vec![price.to_owned()],
                ..Selection::default()
            };
            let rows = store
                .price_sheets(&of_price, &Times::default(), Order::NEWEST, None, 1)
                .await
                .unwrap();
            assert_eq!(rows[0].input_per_mtok, price.parse().ok());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_rises_with_each_write_and_not_with_a_repeat() {
    on_each_database(async |database: &TestDatabase| {
        let (store, replica) = (database.store().await, database.store().await);
        let mut last = store.version().await.unwrap();
        let writes = [
            sheet(),
            sheet_of("m-2"),
            json!({"price_sheet": sheet(), "assumptions": {"chips": 8}}),
            with(sheet(), "/sources/0/locator", json!("another place")),
        ];
        for body in &writes {
            let version = Question::new(body).save(&store).await.version.unwrap();
            assert!(version > last, "{body}");
            assert_eq!(replica.version().await.unwrap(), version);
            last = version;
        }
        for body in &writes {
            assert_eq!(
                Question::new(body).save(&replica).await.version,
                None,
                "{body}"
            );
        }
        assert_eq!(store.version().await.unwrap(), last);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_write_ahead_log_of_an_embedded_database_is_taken_over_again_and_again() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let file = database.url.trim_start_matches("sqlite:").to_owned();
    let size = |file: &str| std::fs::metadata(file).unwrap().len();
    for number in 0..16 {
        let mut question = Question::new(&sheet_of(&format!("m-{number}")));
        question.document = " ".repeat(1 << 20);
        question.save(&store).await;
    }
    assert!(size(&file) > 8 << 20, "{}", size(&file));
    assert!(size(&format!("{file}-wal")) < 8 << 20);
}
