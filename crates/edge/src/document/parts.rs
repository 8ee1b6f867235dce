//! Answers with some fields of each row: the schemas of lists that take `fields`.

use serde_json::{Map, Value, json};

use super::finish::{SCHEMAS, name_of, operations};

/// Description of a row with some fields.
const SOME_FIELDS: &str = "With `fields`, a row has the fields that are named and no others.";

/// Describes both answers of every list that takes `fields`: rows with all fields, and rows with those that are named.
pub(super) fn describe(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    let Value::Object(mut schemas) = schemas else {
        return;
    };
    for operation in operations(document).filter(|operation| takes_fields(operation)) {
        let place = "/responses/200/content/application~1json/schema";
        let Some(answer) = operation.pointer_mut(place) else {
            continue;
        };
        if let Some(partial) = name_of(&answer["$ref"]).and_then(|page| add(&mut schemas, page)) {
            let whole = answer.take();
            *answer = json!({"anyOf": [whole, {"$ref": format!("{SCHEMAS}{partial}")}]});
        }
    }
    schemas.sort_keys();
    document["components"]["schemas"] = Value::Object(schemas);
}

fn takes_fields(operation: &Value) -> bool {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters
        .filter(|parameter| parameter["in"] == "query")
        .any(|parameter| parameter["name"] == "fields")
}

/// Adds the schemas of a page with some fields of each row; the name of that of the page.
fn add(schemas: &mut Map<String, Value>, page: &str) -> Option<String> {
    let whole = schemas.get(page)?;
    let row = name_of(whole.pointer("/properties/data/items/$ref")?)?.to_owned();
    let partial_row = format!("Partial{row}");
    let partial_page = if page.contains(&row) {
        page.replace(&row, &partial_row)
    } else {
        format!("Partial{page}")
    };
    let mut partial = whole.clone();
    partial["properties"]["data"]["items"] = json!({"$ref": format!("{SCHEMAS}{partial_row}")});
    partial["description"] = described(whole);
    let mut properties = Map::new();
    collect_properties(schemas, schemas.get(&row)?, &mut properties);
    let description = described(schemas.get(&row)?);
    let row = json!({"type": "object", "description": description, "properties": properties});
    schemas.insert(partial_row, row);
    schemas.insert(partial_page.clone(), partial);
    Some(partial_page)
}

fn described(whole: &Value) -> Value {
    let text = whole["description"].as_str().unwrap_or_default();
    json!(format!("{text} {SOME_FIELDS}").trim_start())
}

/// The properties of a schema and of all that it is composed of.
fn collect_properties(
    schemas: &Map<String, Value>,
    schema: &Value,
    properties: &mut Map<String, Value>,
) {
    if let Some(part) = name_of(&schema["$ref"]).and_then(|name| schemas.get(name)) {
        collect_properties(schemas, part, properties);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect_properties(schemas, part, properties);
    }
    let own = schema["properties"].as_object().into_iter().flatten();
    properties.extend(own.map(|(name, property)| (name.clone(), property.clone())));
}
