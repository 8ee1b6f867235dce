//! The forward calculators behind an address: the parameters of a query become the body of `/simulate` or `/plan`, whose
//! answer pages and charts show.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use super::app::App;
use super::charts::Question;
use super::problem::{Problem, UNREADABLE};
use unroof_core::calculator::inputs::InputUsed;
use unroof_core::calculator::simulate::{SimulationAnswer, read_simulation};
use unroof_core::plan::{PlanAnswer, plan};

/// Batches of the frontier of one machine.
const BATCHES: [u32; 3] = [1, 20_000, 41];

/// The calculator that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calculator {
    /// `/simulate`: one machine at one operating point.
    Machine,
    /// `/plan`: as many machines as a load needs.
    Fleet,
}

impl Calculator {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Machine, Self::Fleet];

    /// Name in addresses.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Fleet => "fleet",
        }
    }

    /// Path of its route.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Machine => "/simulate",
            Self::Fleet => "/plan",
        }
    }
}

/// A parameter: a place in the body of each calculator that reads it.
pub(super) struct Parameter {
    /// Name in addresses.
    pub(super) name: &'static str,
    /// Name for a reader.
    pub(super) label: &'static str,
    /// Unit, empty for a name or a ratio.
    pub(super) unit: &'static str,
    /// The values of a slider; none for a name.
    pub(super) usual: Option<(f64, f64)>,
    /// Whether it is shown unfolded.
    pub(super) is_main: bool,
    /// JSON pointer in the body of `/simulate`.
    machine: Option<&'static str>,
    /// JSON pointer in the body of `/plan`.
    fleet: Option<&'static str>,
}

impl Parameter {
    /// The place in the body of a calculator; none if it does not read the parameter.
    pub(super) fn pointer(&self, calculator: Calculator) -> Option<&'static str> {
        match calculator {
            Calculator::Machine => self.machine,
            Calculator::Fleet => self.fleet,
        }
    }
}

const fn both(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    pointer: &'static str,
) -> Parameter {
    Parameter {
        name,
        label,
        unit,
        usual: None,
        is_main: false,
        machine: Some(pointer),
        fleet: Some(pointer),
    }
}

const fn machine(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    pointer: &'static str,
) -> Parameter {
    Parameter {
        fleet: None,
        ..both(name, label, unit, pointer)
    }
}

const fn fleet(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    pointer: &'static str,
) -> Parameter {
    Parameter {
        machine: None,
        ..both(name, label, unit, pointer)
    }
}

impl Parameter {
    const fn from(self, least: f64, most: f64) -> Self {
        Self {
            usual: Some((least, most)),
            ..self
        }
    }

    const fn main(self) -> Self {
        Self {
            is_main: true,
            ..self
        }
    }
}

/// All parameters, in the order of the form.
pub(super) const PARAMETERS: &[Parameter] = &[
    both("model", "model", "", "/model").main(),
    both("accelerator", "accelerator", "", "/machine/accelerator").main(),
    both("chips", "chips", "", "/machine/chips").from(1.0, 1024.0),
    both(
        "rent",
        "rent of a chip",
        "USD/h",
        "/machine/rental_usd_per_hour",
    )
    .from(0.5, 20.0),
    both(
        "weight_bytes",
        "bytes per weight",
        "B",
        "/precision/weight_bytes_per_parameter",
    )
    .from(0.5, 2.0),
    both(
        "kv_bytes",
        "bytes per cache element",
        "B",
        "/precision/kv_bytes_per_element",
    )
    .from(0.5, 2.0),
    machine(
        "batch",
        "batch over all chips",
        "",
        "/operating_point/batch",
    )
    .from(1.0, 2e4)
    .main(),
    machine(
        "context",
        "tokens in the cache",
        "",
        "/operating_point/context_tokens",
    )
    .from(128.0, 1e6)
    .main(),
    machine(
        "prompt",
        "tokens of a prompt",
        "",
        "/operating_point/prompt_tokens",
    )
    .from(128.0, 1e6),
    machine(
        "input_margin",
        "margin of the input price",
        "",
        "/price_sheet/input_margin",
    )
    .from(0.0, 0.95),
    machine(
        "output_margin",
        "margin of the output price",
        "",
        "/price_sheet/output_margin",
    )
    .from(0.0, 0.95),
    fleet("input", "tokens of a prompt", "", "/traffic/input_tokens")
        .from(128.0, 1e5)
        .main(),
    fleet(
        "output",
        "tokens of an answer",
        "",
        "/traffic/output_tokens",
    )
    .from(16.0, 1e4)
    .main(),
    fleet(
        "requests",
        "requests per second",
        "",
        "/traffic/requests_per_second",
    )
    .from(0.1, 1e3)
    .main(),
    fleet(
        "hits",
        "share of the prompt in a cache",
        "",
        "/traffic/cache_hit_rate",
    )
    .from(0.0, 0.99),
    fleet(
        "first_token",
        "most time to the first token",
        "s",
        "/limits/time_to_first_token_seconds",
    )
    .from(0.1, 30.0),
    fleet(
        "per_token",
        "most time per token",
        "s",
        "/limits/time_per_output_token_seconds",
    )
    .from(0.005, 0.2),
    both(
        "total_parameters",
        "total parameters",
        "",
        "/model/total_parameters",
    )
    .from(1e9, 3e12),
    both(
        "active_parameters",
        "active parameters",
        "",
        "/model/active_parameters",
    )
    .from(1e9, 3e12),
    both("layers", "layers", "", "/model/layers").from(16.0, 128.0),
    both("hidden", "hidden dimension", "", "/model/hidden_dimension").from(2048.0, 16384.0),
    both(
        "kv_heads",
        "KV heads per layer, of 128 elements",
        "",
        "/model/attention/0/kv_heads",
    )
    .from(1.0, 64.0),
];

