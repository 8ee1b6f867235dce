//! A clock that was ahead: every route names one price meanwhile and afterwards, and what was recorded then is put back.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_server::App;
use unroof_store::Store;
use unroof_store::access::Actor;

use super::{from, history};
use crate::changes::webhooks::Hand;
use crate::models::estimate_models;
use crate::support::{Api, NOW, TestDatabase, on_each_database, sheet_of, with};

/// Ten years.
const AHEAD: Duration = Duration::from_hours(10 * 365 * 24);

async fn served(database: &TestDatabase) -> (Hand, Store, Api) {
    let (hand, store) = (Hand::new(), database.store().await);
    let api = Api::new(App::new(store.clone(), hand.clock(), Limits::default()));
    (hand, store, api)
}

/// A sheet of `m-1`, which has a canonical name, so that charts draw it.
fn priced(input: &str) -> Value {
    with(super::priced(input), "/canonical_model", json!("acme/m-1"))
}

/// Posts a sheet; its id.
async fn posted(api: &Api, sheet: &Value) -> String {
    let reply = api.infer(sheet).await;
    assert!(reply.status.is_success(), "{}", reply.text());
    let sheet = &reply.json()["price_sheets"][0]["id"];
    sheet.as_str().unwrap().to_owned()
}

/// The sheet that every route names as the price of `m-1` in force now; none where they name none.
async fn in_force(database: &TestDatabase, api: &Api) -> Option<String> {
    let mut named: BTreeSet<(Option<String>, &str)> = BTreeSet::new();
    let text = |id: &Value| id.as_str().map(str::to_owned);
    let usage =
        json!({"offer": {"provider": "acme", "model": "m-1"}, "usage": {"input_tokens": 1}});
    let cost = api.post("/cost", usage.to_string()).await;
    named.insert((text(&cost.json()["sheet"]["id"]), "/cost"));
    let lines = axum::http::Request::post("/cost")
        .header("content-type", "application/x-ndjson")
        .body(format!("{usage}\n{usage}\n").into());
    let lines = api.send(lines.unwrap()).await;
    for line in lines.text().lines().take(2) {
        let line: Value = serde_json::from_str(line).unwrap();
        named.insert((text(&line["cost"]["sheet"]["id"]), "/cost by line"));
    }
    for (path, field) in [
        ("/price-sheets?provider=acme&model=m-1&as_of=now", "id"),
        ("/offers/acme/m-1/history?as_of=now", "sheet_id"),
    ] {
        let rows = api.get(path).await.rows();
        let is_one = path.starts_with("/offers") || rows.len() <= 1;
        assert!(is_one, "{path}: {rows:?}");
        let last = rows.last().filter(|row| row["withdrawn_at"].is_null());
        named.insert((last.and_then(|row| text(&row[field])), path));
    }
    for path in [
        "/estimates/latest?provider=acme&model=m-1",
        "/estimates/latest?provider=acme&model=m-1&as_of=now",
        "/estimates?provider=acme&model=m-1&as_of=now",
    ] {
        let rows = api.get(path).await.rows();
        assert!(rows.len() <= 1, "{path}: {rows:?}");
        let sheet = match rows.first() {
            None => None,
            Some(row) => {
                let path = format!("/estimates/{}?as_of=now", row["id"].as_str().unwrap());
                let estimate = api.get(&path).await;
                assert_eq!(estimate.status, 200, "{path}: {}", estimate.text());
                text(&estimate.json()["price_sheets"][0]["id"])
            }
        };
        named.insert((sheet, path));
    }
    let (first, _) = named.first().unwrap().clone();
    assert!(named.iter().all(|(sheet, _)| *sheet == first), "{named:?}");
    if let Some(sheet) = &first {
        let sheet = api.get(&format!("/price-sheets/{sheet}")).await.json();
        if sheet["canonical_model"].is_string() {
            estimate_models(database).await;
            drawn(api, sheet["rates"][0]["input"].as_str().unwrap()).await;
        }
    }
    first
}

/// The chart of prices and the page of the market state this price as the one in force.
async fn drawn(api: &Api, input: &str) {
    for (path, part) in [
        (
            "/charts/prices.svg?model=acme/m-1&side=input",
            format!("is in force: ${input}"),
        ),
        ("/ui/", format!("{input} · 10")),
    ] {
        let page = api.get(path).await;
        assert!(
            page.text().contains(&part),
            "{path}: no {part}: {}",
            page.text()
        );
    }
}

async fn withdraw(api: &Api, id: &str) -> u16 {
    let body = json!({"reason": "mistyped"}).to_string();
    let path = format!("/price-sheets/{id}/withdraw");
    api.post(&path, body).await.status.as_u16()
}

