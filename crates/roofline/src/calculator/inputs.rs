//! Inputs of a calculator's answer: every value used, its origin and the equations that use it.
//!
//! ```
//! use unroof_roofline::calculator::inputs::InputOrigin;
//! use unroof_roofline::calculator::simulate::simulate;
//!
//! let answer = simulate(br#"{"machine": {"accelerator": "h100-sxm", "chips": 16}}"#)?;
//! let origin = |name: &str| answer.inputs.iter().find(|input| input.name == name).map(|input| input.from);
//! assert_eq!(origin("machine.chips"), Some(InputOrigin::Stated));
//! assert_eq!(origin("machine.rental_usd_per_hour"), Some(InputOrigin::Reference));
//! assert_eq!(origin("load.context_tokens"), Some(InputOrigin::Default));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

use unroof_base::input::body::Stated;
use unroof_base::input::cursor::{Cursor, Recorded};
use unroof_base::input::json::Json;
use unroof_base::units::readable;

/// Largest number that a request may state where nothing else bounds it; products of several stay finite.
pub const MOST: f64 = 1e18;

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputOrigin {
    /// The request states it.
    Stated,
    /// A row of the reference data.
    Reference,
    /// Derived from other values of the request.
    Derived,
    /// Default of the calculator.
    Default,
    /// The request states it, and nothing in this answer depends on it.
    Unused,
}

/// A number or a name.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum InputValue {
    /// A number, in the unit of the input.
    Number(f64),
    /// A name, such as that of an accelerator.
    Name(String),
}

impl InputValue {
    /// A value as a request writes it.
    fn of(json: &Json) -> Self {
        match json {
            Json::Number(number) => number
                .parse()
                .map_or_else(|_| number.as_ref().into(), Self::Number),
            Json::Text(text) => text.as_ref().into(),
            Json::Bool(truth) => (*truth).into(),
            other => other.kind().into(),
        }
    }
}

impl fmt::Display for InputValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => formatter.write_str(&readable(*number)),
            Self::Name(name) => formatter.write_str(name),
        }
    }
}

impl From<f64> for InputValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for InputValue {
    fn from(count: u32) -> Self {
        Self::Number(f64::from(count))
    }
}

impl From<bool> for InputValue {
    fn from(truth: bool) -> Self {
        Self::Name(truth.to_string())
    }
}

impl From<&str> for InputValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// A value that the answer uses.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct InputUsed {
    /// The field of the request, with dots between levels.
    #[schema(example = "model.experts")]
    pub name: String,
    /// Value of the input.
    pub value: InputValue,
    /// Unit of the value; empty for a name or a ratio.
    pub unit: &'static str,
    /// Origin of the value.
    pub from: InputOrigin,
}

/// An equation that the answer uses.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EquationUsed {
    /// Number of the equation in the description of the model; empty where it has none.
    #[schema(example = "E20")]
    pub id: &'static str,
    /// Equation, as text.
    pub equation: &'static str,
    /// Tag of its source.
    #[schema(example = "T")]
    pub source: &'static str,
    /// Values of the answer that it computes.
    pub gives: &'static [&'static str],
}

/// Declares the equations of an answer, a row each: number, equation, source, the values that it gives.
macro_rules! equations {
    ($( $id:literal $equation:literal $source:literal => $( $gives:literal ),+; )+) => {
        pub(super) const EQUATIONS: &[EquationUsed] = &[$(
            EquationUsed {
                id: $id,
                equation: $equation,
                source: $source,
                gives: &[$( $gives ),+],
            },
        )+];
    };
}
pub(crate) use equations;

/// A value of the answer that is null, and why.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoValue {
    /// The value, with dots between levels.
    pub value: &'static str,
    /// Reason that the value is null.
    pub reason: String,
}

/// Collects the values that an answer uses while a request's defaults are filled in, and the faults of fields that do
/// not fit each other.
pub struct Inputs<'a> {
    used: RefCell<Vec<InputUsed>>,
    root: &'a Cursor<'a>,
    /// Fields of the scenario that this answer does not depend on.
    without_effect: &'static [&'static str],
}

/// The parts of a scenario, which every calculator reads whole.
const SCENARIO: [&str; 4] = ["precision", "machine", "prefill_machine", "load"];

