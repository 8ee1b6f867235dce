//! The API document: committed, served, complete, and true of what is answered.

pub(crate) mod examples;
mod parts;
mod problems;
mod requests;
mod rules;

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{TestDatabase, examples, read_json, repository, sheet, with};

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

pub(crate) fn committed() -> Value {
    read_json(&repository().join("openapi/openapi.json"))
}

/// Every operation with its path and method.
pub(crate) fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            let operations = methods.filter(|(method, _)| METHODS.contains(&method.as_str()));
            operations.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

#[tokio::test]
async fn the_served_document_is_the_committed_one() {
    let api = TestDatabase::sqlite().api().await;
    let served = api.get("/openapi.json").await;
    assert_eq!(served.status, StatusCode::OK);
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert!(
        served.json() == committed(),
        "openapi/openapi.json is out of date; run: just bless"
    );
}

#[tokio::test]
async fn every_route_is_listed_and_every_listed_route_is_there() {
    let document = committed();
    let listed: BTreeSet<(&str, &str)> = operations(&document)
        .iter()
        .map(|(path, method, _)| (*path, *method))
        .collect();
    // The routes that are promised, and where the addresses of problems lead.
    let routes = [
        ("/infer", "post"),
        ("/estimates", "get"),
        ("/estimates/latest", "get"),
        ("/estimates/{id}", "get"),
        ("/estimates/{id}", "delete"),
        ("/estimates/{id}/density", "get"),
        ("/price-sheets", "get"),
        ("/price-sheets/{id}", "get"),
        ("/price-sheets/{id}/withdraw", "post"),
        ("/price-sheets/{id}/withdrawal", "delete"),
        ("/margins", "get"),
        ("/margins/{author}/{model}", "get"),
        ("/models", "get"),
        ("/models/{author}/{model}", "get"),
        ("/models/{author}/{model}/series", "get"),
        ("/models/{author}/{model}/badge.svg", "get"),
        ("/compare", "get"),
        ("/charts/{chart}", "get"),
        ("/track-record", "get"),
        ("/vendors/{name}", "get"),
        ("/offers/{provider}/{model}/history", "get"),
        ("/history", "get"),
        ("/search", "get"),
        ("/disagreements", "get"),
        ("/catalogs", "post"),
        ("/imports", "get"),
        ("/imports/{id}/accept", "post"),
        ("/imports/{id}/discard", "post"),
        ("/imports/{id}/undo", "post"),
        ("/changes", "get"),
        ("/changes/stream", "get"),
        ("/changes/summary", "get"),
        ("/changes.atom", "get"),
        ("/webhooks", "post"),
        ("/webhooks", "get"),
        ("/webhooks/{id}", "get"),
        ("/webhooks/{id}", "delete"),
        ("/webhooks/{id}/deliveries", "get"),
        ("/keys", "post"),
        ("/keys", "get"),
        ("/keys/{id}", "delete"),
        ("/audit", "get"),
        ("/cost", "post"),
        ("/simulate", "post"),
        ("/layout", "post"),
        ("/training", "post"),
        ("/plan", "post"),
        ("/reference/accelerators", "get"),
        ("/reference/storage-tiers", "get"),
        ("/reference/open-models", "get"),
        ("/reference/readings", "get"),
        ("/healthz", "get"),
        ("/readyz", "get"),
        ("/openapi.json", "get"),
        ("/problems/{slug}", "get"),
    ];
    assert_eq!(listed, BTreeSet::from(routes));
    let api = TestDatabase::sqlite().api().await;
    for (path, method) in listed {
        let path = path
            .replace("{id}", &Uuid::nil().to_string())
            .replace("{slug}", "internal")
            .replace("{provider}/{model}", "acme/m-1")
            .replace("{author}/{model}", "acme/m-1")
            .replace("{name}", "acme");
        // Without its head a stream has no end.
        let method: Method = if path.ends_with("/stream") {
            Method::HEAD
        } else {
            method.to_uppercase().parse().unwrap()
        };
        let reply = api.ask(method, &path, &[]).await;
        assert_ne!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert!(!reply.text().contains("no route has the path"), "{path}");
    }
}

