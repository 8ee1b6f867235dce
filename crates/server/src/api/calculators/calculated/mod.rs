//! The forward calculators behind an address: the parameters of a query become the body of `/simulate`, `/plan`, `/layout`,
//! `/training` or `/cost`, whose answer pages and charts show.

mod body;
mod parameters;

use axum::body::Bytes;
use serde_json::Value;

use super::calculator::planned;
use super::cost::{as_of, priced_by};
use crate::compute::{CALCULATE, PLAN, Views};
use crate::question::Question;
use unroof_base::input::RequestError;
use unroof_base::input::cursor::Fault;
use unroof_edge::Problem;
use unroof_price_sheet::cost::{Cost, cost, read_cost};
use unroof_roofline::calculator::inputs::{InputOrigin, InputUsed, InputValue};
use unroof_roofline::calculator::layout::{LayoutAnswer, layout};
use unroof_roofline::calculator::simulate::{SimulationAnswer, read_simulation};
use unroof_roofline::calculator::training::{TrainingAnswer, training};
use unroof_roofline::plan::PlanAnswer;
use unroof_store::PriceInForce;

pub(crate) use body::{OWN_SIZES, body};
pub(crate) use parameters::{Calculator, Choices, Group, Kind, Parameter};

/// The name of the parameter that chooses the calculator.
pub(crate) const VIEW: &str = "view";

/// An answer of a calculator.
pub(crate) enum Calculated {
    /// Answer of `/simulate`.
    Machine(Box<SimulationAnswer>),
    /// Answer of `/plan`.
    Fleet(Box<PlanAnswer>),
    /// Answer of `/layout`.
    Layout(Box<LayoutAnswer>),
    /// Answer of `/training`.
    Training(Box<TrainingAnswer>),
    /// Answer of `/cost`.
    Cost(Box<Priced>),
}

/// The price of a request.
pub(crate) struct Priced {
    /// Cost of the request.
    pub(crate) cost: Cost,
    /// The values of the request, which the answer does not repeat.
    inputs: Vec<InputUsed>,
}

impl Calculated {
    /// Every value that the calculator used.
    pub(crate) fn inputs(&self) -> &[InputUsed] {
        match self {
            Self::Machine(answer) => &answer.inputs,
            Self::Fleet(answer) => &answer.inputs,
            Self::Layout(answer) => &answer.inputs,
            Self::Training(answer) => &answer.inputs,
            Self::Cost(priced) => &priced.inputs,
        }
    }
}

/// The calculator that a query asks.
///
/// # Errors
/// It names none of them.
pub(crate) fn calculator(question: &Question) -> Result<Calculator, Problem> {
    let Some(name) = question.last(VIEW).filter(|name| !name.is_empty()) else {
        return Ok(Calculator::Machine);
    };
    let found = Calculator::ALL
        .into_iter()
        .find(|calculator| calculator.name() == name);
    found.ok_or_else(|| {
        let names = Calculator::ALL.map(|calculator| format!("view={}", calculator.name()));
        Problem::of_query("unknown view").hint(format!("write one of {}", names.join(", ")))
    })
}

/// Asks the calculator.
///
/// # Errors
/// The query names no calculator, the body is refused, or a query of the store fails.
pub(crate) async fn calculate(views: &Views, question: &Question) -> Result<Calculated, Problem> {
    let calculator = calculator(question)?;
    let body = body(question, calculator);
    if calculator == Calculator::Cost {
        return price(views, &body, question).await;
    }
    let body = Bytes::from(body.to_string());
    let work = match calculator {
        Calculator::Fleet => PLAN,
        _ => CALCULATE,
    };
    views
        .compute
        .run(work, move |running| match calculator {
            Calculator::Fleet => Ok(Calculated::Fleet(Box::new(planned(&body, running)?))),
            Calculator::Layout => Ok(Calculated::Layout(Box::new(layout(&body)?))),
            Calculator::Training => Ok(Calculated::Training(Box::new(training(&body)?))),
            Calculator::Machine | Calculator::Cost => {
                let simulation = read_simulation(&body)?;
                Ok(Calculated::Machine(Box::new(simulation.answer())))
            }
        })
        .await
}

/// The price of one request. That an offer has no price is a fault of its name.
async fn price(views: &Views, body: &Value, question: &Question) -> Result<Calculated, Problem> {
    let text = body.to_string();
    let mut request = views
        .compute
        .run(CALCULATE, move |_| Ok(read_cost(text.as_bytes())?))
        .await?;
    let as_of = as_of(views, &request);
    let at = as_of.time().into();
    let sheet = match priced_by(views, &mut request, as_of).await? {
        PriceInForce::Sheet(sheet) => sheet,
        missing => {
            let fault = request.offer.map(|offer| missing.fault(&offer, at));
            let faults = fault.map(|fault| beside_a_name(&missing, fault));
            return Err(RequestError::Wrong(faults.into_iter().collect()).into());
        }
    };
    let usage = request.usage;
    let cost = views
        .compute
        .run(CALCULATE, move |_| Ok(cost(None, &sheet, &usage, at)))
        .await?;
    let inputs = inputs_of(body, question);
    Ok(Calculated::Cost(Box::new(Priced { cost, inputs })))
}