impl<'a> Inputs<'a> {
    /// Inputs of which none is read yet.
    #[must_use]
    pub fn new(root: &'a Cursor<'a>, without_effect: &'static [&'static str]) -> Self {
        Self {
            used: RefCell::default(),
            root,
            without_effect,
        }
    }

    fn note(&self, name: &str, value: InputValue, unit: &'static str, from: InputOrigin) {
        if self.without_effect.contains(&name) {
            return;
        }
        self.used.borrow_mut().push(InputUsed {
            name: name.to_owned(),
            value,
            unit,
            from,
        });
    }

    /// Records a used name.
    pub fn name(&self, field: &str, value: &str, from: InputOrigin) {
        self.note(field, value.into(), "", from);
    }

    /// Records a number.
    pub fn number(&self, field: &str, value: f64, unit: &'static str, from: InputOrigin) {
        self.note(field, value.into(), unit, from);
    }

    /// Records a number that follows from others.
    pub fn derived(&self, field: &str, value: f64, unit: &'static str) {
        self.number(field, value, unit, InputOrigin::Derived);
    }

    /// The stated value, else the given one; none if it is invalid, or neither exists.
    pub fn or_else<T: Clone + Into<InputValue>>(
        &self,
        field: &Stated<T>,
        other: Option<(T, InputOrigin)>,
    ) -> Option<T> {
        self.known(field, other).ok().flatten()
    }

    /// The stated value, else the given one, if there is one.
    ///
    /// # Errors
    /// The stated value is invalid.
    pub fn known<T: Clone + Into<InputValue>>(
        &self,
        field: &Stated<T>,
        other: Option<(T, InputOrigin)>,
    ) -> Result<Option<T>, Recorded> {
        let stated = field.value.clone()?;
        let known = stated.map(|value| (value, InputOrigin::Stated)).or(other);
        if let Some((value, from)) = &known {
            self.note(&field.name, value.clone().into(), field.unit, *from);
        }
        Ok(known.map(|(value, _)| value))
    }

    /// The stated value, if there is one.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn stated<T: Clone + Into<InputValue>>(
        &self,
        field: &Stated<T>,
    ) -> Result<Option<T>, Recorded> {
        self.known(field, None)
    }

    /// The stated value, else the given one; none if it is invalid.
    pub fn or<T: Clone + Into<InputValue>>(
        &self,
        field: &Stated<T>,
        other: T,
        from: InputOrigin,
    ) -> Option<T> {
        self.or_else(field, Some((other, from)))
    }

    /// The stated value, else the default that the field declares; none if it is invalid.
    pub fn or_default<T: Clone + Into<InputValue>>(&self, field: &Stated<T>) -> Option<T> {
        let default = field.default.clone();
        self.or_else(field, default.map(|value| (value, InputOrigin::Default)))
    }

    /// The stated choice, else the given one; none if it is invalid.
    pub fn choice<T: Copy + PartialEq>(
        &self,
        field: &Stated<T>,
        names: &[(&str, T)],
        other: T,
    ) -> Option<T> {
        let (choice, from) = match field.value {
            Ok(Some(stated)) => (stated, InputOrigin::Stated),
            Ok(None) => (other, InputOrigin::Default),
            Err(Recorded) => return None,
        };
        let name = names.iter().find(|(_, named)| *named == choice);
        self.name(&field.name, name.map_or("", |(name, _)| name), from);
        Some(choice)
    }

    /// Records that a field does not fit another one.
    pub fn fault<T>(&self, field: &Stated<T>, detail: impl Into<String>, hint: impl Into<String>) {
        self.root.faults().record(&field.pointer, detail, hint);
    }

    /// Records that an item of a list does not fit another field.
    pub fn fault_of_item<T>(
        &self,
        list: &Stated<Vec<T>>,
        index: usize,
        detail: String,
        hint: String,
    ) {
        let pointer = format!("{}/{index}", list.pointer);
        self.root.faults().record(&pointer, detail, hint);
    }

    /// The values that were used, and what the request states of the scenario besides.
    #[must_use]
    pub fn into_used(self) -> Vec<InputUsed> {
        let mut used = self.used.into_inner();
        let noted = used.len();
        for part in SCENARIO {
            let fields = self
                .root
                .at(part)
                .filter(|part| matches!(part.json, Json::Object(_)));
            for (field, value) in fields.and_then(|part| part.entries()).unwrap_or_default() {
                let name = format!("{part}.{field}");
                let is_of = |input: &InputUsed| {
                    let rest = input.name.strip_prefix(&name);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                if !used[..noted].iter().any(is_of) {
                    used.push(InputUsed {
                        name,
                        value: InputValue::of(value.json),
                        unit: "",
                        from: InputOrigin::Unused,
                    });
                }
            }
        }
        used
    }
}
