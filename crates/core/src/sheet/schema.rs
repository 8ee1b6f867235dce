//! The JSON Schema of the canonical sheet, made from the types that read it.

use serde_json::{Map, Value, json};
use utoipa::{PartialSchema, ToSchema};

use super::PriceSheet;

/// JSON Schema (draft 2020-12) of `pricesheet/v1`.
#[must_use]
pub fn json_schema() -> Value {
    let mut components = Vec::new();
    PriceSheet::schemas(&mut components);
    let definitions: Map<String, Value> = components
        .into_iter()
        .map(|(name, schema)| {
            (
                name,
                serde_json::to_value(schema).expect("a schema serialises"),
            )
        })
        .collect();
    let mut schema = serde_json::to_value(PriceSheet::schema()).expect("a schema serialises");
    let root = schema
        .as_object_mut()
        .expect("the schema of a struct is an object");
    root.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    root.insert("title".to_owned(), json!("pricesheet/v1"));
    root.insert("$defs".to_owned(), Value::Object(definitions));
    point_to_definitions(&mut schema);
    schema
}

/// Rewrites references of the API document to those of a standalone schema.
fn point_to_definitions(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (key, entry) in entries {
                match entry {
                    Value::String(target) if key == "$ref" => {
                        *target = target.replace("#/components/schemas/", "#/$defs/");
                    }
                    other => point_to_definitions(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(point_to_definitions),
        _ => {}
    }
}
