//! Price changes of two sellers, as a catalog saw them, give the history that they were.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Api, TestDatabase, on_each_database, sheet, with};

#[derive(Debug, Clone, PartialEq)]
struct Row {
    observed_at: String,
    prices: [Option<f64>; 3],
    tiers: String,
}

/// The changes, in the order of the file, by provider and model.
fn changes() -> Vec<(String, String, Row, Value)> {
    let mut reader = csv::Reader::from_reader(&include_bytes!("price_changes.csv")[..]);
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let [
            provider,
            model,
            date,
            input,
            output,
            cache_read,
            cache_write,
            tiers,
        ] = std::array::from_fn(|column| record[column].to_owned());
        let number = |text: &str| text.parse().ok();
        let row = Row {
            observed_at: format!("{date}T00:00:00Z"),
            prices: [number(&input), number(&output), number(&cache_read)],
            tiers: tiers.clone(),
        };
        let mut rate = json!({"input": input, "output": output});
        if !cache_read.is_empty() {
            rate["cache_read"] = json!(cache_read);
        }
        if !cache_write.is_empty() {
            rate["cache_write"] = json!([{"price": cache_write}]);
        }
        let mut rates = vec![rate];
        if let Some((threshold, prices)) = tiers.trim_start_matches('>').split_once(':') {
            let prices: Vec<&str> = prices.trim().split('/').collect();
            rates.push(json!({
                "context_tier": {"min_prompt_tokens": threshold.parse::<u32>().unwrap()},
                "input": prices[0], "output": prices[1], "cache_read": prices[2],
            }));
        }
        let mut sheet = with(sheet(), "/provider", json!(provider));
        for (pointer, value) in [
            ("/model", json!(model)),
            ("/rates", json!(rates)),
            (
                "/sources",
                json!([{"url": "https://models.dev/api.json", "format": "models.dev"}]),
            ),
        ] {
            sheet = with(sheet, pointer, value);
        }
        (provider, model, row, sheet)
    });
    rows.collect()
}

async fn history(api: &Api, provider: &str, model: &str) -> Vec<Value> {
    api.get(&format!("/offers/{provider}/{model}/history"))
        .await
        .rows()
}

fn read(row: &Value) -> Row {
    let price = |name: &str| row[name].as_f64();
    Row {
        observed_at: format!("{}Z", &row["observed_at"].as_str().unwrap()[..19]),
        prices: [
            price("input_per_mtok"),
            price("output_per_mtok"),
            price("cache_read_per_mtok"),
        ],
        tiers: String::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replaying_price_changes_in_order_gives_a_history_that_matches_them_row_for_row() {
    let changes = changes();
    assert!(changes.len() >= 25, "{}", changes.len());
    let mut expected: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for (provider, model, row, _) in &changes {
        let key = (provider.clone(), model.clone());
        expected.entry(key).or_default().push(row.clone());
    }
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for (_, _, row, sheet) in &changes {
            let path = format!("/catalogs?observed_at={}", row.observed_at);
            let reply = api.post(&path, sheet.to_string()).await;
            assert!(reply.text().trim_end().ends_with('}') && reply.text().contains("\"type\":\"done\""), "{}", reply.text());
        }
        for ((provider, model), expected) in &expected {
            let rows = history(&api, provider, model).await;
            let bare: Vec<Row> = expected.iter().map(|row| Row { tiers: String::new(), ..row.clone() }).collect();
            assert_eq!(rows.iter().map(read).collect::<Vec<_>>(), bare, "{provider}/{model}");
            for pair in rows.windows(2) {
                // Each price ends where the next begins.
                assert_eq!(pair[0]["valid_to"], pair[1]["valid_from"], "{provider}/{model}");
                assert_eq!(pair[1]["valid_from"], pair[1]["observed_at"]);
                assert_eq!(pair[0]["catalog"], "models.dev");
            }
            assert_eq!(rows.last().unwrap()["valid_to"], Value::Null);
            for (row, expected) in rows.iter().zip(expected) {
                let sheet = api.get(&format!("/price-sheets/{}", row["sheet_id"].as_str().unwrap())).await.json();
                assert_eq!(sheet["rates"].as_array().unwrap().len(), 1 + usize::from(!expected.tiers.is_empty()));
            }
        }
        // Two prices of one time are two rows: what was sent later was seen later.
        let m2_7 = history(&api, "minimax", "MiniMax-M2.7").await;
        let times = ["valid_from", "valid_to"].map(|name| m2_7[0][name].as_str().unwrap());
        assert_eq!(times[0][..19], times[1][..19]);
        let differences: Vec<String> = history(&api, "deepseek", "deepseek-v4-pro")
            .await
            .iter()
            .map(|row| row["difference"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(differences[0], "input 1.74, output 3.48, cache read 0.145 $/Mtok");
        assert!(
            differences[1].starts_with(
                "input 1.74 → 0.435 $/Mtok, output 3.48 → 0.87 $/Mtok, cache read 0.145 → 0.003625 $/Mtok; active parameters estimate −"
            ),
            "{}", differences[1]
        );
        assert!(differences[1].ends_with(" %"), "{}", differences[1]);
        let overlaps = database
            .number(
                "SELECT count(*) FROM price_periods AS one JOIN price_periods AS other
                 ON one.offer_id = other.offer_id AND (one.sequence, one.part) < (other.sequence, other.part)
                 WHERE one.starts_at < coalesce(other.ends_at, '9999-01-01T00:00:00.000000Z')
                   AND other.starts_at < coalesce(one.ends_at, '9999-01-01T00:00:00.000000Z')
                   AND one.starts_at <> coalesce(one.ends_at, '9999-01-01T00:00:00.000000Z')
                   AND other.starts_at <> coalesce(other.ends_at, '9999-01-01T00:00:00.000000Z')",
            )
            .await;
        assert_eq!(overlaps, 0);
    })
    .await;
}