/// The name of the model whose sizes are stated.
pub(super) const OWN_SIZES: &str = "own";
/// The name of the parameter that chooses the calculator.
pub(super) const VIEW: &str = "view";

/// An answer of a calculator.
pub(super) enum Calculated {
    /// Of `/simulate`.
    Machine(Box<SimulationAnswer>),
    /// Of `/plan`.
    Fleet(Box<PlanAnswer>),
}

impl Calculated {
    /// Every value used.
    pub(super) fn inputs(&self) -> &[InputUsed] {
        match self {
            Self::Machine(answer) => &answer.inputs,
            Self::Fleet(answer) => &answer.inputs,
        }
    }
}

/// The calculator that a query asks.
///
/// # Errors
/// It names none of them.
pub(super) fn calculator(question: &Question) -> Result<Calculator, Problem> {
    let Some(name) = question.last(VIEW).filter(|name| !name.is_empty()) else {
        return Ok(Calculator::Machine);
    };
    let found = Calculator::ALL
        .into_iter()
        .find(|calculator| calculator.name() == name);
    found.ok_or_else(|| {
        Problem::new(UNREADABLE, "invalid query string: there is no such view")
            .hint("write view=machine or view=fleet")
    })
}

/// The body of the calculator's request. What is empty is left out; what is not a number is sent as it is, to be refused.
pub(super) fn body(question: &Question, calculator: Calculator) -> Value {
    let mut body = match calculator {
        Calculator::Machine => {
            let [from, to, points] = BATCHES;
            json!({"grid": {"batch": {"from": from, "to": to, "points": points}}, "price_sheet": {}})
        }
        Calculator::Fleet => json!({"traffic": {"input_tokens": 4096, "output_tokens": 1024}}),
    };
    let has_own_sizes = question.last("model") == Some(OWN_SIZES);
    if has_own_sizes {
        body["model"] = json!({"attention": [{"kind": "grouped_query"}]});
    }
    for parameter in PARAMETERS {
        let Some(pointer) = parameter.pointer(calculator) else {
            continue;
        };
        let is_size = pointer.starts_with("/model/");
        if is_size != has_own_sizes && (is_size || parameter.name == "model") {
            continue;
        }
        let stated = question
            .last(parameter.name)
            .map(str::trim)
            .filter(|text| !text.is_empty());
        if let Some(text) = stated {
            put(&mut body, pointer, value(parameter, text));
        }
    }
    if has_own_sizes {
        complete(&mut body["model"]);
    }
    body
}

fn value(parameter: &Parameter, text: &str) -> Value {
    let number = parameter.usual.and_then(|_| text.parse::<f64>().ok());
    number
        .filter(|number| number.is_finite())
        .map_or_else(|| json!(text), |number| json!(number))
}

/// Puts a value at a pointer, and objects above it.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let mut place = body;
    for step in pointer.split('/').skip(1) {
        place = match step.parse::<usize>() {
            Ok(index) if place.get(index).is_some() => &mut place[index],
            _ => {
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                &mut place[step]
            }
        };
    }
    *place = value;
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

/// Asks the calculator.
///
/// # Errors
/// The query names no calculator, or the body is refused.
pub(super) async fn calculate(app: &App, question: &Question) -> Result<Calculated, Problem> {
    let calculator = calculator(question)?;
    let body = Bytes::from(body(question, calculator).to_string());
    app.compute(move |_| match calculator {
        Calculator::Machine => {
            let simulation = read_simulation(&body)?;
            Ok(Calculated::Machine(Box::new(simulation.answer())))
        }
        Calculator::Fleet => Ok(Calculated::Fleet(Box::new(plan(&body)?))),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(query: &str) -> Value {
        let question = Question::read(query).unwrap();
        let calculator = calculator(&question).unwrap();
        body(&question, calculator)
    }

    #[test]
    fn a_query_is_a_body() {
        let body = body_of("view=fleet&model=DeepSeek-V3&requests=20&hits=&context=9");
        assert_eq!(
            body,
            json!({
                "model": "DeepSeek-V3",
                "traffic": {"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 20.0},
            })
        );
    }

    #[test]
    fn stated_sizes_are_a_model_that_both_calculators_take() {
        let sizes = "model=own&total_parameters=6.7e11&active_parameters=3.7e10&layers=61&hidden=7168&kv_heads=8";
        for calculator in Calculator::ALL {
            let text = body_of(&format!("view={}&{sizes}", calculator.name())).to_string();
            match calculator {
                Calculator::Machine => assert!(read_simulation(text.as_bytes()).is_ok(), "{text}"),
                Calculator::Fleet => assert!(plan(text.as_bytes()).is_ok(), "{text}"),
            }
        }
    }

    #[test]
    fn what_is_no_number_is_left_to_the_calculator() {
        let text = body_of("batch=many&chips=1e400").to_string();
        assert!(
            text.contains("\"batch\":\"many\"") && text.contains("\"chips\":\"1e400\""),
            "{text}"
        );
    }
}
