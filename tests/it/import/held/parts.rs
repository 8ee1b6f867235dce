//! Parts of a catalog: what they do not list does not end. Files of the sellers of one catalog.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{catalog, import, in_force};
use crate::server::{Ended, run_with, unroof};
use crate::support::{Api, TestDatabase, on_each_database, on_each_database_blocking, wait_for};

/// The file of a seller in Portkey's catalog.
fn file(seller: &str, models: &[&str]) -> Value {
    let model = |model: &&str| {
        let price = json!({"pricing_config": {"pay_as_you_go": {
            "request_token": {"price": 0.0005}, "response_token": {"price": 0.004}}}});
        ((*model).to_owned(), price)
    };
    let models: serde_json::Map<_, _> = models.iter().map(model).collect();
    json!({seller: models})
}

const MODELS: [&str; 5] = ["m-1", "m-2", "m-3", "m-4", "m-5"];

fn run(database: &TestDatabase, arguments: &[&str]) -> Ended {
    let mut command = unroof(arguments);
    command
        .env("UNROOF_DATABASE_URL", &database.url)
        .env("UNROOF_LOG", "error");
    run_with(&mut command, "")
}

fn written(folder: &Path, name: &str, document: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, document.to_string()).unwrap();
    path
}

/// The offers in force of a database.
fn offers(database: &TestDatabase) -> Vec<String> {
    wait_for(async {
        let api = database.api().await;
        let rows = api.get("/price-sheets?as_of=2030-01-01T00:00:00Z&limit=2000");
        let rows = rows.await.rows();
        let name = |row: &Value| {
            format!(
                "{}/{}",
                row["provider"].as_str().unwrap(),
                row["model"].as_str().unwrap()
            )
        };
        let mut names: Vec<String> = rows.iter().map(name).collect();
        names.sort();
        names
    })
}

#[test]
fn files_of_sellers_do_not_end_each_other_one_after_another_or_in_one_command() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let one = written(folder.path(), "one.json", &file("openai", &MODELS));
        let two = written(folder.path(), "two.json", &file("anthropic", &MODELS));
        let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
        for files in [&[one][..], &[two], &[one, two]] {
            let arguments = [&["import"], files].concat();
            let ended = run(database, &arguments);
            assert_eq!(ended.code, Some(0), "{}", ended.err);
        }
        assert_eq!(offers(database).len(), 10);
        let listed = run(database, &["imports", "list", "--json"]);
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        let sources: Vec<&Value> = listed["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["source"])
            .collect();
        assert_eq!(
            sources.len(),
            3,
            "the files of one command are one import: {sources:?}"
        );
        assert_eq!(*sources[0], json!(format!("{one}, {two}")));
        // A file ends what its own seller no longer has.
        let less = written(folder.path(), "less.json", &file("openai", &MODELS[..4]));
        let ended = run(database, &["import", less.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let offers = offers(database);
        assert_eq!(offers.len(), 9);
        assert!(!offers.contains(&"openai/m-5".to_owned()), "{offers:?}");
    });
}

#[test]
fn files_of_one_seller_under_one_name_do_not_end_each_other() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        // Both are offers of Azure.
        let files = [file("azure-openai", &MODELS), file("azure-ai", &MODELS)];
        for (number, file) in files.iter().enumerate() {
            let path = written(folder.path(), &format!("{number}.json"), file);
            let ended = run(database, &["import", path.to_str().unwrap()]);
            assert_eq!(ended.code, Some(0), "{}", ended.err);
        }
        assert_eq!(offers(database).len(), 10);
    });
}

#[test]
fn a_held_import_is_listed_accepted_discarded_and_undone_by_commands() {
    on_each_database_blocking(|database| {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(
            folder.path(),
            "whole.json",
            &catalog((0..10).map(|seller| (seller, 5))),
        );
        let cut = written(
            folder.path(),
            "cut.json",
            &catalog((0..2).map(|seller| (seller, 5))),
        );
        let (whole, cut) = (whole.to_str().unwrap(), cut.to_str().unwrap());
        assert_eq!(run(database, &["import", whole]).code, Some(0));
        let held = run(database, &["import", cut]);
        assert_eq!(held.code, Some(1));
        assert!(held.err.contains("+0 −8 ~0"), "{}", held.err);
        let (_, rest) = held.err.split_once("unroof imports accept ").unwrap();
        let id = &rest[..36];
        let list = run(database, &["imports", "list", "--outcome", "held"]);
        assert!(list.out.contains(id), "{}", list.out);
        assert_eq!(offers(database).len(), 10);
        let accepted = run(database, &["imports", "accept", id]);
        assert_eq!(accepted.code, Some(0), "{}", accepted.err);
        assert_eq!(offers(database).len(), 2);
        let undone = run(database, &["imports", "undo", id]);
        assert_eq!(undone.code, Some(0), "{}", undone.err);
        assert_eq!(offers(database).len(), 10);
        assert_eq!(run(database, &["imports", "undo", id]).code, Some(1));
        assert_eq!(run(database, &["imports", "discard", id]).code, Some(1));
        assert_eq!(run(database, &["import", cut, "--partial"]).code, Some(0));
        assert_eq!(offers(database).len(), 10);
    });
}

async fn price_of(api: &Api, seller: &str) -> Value {
    let path = format!("/price-sheets?provider={seller}&as_of=2026-11-22T00:00:00Z");
    let rows = api.get(&path).await.rows();
    rows[0]["input_per_mtok"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_catalog_changes_and_adds_offers_and_ends_none() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog((0..10).map(|seller| (seller, 5)))).await;
        let part = catalog([(0, 6), (1, 5), (20, 5)]);
        let last = import(&api, "?partial=true", &part).await;
        assert_eq!(last["type"], "done", "{last}");
        assert!(
            last["difference"].as_str().unwrap().starts_with("+1 −0 ~1"),
            "{last}"
        );
        assert_eq!(in_force(&api).await, 11);
        assert_eq!(price_of(&api, "seller-0").await, 6.0);
        // A part that was seen before does not bring its price back.
        let earlier = "?partial=true&observed_at=2026-11-20T00:00:00Z";
        import(&api, earlier, &catalog([(0, 7)])).await;
        assert_eq!(price_of(&api, "seller-0").await, 6.0);
        // The next whole catalog counts again.
        let whole = catalog((0..10).map(|seller| (seller, 5)).chain([(20, 5)]));
        import(&api, "", &whole).await;
        assert_eq!(
            (in_force(&api).await, price_of(&api, "seller-0").await),
            (11, json!(5.0))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_price_that_a_part_lists_is_in_force_again() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        import(&api, "", &catalog([(0, 5), (1, 5)])).await;
        let id = api.get("/price-sheets?provider=seller-0").await.rows()[0]["id"].clone();
        let path = format!("/price-sheets/{}/withdraw", id.as_str().unwrap());
        api.post(&path, json!({"reason": "a mistake"}).to_string())
            .await;
        assert_eq!(in_force(&api).await, 1);
        import(&api, "?partial=true", &catalog([(0, 5)])).await;
        assert_eq!(in_force(&api).await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_several_formats_are_not_one_snapshot() {
    let api = TestDatabase::sqlite().api().await;
    let body = format!("{}\u{1e}{}", file("openai", &MODELS), catalog([(0, 5)]));
    let problem = api.post("/catalogs", body).await.problem(422);
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("portkey and litellm"),
        "{problem}"
    );
}