/// Times that are recorded later than a second after the time of the tests, by column.
async fn late_times(database: &TestDatabase) -> Vec<String> {
    let columns = [
        ("observations", "first_at"),
        ("observations", "last_at"),
        ("snapshots", "at"),
        ("withdrawals", "at"),
        ("price_periods", "starts_at"),
        ("price_periods", "ends_at"),
        ("price_periods", "observed_at"),
        ("price_periods", "last_seen_at"),
        ("price_sheets", "observed_at"),
        ("estimate_listings", "observed_at"),
        ("changes", "observed_at"),
        ("changes", "valid_from"),
        ("stored_times", "latest"),
        ("imports", "started_at"),
    ];
    let mut late = Vec::new();
    for (table, column) in columns {
        let sql = format!(
            "SELECT CAST({column} AS text) FROM {table} WHERE {column} > '2030-01-01T00:00:00.000000Z'"
        );
        let found = database.texts(sql).await;
        late.extend(
            found
                .into_iter()
                .map(|time| format!("{table}.{column}: {time}")),
        );
    }
    late
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_names_one_price_while_a_clock_is_ten_years_ahead_and_after_it_was() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, store, api) = served(database).await;
        let first = posted(&api, &priced("1")).await;
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&first));
        hand.advance(AHEAD);
        let second = posted(&api, &priced("2")).await;
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&second));
        hand.advance(Duration::from_secs(1));
        let third = posted(&api, &priced("3")).await;
        hand.set_back(AHEAD);
        // Before anything is written, and after.
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&third));
        posted(&api, &sheet_of("m-2")).await;
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&third));
        assert_eq!(late_times(database).await, Vec::<String>::new());
        let prices: Vec<Value> = history(&api)
            .await
            .iter()
            .map(|row| row["sheet_id"].clone())
            .collect();
        assert_eq!(prices, [json!(first), json!(second), json!(third)]);
        let compared = store.check_histories(uuid::Uuid::nil(), 100, NOW.parse().unwrap());
        assert_eq!(compared.await.unwrap().faults, []);
        let news = "SELECT kind FROM changes WHERE model = 'm-1' ORDER BY sequence";
        let news = database.texts(news).await;
        assert!(
            news[1..].iter().all(|kind| kind == "price.changed"),
            "{news:?}"
        );
        assert!(news.len() <= 3, "{news:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_was_recorded_in_the_future_can_be_withdrawn_and_replaced() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, _, api) = served(database).await;
        let first = posted(&api, &priced("1")).await;
        hand.advance(AHEAD);
        let second = posted(&api, &priced("2")).await;
        hand.set_back(AHEAD);
        hand.advance(Duration::from_secs(1));
        assert_eq!(withdraw(&api, &second).await, 200);
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&first));
        let third = posted(&api, &priced("3")).await;
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&third));
        assert_eq!(withdraw(&api, &third).await, 200);
        assert_eq!(late_times(database).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_was_read_in_the_future_is_followed_by_the_next_one() {
    let catalog = |price: f64| {
        json!({"acme": {"id": "acme", "name": "Acme", "models": {"m-1": {
            "id": "m-1", "name": "m-1", "cost": {"input": price, "output": 10}}}}})
    };
    on_each_database(async |database: &TestDatabase| {
        let (hand, _, api) = served(database).await;
        let import = async |price: f64| {
            let reply = api.post("/catalogs?format=models.dev", catalog(price).to_string());
            assert!(reply.await.text().contains("\"type\":\"done\""));
        };
        import(1.0).await;
        hand.advance(AHEAD);
        import(2.0).await;
        hand.set_back(AHEAD);
        hand.advance(Duration::from_secs(1));
        import(3.0).await;
        in_force(database, &api).await.unwrap();
        let rows = history(&api).await;
        let prices: Vec<&Value> = rows.iter().map(|row| &row["input_per_mtok"]).collect();
        assert_eq!(prices, [1.0, 2.0, 3.0]);
        assert_eq!(late_times(database).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_price_stays_in_the_future_when_what_a_clock_ahead_recorded_is_put_back() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, store, api) = served(database).await;
        let first = posted(&api, &priced("1")).await;
        let rise = from(priced("3"), "2027-03-01T00:00:00Z");
        let announced = posted(&api, &rise).await;
        // A clock that is ahead begins the price.
        store
            .announce_due_prices("2029-01-01T00:00:00Z".parse().unwrap())
            .await
            .unwrap();
        hand.advance(Duration::from_secs(1));
        posted(&api, &sheet_of("m-2")).await;
        assert_eq!(in_force(database, &api).await.as_ref(), Some(&first));
        let to_come = "SELECT count(*) FROM price_periods WHERE has_begun = FALSE";
        assert_eq!(database.number(to_come).await, 1);
        let late = "SELECT count(*) FROM changes WHERE observed_at > '2028-01-01T00:00:00.000000Z'";
        assert_eq!(database.number(late).await, 0);
        let rows = history(&api).await;
        assert_eq!(rows[1]["valid_from"], "2027-03-01T00:00:00Z");
        hand.advance(Duration::from_hours(200 * 24));
        store.announce_due_prices(hand.clock().now()).await.unwrap();
        assert_eq!(in_force(database, &api).await, Some(announced));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_database_whose_clock_was_ahead_has_recorded_is_put_back_at_the_next_start() {
    on_each_database(async |database: &TestDatabase| {
        let (_, store, api) = served(database).await;
        let first = posted(&api, &priced("1")).await;
        let second = posted(&api, &priced("2")).await;
        let later = "2036-01-01T00:00:00Z".parse().unwrap();
        let because = Some("mistyped".to_owned());
        let id = second.parse().unwrap();
        store
            .withdraw(id, because, later, Actor::COMMAND_LINE)
            .await
            .unwrap();
        drop((store, api));
        let (_, _, api) = served(database).await;
        posted(&api, &sheet_of("m-2")).await;
        assert_eq!(in_force(database, &api).await, Some(first));
        assert_eq!(late_times(database).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_has_fallen_behind_a_record_of_months_puts_nothing_back() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, store, api) = served(database).await;
        for month in 1..=5 {
            let sheet = with(priced(&month.to_string()), "/model", json!("m-1"));
            let at = format!("2026-0{month}-01T00:00:00Z");
            super::seen(&api, &sheet, &at).await;
        }
        let before = history(&api).await;
        hand.set_back(Duration::from_hours(240 * 24));
        store.time_to_record(hand.clock().now()).await;
        assert_eq!(history(&api).await, before);
    })
    .await;
}