#[test]
fn the_document_is_openapi_3_1_and_consistent() {
    let document = committed();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let operations = operations(&document);
    let ids: BTreeSet<&str> = operations
        .iter()
        .map(|(.., operation)| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), operations.len(), "{ids:?}");
    for (path, method, operation) in &operations {
        assert!(
            !operation["summary"].as_str().unwrap_or_default().is_empty(),
            "{method} {path}"
        );
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_path: BTreeSet<&str> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let named: BTreeSet<&str> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        assert_eq!(in_path, named, "{path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(
                response["description"].is_string(),
                "{method} {path} {status}"
            );
            if status.starts_with(['4', '5']) {
                let problem = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(
                    problem, "#/components/schemas/Problem",
                    "{method} {path} {status}"
                );
            }
        }
    }
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 10, "{references:?}");
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
    // What nothing refers to is not described.
    for name in document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
    {
        let reference = format!("#/components/schemas/{name}");
        assert!(
            references.contains(reference.as_str()),
            "nothing refers to {name}"
        );
    }
}

fn collect_references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(entries) => {
            for (key, entry) in entries {
                match entry {
                    Value::String(target) if key == "$ref" => {
                        found.insert(target);
                    }
                    other => collect_references(other, found),
                }
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

/// A validator for what the document says of one answer: a schema within it.
pub(crate) fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut components = document["components"].clone();
    let schemas = components["schemas"].as_object_mut().unwrap();
    // What an answer holds is described: no other fields, except in schemas combined from several.
    let mut in_parts = BTreeSet::new();
    for (name, schema) in schemas.iter() {
        if !schema["allOf"].is_null() {
            in_parts.insert(name.clone());
        }
        let kinds = schema["oneOf"].as_array().into_iter().flatten();
        for whole in kinds.chain([schema]) {
            let mut parts = BTreeSet::new();
            collect_references(&whole["allOf"], &mut parts);
            in_parts.extend(
                parts
                    .iter()
                    .filter_map(|part| Some(part.rsplit('/').next()?.to_owned())),
            );
        }
    }
    for (_, schema) in schemas
        .iter_mut()
        .filter(|(name, _)| !in_parts.contains(*name))
    {
        if !schema["properties"].is_null() {
            schema["additionalProperties"] = json!(false);
        }
    }
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": components,
        "allOf": [schema],
    });
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap()
}

