//! A database that version 0.1.0 has filled, brought up to date: what it said it still says, and what is new knows of it.

use std::collections::BTreeSet;
use std::io::Read;

use axum::http::StatusCode;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use unroof_store::clock::Clock;
use unroof_server::App;
use unroof_edge::limit::limits::Limits;

use crate::server::output_of;
use crate::support::{Api, TestDatabase, on_each_database, sheet_of, with};

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Puts the database in its place that the program of version 0.1.0 (commit aa6f3232) filled over HTTP: two prices of an offer, a price
/// that was withdrawn, a catalog, a pool and stated assumptions. Of PostgreSQL it is what `pg_dump --inserts` wrote.
async fn put_old_one(database: &TestDatabase) {
    if let Some(file) = database.url.strip_prefix("sqlite:") {
        std::fs::write(file, unpacked(include_bytes!("version_0_1_0.db.gz"))).unwrap();
        return;
    }
    let dump = unpacked(include_bytes!("version_0_1_0.sql.gz"));
    let dump = AssertSqlSafe(String::from_utf8(dump).unwrap());
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql(dump).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The API on the database brought up to date, the day after its last entry.
async fn upgraded(database: &TestDatabase) -> Api {
    let clock = Clock::new(|| "2026-11-28T12:00:00Z".parse().unwrap());
    Api::new(App::new(database.store().await, clock, Limits::default()))
}

/// A field of the rows of a list, in their order.
async fn column(api: &Api, path: &str, column: &str) -> Vec<String> {
    let reply = api.get(path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    let text = |row: &Value| match &row[column] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    reply.rows().iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_version_0_1_0_made_is_taken_over_byte_for_byte() {
    on_each_database(async |database: &TestDatabase| {
        put_old_one(database).await;
        let mut kinds = Vec::new();
        for (list, select) in [
            ("/estimates", "SELECT document FROM estimates"),
            ("/price-sheets", "SELECT document FROM price_sheets"),
        ] {
            let stored: BTreeSet<String> = database.texts(select).await.into_iter().collect();
            assert_eq!(stored.len(), 8, "{list}");
            kinds.push((list, stored));
        }
        let api = upgraded(database).await;
        for (list, stored) in kinds {
            let mut shown = BTreeSet::new();
            for id in column(&api, list, "id").await {
                let document = api.get(&format!("{list}/{id}")).await;
                shown.insert(document.text().to_owned());
            }
            assert!(shown == stored, "{}: {list} differ", database.name);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_version_0_1_0_stored_passes_a_check() {
    on_each_database(async |database: &TestDatabase| {
        put_old_one(database).await;
        let api = upgraded(database).await;
        let check = |older: &str| {
            let checked = output_of(&["check", "--database-url", &database.url]);
            let expected = format!(": 0 faults\n{older} not compared");
            assert!(checked.contains(&expected), "{}: {checked}", database.name);
        };
        check("5 offers");
        // An offer is derived again with its first new fact.
        let cheaper = with(sheet_of("m-1"), "/rates/0/input", json!("0.90"));
        assert_eq!(api.infer(&cheaper).await.status, StatusCode::CREATED);
        check("4 offers");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_version_0_1_0_stored_is_kept_and_found() {
    on_each_database(async |database: &TestDatabase| {
        put_old_one(database).await;
        let api = upgraded(database).await;
        let models = column(&api, "/price-sheets?sort=model", "model").await;
        assert_eq!(
            models,
            [
                "acme/M-3", "m-1", "m-1", "m-1", "m-2", "m-2", "pool", "pool"
            ]
        );
        let history = async |column_name: &str| {
            column(&api, "/history?provider=acme&model=m-1", column_name).await
        };
        assert_eq!(
            history("sheet_id").await,
            [
                "bbc99dbb-a149-8423-bc77-c223ff5282cf",
                "dd745349-cd55-895a-9206-f78c14b66125"
            ]
        );
        for (at, price) in history("valid_from").await.iter().zip(["1.25", "1.0"]) {
            let path = format!("/price-sheets?model=m-1&as_of={at}");
            assert_eq!(column(&api, &path, "input_per_mtok").await, [price]);
        }
        let latest = column(&api, "/estimates/latest?model=m-1,org/pool", "id").await;
        assert_eq!(
            latest,
            [
                "ac10c8ec-012a-830f-96c3-c2fac563454e",
                "7d7914f9-ad1d-8e79-9bf1-2c2cd0c8d47f"
            ]
        );
        let changes = column(&api, "/changes?since=0", "sequence").await;
        assert_eq!(changes, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        assert_eq!(column(&api, "/imports", "catalog").await, ["litellm"]);
        assert_eq!(column(&api, "/disagreements", "model").await, ["m-1"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_version_0_1_0_stored_are_completed_like_new_ones() {
    on_each_database(async |database: &TestDatabase| {
        put_old_one(database).await;
        let api = upgraded(database).await;
        let names = async |q: &str| column(&api, &format!("/search?q={q}"), "name").await;
        assert_eq!(
            names("").await,
            [
                "acme",
                "one",
                "openrouter",
                "pooled",
                "two",
                "org/pool",
                "acme/M-3",
                "m-1",
                "m-2",
                "org/pool",
                "pool",
            ]
        );
        assert_eq!(names("m-3").await, ["acme/M-3"]);
        assert_eq!(
            column(&api, "/price-sheets?q=M-&sort=model", "model").await,
            ["acme/M-3", "m-1", "m-1", "m-1", "m-2", "m-2"]
        );
        assert_eq!(
            column(&api, "/estimates?q=org/", "model").await,
            ["org/pool"]
        );
        let said = [
            "SELECT DISTINCT name_key || ' ' || provider || ' ' || model FROM spellings",
            "SELECT DISTINCT kind || ' ' || name_key || ' ' || name FROM spellings",
        ];
        let kept = [
            "SELECT name_key || ' ' || provider || ' ' || model FROM offer_names",
            "SELECT kind || ' ' || name_key || ' ' || name FROM names",
        ];
        for (said, kept) in said.into_iter().zip(kept) {
            let (mut said, mut kept) = (database.texts(said).await, database.texts(kept).await);
            said.sort();
            kept.sort();
            assert_eq!(said, kept);
        }
        // A price that is stored already, a new price of a known offer, and a new offer.
        for (model, price, count) in [("m-1", "1.00", 5), ("m-1", "0.90", 5), ("m-9", "2", 6)] {
            let sheet = with(sheet_of(model), "/rates/0/input", json!(price));
            api.infer(&sheet).await;
            let found = names("&kind=model").await;
            assert_eq!(found.len(), count, "{found:?}");
        }
        assert_eq!(names("M-9").await, ["m-9"]);
        assert_eq!(names("acme&kind=provider").await, ["acme"]);
    })
    .await;
}
