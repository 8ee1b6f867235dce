//! Rules for every operation, schema and field of the API document; new routes are held to them too.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::examples::Shown;
use super::{assert_valid, committed, operations, validator};

/// All places of a document at which a rule is broken, one a line.
#[track_caller]
fn assert_none(what: &str, places: &[String]) {
    assert!(places.is_empty(), "{what}:\n{}", places.join("\n"));
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Every operation and every webhook.
fn all_operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let webhooks = document["webhooks"].as_object().unwrap().iter();
    let webhooks = webhooks.flat_map(|(name, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (name.as_str(), method.as_str(), operation))
    });
    operations(document).into_iter().chain(webhooks).collect()
}

/// Content with its place: of requests, and of answers.
fn all_content(document: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for (path, method, operation) in all_operations(document) {
        let request = [("request".to_owned(), &operation["requestBody"])];
        let responses = operation["responses"].as_object().unwrap().iter();
        let responses = responses.map(|(status, response)| (status.clone(), response));
        for (part, message) in request.into_iter().chain(responses) {
            for (media_type, content) in message["content"].as_object().into_iter().flatten() {
                all.push((format!("{method} {path} {part} {media_type}"), content));
            }
        }
    }
    all
}

/// The example of content, or the first one that it refers to.
fn example_of<'a>(document: &'a Value, content: &'a Value) -> Option<&'a Value> {
    let first = || content["examples"].as_object()?.values().next();
    content.get("example").or_else(|| {
        let first = first()?;
        let target = first["$ref"]
            .as_str()
            .and_then(|target| target.strip_prefix('#'));
        target
            .map_or(Some(first), |target| document.pointer(target))?
            .get("value")
    })
}

#[test]
fn every_body_has_an_example_that_its_schema_allows() {
    let document = committed();
    let mut without = Vec::new();
    for (place, content) in all_content(&document) {
        match example_of(&document, content) {
            Some(example) => {
                assert_valid(&validator(&document, &content["schema"]), example, &place);
                let lines = &content["schema"]["contentSchema"];
                for line in example
                    .as_str()
                    .filter(|_| lines.is_object())
                    .into_iter()
                    .flat_map(str::lines)
                {
                    let line = serde_json::from_str(line).unwrap();
                    assert_valid(&validator(&document, lines), &line, &place);
                }
            }
            None => without.push(place),
        }
    }
    assert_none(
        "no example: a request states one next to its body, an answer is recorded by `just bless`",
        &without,
    );
}

#[test]
fn every_example_of_a_list_has_a_row() {
    let document = committed();
    let mut empty = Vec::new();
    for (place, content) in all_content(&document) {
        let example = example_of(&document, content).unwrap_or(&Value::Null);
        if example["data"].as_array().is_some_and(Vec::is_empty) {
            empty.push(place);
        }
    }
    assert_none(
        "an empty list as an example: tests/it/openapi/examples.rs stores what is listed",
        &empty,
    );
}

#[test]
fn every_part_is_described() {
    let document = committed();
    let mut without = Vec::new();
    for tag in document["tags"].as_array().unwrap() {
        if !is_text(&tag["description"]) {
            without.push(format!("tag {}", tag["name"]));
        }
    }
    for (path, method, operation) in all_operations(&document) {
        let place = format!("{method} {path}");
        for text in ["summary", "description", "operationId"] {
            if !is_text(&operation[text]) {
                without.push(format!("{place}: {text}"));
            }
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if !is_text(&parameter["description"]) {
                without.push(format!("{place}: parameter {}", parameter["name"]));
            }
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            if !is_text(&response["description"]) {
                without.push(format!("{place}: {status}"));
            }
            for (name, header) in response["headers"].as_object().into_iter().flatten() {
                if !is_text(&header["description"]) {
                    without.push(format!("{place}: {status}, header {name}"));
                }
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if !is_text(&schema["description"]) {
            without.push(format!("schema {name}"));
        }
        for_each_property(schema, name, &mut |place, property| {
            if !is_text(&property["description"]) {
                without.push(place.to_owned());
            }
        });
    }
    assert_none("no description: write a doc comment", &without);
}

/// Calls a function with every property of a schema and its place.
fn for_each_property<'a>(schema: &'a Value, place: &str, each: &mut impl FnMut(&str, &'a Value)) {
    match schema {
        Value::Array(items) => items
            .iter()
            .for_each(|item| for_each_property(item, place, each)),
        Value::Object(entries) => {
            for (name, property) in entries
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let place = format!("{place}.{name}");
                each(&place, property);
                for_each_property(property, &place, each);
            }
            for (name, part) in entries.iter().filter(|(name, _)| *name != "properties") {
                if name != "example" {
                    for_each_property(part, place, each);
                }
            }
        }
        _ => {}
    }
}

/// A text whose description lists its values is an enum, unless they are its beginnings.
#[test]
fn what_has_few_values_is_an_enum() {
    let document = committed();
    let mut open = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for_each_property(schema, name, &mut |place, property| {
            let types = &property["type"];
            let is_text = *types == "string"
                || types
                    .as_array()
                    .is_some_and(|types| types.contains(&json!("string")));
            let description = property["description"].as_str().unwrap_or_default();
            if is_text
                && property["enum"].is_null()
                && property["pattern"].is_null()
                && lists_values(description)
            {
                open.push(format!("{place}: {description}"));
            }
        });
    }
    assert_none("its description lists the values, so it is an enum", &open);
}

