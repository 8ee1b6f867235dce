//! A database that version 0.1.0 has filled, brought up to date: what it said it still says, and what is new knows of it.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use axum::http::StatusCode;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use sqlx::migrate::{Migrate, Migrator};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use crate::server::{output_of, run};
use crate::support::{Api, TestDatabase, on_each_database, sheet_of, with};

/// The migration with the tables of version 0.1.0.
const FIRST: i64 = 1;

/// The rows of version 0.1.0 after two prices of one offer, a price that was withdrawn, a catalog and a pooled estimate.
/// Documents and values of estimates are cut.
fn tables() -> Map<String, Value> {
    serde_json::from_str(include_str!("version_1.json")).unwrap()
}

/// The tables of version 0.1.0, empty.
async fn begin(connection: &mut impl Migrate, migrations: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(migrations);
    let migrator = Migrator::new(folder).await.unwrap();
    assert!(migrator.iter().len() > 1);
    let first = migrator.run_direct(Some(FIRST), connection, false);
    first.await.unwrap();
}

/// A value as a literal of SQLite, where ids and checksums are bytes.
fn literal(column: &str, value: &Value) -> String {
    match value {
        Value::String(text) if ["id", "checksum"].contains(&column) || column.ends_with("_id") => {
            format!("x'{}'", text.trim_start_matches("\\x").replace('-', ""))
        }
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    }
}

async fn fill_sqlite(connection: &mut SqliteConnection) {
    for (table, rows) in tables() {
        let mut sql = format!("DELETE FROM {table};");
        for row in rows.as_array().unwrap() {
            let row = row.as_object().unwrap();
            let values = row.iter().map(|(column, value)| literal(column, value));
            let values = values.collect::<Vec<_>>().join(", ");
            let columns = row.keys().cloned().collect::<Vec<_>>().join(", ");
            let insert = format!("INSERT INTO {table} ({columns}) VALUES ({values});");
            sql.push_str(&insert);
        }
        let statements = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection);
        statements.await.unwrap();
    }
}

async fn fill_postgres(connection: &mut PgConnection) {
    for (table, rows) in tables() {
        let columns: BTreeSet<&String> = rows.as_array().unwrap().iter().flat_map(keys).collect();
        let columns: Vec<&str> = columns.into_iter().map(String::as_str).collect();
        let columns = columns.join(", ");
        let clear = format!("DELETE FROM {table}");
        let fill = format!(
            "INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, $1::json)"
        );
        let clear = sqlx::query(AssertSqlSafe(clear)).execute(&mut *connection);
        clear.await.unwrap();
        let fill = sqlx::query(AssertSqlSafe(fill)).bind(rows.to_string());
        fill.execute(&mut *connection).await.unwrap();
    }
}

fn keys(row: &Value) -> impl Iterator<Item = &String> {
    row.as_object().unwrap().keys()
}

