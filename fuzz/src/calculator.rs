//! Bodies of the calculators.

use serde::Serialize;
use serde_json::Value;
use unroof_base::input::RequestError;
use unroof_roofline::calculator::layout::layout;
use unroof_roofline::calculator::simulate::simulate;
use unroof_roofline::calculator::training::training;

use super::{finite, refusal};

/// More points show nothing that these do not, and take their time.
const MOST_POINTS: usize = 64;
/// Points of an axis that says only where it begins and ends.
const DEFAULT_POINTS: usize = 50;

/// Asks all three calculators; a question of one is a refusal for the others. `None` where it would take long.
pub fn check_question(text: &[u8]) -> Option<()> {
    if points(text) > MOST_POINTS {
        return None;
    }
    check(&simulate(text), text);
    check(&layout(text), text);
    check(&training(text), text);
    Some(())
}

fn check<Answer: Serialize>(answer: &Result<Answer, RequestError>, text: &[u8]) {
    match answer {
        Ok(answer) => finite::check(answer),
        Err(error) => refusal::check(error, text),
    }
}

/// Points of the grid of a text, where it has one.
fn points(text: &[u8]) -> usize {
    let question: Value = serde_json::from_slice(text).unwrap_or_default();
    let axes = question.get("grid").and_then(Value::as_object);
    axes.into_iter()
        .flat_map(|axes| axes.values().map(length))
        .product()
}

fn length(axis: &Value) -> usize {
    let stated = match axis {
        Value::Array(points) => Some(points.len()),
        axis => axis
            .get("points")
            .and_then(Value::as_u64)
            .and_then(|points| points.try_into().ok()),
    };
    stated.unwrap_or(DEFAULT_POINTS)
}