pub(crate) fn assert_valid(validator: &jsonschema::Validator, instance: &Value, what: &str) {
    let errors: Vec<String> = validator
        .iter_errors(instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

/// The validator for the answers of a path with a status.
pub(crate) fn validator_of(
    document: &Value,
    path: &str,
    method: &str,
    status: &str,
) -> jsonschema::Validator {
    let content = &document["paths"][path][method]["responses"][status]["content"];
    let (_, media_type) = content
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.ends_with("json"))
        .unwrap();
    validator(document, &media_type["schema"])
}

#[tokio::test]
async fn every_answer_is_what_the_document_says() {
    let document = committed();
    let api = TestDatabase::sqlite().api().await;
    let answers = validator_of(&document, "/infer", "post", "201");
    let bodies = validator(
        &document,
        &document["paths"]["/infer"]["post"]["requestBody"]["content"]["application/json"]["schema"],
    );
    let assumptions = json!({
        "accelerator": "gb200-nvl72", "active_parameters": {"low": 5e10, "high": 2e11}, "total_parameters": 8e11,
        "mean_decode_context_tokens": 8_000, "kv_bytes_per_token_stored": 70_000, "kv_bytes_per_element": 1,
        "minimum_batch": 32, "load_path_bytes_per_second": 5e10, "prefill_efficiency": {"low": 0.3, "high": 0.6},
        "mean_prompt_tokens_below": 1e5, "mean_prompt_tokens_above": 5e5, "usd_per_currency_unit": 0.14,
    });
    let mut sheet_ids = Vec::new();
    for (name, sheet) in examples() {
        for body in [
            sheet.clone(),
            json!({"price_sheet": sheet, "assumptions": assumptions}),
        ] {
            assert_valid(&bodies, &body, &name);
            let reply = api.infer(&body).await;
            assert_eq!(
                reply.status,
                StatusCode::CREATED,
                "{name}: {}",
                reply.text()
            );
            assert_valid(&answers, &reply.json(), &name);
            sheet_ids.push(
                reply.json()["price_sheets"][0]["id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    let stored = validator_of(&document, "/price-sheets/{id}", "get", "200");
    for id in sheet_ids {
        assert_valid(
            &stored,
            &api.get(&format!("/price-sheets/{id}")).await.json(),
            &id,
        );
    }
    for path in [
        "/estimates",
        "/estimates/latest",
        "/price-sheets",
        "/reference/accelerators",
        "/reference/storage-tiers",
        "/reference/open-models",
        "/reference/readings",
        "/healthz",
        "/readyz",
    ] {
        let reply = api.get(path).await;
        assert_valid(
            &validator_of(&document, path, "get", "200"),
            &reply.json(),
            path,
        );
    }
    for (path, body) in [
        ("/simulate", json!({})),
        (
            "/simulate",
            json!({"model": {"name": "Qwen3-Next-80B-A3B"}, "machine": {"accelerator": "groq-lpu-1"},
                "grid": {"batch": [1, 2], "context_tokens": {"from": 0, "to": 1000, "points": 3}},
                "efficiencies": {"name": "peak", "communication": true}, "price_sheet": {}}),
        ),
        ("/layout", json!({})),
        (
            "/layout",
            json!({"machine": "mi455x", "layout": {"pipeline_stages_grid": [1, 3]}}),
        ),
        (
            "/layout",
            json!({"machine": {"accelerator": "h100-sxm", "capacity_bytes": 1e11}, "model": "Llama-3.1-70B"}),
        ),
        (
            "/plan",
            json!({"model": "Llama-3.1-70B", "load": {"tokens_per_day": {}}, "prices": {}}),
        ),
        (
            "/plan",
            json!({"model": "Llama-3.1-70B", "machine": {"accelerator": "mi455x"}, "prefill_machine": "tpu-v5p",
                "load": {"input_tokens": [{"tokens": 100, "share": 1}]}, "grid": {"pass_tokens": [1, 2]}}),
        ),
        ("/training", json!({})),
        (
            "/training",
            json!({"machine": {"accelerator": "mi455x"}, "quality": {"routing": "hash"}}),
        ),
    ] {
        let operation = &document["paths"][path]["post"];
        let requests = validator(
            &document,
            &operation["requestBody"]["content"]["application/json"]["schema"],
        );
        assert_valid(&requests, &body, path);
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        assert_valid(&requests, example, path);
        let answers = validator_of(&document, path, "post", "200");
        for body in [&body, example] {
            assert_valid(
                &answers,
                &api.post(path, body.to_string()).await.json(),
                path,
            );
        }
    }
    // An empty sheet: nothing is defined.
    let empty = with(sheet(), "/rates", json!([{}]));
    assert_valid(&answers, &api.infer(&empty).await.json(), "an empty sheet");
}

#[tokio::test]
async fn every_problem_is_what_the_document_says() {
    let document = committed();
    let api = TestDatabase::sqlite().api().await;
    let problems = validator(&document, &json!({"$ref": "#/components/schemas/Problem"}));
    let refusals = [
        api.get("/nothing").await,
        api.get("/infer").await,
        api.get("/estimates?limit=0").await,
        api.get("/estimates?cursor=x").await,
        api.post("/infer", "{").await,
        api.post("/infer", "[]").await,
        api.post("/infer", "{\"rates\": [{\"input\": 1}, 2]}").await,
        api.post("/infer", "[".repeat(1024 * 1024 + 1)).await,
        api.ask(Method::POST, "/infer", &[]).await,
    ];
    for refusal in refusals {
        assert_valid(&problems, &refusal.json(), refusal.text());
    }
    // The schema is not one that takes anything.
    assert!(!problems.is_valid(&json!({})));
    let with_more = with(api.get("/nothing").await.json(), "/more", json!(1));
    assert!(!problems.is_valid(&with_more));
    assert!(!problems.is_valid(
        &json!({"type": 1, "title": "", "status": "404", "detail": "", "request_id": ""})
    ));
}

/// Sizes that follow from such a cache are such that no draw is possible.
#[tokio::test]
async fn statements_beyond_all_models_give_numbers_too() {
    let document = committed();
    let api = TestDatabase::sqlite().api().await;
    let assumptions = json!({"kv_bytes_per_token_read": 36913, "kv_bytes_per_token_stored": 1e-6});
    let reply = api
        .infer(&json!({"price_sheet": sheet(), "assumptions": assumptions}))
        .await;
    assert_eq!(reply.status, StatusCode::CREATED);
    assert_valid(
        &validator_of(&document, "/infer", "post", "201"),
        &reply.json(),
        "an answer",
    );
}
