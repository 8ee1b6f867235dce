//! The body of a calculator's request, from the parameters of a query.

use serde_json::{Map, Value, json};

use super::parameters::{Calculator, Group, Kind, Parameter};
use crate::charts::Question;

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
    let is_serving = matches!(calculator, Calculator::Machine | Calculator::Fleet);
    let has_own_sizes = is_serving && stated("model") == Some(OWN_SIZES);
    let has_offer = stated("provider").or(stated("offer")).is_some();
    let mut body = defaults(calculator, has_offer);
    if has_own_sizes {
        body["model"] = json!({"attention": [{"kind": "grouped_query"}]});
    }
    // A model has a name or sizes, and a price an offer or a sheet.
    let counts = |parameter: &Parameter| match (calculator, parameter.group) {
        (Calculator::Machine | Calculator::Fleet, Group::Own) => has_own_sizes,
        (Calculator::Cost, Group::Own) => !has_offer,
        _ => !(has_own_sizes && parameter.name == "model"),
    };
    for parameter in calculator.parameters().filter(|one| counts(one)) {
        if let Some(text) = stated(parameter.name) {
            put(&mut body, parameter.pointer, value(parameter, text));
        }
    }
    if has_own_sizes {
        complete(&mut body["model"]);
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
        Calculator::Fleet => json!({"traffic": {"input_tokens": 4096, "output_tokens": 1024}}),
        Calculator::Layout => json!({}),
        Calculator::Training => json!({"cluster": {"accelerator": "gb200-nvl72"}}),
        Calculator::Cost => {
            let usage =
                json!({"prompt_tokens": 12_000, "cache_read_tokens": 10_000, "output_tokens": 800});
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

/// Completes an architecture of stated sizes: heads of 128 elements in every layer, and 8 of 256 experts per token where fewer
/// parameters are active than there are.
fn complete(model: &mut Value) {
    const HEAD: f64 = 128.0;
    let number = |model: &Value, name: &str| model[name].as_f64();
    let layers = model["layers"].clone();
    let heads = number(model, "hidden_dimension").map(|hidden| (hidden / HEAD).round().max(1.0));
    let attention = &mut model["attention"][0];
    attention["layers"] = layers;
    attention["query_heads"] = json!(heads);
    attention["key_dimension"] = json!(HEAD);
    attention["value_dimension"] = json!(HEAD);
    let (total, active) = (
        number(model, "total_parameters"),
        number(model, "active_parameters"),
    );
    if total
        .zip(active)
        .is_some_and(|(total, active)| active < total)
    {
        model["experts"] = json!({"routed": 256, "active": 8});
    }
}
