//! Corrections of the JSON document: what utoipa cannot express.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Where references to schemas lead.
const SCHEMAS: &str = "#/components/schemas/";
/// Descriptions of response headers that handlers name without one.
const HEADERS: [(&str, &str); 2] = [
    (
        "etag",
        "Version of the body; with it in `If-None-Match`, the answer is 304 while the body is the same.",
    ),
    ("link", "The next page, if there is one"),
];

/// Puts the whole document right.
pub(super) fn finish(document: &mut Value) {
    join_descriptions(document);
    for operation in operations(document) {
        describe_headers(operation);
        prefill_only_required_parameters(operation);
    }
    separate_requests(document);
}

/// Every operation, webhooks included.
fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let sections = document.as_object_mut().into_iter().flatten();
    let sections = sections.filter(|(name, _)| ["paths", "webhooks"].contains(&name.as_str()));
    let items = sections.filter_map(|(_, section)| section.as_object_mut());
    items
        .flat_map(|items| items.values_mut().filter_map(Value::as_object_mut))
        .flat_map(Map::values_mut)
}

/// Puts the description of a property beside the schema it is about. utoipa adds it to an inline schema as an object of
/// its own, which no text or number is, and to a nullable one inside `oneOf`.
fn join_descriptions(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(join_descriptions),
        Value::Object(entries) => {
            entries.values_mut().for_each(join_descriptions);
            join_inline(entries);
            let properties = entries.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(Map::values_mut) {
                lift_description(property);
            }
        }
        _ => {}
    }
}

fn join_inline(schema: &mut Map<String, Value>) {
    let Some([inline, about]) = schema
        .get_mut("allOf")
        .and_then(Value::as_array_mut)
        .map(Vec::as_mut_slice)
    else {
        return;
    };
    let only_describes = |about: &Map<String, Value>| {
        let names = ["type", "description"];
        about.keys().all(|name| names.contains(&name.as_str()))
            && about.contains_key("description")
            && about.get("type").is_none_or(|of| of == "object")
    };
    if !about.as_object().is_some_and(only_describes) {
        return;
    }
    let description = about["description"].take();
    let mut joined = inline.take();
    joined["description"] = description;
    schema.remove("allOf");
    schema.extend(joined.as_object().cloned().unwrap_or_default());
}

fn lift_description(property: &mut Value) {
    if property.get("description").is_some() {
        return;
    }
    let variants = property.get_mut("oneOf").and_then(Value::as_array_mut);
    let described = variants
        .into_iter()
        .flatten()
        .find(|variant| variant["description"].is_string());
    if let Some(variant) = described {
        let description = if variant.get("$ref").is_some() {
            variant.as_object_mut().and_then(|it| it.remove("description"))
        } else {
            variant.get("description").cloned()
        };
        property["description"] = description.unwrap_or_default();
    }
}

fn describe_headers(operation: &mut Value) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for response in responses.into_iter().flat_map(Map::values_mut) {
        let headers = response.get_mut("headers").and_then(Value::as_object_mut);
        for (name, header) in headers.into_iter().flatten() {
            let known = HEADERS.iter().find(|(known, _)| known == name);
            if let (Some((_, text)), None) = (known, header.get("description")) {
                header["description"] = json!(text);
            }
        }
    }
}

/// Examples of parameters that may be left out become text: a page fills all parameters that have one in, and they do not
/// go together.
fn prefill_only_required_parameters(operation: &mut Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    let optional = parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["required"] != true);
    for parameter in optional {
        let mut examples = Vec::new();
        for place in ["", "/schema"] {
            let place = parameter.pointer_mut(place).and_then(Value::as_object_mut);
            let Some(place) = place else { continue };
            examples.extend(place.remove("example"));
            if let Some(Value::Array(several)) = place.remove("examples") {
                examples.extend(several);
            }
        }
        if let Some(example) = examples.first() {
            add_text(parameter, &format!("Example: {}.", in_code(example)));
        }
    }
}

