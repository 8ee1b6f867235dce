//! The body of a calculator's request, from the parameters of a query.

use serde_json::{Map, Value, json};

use super::parameters::{Calculator, Group, Kind, Parameter};
use crate::question::Question;

/// Batches of the frontier of one machine.
const BATCHES: [u32; 3] = [1, 20_000, 41];
/// The name of the model whose sizes are stated.
pub(crate) const OWN_SIZES: &str = "own";

/// The body of the calculator's request. What is empty is left out; what is not a number is sent as it is, to be refused.
pub(crate) fn body(question: &Question, calculator: Calculator) -> Value {
    let stated = |name| {
        let text = question.last(name).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let is_forward = calculator != Calculator::Cost;
    let has_own_sizes = is_forward && stated("model") == Some(OWN_SIZES);
    let has_offer = stated("provider").or(stated("offer")).is_some();
    let mut body = defaults(calculator, has_offer);
    if has_own_sizes {
        body["model"] = json!({});
    }
    // A model has a name or sizes, and a price an offer or a sheet.
    let counts = |parameter: &Parameter| match parameter.group {
        Group::Own if is_forward => has_own_sizes,
        Group::Own => !has_offer,
        _ => !(has_own_sizes && parameter.name == "model"),
    };
    for parameter in calculator.parameters().filter(|one| counts(one)) {
        if let Some(text) = stated(parameter.name) {
            put(&mut body, parameter.pointer, value(parameter, text));
        }
    }
    body
}

/// The body where nothing is stated.
fn defaults(calculator: Calculator, has_offer: bool) -> Value {
    match calculator {
        Calculator::Machine => {
            let [from, to, points] = BATCHES;
            json!({"grid": {"batch": {"from": from, "to": to, "points": points}}, "price_sheet": {}})
        }
        Calculator::Fleet | Calculator::Layout | Calculator::Training => json!({}),
        Calculator::Cost => {
            let usage = json!({"input_tokens": 12_000, "cached_input_tokens": 10_000, "output_tokens": 800});
            if has_offer {
                json!({"usage": usage})
            } else {
                json!({"usage": usage, "price_sheet": own_prices()})
            }
        }
    }
}

/// A sheet whose prices a reader states.
fn own_prices() -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": "stated",
        "model": "stated",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "cache_write_billing": "priced",
        "rates": [{
            "input": "3.00", "output": "15.00", "cache_read": "0.30",
            "cache_write": [{"ttl_seconds": 300, "price": "3.75"}],
        }],
        "sources": [{"url": "https://example.org/stated", "format": "manual"}],
    })
}

fn value(parameter: &Parameter, text: &str) -> Value {
    let number = match parameter.kind {
        Kind::Number(..) | Kind::Count(..) => text.parse::<f64>().ok(),
        Kind::Price(..) | Kind::Text | Kind::Choice(_) => None,
    };
    number
        .filter(|number| number.is_finite())
        .map_or_else(|| json!(text), |number| json!(number))
}

/// Puts a value at a pointer, and objects and lists above it.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let mut place = body;
    for step in pointer.split('/').skip(1) {
        place = if let Ok(index) = step.parse::<usize>() {
            item(place, index)
        } else {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            &mut place[step]
        };
    }
    *place = value;
}

/// An item of a list, which is made where there is none.
fn item(place: &mut Value, index: usize) -> &mut Value {
    if place.get(index).is_none() {
        *place = Value::Array(vec![Value::Null; index + 1]);
    }
    &mut place[index]
}
