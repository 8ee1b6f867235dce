//! The JSON Schema of the canonical sheet, made from the types that read it.

use serde_json::{Value, json};
use utoipa::{PartialSchema, ToSchema};

use super::PriceSheet;

/// JSON Schema (draft 2020-12) of `pricesheet/v1`.
#[must_use]
pub fn json_schema() -> Value {
    let mut components = Vec::new();
    PriceSheet::schemas(&mut components);
    let definitions = components.into_iter();
    let mut schema = json!(PriceSheet::schema());
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("pricesheet/v1");
    schema["$defs"] = definitions
        .map(|(name, schema)| (name, json!(schema)))
        .collect();
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
