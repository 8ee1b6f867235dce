//! Second step of reading a request: a walk over the JSON tree that records **every** fault with its JSON pointer, a
//! description and a hint.
//!
//! ```
//! use unroof_base::input::cursor::{Cursor, Faults};
//! use unroof_base::input::json;
//!
//! let tree = json::parse(br#"{"layers": 0}"#)?;
//! let faults = Faults::default();
//! let layers = Cursor::root(&tree, &faults).at("layers").and_then(|layers| layers.whole_number(1..=999));
//! let fault = faults.result(layers).unwrap_err().remove(0);
//! assert_eq!(fault.pointer, "/layers");
//! # Ok::<(), json::JsonError>(())
//! ```

use jiff::civil::Date;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::str::FromStr;

use bigdecimal::BigDecimal;

pub use super::faults::{Fault, FaultKind, Faults};
use super::json::{Json, Object};
use super::mistakes;
pub use super::names::{LONGEST_NAME, nearest_names, one_of_hint, shortened};
use super::text::{printable, turns_direction};
use crate::units::{Decimal, DecimalError, readable};

/// Longest free text, in characters.
pub const LONGEST_TEXT: usize = 4_000;
/// Smaller magnitudes are read as 0, so that products and quotients of stated values stay finite.
pub const SMALLEST_NUMBER: f64 = 1e-99;

/// The last step of the path to a value.
enum Step<'a> {
    Root(&'a str),
    Key(&'a str),
    Index(usize),
}

/// The path to a value. It is written as a JSON pointer only where a fault names it: most values have none.
struct Path<'a> {
    parent: Option<Rc<Self>>,
    step: Step<'a>,
}

impl Path<'_> {
    fn write(&self, pointer: &mut String) {
        if let Some(parent) = &self.parent {
            parent.write(pointer);
        }
        match self.step {
            Step::Root(root) => pointer.push_str(root),
            Step::Key(key) => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Step::Index(index) => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
    }
}

/// A value in the tree, with the path to it.
#[derive(Clone)]
pub struct Cursor<'a> {
    /// Value under the cursor.
    pub json: &'a Json,
    path: Rc<Path<'a>>,
    faults: &'a Faults,
}

impl<'a> Cursor<'a> {
    /// A cursor at the root of a document that is part of another one, at `pointer`.
    #[must_use]
    pub fn root_at(pointer: &'a str, json: &'a Json, faults: &'a Faults) -> Self {
        let path = Path {
            parent: None,
            step: Step::Root(pointer),
        };
        Self {
            json,
            path: Rc::new(path),
            faults,
        }
    }

    /// A cursor at the root of a document.
    #[must_use]
    pub fn root(json: &'a Json, faults: &'a Faults) -> Self {
        Self::root_at("", json, faults)
    }

