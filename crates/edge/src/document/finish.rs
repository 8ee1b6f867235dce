//! Corrections of the JSON document: what utoipa cannot express.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::answer::NDJSON;

/// Prefix of references to schemas.
pub(super) const SCHEMAS: &str = "#/components/schemas/";
/// Description of every header with the version of a body.
const ETAG: &str = "Version of the body; with it in `If-None-Match`, the answer is 304 while the body is the same.";

/// Puts the whole document right.
pub(super) fn finish(document: &mut Value) {
    join_descriptions(document);
    name_variants(document);
    for operation in operations(document) {
        describe_etags(operation);
        prefill_only_required_parameters(operation);
        describe_lines(operation);
        if let Some(body) = operation.get_mut("requestBody") {
            body["required"] = json!(true);
        }
    }
    separate_requests(document);
}

/// Every operation, webhooks included.
pub(super) fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let sections = document.as_object_mut().into_iter().flatten();
    let sections = sections.filter(|(name, _)| ["paths", "webhooks"].contains(&name.as_str()));
    let items = sections.filter_map(|(_, section)| section.as_object_mut());
    items
        .flat_map(|items| items.values_mut().filter_map(Value::as_object_mut))
        .flat_map(Map::values_mut)
}

/// Puts the description of a property next to the schema it is about. utoipa adds it to an inline schema as an object of
/// its own, which no text or number is, and to a nullable one inside `oneOf`.
fn join_descriptions(document: &mut Value) {
    each_object(document, &mut |entries| {
        join_inline(entries);
        let properties = entries.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(Map::values_mut) {
            lift_description(property);
        }
    });
}

/// Calls a function with each object in a value, those inside of another before it.
fn each_object(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Object(entries) => {
            entries
                .values_mut()
                .for_each(|entry| each_object(entry, change));
            change(entries);
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
            variant
                .as_object_mut()
                .and_then(|it| it.remove("description"))
        } else {
            variant.get("description").cloned()
        };
        property["description"] = description.unwrap_or_default();
    }
}

/// Gives the variants of tagged enums names, which generators of clients use, and names the field in which they differ.
fn name_variants(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    let mut named = Map::new();
    for (name, schema) in schemas.iter_mut() {
        let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        let Some(variants) = variants else { continue };
        let tags: Option<Vec<(String, String)>> = variants.iter_mut().map(read_tag).collect();
        let Some(tags) = tags else { continue };
        let mut mapping = Map::new();
        for (variant, (_, tag)) in variants.iter_mut().zip(&tags) {
            let variant_name = format!("{name}{}", in_pascal_case(tag));
            let reference = format!("{SCHEMAS}{variant_name}");
            mapping.insert(tag.clone(), json!(reference));
            named.insert(
                variant_name,
                std::mem::replace(variant, json!({"$ref": reference})),
            );
        }
        let field = tags.first().map(|(field, _)| field.as_str());
        schema["discriminator"] = json!({"propertyName": field, "mapping": mapping});
    }
    schemas.extend(named);
}

/// The field in which the variants of an enum differ, and its value in this one.
fn read_tag(variant: &mut Value) -> Option<(String, String)> {
    let object = match variant.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(parts) => parts.last_mut()?,
        None => variant,
    };
    let properties = object.get_mut("properties")?.as_object_mut()?;
    let (field, property) = properties.iter_mut().next_back()?;
    let [value] = property.get("enum")?.as_array()?.as_slice() else {
        return None;
    };
    let value = value.as_str()?.to_owned();
    property["description"] = json!(format!("Always `{value}`."));
    Some((field.clone(), value))
}

fn in_pascal_case(name: &str) -> String {
    let words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    let capital = |word: &str| {
        let mut signs = word.chars();
        let first = signs.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(signs).collect::<String>()
    };
    words.map(capital).collect()
}

fn describe_etags(operation: &mut Value) {
    let responses = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut);
    for response in responses.into_iter().flat_map(Map::values_mut) {
        if let Some(etag) = response.pointer_mut("/headers/etag") {
            etag["description"] = json!(ETAG);
        }
    }
}

/// Examples of parameters that may be left out become text: a page fills all parameters that have one in, and they do not
/// go together.
fn prefill_only_required_parameters(operation: &mut Value) {
    let parameters = operation
        .get_mut("parameters")
        .and_then(Value::as_array_mut);
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

/// Says that a body of lines is a text, of which each line is what the handler names.
fn describe_lines(operation: &mut Value) {
    let responses = operation.get("responses").and_then(Value::as_object);
    let statuses = responses.into_iter().flat_map(Map::keys);
    let mut places: Vec<String> = statuses
        .map(|status| format!("/responses/{status}/content"))
        .collect();
    places.push("/requestBody/content".to_owned());
    for place in places {
        let content = operation.pointer_mut(&place);
        let Some(content) = content.and_then(|content| content.get_mut(NDJSON)) else {
            continue;
        };
        let line = content["schema"].take();
        let name = name_of(&line["$ref"]);
        content["schema"] = json!({
            "type": "string",
            "format": "binary",
            "description": format!("Lines, each a `{}` as JSON.", name.unwrap_or_default()),
            "contentMediaType": NDJSON,
            "contentSchema": line,
        });
        if let Some(example) = content.get_mut("example") {
            *example = json!(format!("{example}\n"));
        }
    }
}

/// A value as code within a sentence.
fn in_code(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    format!("`{text}`")
}

/// Adds a sentence to a description.
fn add_text(described: &mut Value, sentence: &str) {
    let text = described["description"].as_str().unwrap_or_default();
    let text = text.trim_end();
    let stop = if text.is_empty() || text.ends_with('.') {
        ""
    } else {
        "."
    };
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
        each_property(&mut schema, &mut |property| {
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
            each_property(schema, &mut |property| {
                let default = property.as_object_mut().and_then(|it| it.remove("default"));
                // What is empty by default may be left out of an answer too.
                default.is_some_and(|default| !default.is_null() && default != json!([]))
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
    let operations = |section: &str| {
        let items = document[section].as_object().into_iter();
        let items = items.flat_map(Map::values).filter_map(Value::as_object);
        items.flat_map(Map::values)
    };
    for operation in operations("paths") {
        references(&operation[part], &mut open);
    }
    // What is sent to a webhook is written like an answer.
    if part == "responses" {
        operations("webhooks").for_each(|operation| references(operation, &mut open));
    }
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            references(&document["components"]["schemas"][&name], &mut open);
        }
    }
    found
}

/// The schema to which a reference leads.
pub(super) fn name_of(reference: &Value) -> Option<&str> {
    reference.as_str()?.strip_prefix(SCHEMAS)
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(entries) => {
            for entry in entries.values() {
                match name_of(entry) {
                    Some(name) => found.push(name.to_owned()),
                    None => references(entry, found),
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
        each_property(&mut schema.clone(), &mut |property| {
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
fn each_property(schema: &mut Value, change: &mut impl FnMut(&mut Value) -> bool) {
    each_object(schema, &mut |entries| {
        let mut required = Vec::new();
        let properties = entries.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            if change(property) {
                required.push(json!(name));
            }
        }
        if !required.is_empty() {
            let list = entries.entry("required").or_insert_with(|| json!([]));
            let list = list.as_array_mut().map(|list| list.extend(required));
            debug_assert!(list.is_some(), "`required` is a list");
        }
    });
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
    each_object(value, &mut |entries| {
        for entry in entries.values_mut() {
            if let Some(name) = name_of(entry).and_then(|name| renamed.get(name)) {
                *entry = json!(format!("{SCHEMAS}{name}"));
            }
        }
    });
}