/// A value as code within a sentence.
fn in_code(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{text}`")
}

/// Adds a sentence to a description.
fn add_text(described: &mut Value, sentence: &str) {
    let text = described["description"].as_str().unwrap_or_default();
    let text = text.trim_end();
    let stop = if text.is_empty() || text.ends_with('.') { "" } else { "." };
    let space = if text.is_empty() { "" } else { " " };
    described["description"] = json!(format!("{text}{stop}{space}{sentence}"));
}

/// Gives requests schemas of their own where an answer always has a field that a request may leave out: those with a
/// default. In the request, the default is text, since generators of clients make a field with a default one that must be
/// there.
fn separate_requests(document: &mut Value) {
    let asked = reachable(document, "requestBody");
    let answered = reachable(document, "responses");
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    let differing = differing(schemas);
    let both: BTreeSet<&String> = asked.intersection(&answered).collect();
    let renamed: BTreeMap<String, String> = both
        .into_iter()
        .filter(|name| differing.contains(*name))
        .map(|name| (name.clone(), format!("{name}Request")))
        .collect();
    let mut requests = Map::new();
    for name in &asked {
        let Some(schema) = schemas.get(name) else {
            continue;
        };
        let mut schema = schema.clone();
        each_property(&mut schema, &mut |_, property| {
            let default = property.as_object_mut().and_then(|it| it.remove("default"));
            if let Some(default) = default {
                add_text(property, &format!("Default: {}.", in_code(&default)));
            }
            false
        });
        rename(&mut schema, &renamed);
        requests.insert(renamed.get(name).unwrap_or(name).clone(), schema);
    }
    for name in &answered {
        if let Some(schema) = schemas.get_mut(name) {
            each_property(schema, &mut |_, property| {
                property
                    .as_object_mut()
                    .is_some_and(|it| it.remove("default").is_some())
            });
        }
    }
    schemas.extend(requests);
    schemas.sort_keys();
    rename_requests(document, &renamed);
}

/// Names of the schemas that the bodies of requests, or the answers, lead to.
fn reachable(document: &Value, part: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    for section in ["paths", "webhooks"] {
        // What is sent to a webhook is written like an answer.
        let is_sent = section == "webhooks" && part == "responses";
        let items = document[section].as_object().into_iter().flat_map(Map::values);
        for operation in items.filter_map(Value::as_object).flat_map(Map::values) {
            if section == "paths" {
                references(&operation[part], &mut open);
            } else if is_sent {
                references(operation, &mut open);
            }
        }
    }
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            references(&document["components"]["schemas"][&name], &mut open);
        }
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(entries) => {
            for (key, entry) in entries {
                match entry.as_str().and_then(|target| target.strip_prefix(SCHEMAS)) {
                    Some(name) if key == "$ref" => found.push(name.to_owned()),
                    _ => references(entry, found),
                }
            }
        }
        _ => {}
    }
}

/// Names of the schemas with a default, or that lead to one.
fn differing(schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut differing = BTreeSet::new();
    for (name, schema) in schemas {
        let mut has_default = false;
        each_property(&mut schema.clone(), &mut |_, property| {
            has_default |= property.get("default").is_some();
            false
        });
        if has_default {
            differing.insert(name.clone());
        }
    }
    loop {
        let leading = schemas.iter().filter(|(name, schema)| {
            let mut named = Vec::new();
            references(schema, &mut named);
            !differing.contains(*name) && named.iter().any(|named| differing.contains(named))
        });
        let leading: Vec<String> = leading.map(|(name, _)| name.clone()).collect();
        if leading.is_empty() {
            return differing;
        }
        differing.extend(leading);
    }
}

/// Calls a function with each property of a schema; where it is true, the property becomes required.
fn each_property(schema: &mut Value, change: &mut impl FnMut(&str, &mut Value) -> bool) {
    match schema {
        Value::Array(items) => {
            for item in items {
                each_property(item, change);
            }
        }
        Value::Object(entries) => {
            let mut required = Vec::new();
            let properties = entries.get_mut("properties").and_then(Value::as_object_mut);
            for (name, property) in properties.into_iter().flatten() {
                if change(name, property) {
                    required.push(json!(name));
                }
            }
            if !required.is_empty() {
                let list = entries.entry("required").or_insert_with(|| json!([]));
                let list = list.as_array_mut().map(|list| list.extend(required));
                debug_assert!(list.is_some(), "`required` is a list");
            }
            for entry in entries.values_mut() {
                each_property(entry, change);
            }
        }
        _ => {}
    }
}

fn rename_requests(document: &mut Value, renamed: &BTreeMap<String, String>) {
    let items = document["paths"].as_object_mut().into_iter();
    for item in items.flat_map(Map::values_mut) {
        let operations = item.as_object_mut().into_iter().flat_map(Map::values_mut);
        for operation in operations.filter(|operation| operation.get("requestBody").is_some()) {
            rename(&mut operation["requestBody"], renamed);
        }
    }
}

fn rename(value: &mut Value, renamed: &BTreeMap<String, String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        Value::Object(entries) => {
            for (key, entry) in entries {
                let target = entry.as_str().and_then(|target| target.strip_prefix(SCHEMAS));
                match target.and_then(|name| renamed.get(name)) {
                    Some(name) if key == "$ref" => *entry = json!(format!("{SCHEMAS}{name}")),
                    _ => rename(entry, renamed),
                }
            }
        }
        _ => {}
    }
}
