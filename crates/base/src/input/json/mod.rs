//! First step of reading a request: text to a JSON tree.
//!
//! Numbers keep the digits they were written with, and what would be ambiguous or dangerous further on is refused here
//! with its line and column: duplicate keys, nesting deeper than 32, NUL, numbers that no floating-point number is near.
//!
//! ```
//! use unroof_base::input::json::{Json, parse};
//!
//! let tree = parse(br#"{"input_cost_per_token": 2.50e-06}"#)?;
//! assert_eq!(tree.at("input_cost_per_token"), Some(&Json::Number("2.50e-06".into())));
//! let repeated = parse(b"{\"a\": 1,\n \"a\": 2}").unwrap_err();
//! assert_eq!(repeated.line, 2);
//! # Ok::<(), unroof_base::input::json::JsonError>(())
//! ```

mod parse;
mod repeated;

use std::ops::Index;
use std::str::FromStr;

use bigdecimal::BigDecimal;

pub use parse::{DEEPEST_NESTING, JsonError, Stopped, parse, parse_catalog, parse_while};
pub(super) use parse::{Reader, reader_of};

/// A JSON value; a number is the text it was written as. It takes 24 bytes, an entry of an object 40, each with what
/// its text takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// The value `null`.
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number with its written digits.
    Number(Box<str>),
    /// A text, without its quotation marks.
    Text(Box<str>),
    /// A list of values.
    Array(Box<[Json]>),
    /// An object; keys are unique and sorted.
    Object(Object),
}

/// The entries of an object: keys are unique and sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object(Box<[(Box<str>, Json)]>);

impl Object {
    /// Sorts the entries. Fails if two have the same key.
    fn sorted(mut entries: Vec<(Box<str>, Json)>) -> Result<Self, SameKey> {
        entries.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        if entries.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(SameKey);
        }
        Ok(Self(entries.into_boxed_slice()))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        let place = self.0.binary_search_by(|(name, _)| (**name).cmp(key));
        place.ok().map(|place| &self.0[place].1)
    }

    /// Whether the object has a key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> <&Self as IntoIterator>::IntoIter {
        self.into_iter()
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &Json> {
        self.iter().map(|(_, json)| json)
    }

    /// The entries from a key on.
    pub fn starting_at(&self, key: &str) -> impl Iterator<Item = (&str, &Json)> {
        let start = self.0.partition_point(|(name, _)| **name < *key);
        self.0[start..].iter().map(|(name, json)| (&**name, json))
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a str, &'a Json);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (Box<str>, Json)>,
        fn(&'a (Box<str>, Json)) -> (&'a str, &'a Json),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, json)| (&**name, json))
    }
}

impl Index<&str> for Object {
    type Output = Json;

    fn index(&self, key: &str) -> &Json {
        self.get(key).expect("the object has the key")
    }
}

/// Two entries of one object have the same key.
struct SameKey;

impl Json {
    /// The kind of the value, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The value at a key, of an object that has it.
    #[must_use]
    pub fn at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.get(key),
            _ => None,
        }
    }

    /// Whether the value is an object with a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.at(key).is_some()
    }

    /// The items of a list; none of another value.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The value, if it is a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether two values are the same, however their numbers are written: `1e-06` is `0.000001`.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                let exact = |written: &str| BigDecimal::from_str(written).ok();
                left == right || exact(left) == exact(right)
            }
            (Self::Array(left), Self::Array(right)) => {
                let mut pairs = left.iter().zip(right);
                left.len() == right.len() && pairs.all(|(left, right)| left.is_same_as(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                let mut pairs = left.into_iter().zip(right);
                left.len() == right.len()
                    && pairs.all(|((name, left), (other, right))| {
                        name == other && left.is_same_as(right)
                    })
            }
            _ => self == other,
        }
    }

    /// Whether the tree has at most this many values.
    #[must_use]
    pub fn has_at_most(&self, values: usize) -> bool {
        fn count(json: &Json, left: &mut usize) -> bool {
            let Some(fewer) = left.checked_sub(1) else {
                return false;
            };
            *left = fewer;
            match json {
                Json::Array(items) => items.iter().all(|item| count(item, left)),
                Json::Object(entries) => entries.values().all(|value| count(value, left)),
                _ => true,
            }
        }
        count(self, &mut { values })
    }
}

impl From<&Json> for serde_json::Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(written) => verbatim_number(written),
            Json::Text(text) => Self::String(text.to_string()),
            Json::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Json::Object(entries) => Self::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.to_owned(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// The number, or its digits as a text where a floating-point number would not keep them.
fn verbatim_number(written: &str) -> serde_json::Value {
    let exact = |text: &str| BigDecimal::from_str(text).ok();
    match serde_json::from_str::<serde_json::Number>(written) {
        Ok(number) if exact(&number.to_string()) == exact(written) => number.into(),
        _ => written.into(),
    }
}
