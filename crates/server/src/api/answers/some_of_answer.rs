//! `/infer?fields=…`: an answer with some of its members. `quantities` has the figures of each; a quantity that is named,
//! such as `quantities.active_parameters`, is whole.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{AnyOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::observation::InferAnswer;
use crate::list::list_text::{chosen, fields};
use unroof_edge::Problem;
use unroof_infer::estimate::quantities::Quantities;

/// Members of an answer, in its order.
const MEMBERS: [&str; 22] = [
    "id",
    "engine_version",
    "calibration_id",
    "price_sheets",
    "assumptions",
    "quantities",
    "published",
    "prompt_tokens",
    "margins",
    "margin_report",
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
    "store",
    "model_estimate",
];

/// The member whose quantities are shortened unless they are named.
const QUANTITIES: &str = "quantities";
/// Parts of a quantity under `quantities`: how large it is, and how sure that is. The reasons are much longer.
const FIGURES: [&str; 8] = [
    "median",
    "interval_50",
    "interval_90",
    "information_gained_bits",
    "identified",
    "unit",
    "regime",
    "regime_probability",
];

/// Some members of an answer: with `fields`, those that are named. `quantities` has of each quantity the median, the
/// intervals, the information, whether it is identified, the unit and the regime; a quantity that is named itself is whole
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartialInferAnswer {
    /// Members of the answer that are asked for.
    #[serde(flatten)]
    members: BTreeMap<String, Value>,
}

/// The whole answer, or some of its members.
pub(crate) struct InferReply;

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
pub(crate) fn members(names: &str) -> Result<Vec<String>, Problem> {
    let quantities = fields::<Quantities>().into_iter();
    let quantities = quantities.map(|name| format!("{QUANTITIES}.{name}"));
    let known = MEMBERS.map(str::to_owned).into_iter().chain(quantities);
    chosen(names, &known.collect::<Vec<String>>())
}

/// Some members of a written answer; those that it has not are left out.
///
/// # Errors
/// The text is not an object.
pub(crate) fn only(document: &[u8], members: &[String]) -> Result<Vec<u8>, Problem> {
    let mut whole: Map<String, Value> =
        serde_json::from_slice(document).map_err(Problem::not_serialised)?;
    if let Some(Value::Object(quantities)) = whole.get_mut(QUANTITIES) {
        shorten(quantities, members);
    }
    // A member is taken once, however many of its quantities are named.
    let top = members
        .iter()
        .map(|name| name.split('.').next().unwrap_or(name));
    let some = top.filter_map(|name| whole.shift_remove_entry(name));
    let some: Map<String, Value> = some.collect();
    serde_json::to_vec(&some).map_err(Problem::not_serialised)
}

/// Leaves quantities that are named as they are, and of the others the figures, where all are wanted.
fn shorten(quantities: &mut Map<String, Value>, members: &[String]) {
    let is_wanted = |name: &str| members.iter().any(|member| member == name);
    let all = is_wanted(QUANTITIES);
    quantities.retain(|name, estimate| {
        if is_wanted(&format!("{QUANTITIES}.{name}")) {
            return true;
        }
        if let Some(parts) = estimate.as_object_mut() {
            parts.retain(|part, _| FIGURES.contains(&part.as_str()));
        }
        all
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::EXAMPLE_SHEETS;
    use unroof_infer::estimate::{Format, infer, read_request};

    /// Most bytes of an answer of quantities alone.
    const MOST_BYTES: usize = 3_000;

    fn answer(sheet: &str) -> Value {
        let request = read_request(sheet.as_bytes(), &Format::Canonical).unwrap();
        serde_json::to_value(infer(&request)).unwrap()
    }

    fn part(answer: &Value, names: &str) -> Value {
        let part = only(answer.to_string().as_bytes(), &members(names).unwrap()).unwrap();
        serde_json::from_slice(&part).unwrap()
    }

    #[test]
    fn the_members_are_those_of_an_answer() {
        // Only answers about models with public values have `published`, and only those of some vendors `margin_report`.
        let of = |part: &str, without: &str| {
            let is_it = |(name, _): &&(&str, &str)| name.contains(part);
            let (_, sheet) = EXAMPLE_SHEETS.iter().find(is_it).unwrap();
            let answer = answer(sheet);
            let own: Vec<&String> = answer.as_object().unwrap().keys().collect();
            // The last three say what the request did; they are not part of what is stored.
            let expected = MEMBERS[..19].iter().filter(|name| **name != without);
            assert_eq!(own, expected.collect::<Vec<_>>());
            answer
        };
        of("gpt-5.4", "published");
        let answer = of("deepseek-v4-pro", "margin_report");
        let some = part(&answer, "misfit,id");
        let names: Vec<&String> = some.as_object().unwrap().keys().collect();
        assert_eq!(names, ["misfit", "id"]);
        assert_eq!(some["misfit"], answer["misfit"]);
        for wrong in ["quantity", "quantities.size", "misfit.checks"] {
            let problem = members(wrong).unwrap_err();
            assert!(problem.hint.is_some_and(|hint| hint.contains("quantities")));
        }
    }

    #[test]
    fn a_quantity_is_whole_where_it_is_named() {
        let (_, sheet) = EXAMPLE_SHEETS[0];
        let whole = &answer(sheet)["quantities"];
        let answer = answer(sheet);
        let one = part(
            &answer,
            "quantities.active_parameters,quantities.total_parameters",
        );
        assert_eq!(one["quantities"].as_object().unwrap().len(), 2);
        assert_eq!(
            one["quantities"]["active_parameters"],
            whole["active_parameters"]
        );
        let all = &part(&answer, "quantities.active_parameters,quantities")["quantities"];
        assert_eq!(
            all.as_object().unwrap().len(),
            whole.as_object().unwrap().len()
        );
        assert_eq!(all["active_parameters"], whole["active_parameters"]);
        let (short, ratio) = (
            &all["total_parameters"],
            &all["memory_time_over_compute_time"],
        );
        assert_eq!(
            short["interval_50"],
            whole["total_parameters"]["interval_50"]
        );
        assert_eq!(short["prior"], Value::Null);
        assert_eq!(
            ratio["regime"],
            whole["memory_time_over_compute_time"]["regime"]
        );
    }

    #[test]
    fn the_quantities_of_every_example_are_a_few_kilobytes() {
        for (name, sheet) in EXAMPLE_SHEETS {
            let part = part(&answer(sheet), QUANTITIES).to_string();
            assert!(part.len() <= MOST_BYTES, "{name}: {} bytes", part.len());
        }
    }
}
