//! The JSON Schema of the canonical sheet, made from the types that read it.

use std::borrow::Cow;

use iso_currency::Currency;
use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::PriceSheet;
use crate::input::schema::one_of_texts;

/// Describes the code of a currency.
pub struct CurrencyCode;

impl PartialSchema for CurrencyCode {
    fn schema() -> RefOr<Schema> {
        one_of_texts(currency_codes())
            .description(Some("ISO 4217 code"))
            .examples(["USD"])
            .into()
    }
}

impl ToSchema for CurrencyCode {
    fn name() -> Cow<'static, str> {
        "CurrencyCode".into()
    }
}

/// The words of three capitals that are codes.
fn currency_codes() -> impl Iterator<Item = String> {
    let letters = || 'A'..='Z';
    let pairs = letters().flat_map(move |first| letters().map(move |second| (first, second)));
    let words = pairs.flat_map(move |(first, second)| {
        letters().map(move |third| String::from_iter([first, second, third]))
    });
    words.filter(|word| Currency::from_code(word).is_some())
}

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
