//! Catalogs that state more or fewer cells of one price, and corrections and prices of the past that are posted.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{all_rows, import, in_force, mirror};
use crate::support::{Api, on_each_database, sheet, with};

/// A catalog with prices of long prompts, of cache reads and of batches.
fn rich() -> Value {
    json!({"om/a": {
        "litellm_provider": "om", "mode": "chat",
        "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6, "cache_read_input_token_cost": 1e-7,
        "input_cost_per_token_above_200k_tokens": 2e-6, "output_cost_per_token_above_200k_tokens": 6e-6,
        "input_cost_per_token_batches": 5e-7, "output_cost_per_token_batches": 2e-6,
    }})
}

/// A catalog with prices of input and output alone.
fn poor(output: f64) -> Value {
    json!({"updated_at": "2026-08-03", "prices": [
        {"id": "a", "vendor": "om", "name": "A", "input": 1, "output": output, "input_cached": null},
    ]})
}

async fn read(api: &Api, day: &str, catalog: &Value) {
    import(api, &format!("?observed_at=2026-{day}T00:00:00Z"), catalog).await;
}

/// Total, and source, total and agreement by source, of a usage of 300,000 prompt tokens or more.
async fn cost(api: &Api, usage: Value) -> (Value, Vec<String>) {
    let body = json!({"offer": {"provider": "om", "model": "a"}, "at": "2026-08-12T00:00:00Z", "usage": usage});
    let reply = api.post("/cost", body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let cost = reply.json();
    let sources = cost["sources"].as_array().unwrap().iter();
    let sources =
        sources.map(|one| format!("{} {} {}", one["source"], one["total"], one["agrees"]));
    (cost["total"].clone(), sources.collect())
}

#[tokio::test]
async fn a_catalog_that_is_silent_about_cells_takes_none_away() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (day, catalog) in [
            ("08-01", rich()),
            ("08-03", poor(4.0)),
            ("08-10", rich()),
            ("08-30", poor(4.0)),
            ("09-30", poor(4.0)),
        ] {
            read(&api, day, &catalog).await;
        }
        let reported = all_rows(&api, "/changes?kind=price.changed").await;
        assert_eq!(reported, Vec::<Value>::new());
        let long = json!({"input_tokens": 300_000, "output_tokens": 1000});
        let (total, sources) = cost(&api, long).await;
        assert_eq!(total, "0.606");
        // The poorer one agrees, as far as it says something.
        let silent = [r#""litellm" "0.606" true"#, r#""llm-prices" null false"#];
        assert_eq!(sources, silent);
        let short = json!({"input_tokens": 1000, "output_tokens": 1000});
        let agreeing = [r#""litellm" "0.005" true"#, r#""llm-prices" "0.005" true"#];
        assert_eq!(
            cost(&api, short).await,
            (json!("0.005"), agreeing.map(str::to_owned).to_vec())
        );
        let batch = json!({"input_tokens": 1000, "output_tokens": 1000, "service_tier": "batch"});
        assert_eq!(cost(&api, batch).await.0, "0.0025");
        let disagreements = api.get("/disagreements").await.rows();
        assert_eq!(disagreements, Vec::<Value>::new());
        // One that contradicts, and is fresher, does.
        read(&api, "10-01", &poor(5.0)).await;
        let reported = all_rows(&api, "/changes?kind=price.changed").await;
        let cells = reported.iter().filter(|row| !row["new_value"].is_null());
        let cells: Vec<&Value> = cells.map(|row| &row["cell"]).collect();
        assert_eq!(cells, ["output"]);
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}

#[tokio::test]
async fn a_source_that_lists_an_offer_for_the_first_time_changes_no_price() {
    on_each_database(async |database| {
        let api = database.api().await;
        read(&api, "08-01", &poor(4.0)).await;
        read(&api, "08-03", &rich()).await;
        let reported = async |kind: &str| all_rows(&api, &format!("/changes?kind={kind}")).await;
        let added = reported("source.added").await;
        assert_eq!(added.len(), 1, "{added:?}");
        assert_eq!(
            (&added[0]["in_force"], &added[0]["cell"]),
            (&json!(true), &json!(null))
        );
        let words = added[0]["summary"].as_str().unwrap();
        assert!(
            words.starts_with("first observation by litellm: adds cache read 0.1 $/Mtok, "),
            "{words}"
        );
        assert_eq!(reported("price.changed").await, Vec::<Value>::new());
        let history = api.get("/offers/om/a/history").await.rows();
        let bases: Vec<&Value> = history.iter().map(|row| &row["start_basis"]).collect();
        assert_eq!(bases, ["observed", "source_added"]);
        assert_eq!(history[1]["difference"].as_str().unwrap(), words);
        assert_eq!(mirror(&api).await, in_force(&api).await);
        // Another price of the same source is a change.
        let dearer = with(rich(), "/om~1a/output_cost_per_token", json!(5e-6));
        read(&api, "08-04", &dearer).await;
        let changed = reported("price.changed").await;
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(
            (&changed[0]["cell"], &changed[0]["new_value"]),
            (&json!("output"), &json!(5.0))
        );
    })
    .await;
}

/// Start and input price of each period.
async fn periods(api: &Api) -> Vec<(Value, Value)> {
    let rows = api.get("/offers/acme/m-1/history").await.rows();
    rows.iter()
        .map(|row| (row["valid_from"].clone(), row["input_per_mtok"].clone()))
        .collect()
}

async fn post(api: &Api, query: &str, sheet: &Value) {
    let reply = api.post(&format!("/infer{query}"), sheet.to_string()).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
}

fn priced(input: &str) -> Value {
    let sheet = with(sheet(), "/rates/0/input", json!(input));
    with(sheet, "/valid_from", json!(null))
}

#[tokio::test]
async fn a_posted_correction_with_a_stated_start_is_in_force_from_then_on() {
    on_each_database(async |database| {
        let api = database.api().await;
        post(&api, "?observed_at=2026-11-15T00:00:00Z", &priced("3")).await;
        let corrected = with(priced("2.5"), "/valid_from", json!("2026-11-12T00:00:00Z"));
        post(&api, "?observed_at=2026-11-16T00:00:00Z", &corrected).await;
        let expected = [(json!("2026-11-12T00:00:00Z"), json!(2.5))];
        assert_eq!(periods(&api).await, expected);
        assert_eq!(mirror(&api).await, in_force(&api).await);
    })
    .await;
}

#[tokio::test]
async fn a_price_of_the_past_is_reported_with_its_own_sheet() {
    on_each_database(async |database| {
        let api = database.api().await;
        for (day, input) in [("10", "2"), ("12", "2.5"), ("15", "3"), ("11", "7")] {
            let query = format!("?observed_at=2026-11-{day}T00:00:00Z");
            post(&api, &query, &priced(input)).await;
        }
        let starts = ["10", "11", "12", "15"].map(|day| json!(format!("2026-11-{day}T00:00:00Z")));
        let expected = starts
            .into_iter()
            .zip([2.0, 7.0, 2.5, 3.0].map(|price| json!(price)));
        assert_eq!(periods(&api).await, expected.collect::<Vec<_>>());
        let reported = api.get("/changes?kind=history.backfilled").await.rows();
        let reported: Vec<_> = reported
            .iter()
            .map(|row| (&row["valid_from"], &row["summary"]))
            .collect();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert_eq!(reported[0].0, "2026-11-11T00:00:00Z");
        assert!(
            reported[0].1.as_str().unwrap().contains("input 7"),
            "{reported:?}"
        );
    })
    .await;
}