/// The fault of an offer as one of the name to correct.
fn beside_a_name(missing: &PriceInForce, fault: Fault) -> Fault {
    let (pointer, hint) = match missing {
        PriceInForce::Regions(_) => ("/offer/region", fault.hint),
        _ => (
            "/offer/model",
            "the page of a model lists its offers with both names".to_owned(),
        ),
    };
    Fault {
        pointer: pointer.to_owned(),
        hint,
        ..fault
    }
}

/// The values of a request for a cost.
fn inputs_of(body: &Value, question: &Question) -> Vec<InputUsed> {
    let input = |parameter: &Parameter| {
        let value = match body.pointer(parameter.pointer)? {
            Value::Number(number) => InputValue::Number(number.as_f64()?),
            Value::String(text) => InputValue::Name(text.clone()),
            _ => return None,
        };
        let is_stated = question
            .last(parameter.name)
            .is_some_and(|text| !text.trim().is_empty());
        Some(InputUsed {
            name: parameter.pointer.trim_start_matches('/').replace('/', "."),
            value,
            unit: parameter.unit,
            from: if is_stated {
                InputOrigin::Stated
            } else {
                InputOrigin::Default
            },
        })
    };
    Calculator::Cost.parameters().filter_map(input).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unroof_roofline::plan::plan;

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
                "load": {"requests_per_second": 20.0},
            })
        );
    }

    #[test]
    fn stated_sizes_are_a_model_that_every_forward_calculator_takes() {
        let sizes =
            "model=own&total_parameters=6.7e11&active_parameters=3.7e10&layers=61&kv_per_token=7e4";
        let text = |view: &str| body_of(&format!("view={view}&{sizes}")).to_string();
        assert!(read_simulation(text("machine").as_bytes()).is_ok());
        assert!(plan(text("fleet").as_bytes()).is_ok());
        assert!(layout(text("layout").as_bytes()).is_ok());
        let text =
            body_of("view=training&model=own&total_parameters=6.7e11&active_parameters=3.7e10");
        assert!(training(text.to_string().as_bytes()).is_ok());
    }

    #[test]
    fn what_is_no_number_is_left_to_the_calculator() {
        let text = body_of("batch=many&chips=1e400").to_string();
        assert!(
            text.contains("\"batch\":\"many\"") && text.contains("\"chips\":\"1e400\""),
            "{text}"
        );
    }

    #[test]
    fn every_calculator_answers_an_empty_question() {
        let text = |calculator: Calculator| {
            let body = body_of(&format!("view={}", calculator.name()));
            body.to_string().into_bytes()
        };
        assert!(layout(&text(Calculator::Layout)).is_ok());
        let trained = training(&text(Calculator::Training)).unwrap();
        assert!(trained.total.training_usd.is_some());
        assert!(read_cost(&text(Calculator::Cost)).is_ok());
    }

    #[test]
    fn every_parameter_is_a_field_of_its_request() {
        for calculator in Calculator::ALL {
            for parameter in calculator.parameters() {
                // Of a wrong kind for every field.
                let own = if parameter.group == Group::Own {
                    "own"
                } else {
                    ""
                };
                let query = format!(
                    "view={}&model={own}&{}=%01",
                    calculator.name(),
                    parameter.name
                );
                let text = body_of(&query).to_string().into_bytes();
                let error = match calculator {
                    Calculator::Machine => read_simulation(&text).err(),
                    Calculator::Fleet => plan(&text).err(),
                    Calculator::Layout => layout(&text).err(),
                    Calculator::Training => training(&text).err(),
                    Calculator::Cost => read_cost(&text).err(),
                };
                let Some(RequestError::Wrong(faults)) = error else {
                    panic!("{query}: {error:?}");
                };
                let is_named = faults
                    .iter()
                    .any(|fault| fault.pointer == parameter.pointer);
                assert!(is_named, "{query}: {faults:?}");
                assert!(
                    faults.iter().all(|fault| !fault.detail.contains("unknown")),
                    "{query}: {faults:?}"
                );
            }
        }
    }

    #[test]
    fn an_offer_takes_the_place_of_stated_prices() {
        let body = body_of("view=cost&provider=openai&offer=gpt-5.4&input_price=7&written=5");
        assert_eq!(
            body["offer"],
            json!({"provider": "openai", "model": "gpt-5.4"})
        );
        assert_eq!(body.get("price_sheet"), None);
        assert_eq!(body["usage"]["cache_writes"], json!([{"tokens": 5.0}]));
        let body = body_of("view=cost&input_price=7.10");
        assert_eq!(body["price_sheet"]["rates"][0]["input"], "7.10");
    }
}
