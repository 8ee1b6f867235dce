//! What a calculator was asked with: every value it used, where it came from, and the equations it went into.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use serde::Serialize;
use utoipa::ToSchema;

use crate::input::cursor::{Cursor, Fields};

/// Largest number that a request may state where nothing else bounds it; products of several stay finite.
pub const MOST: f64 = 1e18;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputOrigin {
    /// The request states it.
    Stated,
    /// A row of the reference data.
    Reference,
    /// It follows from other values of the request.
    Derived,
    /// It is what the calculator takes where nothing is said.
    Default,
}

/// A number or a name.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum InputValue {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
}

/// One value that the answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct InputUsed {
    /// The field of the request, with dots between levels.
    #[schema(example = "model.experts")]
    pub name: String,
    /// The value.
    pub value: InputValue,
    /// Its unit; empty for a name or a ratio.
    pub unit: &'static str,
    /// Where it comes from.
    pub from: InputOrigin,
}

/// An equation that the answer rests on.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EquationUsed {
    /// Its number in the description of the model; empty where it has none.
    #[schema(example = "E20")]
    pub id: &'static str,
    /// The equation.
    pub equation: &'static str,
    /// Tag of its source.
    #[schema(example = "T")]
    pub source: &'static str,
    /// The values of the answer that it gives.
    pub gives: &'static [&'static str],
}

/// A value of the answer that is null, and why.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoValue {
    /// The value, with dots between levels.
    pub value: &'static str,
    /// Why there is none.
    pub reason: String,
}

/// A number that a request may state.
#[derive(Debug, Clone)]
pub struct Number {
    /// Its field.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What may be stated.
    pub range: RangeInclusive<f64>,
}

/// A count that a request may state.
#[derive(Debug, Clone)]
pub struct Count {
    /// Its field.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// Largest that may be stated; the least is 1.
    pub most: u32,
}

/// The fields of one object of a request, and the list of values used that they go into.
pub struct Inputs<'a> {
    prefix: &'static str,
    /// The object, if the request has it.
    pub fields: Option<Fields<'a>>,
    used: &'a RefCell<Vec<InputUsed>>,
}

impl<'a> Inputs<'a> {
    /// The fields of an object; none of them is stated where the object is not there.
    #[must_use]
    pub fn of(
        prefix: &'static str,
        object: Option<&Cursor<'a>>,
        used: &'a RefCell<Vec<InputUsed>>,
    ) -> Self {
        Self {
            prefix,
            fields: object.and_then(Cursor::fields),
            used,
        }
    }

    /// The field of this name, if the request has it.
    #[must_use]
    pub fn stated(&self, name: &'static str) -> Option<Cursor<'a>> {
        self.fields.as_ref()?.get(name)
    }

    fn note(&self, name: &str, value: InputValue, unit: &'static str, from: InputOrigin) {
        self.used.borrow_mut().push(InputUsed {
            name: format!("{}{name}", self.prefix),
            value,
            unit,
            from,
        });
    }

    /// A name that is used.
    pub fn name(&self, field: &str, value: &str, from: InputOrigin) {
        self.note(field, InputValue::Name(value.to_owned()), "", from);
    }

    /// A number, stated or else the other one; none if it is stated and wrong, or neither there.
    #[must_use]
    pub fn number_or_none(
        &self,
        number: &Number,
        other: Option<(f64, InputOrigin)>,
    ) -> Option<f64> {
        let (value, from) = match self.stated(number.name) {
            Some(field) => (
                field.number_within(number.range.clone())?,
                InputOrigin::Stated,
            ),
            None => other?,
        };
        self.note(number.name, InputValue::Number(value), number.unit, from);
        Some(value)
    }

    /// A number, stated or else the other one; none if it is stated and wrong.
    #[must_use]
    pub fn number(&self, number: &Number, other: f64) -> Option<f64> {
        self.number_or_none(number, Some((other, InputOrigin::Default)))
    }

    /// A count, stated or else the other one; none if it is stated and wrong.
    #[must_use]
    pub fn count(&self, count: &Count, other: (u32, InputOrigin)) -> Option<u32> {
        let (value, from) = match self.stated(count.name) {
            Some(field) => (field.whole_number(1..=count.most)?, InputOrigin::Stated),
            None => other,
        };
        let noted = InputValue::Number(f64::from(value));
        self.note(count.name, noted, count.unit, from);
        Some(value)
    }

    /// Records every field that was not asked for.
    pub fn refuse_unknown(&self) {
        if let Some(fields) = &self.fields {
            fields.refuse_unknown();
        }
    }

    /// Records a fault of one field that was read already.
    pub fn fault(&self, name: &'static str, detail: String, hint: &str) {
        match (self.stated(name), &self.fields) {
            (Some(field), _) => field.fault(detail, hint),
            (None, Some(fields)) => fields.cursor.fault(detail, hint),
            (None, None) => {}
        }
    }
}
