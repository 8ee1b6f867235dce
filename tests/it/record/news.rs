//! The feed and the history of catalogs that are read again, of retirements and of withdrawn prices.

use serde_json::{Value, json};

use super::{Prices, import, in_force, litellm, mirror, models_dev, priced};
use crate::support::{Api, TestDatabase, on_each_database, with};

async fn read(api: &Api, day: &str, catalog: &Value) {
    import(api, &format!("?observed_at=2026-{day}T00:00:00Z"), catalog).await;
}

/// Kinds of all news, but for those of new offers and estimates.
async fn kinds(api: &Api) -> Vec<String> {
    let rows = api.get("/changes?limit=2000").await.rows();
    let kinds = rows.iter().map(|row| row["kind"].as_str().unwrap());
    let kinds = kinds.filter(|kind| !["offer.added", "estimate.updated"].contains(kind));
    kinds.map(str::to_owned).collect()
}

async fn prices(api: &Api) -> Vec<Value> {
    let rows = api.get("/offers/acme/m/history").await.rows();
    rows.iter()
        .map(|row| row["input_per_mtok"].clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_is_read_again_unchanged_is_no_news() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let (one, other) = (Prices::from([("m", 1)]), Prices::from([("m", 2)]));
        let (one, other) = (litellm(&one), models_dev(&other));
        for (day, catalog) in [
            ("07-04", &one),
            ("07-07", &other),
            ("07-09", &one),
            ("07-15", &other),
            ("07-20", &one),
        ] {
            read(&api, day, catalog).await;
        }
        assert_eq!(kinds(&api).await, Vec::<String>::new());
        assert_eq!(prices(&api).await, [1.0]);
        // What is much fresher counts, and continues to count.
        for (day, catalog) in [
            ("09-01", &other),
            ("09-02", &one),
            ("09-03", &other),
            ("09-09", &one),
        ] {
            read(&api, day, catalog).await;
            assert_eq!(kinds(&api).await, ["price.changed"], "{day}");
        }
        assert_eq!(prices(&api).await, [1.0, 2.0]);
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_only_one_of_two_catalogs_states_do_not_come_and_go() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let same = Prices::from([("m", 1)]);
        let (silent, stating) = (litellm(&same), models_dev(&same));
        for day in ["08-02", "08-06", "08-09"] {
            read(&api, day, &silent).await;
            read(&api, &day.replace("-0", "-1"), &stating).await;
        }
        assert_eq!(kinds(&api).await, Vec::<String>::new());
        // After a long pause the one that states limits is shown, and continues to be.
        for (day, catalog) in [("09-10", &stating), ("10-10", &silent), ("10-11", &stating)] {
            read(&api, day, catalog).await;
            assert_eq!(kinds(&api).await, ["limits.changed"], "{day}");
        }
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retirement_and_its_cancellation_are_news_once() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let silent = models_dev(&Prices::from([("m", 2)]));
        let plain = litellm(&Prices::from([("m", 1)]));
        let leaving = with(plain.clone(), "/m/deprecation_date", json!("2027-03-01"));
        for (day, catalog) in [
            ("08-01", &plain),
            ("08-02", &silent),
            ("08-03", &leaving),
            ("08-05", &silent),
            ("08-07", &leaving),
            // Each of them counts for a while.
            ("09-07", &silent),
            ("10-07", &leaving),
        ] {
            read(&api, day, catalog).await;
        }
        let reported = async || {
            let rows = api.get("/changes?kind=offer.retiring").await.rows();
            let fields = ["cell", "old_value", "new_value", "factor", "summary"];
            let row = |row: &Value| Value::from(fields.map(|field| row[field].clone()).to_vec());
            rows.iter().map(row).collect::<Vec<Value>>()
        };
        let at = 1_803_859_200.0;
        let announced = json!([
            "retires_at",
            null,
            at,
            null,
            "is no longer sold from 2027-03-01"
        ]);
        assert_eq!(reported().await, std::slice::from_ref(&announced));
        let sheets = api
            .get("/price-sheets?as_of=2026-10-08T00:00:00Z")
            .await
            .rows();
        let history = api.get("/offers/acme/m/history").await.rows();
        for row in [&sheets[0], history.last().unwrap()] {
            assert_eq!(row["retires_at"], "2027-03-01T00:00:00Z", "{row}");
            assert_eq!(row["status"], Value::Null);
        }
        read(&api, "10-08", &plain).await;
        let called_off = json!([
            "retires_at",
            at,
            null,
            null,
            "the retirement at 2027-03-01 is cancelled"
        ]);
        assert_eq!(reported().await, [announced, called_off]);
        let backfilled = api.get("/changes?kind=history.backfilled").await.rows();
        assert_eq!(backfilled, Vec::<Value>::new());
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_was_withdrawn_is_reinstated_and_another_one_is_a_change() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let post = async |input: u32| {
            let reply = api.infer(&priced("m", input)).await;
            assert!(reply.status.is_success(), "{}", reply.text());
        };
        let withdraw = async |input: f64| {
            let rows = api.get("/price-sheets?model=m").await.rows();
            let row = rows.iter().find(|row| row["input_per_mtok"] == input);
            let path = format!(
                "/price-sheets/{}/withdraw",
                row.unwrap()["id"].as_str().unwrap()
            );
            let reply = api
                .post(&path, json!({"reason": "a mistake"}).to_string())
                .await;
            assert!(reply.status.is_success());
        };
        post(1).await;
        withdraw(1.0).await;
        post(2).await;
        let changed = api.get("/changes?kind=price.changed").await.rows();
        let values: Vec<Value> = changed
            .iter()
            .map(|row| json!([row["cell"], row["old_value"], row["new_value"]]))
            .collect();
        assert_eq!(values, [json!(["input", 1.0, 2.0])]);
        assert_eq!(kinds(&api).await, ["sheet.withdrawn", "price.changed"]);
        // Withdrawn while another one is known, and seen again.
        post(3).await;
        withdraw(3.0).await;
        post(3).await;
        let kinds = kinds(&api).await;
        let expected = ["price.changed", "sheet.withdrawn", "price.changed"];
        assert_eq!(kinds[2..5], expected);
        let reinstated = kinds[5..].iter().filter(|kind| *kind == "sheet.reinstated");
        assert_eq!(reinstated.count(), 1, "{kinds:?}");
        assert!(
            !kinds[5..].contains(&"price.changed".to_owned()),
            "{kinds:?}"
        );
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}