/// The API on a database of version 0.1.0 that is brought up to date.
async fn upgraded(database: &TestDatabase) -> Api {
    if database.name == "SQLite" {
        let created = format!("{}?mode=rwc", database.url);
        let mut connection = SqliteConnection::connect(&created).await.unwrap();
        begin(&mut connection, "migrations/sqlite").await;
        fill_sqlite(&mut connection).await;
        connection.close().await.unwrap();
    } else {
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        begin(&mut connection, "migrations/postgres").await;
        fill_postgres(&mut connection).await;
        connection.close().await.unwrap();
    }
    database.api().await
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

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Puts the database in its place that the program of version 0.1.0 (commit aa6f3232) filled over HTTP: two prices of an offer, a price
/// that was withdrawn, a catalog, a pool and stated assumptions. Of PostgreSQL it is what `pg_dump --inserts` wrote.
async fn put_real_one(database: &TestDatabase) {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_version_0_1_0_made_is_taken_over_byte_for_byte() {
    on_each_database(async |database: &TestDatabase| {
        put_real_one(database).await;
        let stored = "SELECT document FROM estimates";
        let stored: BTreeSet<String> = database.texts(stored).await.into_iter().collect();
        assert_eq!(stored.len(), 8);
        let api = database.api().await;
        let mut shown = BTreeSet::new();
        for id in column(&api, "/estimates", "id").await {
            shown.insert(api.get(&format!("/estimates/{id}")).await.text().to_owned());
        }
        assert!(shown == stored, "{}: a document differs", database.name);
        let without_faults = || {
            let checked = output_of(&["check", "--database-url", &database.url]);
            assert!(checked.contains(": 0 faults"), "{checked}");
        };
        without_faults();
        let prices = async || {
            let path = "/history?provider=acme&model=m-1";
            column(&api, path, "sheet_id").await.len()
        };
        assert_eq!(prices().await, 2);
        let sheet = json!({"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
            "unit": "per_1m_tokens", "rates": [{"input": "0.90", "output": "10.00"}],
            "sources": [{"url": "https://acme.example/prices", "format": "official"}]});
        assert_eq!(api.infer(&sheet).await.status, StatusCode::CREATED);
        assert_eq!(prices().await, 3, "{}", database.name);
        without_faults();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_version_0_1_0_stored_is_kept_and_found() {
    on_each_database(async |database: &TestDatabase| {
        let api = upgraded(database).await;
        let models = column(&api, "/price-sheets?sort=model", "model").await;
        assert_eq!(
            models,
            [
                "acme/M-3", "m-1", "m-1", "m-1", "m-2", "m-2", "pool", "pool"
            ]
        );
        for stored in tables()["price_sheets"].as_array().unwrap() {
            let id = stored["id"].as_str().unwrap();
            let shown = api.get(&format!("/price-sheets/{id}")).await.json();
            assert_eq!(shown["model"], stored["model"], "{id}");
            assert_eq!(shown["provider"], stored["provider"], "{id}");
        }
        for (at, price) in [("05", "1.25"), ("13", "1.0")] {
            let path = format!("/price-sheets?model=m-1&as_of=2026-11-{at}T00:00:00Z");
            assert_eq!(column(&api, &path, "input_per_mtok").await, [price]);
        }
        let history = column(&api, "/history?provider=acme&model=m-1", "sheet_id").await;
        assert_eq!(
            history,
            [
                "bbc99dbb-a149-8423-bc77-c223ff5282cf",
                "dd745349-cd55-895a-9206-f78c14b66125"
            ]
        );
        let latest = column(&api, "/estimates/latest?model=m-1,org/pool", "id").await;
        assert_eq!(
            latest,
            [
                "ac10c8ec-012a-830f-96c3-c2fac563454e",
                "7d7914f9-ad1d-8e79-9bf1-2c2cd0c8d47f"
            ]
        );
        let changes = column(&api, "/changes?since=0", "sequence").await;
        assert_eq!(changes, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(column(&api, "/imports", "catalog").await, ["litellm"]);
        assert_eq!(column(&api, "/disagreements", "model").await, ["m-1"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_version_0_1_0_stored_passes_a_check() {
    on_each_database(async |database: &TestDatabase| {
        let api = upgraded(database).await;
        // Documents of its estimates are cut: those alone are faults.
        let check = |older: &str| {
            let checked = run(&["check", "--database-url", &database.url]);
            let is_cut = |line: &&str| line.ends_with(": its document is not an estimate");
            let cut = checked.out.lines().filter(is_cut).count();
            assert_eq!(cut, tables()["estimates"].as_array().unwrap().len());
            let faults = format!(": {cut} faults\n{older} not compared");
            assert!(checked.out.contains(&faults), "{}", checked.out);
        };
        check("5 offers");
        // An offer is derived again with its first new fact.
        let cheaper = with(sheet_of("m-1"), "/rates/0/input", json!("0.90"));
        api.infer(&cheaper).await;
        check("4 offers");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_version_0_1_0_stored_are_completed_like_new_ones() {
    on_each_database(async |database: &TestDatabase| {
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
            column(&api, "/price-sheets?q=M-", "model").await,
            ["m-1", "acme/M-3", "m-2", "m-2", "m-1", "m-1"]
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
