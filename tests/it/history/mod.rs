//! Price history: replayed, announced, withdrawn, asked for as of a time, and contradicted.

mod clock;
mod due;
mod replay;
mod time;
mod withdrawal;

use serde_json::{Value, json};

use crate::support::{Api, sheet, with};

/// The test sheet at another input price.
fn priced(input: &str) -> Value {
    with(sheet(), "/rates/0/input", json!(input))
}

fn from(sheet: Value, valid_from: &str) -> Value {
    with(sheet, "/valid_from", json!(valid_from))
}

/// Stores a sheet seen at a time; its id.
async fn seen(api: &Api, sheet: &Value, observed_at: &str) -> String {
    let path = format!("/infer?observed_at={observed_at}");
    let reply = api.post(&path, sheet.to_string()).await;
    assert!(reply.status.is_success(), "{}", reply.text());
    reply.json()["price_sheets"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn history(api: &Api) -> Vec<Value> {
    api.get("/offers/acme/m-1/history").await.rows()
}

/// `input from..to` of every row, days only.
fn written(rows: &[Value]) -> Vec<String> {
    let day = |row: &Value, field: &str| {
        row[field]
            .as_str()
            .map_or("", |time| &time[..10])
            .to_owned()
    };
    let line = |row: &Value| {
        format!(
            "{} {}..{}",
            row["input_per_mtok"],
            day(row, "valid_from"),
            day(row, "valid_to")
        )
    };
    rows.iter().map(line).collect()
}