    /// JSON pointer (RFC 6901) to the value.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.path.write(&mut pointer);
        pointer
    }

    /// The faults recorded so far.
    #[must_use]
    pub fn faults(&self) -> &'a Faults {
        self.faults
    }

    /// Whether the value is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self.json == Json::Null
    }

    /// Records a fault of this value and returns none.
    pub fn refuse<T>(&self, detail: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.fault(detail, hint);
        None
    }

    /// The value as a function reads it, without recording its faults.
    pub fn unrecorded<T>(&self, read: impl FnOnce(&Cursor<'_>) -> Option<T>) -> Option<T> {
        let faults = Faults::default();
        let value = read(&Cursor::root(self.json, &faults));
        faults.result(value).ok()
    }

    /// Records a fault of this value.
    pub fn fault(&self, detail: impl Into<String>, hint: impl Into<String>) {
        if !self.faults.is_full() {
            self.faults.record(&self.pointer(), detail, hint);
        }
    }

    /// Records that this entry of a catalog states no price of text.
    pub fn fault_without_price(&self, detail: impl Into<String>, hint: impl Into<String>) {
        if !self.faults.is_full() {
            let (pointer, kind) = (self.pointer(), FaultKind::WithoutPrice);
            self.faults
                .record_of_kind(kind, &pointer, detail.into(), hint.into());
        }
    }

    fn expected<T>(&self, what: &str) -> Option<T> {
        self.refuse(
            format!("expected {what}, found {}", self.json.kind()),
            format!("write {what}"),
        )
    }

    /// The value as an object with named fields.
    #[must_use]
    pub fn fields(&self) -> Option<Fields<'a>> {
        match self.json {
            Json::Object(entries) => Some(Fields {
                entries,
                cursor: self.clone(),
                asked: RefCell::new(Vec::new()),
            }),
            _ => self.expected("an object with named fields"),
        }
    }

    /// The entries of an object with arbitrary keys, in their order.
    #[must_use]
    pub fn entries(&self) -> Option<Vec<(&'a str, Self)>> {
        match self.json {
            Json::Object(entries) => Some(
                entries
                    .iter()
                    .map(|(name, json)| (name, self.child(Step::Key(name), json)))
                    .collect(),
            ),
            _ => self.expected("an object"),
        }
    }

    /// Entries of an object without fields that are null.
    #[must_use]
    pub fn present(&self) -> Option<Vec<(&'a str, Self)>> {
        let mut fields = self.entries()?;
        fields.retain(|(_, field)| !field.is_null());
        Some(fields)
    }

    /// The value at a key of an object, if it is one and has the key.
    #[must_use]
    pub fn at(&self, key: &str) -> Option<Self> {
        let Json::Object(entries) = self.json else {
            return None;
        };
        let (name, json) = entries.starting_at(key).next()?;
        (name == key).then(|| self.child(Step::Key(name), json))
    }

    /// The value as a list.
    #[must_use]
    pub fn items(&self) -> Option<Vec<Self>> {
        let Json::Array(items) = self.json else {
            let hint = match self.path.step {
                Step::Key(key) => mistakes::meant_list(key),
                _ => None,
            };
            return self.refuse(
                format!("expected a list, found {}", self.json.kind()),
                hint.unwrap_or("write a list"),
            );
        };
        let item = |(index, json): (usize, &'a Json)| self.child(Step::Index(index), json);
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The value as a list of which every item is read by `read`; items with faults are left out.
    #[must_use]
    pub fn list_of<T>(&self, read: impl Fn(&Self) -> Option<T>) -> Option<Vec<T>> {
        Some(self.items()?.iter().filter_map(read).collect())
    }

    fn child(&self, step: Step<'a>, json: &'a Json) -> Self {
        let path = Path {
            parent: Some(Rc::clone(&self.path)),
            step,
        };
        Self {
            json,
            path: Rc::new(path),
            faults: self.faults,
        }
    }

    /// A name: 1 to 255 characters without control and bidirectional characters.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.as_it_looks(self.text_of(LONGEST_NAME, &[])?)
    }

    /// Reads a day, `YYYY-MM-DD`.
    #[must_use]
    pub fn day(&self) -> Option<Date> {
        let text = self.text()?;
        // Parsing accepts times behind the day too.
        let day = text.parse::<Date>().ok();
        day.filter(|day| day.to_string() == text).or_else(|| {
            self.refuse(
                format!("`{}` is not a day", shortened(&text)),
                "write a day as YYYY-MM-DD, such as \"2026-04-24\"",
            )
        })
    }

    /// A string of up to 4,000 characters.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.text_of(LONGEST_TEXT, &['\n', '\t'])
    }

    /// The key of this value as a name.
    #[must_use]
    pub fn key_as_name(&self, key: &str) -> Option<String> {
        self.as_it_looks(self.checked_text(key, LONGEST_NAME, &[])?)
    }

    /// The name, if it has no control or bidirectional characters.
    fn as_it_looks(&self, name: String) -> Option<String> {
        if name.contains(turns_direction) {
            return self.refuse(
                format!(
                    "`{}` contains characters that change the direction of text",
                    printable(&shortened(&name))
                ),
                "leave out bidirectional marks, overrides and isolates",
            );
        }
        Some(name)
    }

    fn text_of(&self, longest: usize, allowed: &[char]) -> Option<String> {
        match self.json {
            Json::Text(text) => self.checked_text(text, longest, allowed),
            _ => self.expected("a text"),
        }
    }

    fn checked_text(&self, text: &str, longest: usize, allowed: &[char]) -> Option<String> {
        let length = text.chars().count();
        if length == 0 || length > longest || text.trim().is_empty() {
            return self.refuse(
                format!("a text of {length} characters"),
                format!("write 1 to {longest} characters"),
            );
        }
        if text
            .chars()
            .any(|character| character.is_control() && !allowed.contains(&character))
        {
            return self.refuse(
                "a text with control characters",
                "leave control characters out",
            );
        }
        Some(text.to_owned())
    }

    /// An exact decimal, written as a text.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        const HINT: &str = "write a text such as \"1.25\": up to 12 digits before the point and 18 after it, no sign and no exponent";
        let Json::Text(text) = self.json else {
            let hint = match self.json {
                Json::Number(number) if number.parse::<Decimal>().is_ok() => {
                    format!("put the number in quotes: \"{number}\"")
                }
                _ => HINT.to_owned(),
            };
            let found = self.json.kind();
            return self.refuse(
                format!("expected a decimal written as a text, found {found}"),
                hint,
            );
        };
        // A text that is too long is not a decimal either.
        shortened(text)
            .parse()
            .or_else(|error: DecimalError| {
                let hint = match error {
                    DecimalError::Negative(_) => {
                        "write 0 or more; leave the field out where nothing is published".to_owned()
                    }
                    _ => mistakes::meant_price(text).unwrap_or_else(|| HINT.to_owned()),
                };
                self.refuse(error.to_string(), hint).ok_or(())
            })
            .ok()
    }

    /// A finite number: the nearest to the text, and 0 for magnitudes below [`SMALLEST_NUMBER`].
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self.json {
            Json::Number(written) => written
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(|number| {
                    if number.abs() < SMALLEST_NUMBER {
                        0.0
                    } else {
                        number
                    }
                }),
            Json::Text(text) => {
                let hint = mistakes::meant_number(text);
                self.refuse(
                    "expected a number, found a text",
                    hint.unwrap_or_else(|| "write a number".to_owned()),
                )
            }
            _ => self.expected("a number"),
        }
    }

    /// Whether the number is within a range, compared with all its written digits.
    #[must_use]
    pub fn is_within(&self, range: &RangeInclusive<f64>) -> bool {
        let exact = |text: &str| BigDecimal::from_str(text).ok();
        let end = |end: &f64| exact(&end.to_string());
        let exact_range = end(range.start())..=end(range.end());
        matches!(self.json, Json::Number(written) if exact_range.contains(&exact(written)))
    }

    /// A finite number within a range.
    #[must_use]
    pub fn number_within(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = self.number()?;
        if self.is_within(&range) {
            // -0 and 0 are one statement.
            return Some(number + 0.0);
        }
        let allowed = format!(
            "a number from {} to {}",
            readable(*range.start()),
            readable(*range.end())
        );
        self.refuse(
            format!("{} is not {allowed}", readable(number)),
            format!("write {allowed}"),
        )
    }

    /// A whole number within a range. `6144.0` is whole.
    #[must_use]
    pub fn whole_number(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let number = self.number()?;
        if number.fract() != 0.0
            || number < f64::from(*range.start())
            || number > f64::from(*range.end())
        {
            let Json::Number(written) = self.json else {
                return None;
            };
            let allowed = format!("a whole number from {} to {}", range.start(), range.end());
            return self.refuse(
                format!("`{written}` is not {allowed}"),
                format!("write {allowed}"),
            );
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked against the range above"
        )]
        Some(number as u32)
    }

    /// Reads `true` or `false`.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match self.json {
            Json::Bool(value) => Some(*value),
            _ => self.expected("true or false"),
        }
    }

    /// One of a few names.
    #[must_use]
    pub fn one_of<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let Json::Text(text) = self.json else {
            return self.expected("a text");
        };
        let found = choices
            .iter()
            .find(|(name, _)| *name == &**text)
            .map(|(_, choice)| *choice);
        if found.is_none() {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            let hint = mistakes::meant_unit(text, &names);
            self.fault(
                format!("`{}` is not known here", shortened(text)),
                hint.unwrap_or_else(|| one_of_hint(text, &names)),
            );
        }
        found
    }

    /// A copy of the value, for fields that unroof keeps without reading.
    #[must_use]
    pub fn verbatim_object(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        match serde_json::Value::from(self.json) {
            serde_json::Value::Object(map) => Some(map),
            _ => self.expected("an object"),
        }
    }
}

