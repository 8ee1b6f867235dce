//! `/compare`: models side by side.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::models::{estimate_models, hosted, observe};
use crate::support::{Api, on_each_database, with};

const MARCH: &str = "2026-03-01T00:00:00Z";

/// A sheet of a model by a host.
fn sheet(model: &str, provider: &str, input: &str, output: &str) -> Value {
    let (_, own) = model.split_once('/').unwrap();
    let sheet = with(hosted(provider, input, output), "/model", json!(own));
    with(sheet, "/canonical_model", json!(model))
}

fn probability<'a>(comparison: &'a Value, model: &str, than: &str, quantity: &str) -> &'a Value {
    let pairs = comparison["pairs"].as_array().unwrap();
    let pair = pairs
        .iter()
        .find(|pair| pair["model"] == model && pair["than"] == than)
        .unwrap();
    let quantities = pair["quantities"].as_array().unwrap();
    quantities
        .iter()
        .find(|own| own["quantity"] == quantity)
        .unwrap()
}

async fn store_models(api: &Api) {
    for (model, provider, input, output) in [
        ("acme/large-1.5", "acme", "3", "15"),
        ("acme/large-1.5", "host", "2.5", "12"),
        ("acme/small", "acme", "0.15", "0.6"),
        ("openai/gpt-oss-120b", "host", "0.1", "0.5"),
        ("openai/gpt-oss-120b", "other", "0.15", "0.7"),
        ("openai/gpt-oss-120b", "free", "0", "0"),
    ] {
        observe(api, &sheet(model, provider, input, output), MARCH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_compared_by_quantity_by_pair_and_by_price() {
    on_each_database(async |database| {
        let api = database.api().await;
        store_models(&api).await;
        estimate_models(database).await;
        let reply = api
            .get("/compare?model=acme/large-1.5,acme/small&model=openai%2Fgpt-oss-120b")
            .await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        let comparison = reply.json();
        let models = comparison["models"].as_array().unwrap();
        assert_eq!(models.len(), 3);
        let active = &comparison["quantities"][0];
        assert_eq!(active["quantity"], "active_parameters");
        for (model, value) in models.iter().zip(active["values"].as_array().unwrap()) {
            let path = format!("/models/{}", model["canonical_model"].as_str().unwrap());
            let stored = api.get(&path).await.json();
            let stored = &stored["quantities"]["active_parameters"];
            // A published size comes first, with the estimate from prices beside it.
            let by_prices = value.get("by_prices").filter(|own| !own.is_null());
            let shown = by_prices.unwrap_or(value);
            assert_eq!(shown["median"], stored["median"]);
            assert_eq!(shown["interval_90"], stored["interval_90"]);
            assert_eq!(value["identified"], stored["identified"]);
            assert_eq!(by_prices.is_some(), !value["truth"].is_null());
        }
        assert!(active["values"][0]["truth"].is_null());
        let truth = active["values"][2]["truth"].as_f64().unwrap();
        assert!((5e9..5.3e9).contains(&truth), "{truth}");
        let published = &active["values"][2];
        for end in ["/median", "/interval_90/low", "/interval_90/high"] {
            let value = published.pointer(end).and_then(Value::as_f64).unwrap();
            assert!((value / truth - 1.0).abs() < 1e-6, "{published}");
        }
        assert_eq!(comparison["pairs"].as_array().unwrap().len(), 6);
        let (large, small) = ("acme/large-1.5", "acme/small");
        let more = probability(&comparison, large, small, "active_parameters");
        assert_eq!(more["draws"], "vendor");
        let more = more["probability"].as_f64().unwrap();
        assert!(more > 0.9, "{more}");
        let less = probability(&comparison, small, large, "active_parameters");
        assert!((more + less["probability"].as_f64().unwrap() - 1.0).abs() < 1e-6);
        let cost = probability(&comparison, large, small, "cost_output_usd_per_mtok");
        assert_eq!(cost["draws"], "independent");
        let open = probability(
            &comparison,
            large,
            "openai/gpt-oss-120b",
            "active_parameters",
        );
        assert_eq!(open["draws"], "independent");
        let cost = comparison["quantities"].as_array().unwrap().iter();
        let cost = cost.filter(|own| own["quantity"] == "cost_output_usd_per_mtok");
        let cost = cost.map(|own| own["values"][2].clone()).next().unwrap();
        let path = "/models/openai/gpt-oss-120b";
        let stored = api.get(path).await.json();
        let served = "/published/serving/quantities/cost_output_usd_per_mtok";
        assert_eq!(cost["median"], stored.pointer(served).unwrap()["median"]);
        let terms = &models[2]["terms"];
        assert_eq!(terms["hosts"], 3);
        assert_eq!(
            terms["output"]["price"],
            json!({"lowest": 0.5, "median": 0.6})
        );
        let cost = terms["output"]["cost_usd_per_mtok"]["median"]
            .as_f64()
            .unwrap();
        let margin = terms["output"]["margin_at_lowest"]["median"]
            .as_f64()
            .unwrap();
        assert!((margin - (1.0 - cost / 0.5)).abs() < 1e-6);
        assert!(terms["cache_read"].is_null());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_names_two_to_six_different_models_that_are_there() {
    on_each_database(async |database| {
        let api = database.api().await;
        api.get("/compare?model=acme/a,acme/b").await.problem(404);
        for wrong in [
            "",
            "?model=acme/a",
            "?model=acme/a,acme/a",
            "?model=acme/a,b",
            "?model=acme/a,acme/b&limit=2",
            "?model=acme/a,acme/%00",
            "?model=a/1,a/2,a/3,a/4,a/5,a/6,a/7",
        ] {
            let problem = api.get(&format!("/compare{wrong}")).await.problem(400);
            let hint = problem["hint"].as_str().unwrap();
            assert!(hint.contains("/compare?model="), "{hint}");
        }
    })
    .await;
}