/// Whether a text has two words in backticks with nothing but `,`, `or` or `and` between them.
fn lists_values(text: &str) -> bool {
    let parts: Vec<&str> = text.split('`').collect();
    let between = parts.iter().skip(2).step_by(2);
    let mut between = between.take(parts.len().saturating_sub(3) / 2);
    between.any(|text| [",", "or", ", or"].contains(&text.trim()))
}

#[test]
fn every_operation_has_one_declared_tag_and_a_name_of_its_own() {
    let document = committed();
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    let (mut names, mut used, mut wrong) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (path, method, operation) in all_operations(&document) {
        match operation["tags"].as_array().map(Vec::as_slice) {
            Some([tag]) if tags.contains(tag.as_str().unwrap()) => {
                used.insert(tag.as_str().unwrap());
            }
            _ => wrong.push(format!("{method} {path}: one of the declared tags")),
        }
        let name = operation["operationId"].as_str().unwrap();
        let is_snake_case = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !is_snake_case || !names.insert(name) {
            wrong.push(format!("{method} {path}: {name}"));
        }
    }
    assert_none("not as it must be", &wrong);
    assert_eq!(used, tags);
}

#[test]
fn the_document_says_who_serves_it_and_under_which_licence() {
    let document = committed();
    assert_eq!(
        document["info"]["license"]["identifier"],
        "MIT OR Apache-2.0"
    );
    assert!(is_text(&document["info"]["contact"]["url"]));
    let servers = document["servers"].as_array().unwrap();
    assert_eq!(servers[0]["url"], "/");
    assert!(servers.iter().all(|server| is_text(&server["description"])));
    assert!(!document["webhooks"].as_object().unwrap().is_empty());
}

/// A page writes the examples of all parameters into its fields, so only those that must be there have one.
#[test]
fn parameters_that_may_be_left_out_have_no_example() {
    let document = committed();
    let mut wrong = Vec::new();
    for (path, method, operation) in all_operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let places = [
                "/example",
                "/examples",
                "/schema/example",
                "/schema/examples",
            ];
            let has_example = places
                .iter()
                .any(|place| parameter.pointer(place).is_some());
            let is_id = parameter["schema"]["format"] == "uuid";
            if has_example != (parameter["required"] == true) && !is_id {
                wrong.push(format!("{method} {path}: {}", parameter["name"]));
            }
        }
    }
    assert_none("an example, if and only if it is required", &wrong);
}

/// Generators of clients make a field with a default one that must be there.
#[test]
fn requests_need_nothing_that_has_a_default() {
    let document = committed();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut defaults = Vec::new();
    for (name, schema) in schemas {
        for_each_property(schema, name, &mut |place, property| {
            if property.get("default").is_some() {
                defaults.push(place.to_owned());
            }
        });
    }
    assert_none("a default as a keyword", &defaults);
    let requires = |schema: &str| {
        schemas[schema]["required"]
            .to_string()
            .contains("\"basis\"")
    };
    assert!(requires("RateCell") && !requires("RateCellRequest"));
    let stated = &schemas["RateCellRequest"]["properties"]["basis"]["description"];
    assert!(
        stated.as_str().unwrap().ends_with("Default: `stated`."),
        "{stated}"
    );
}

/// The button for trying a route out sends what is answered with success.
#[tokio::test]
async fn every_operation_succeeds_as_a_page_prefills_it() {
    let document = committed();
    let shown = Box::pin(Shown::new()).await;
    let mut count = 0;
    for method in ["get", "post", "delete"] {
        for (path, _, operation) in operations(&document)
            .into_iter()
            .filter(|(_, listed, _)| *listed == method)
        {
            for reply in shown.send_prefilled(path, method, operation).await {
                let documented = &operation["responses"][reply.status.as_str()];
                let is_documented_success = reply.status.is_success() && documented.is_object();
                assert!(
                    is_documented_success,
                    "{method} {path}: {} {}",
                    reply.status,
                    reply.text()
                );
                if let ("application/x-ndjson", lines) = (
                    reply.header("content-type").unwrap_or_default(),
                    reply.text(),
                ) {
                    assert!(
                        !lines.contains("\"fault\"") && !lines.contains("\"failed\""),
                        "{path}: {lines}"
                    );
                }
                count += 1;
            }
        }
    }
    assert!(count > operations(&document).len(), "{count}");
    let unnamed = shown.api.get("/estimates?nothing=1").await;
    assert_eq!(unnamed.status, StatusCode::BAD_REQUEST);
}

#[test]
fn no_route_updates_so_that_no_update_overwrites_another() {
    let document = committed();
    for (path, method, operation) in operations(&document) {
        // Documents are added, and what is removed is removed whole: there is no version that a client could have missed.
        assert!(
            ["get", "post", "delete"].contains(&method),
            "{method} {path}"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert_ne!(parameter["name"], "if-match", "{method} {path}");
        }
    }
}

#[test]
fn a_deprecated_route_says_so_in_its_answers() {
    let document = committed();
    let mut silent = Vec::new();
    for (path, method, operation) in operations(&document) {
        let successes = operation["responses"].as_object().unwrap().iter();
        let mut successes = successes.filter(|(status, _)| status.starts_with('2'));
        let headers = |answer: &Value| {
            ["deprecation", "sunset", "link"].map(|name| answer["headers"][name].is_object())
        };
        let is_said = successes.all(|(_, answer)| headers(answer) == [true; 3]);
        if operation["deprecated"] == true && !is_said {
            silent.push(format!("{method} {path}"));
        }
    }
    assert_none("no Deprecation, Sunset and Link", &silent);
}
