//! Permission to compute: a request pays for the CPU time that it uses, needs the scope of its work, and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use unroof_edge::Limits;
use unroof_store::access::Scope;
use unroof_store::{Meter, Order, Selection, Times, metered};

use super::limits::{budget, points};
use super::{get, key, post, service_within};
use crate::support::{Api, Reply, on_each_database, sheet, with};

/// A plan of a mixture of experts, with as many rates of hits and numbers of chips.
fn plan(points: u32) -> Value {
    let hit_rates: Vec<f64> = (0..points).map(|point| f64::from(point) / 100.0).collect();
    let chips: Vec<u32> = (0..points).map(|point| 64 + 8 * point).collect();
    json!({
        "model": "DeepSeek-V3",
        "machine": "h800",
        "load": {"requests_per_second": 10},
        "limits": {"time_to_first_token_seconds": 1, "time_per_output_token_seconds": 0.05},
        "grid": {"cache_hit_rate": hit_rates, "chips": chips},
    })
}

#[tokio::test]
async fn a_request_costs_the_cpu_time_that_it_uses_and_its_answer_says_how_much() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(1_000_000)).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let small = points(&post(&api, "/plan", &asker, &plan(1)).await);
        let large = points(&post(&api, "/plan", &asker, &plan(6)).await);
        assert!(small >= 20 && large >= small + 20, "{small}, {large}");
        assert_eq!(points(&get(&api, "/estimates", &asker).await), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_sqlite_is_metered_while_the_request_lasts_and_not_after_it() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(1_000_000)).await;
        let observer = key(&store, "observer", Scope::Observe).await;
        let sheets: Vec<Value> = (0..100)
            .map(|number| with(sheet(), "/model", json!(format!("m-{number}"))))
            .collect();
        let imported = post(&api, "/catalogs", &observer, &json!(sheets)).await;
        assert_eq!(imported.status, 200, "{}", imported.text());
        let used = Arc::new(AtomicU64::new(0));
        let meter: Meter = {
            let used = Arc::clone(&used);
            Arc::new(move |time: Duration| {
                used.fetch_add(u64::try_from(time.as_nanos()).unwrap(), Ordering::Relaxed);
            })
        };
        // On one connection or another, and each then without a meter.
        let search = async || {
            for _ in 0..20 {
                let (all, ever) = (Selection::default(), Times::default());
                let rows = store.price_sheets(&all, &ever, Order::NEWEST, None, 1_000);
                assert_eq!(rows.await.unwrap().len(), 100);
            }
        };
        metered(meter, search()).await;
        let metered = used.load(Ordering::Relaxed);
        assert_eq!(metered > 0, database.name == "SQLite", "{metered} ns");
        search().await;
        assert_eq!(used.load(Ordering::Relaxed), metered);
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_takes_longer_than_one_request_may_is_refused_with_how_to_ask_for_less() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, Limits::default()).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let refused = post(&api, "/plan", &asker, &plan(32)).await;
        let problem = refused.problem(422);
        let texts = [&problem["detail"], &problem["hint"]].map(Value::to_string);
        assert!(texts[0].contains("one request may take 2 s"), "{texts:?}");
        assert!(texts[1].contains("fewer points of `grid`"), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_chart_that_asks_a_calculator_needs_the_scope_of_one_kept_or_not() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, Limits::default()).await;
        let reader = key(&store, "reader", Scope::Read).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let chart = "/charts/frontier.json?view=fleet";
        get(&api, chart, &reader).await.problem(403);
        let drawn = get(&api, chart, &asker).await;
        assert_eq!(drawn.status, 200, "{}", drawn.text());
        let detail = get(&api, chart, &reader).await.problem(403)["detail"].to_string();
        assert!(detail.contains("scope `ask`"), "{detail}");
        let page = get(&api, "/charts/truth.json", &reader).await;
        assert_eq!(page.status, 200, "{}", page.text());
    })
    .await;
}

async fn price(api: &Api, key: &str, body: String) -> (Reply, Vec<Value>) {
    let request = Request::post("/cost")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/x-ndjson");
    let reply = api.send(request.body(Body::from(body)).unwrap()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let lines = reply.text().lines();
    let entries = lines.map(|line| serde_json::from_str(line).unwrap());
    let entries = entries.collect();
    (reply, entries)
}

#[tokio::test]
async fn a_list_of_usages_is_charged_batch_by_batch_until_the_budget_is_spent() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(40)).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let line = json!({"price_sheet": sheet(), "usage": {"input_tokens": 8}}).to_string() + "\n";
        let (_, entries) = price(&api, &asker, line.repeat(100_000)).await;
        let last = entries.last().unwrap();
        assert_eq!(last["type"], "failed", "{last}");
        let reason = last["reason"].as_str().unwrap();
        assert!(reason.contains("has spent its budget"), "{reason}");
        assert!((256..50_000).contains(&entries.len()), "{}", entries.len());
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_no_list_of_usages_ends_with_short_faults() {
    on_each_database(async |database| {
        let limits = Limits {
            catalog_bytes: 1024 * 1024,
            ..Limits::default()
        };
        let (api, store) = service_within(database, None, limits).await;
        let asker = key(&store, "asker", Scope::Ask).await;
        let (_, entries) = price(&api, &asker, "{}\n".repeat(100_000)).await;
        assert!(entries.len() < 2_000, "{}", entries.len());
        let reason = entries.last().unwrap()["reason"].to_string();
        assert!(reason.contains("lines all have faults"), "{reason}");
        // Names of a line are repeated in its faults, and cut.
        let names: Value = (0..500)
            .map(|name| (format!("{name}{}", "n".repeat(1_000)), json!(1)))
            .collect();
        let (reply, entries) = price(&api, &asker, names.to_string()).await;
        assert_eq!(entries[0]["errors"].as_array().unwrap().len(), 4);
        assert!(reply.text().len() < 8_000, "{}", reply.text().len());
        let usage =
            json!({"price_sheet": sheet(), "usage": {"input_tokens": 8}}).to_string() + "\n";
        let (_, entries) = price(&api, &asker, usage.repeat(2 * 1024 * 1024 / usage.len())).await;
        let reason = entries.last().unwrap()["reason"].to_string();
        assert!(
            reason.contains("the list exceeds 1048576 bytes"),
            "{reason}"
        );
    })
    .await;
}
