//! Schemas of texts and numbers for the API document: the rules that `cursor` checks.
//!
//! ```
//! use unroof_base::input::schema::one_of_texts;
//!
//! let schema = one_of_texts(["low", "high"]).build();
//! assert_eq!(serde_json::to_value(schema).unwrap()["enum"], serde_json::json!(["low", "high"]));
//! ```

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::cursor::{LONGEST_NAME, LONGEST_TEXT};

/// A pattern without control and bidirectional characters, and with a visible character.
const NAME: &str = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*[^\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069][^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$";
/// A pattern without control characters but line feeds and tabs, and with a visible character.
const TEXT: &str =
    r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b-\x1f\x7f-\x9f]*$";

fn text(longest: usize, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(longest))
        .pattern(Some(pattern))
}

/// A text that is one of these.
#[must_use]
pub fn one_of_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> ObjectBuilder {
    let texts = texts.into_iter().map(|text| text.as_ref().to_owned());
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(texts))
}

/// Schema of a name.
pub struct Name;

impl PartialSchema for Name {
    fn schema() -> RefOr<Schema> {
        text(LONGEST_NAME, NAME)
            .description(Some(
                "a name: no control characters, no bidirectional controls, not blank",
            ))
            .into()
    }
}

impl ToSchema for Name {
    fn name() -> Cow<'static, str> {
        "Name".into()
    }
}

/// Describes a free text.
pub struct Text;

impl PartialSchema for Text {
    fn schema() -> RefOr<Schema> {
        text(LONGEST_TEXT, TEXT)
            .description(Some(
                "a text: no control characters but line feed and tab, not blank",
            ))
            .into()
    }
}

impl ToSchema for Text {
    fn name() -> Cow<'static, str> {
        "Text".into()
    }
}
