//! `/infer?fields=…`: an answer with some of its members.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{AnyOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::list_text::chosen;
use super::observation::InferAnswer;
use super::problem::Problem;

/// Members of an answer, in its order.
const MEMBERS: [&str; 18] = [
    "id",
    "engine_version",
    "calibration_id",
    "price_sheets",
    "assumptions",
    "quantities",
    "margins",
    "storage_tiers",
    "nearest_open_models",
    "attention_layouts",
    "misfit",
    "diagnostics",
    "values",
    "readings_defined",
    "conflicts",
    "readings",
    "observe",
    "model_estimate",
];

/// Some members of an answer: with `fields`, those that are named
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PartialInferAnswer {
    /// The members.
    #[serde(flatten)]
    members: BTreeMap<String, Value>,
}

/// The whole answer, or some of its members.
pub(super) struct InferReply;

impl PartialSchema for InferReply {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new()
            .item(Ref::from_schema_name(InferAnswer::name()))
            .item(Ref::from_schema_name(PartialInferAnswer::name()))
            .description(Some("The answer; with `fields`, some of its members."))
            .into()
    }
}

impl ToSchema for InferReply {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((InferAnswer::name().into_owned(), InferAnswer::schema()));
        InferAnswer::schemas(schemas);
        schemas.push((
            PartialInferAnswer::name().into_owned(),
            PartialInferAnswer::schema(),
        ));
        PartialInferAnswer::schemas(schemas);
    }
}

/// The members that a request names, in its order.
///
/// # Errors
/// No answer has such a member.
pub(super) fn members(names: &str) -> Result<Vec<String>, Problem> {
    chosen(names, &MEMBERS.map(str::to_owned))
}

/// Some members of a written answer; those that it has not are left out.
///
/// # Errors
/// The text is not an object.
pub(super) fn only(document: &[u8], members: &[String]) -> Result<Vec<u8>, Problem> {
    let mut whole: Map<String, Value> =
        serde_json::from_slice(document).map_err(Problem::not_serialised)?;
    let member = |name: &String| Some((name.clone(), whole.shift_remove(name)?));
    let some: Map<String, Value> = members.iter().filter_map(member).collect();
    serde_json::to_vec(&some).map_err(Problem::not_serialised)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_core::estimate::{Format, infer, read_request};

    #[test]
    fn the_members_are_those_of_an_answer() {
        let sheet = serde_json::json!({
            "schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
            "unit": "per_1m_tokens", "rates": [{"input": "1.25", "output": "10.00"}],
            "sources": [{"url": "https://example.com", "format": "official"}],
        });
        let request = read_request(sheet.to_string().as_bytes(), &Format::Canonical).unwrap();
        let answer = serde_json::to_value(infer(&request)).unwrap();
        let own: Vec<&String> = answer.as_object().unwrap().keys().collect();
        // The last two say what the request did; they are not part of what is stored.
        assert_eq!(own, MEMBERS[..16]);
        let text = answer.to_string();
        let wanted = members("quantities,id").unwrap();
        let some = only(text.as_bytes(), &wanted).unwrap();
        let some: Value = serde_json::from_slice(&some).unwrap();
        assert_eq!(some["quantities"], answer["quantities"]);
        assert_eq!(some.as_object().unwrap().len(), 2);
        let problem = members("quantity").unwrap_err();
        assert!(problem.hint.is_some_and(|hint| hint.contains("quantities")));
    }
}