/// The error of a field whose fault is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded;

/// The fields of an object; a field that the reader does not request is a fault.
pub struct Fields<'a> {
    entries: &'a Object,
    /// The object itself, for faults of the whole object.
    pub cursor: Cursor<'a>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// The field of this name, if it is present.
    #[must_use]
    pub fn get(&self, name: &'static str) -> Option<Cursor<'a>> {
        self.asked.borrow_mut().push(name);
        let json = self.entries.get(name)?;
        Some(self.cursor.child(Step::Key(name), json))
    }

    /// The field of this name as `read` reads it; none if it is left out.
    ///
    /// # Errors
    /// [`Recorded`] if it is present and invalid.
    pub fn optional<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Cursor<'a>) -> Option<T>,
    ) -> Result<Option<T>, Recorded> {
        self.get(name)
            .map(|field| read(&field).ok_or(Recorded))
            .transpose()
    }

    /// Number of fields of the object, known or not.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The field of this name, if it is present and not null.
    #[must_use]
    pub fn get_or_null(&self, name: &'static str) -> Option<Cursor<'a>> {
        self.get(name).filter(|field| *field.json != Json::Null)
    }

    /// The field of this name; a fault if it is missing.
    #[must_use]
    pub fn required(&self, name: &'static str, hint: &str) -> Option<Cursor<'a>> {
        let field = self.get(name);
        if field.is_none() {
            self.missing(name, hint);
        }
        field
    }

    /// Records that a field is missing.
    pub fn missing(&self, name: &str, hint: &str) {
        self.cursor
            .fault(format!("the field `{name}` is missing"), hint);
    }

    /// Records every unknown field as a fault, with the nearest known name.
    pub fn refuse_unknown(&self) {
        let asked = self.asked.borrow();
        for (name, json) in self.entries {
            if self.cursor.faults.is_full() {
                break;
            }
            if !asked.contains(&name) {
                let hint = mistakes::meant_field(name, &asked);
                self.cursor.child(Step::Key(name), json).fault(
                    format!("`{}` is not a known field", shortened(name)),
                    hint.unwrap_or_else(|| one_of_hint(name, &asked)),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
