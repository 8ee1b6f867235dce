//! Rows that expire: questions, the audit log, keys and imports.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_import::ModelEstimator;
use unroof_infer::estimate::Estimator;
use unroof_server::App;
use unroof_store::access::{Actor, NewKey, Only, Scope};
use unroof_store::{NewKeyRow, Store};
use uuid::Uuid;

use crate::server::run;
use crate::support::{Api, TestDatabase, clock, on_each_database, sheet, sheet_of, with};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn after(days: i32) -> Timestamp {
    clock().now() + DAY * days
}

async fn app(database: &TestDatabase) -> (App, Api) {
    let app = App::new(database.store().await, clock(), Limits::default());
    (app.clone(), Api::new(app))
}

/// Deletes what has expired at a time, once the lock of the round before is released.
async fn expire(database: &TestDatabase, app: &App, time: Timestamp) -> u64 {
    while database
        .number("SELECT count(*) FROM locks WHERE name = 'expiry'")
        .await
        > 0
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    app.jobs().expire(time).await.unwrap()
}

fn question(sheet: &Value) -> Value {
    json!({"price_sheet": sheet, "assumptions": {"chips": 8}})
}

/// Stores a sheet that enters no record; its id.
async fn ask(api: &Api, body: &Value) -> String {
    let reply = api.post("/infer?observe=false", body.to_string()).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.id()
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_expire_and_what_a_price_or_a_model_refers_to_stays() {
    on_each_database(async |database: &TestDatabase| {
        let (app, api) = app(database).await;
        let priced = with(sheet(), "/canonical_model", json!("acme/m-1"));
        let host = with(priced.clone(), "/provider", json!("beta"));
        // A question first, and its sheet is a price later.
        let early = ask(&api, &priced).await;
        let mut stay = vec![early];
        assert_eq!(api.infer(&priced).await.status, 200);
        stay.push(api.store(&host).await);
        let models = ModelEstimator {
            store: database.store().await,
            estimator: Estimator::default(),
            threads: 1,
        };
        assert_eq!(models.estimate_due().await.unwrap(), 1);
        let mut go = Vec::new();
        for body in [
            question(&priced),
            sheet_of("asked"),
            question(&sheet_of("asked")),
            json!({"price_sheets": [priced, with(host.clone(), "/provider", json!("gamma"))]}),
        ] {
            go.push(ask(&api, &body).await);
        }
        let latest = api
            .get("/estimates/latest?provider=acme,beta,model")
            .await
            .rows();
        assert_eq!(expire(database, &app, after(30)).await, 0);
        assert_eq!(expire(database, &app, after(31)).await, 4);
        for id in &go {
            api.get(&format!("/estimates/{id}")).await.problem(404);
        }
        for id in &stay {
            assert_eq!(api.get(&format!("/estimates/{id}")).await.status, 200);
        }
        assert_eq!(api.get("/estimates/latest").await.rows(), latest);
        // Neither sheets nor names of a question are left.
        assert_eq!(
            database.number("SELECT count(*) FROM price_sheets").await,
            2
        );
        for name in ["asked", "gamma", "pooled"] {
            let found = api.get(&format!("/search?q={name}")).await.rows();
            assert_eq!(found, Vec::<Value>::new(), "{name}");
            let names = format!("SELECT name FROM names WHERE name = '{name}'");
            assert_eq!(database.texts(names).await, Vec::<String>::new());
        }
        for name in ["acme", "beta", "m-1"] {
            assert!(
                !api.get(&format!("/search?q={name}"))
                    .await
                    .rows()
                    .is_empty(),
                "{name}"
            );
        }
        let checked = run(&["check", "--database-url", &database.url]);
        assert_eq!(checked.code, Some(0), "{}", checked.out);
        // Asked again, it has the same id.
        assert_eq!(ask(&api, &sheet_of("asked")).await, go[1]);
    })
    .await;
}

#[tokio::test]
async fn a_reader_who_polls_learns_that_a_question_has_expired() {
    on_each_database(async |database: &TestDatabase| {
        let (app, api) = app(database).await;
        let id = ask(&api, &question(&sheet())).await;
        let path = format!("/estimates/{id}");
        let density = format!("{path}/density");
        let list = api.get("/estimates").await;
        let tags = [list.header("etag").unwrap().to_owned()];
        assert_eq!(api.get(&density).await.status, 200);
        let poll = async |path: &str| {
            let known = [("if-none-match", tags[0].as_str())];
            api.ask(axum::http::Method::GET, path, &known).await
        };
        assert_eq!(poll("/estimates").await.status, 304);
        assert_eq!(expire(database, &app, after(31)).await, 1);
        let changed = poll("/estimates").await;
        assert_eq!(changed.rows(), Vec::<Value>::new());
        api.get(&path).await.problem(404);
        api.get(&density).await.problem(404);
        assert_eq!(api.get("/price-sheets").await.rows(), Vec::<Value>::new());
        assert_eq!(api.get("/changes").await.rows(), Vec::<Value>::new());
    })
    .await;
}

#[tokio::test]
async fn a_question_is_kept_from_when_it_was_stored_and_not_from_the_price_that_it_asks_about() {
    on_each_database(async |database: &TestDatabase| {
        let (app, api) = app(database).await;
        let path = "/infer?observed_at=2025-01-01T00:00:00Z";
        let reply = api.post(path, question(&sheet()).to_string()).await;
        assert_eq!(reply.status, 201);
        assert_eq!(expire(database, &app, after(29)).await, 0);
        assert_eq!(expire(database, &app, after(31)).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_long_list_of_questions_expires_in_batches_and_none_does_while_a_catalog_is_imported() {
    on_each_database(async |database: &TestDatabase| {
        let (app, api) = app(database).await;
        for number in 0..45 {
            ask(&api, &sheet_of(&format!("m-{number}"))).await;
        }
        let store = database.store().await;
        let begun = store.begin_import(
            Uuid::new_v4(),
            "request",
            None,
            clock().now().into(),
            &Actor::SERVICE,
        );
        let running = begun.await.unwrap();
        assert_eq!(expire(database, &app, after(31)).await, 0);
        drop(running);
        database.execute("DELETE FROM imports").await;
        assert_eq!(expire(database, &app, after(31)).await, 45);
        for table in [
            "estimates",
            "price_sheets",
            "estimate_listings",
            "names",
            "offer_names",
        ] {
            let rows = database
                .texts(format!("SELECT CAST(count(*) AS text) FROM {table}"))
                .await;
            assert_eq!(rows, ["0"], "{table}");
        }
    })
    .await;
}

async fn add_key(store: &Store, name: &str, created_at: Timestamp) -> Uuid {
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name,
        scope: Scope::Admin,
        hash: NewKey::random().unwrap().hash,
        created_at,
        expires_at: None,
        networks: &Only::ANY,
        providers: &Only::ANY,
    };
    assert!(store.add_key(new, 100, &Actor::COMMAND_LINE).await.unwrap());
    new.id
}

#[tokio::test]
async fn the_audit_log_loses_its_oldest_rows_and_never_one_after_a_kept_one() {
    on_each_database(async |database: &TestDatabase| {
        let (app, _) = app(database).await;
        let store = database.store().await;
        for (name, day) in [
            ("first", -500),
            ("second", -450),
            ("third", -10),
            ("fourth", -460),
        ] {
            add_key(&store, name, after(day)).await;
        }
        assert_eq!(expire(database, &app, after(0)).await, 2);
        let left = store.audit(None, 10).await.unwrap();
        let left: Vec<&str> = left.iter().map(|row| row.subject.as_str()).collect();
        assert_eq!(left, ["fourth (admin)", "third (admin)"]);
        // The chain of the log begins after the last row that expired.
        let chains = store.check_chains(&[]).await.unwrap();
        assert!(chains.faults.is_empty(), "{:?}", chains.faults);
        assert!(chains.links >= 2, "{}", chains.links);
    })
    .await;
}

#[tokio::test]
async fn revoked_keys_expire_but_that_of_a_file_which_would_come_back() {
    on_each_database(async |database: &TestDatabase| {
        let (app, _) = app(database).await;
        let store = database.store().await;
        for name in ["used", "revoked", "lately", "admin key file 0102"] {
            add_key(&store, name, after(-5)).await;
        }
        let keys = store.keys(None, 100).await.unwrap();
        for (name, day) in [
            ("revoked", -401),
            ("lately", -399),
            ("admin key file 0102", -900),
        ] {
            let key = keys.iter().find(|key| key.name == name).unwrap();
            assert!(
                store
                    .revoke_key(key, after(day), &Actor::COMMAND_LINE)
                    .await
                    .unwrap()
            );
        }
        assert_eq!(expire(database, &app, after(0)).await, 1);
        let keys = store.keys(None, 100).await.unwrap();
        let mut names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["admin key file 0102", "lately", "used"]);
    })
    .await;
}

#[tokio::test]
async fn runs_of_imports_expire_but_the_last_ones_of_every_catalog() {
    on_each_database(async |database: &TestDatabase| {
        let (app, api) = app(database).await;
        let imported = api.post(
            "/catalogs?format=litellm",
            json!({"m": {"litellm_provider": "acme",
            "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}})
            .to_string(),
        );
        assert_eq!(imported.await.status, 200);
        for (number, (day, outcome)) in [
            (-600, "done"),
            (-550, "failed"),
            (-500, "done"),
            (-450, "not_modified"),
            (-430, "failed"),
        ]
        .into_iter()
        .enumerate()
        {
            let at = after(day);
            database
                .execute(&format!(
                    "INSERT INTO imports (id, source, catalog, started_at, outcome)
                 VALUES ({}, 'https://acme.example', 'litellm', '{at:.6}', '{outcome}')",
                    id(database, number),
                ))
                .await;
        }
        assert_eq!(expire(database, &app, after(0)).await, 3);
        let left = "SELECT outcome FROM imports ORDER BY started_at";
        assert_eq!(database.texts(left).await, ["done", "failed", "done"]);
    })
    .await;
}

/// An id as a value of a statement.
fn id(database: &TestDatabase, number: usize) -> String {
    match database.name {
        "SQLite" => format!("x'{:032x}'", number + 1),
        _ => format!("'{:032x}'", number + 1),
    }
}
