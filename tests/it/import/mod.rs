//! Whole catalogs: the outcome of each entry, again and again, by request and by command.

mod command;
mod decisions;
mod foreign;
mod held;
mod redirects;
mod refresh;
mod request;
mod running;
mod snapshots;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Api, Reply};

/// A small catalog: an author's model, its dated alias, a regional and a reseller's copy of it, a model of its own, and
/// entries that cannot be used.
pub(crate) fn catalog() -> Value {
    let sonnet = json!({
        "litellm_provider": "anthropic", "mode": "chat", "max_input_tokens": 200_000,
        "input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5, "cache_read_input_token_cost": 3e-7,
    });
    let sold_by = |provider: &str, factor: f64| {
        let mut entry = sonnet.clone();
        entry["litellm_provider"] = json!(provider);
        for price in [
            "input_cost_per_token",
            "output_cost_per_token",
            "cache_read_input_token_cost",
        ] {
            let price_of = entry[price].as_f64().unwrap();
            entry[price] = json!(format!("{:e}", price_of * factor));
        }
        entry
    };
    json!({
        "sample_spec": {"litellm_provider": "one of many", "input_cost_per_token": 0},
        "claude-sonnet-4-5": sonnet,
        "claude-sonnet-4-5-20250929": sonnet,
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0": sold_by("bedrock_converse", 1.1),
        "openrouter/anthropic/claude-sonnet-4.5": sold_by("openrouter", 1.0),
        "deepseek/deepseek-v4-pro": {
            "litellm_provider": "deepseek", "mode": "chat",
            "input_cost_per_token": 1.32e-6, "output_cost_per_token": 3.96e-6, "cache_read_input_token_cost": 4.4e-8,
        },
        "acme/free": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
        "acme/wrong": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": -1},
        "acme/picture": {"litellm_provider": "acme", "mode": "image_generation", "output_cost_per_image": 0.04},
    })
}

/// The lines of an import.
fn lines(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    reply
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn import(api: &Api, query: &str, catalog: &Value) -> Vec<Value> {
    lines(
        &api.post(&format!("/catalogs{query}"), catalog.to_string())
            .await,
    )
}

/// Outcome by entry.
fn outcomes(lines: &[Value]) -> BTreeMap<String, String> {
    let entries = lines.iter().filter(|line| line["type"] == "entry");
    let text = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    entries
        .map(|line| (text(line, "entry"), text(line, "outcome")))
        .collect()
}

fn entry<'l>(lines: &'l [Value], key: &str) -> &'l Value {
    lines
        .iter()
        .find(|line| line["entry"] == key)
        .unwrap_or_else(|| panic!("no {key}"))
}

fn summary(lines: &[Value]) -> &Value {
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "done", "{last}");
    last
}
