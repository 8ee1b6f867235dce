//! Names in a query: the values of a filter, separated by commas.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A filter value. NUL is rejected: no stored text contains it.
#[derive(Debug, Clone)]
pub struct FilterText(pub String);

impl<'de> Deserialize<'de> for FilterText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.contains('\0') {
            return Err(D::Error::custom("a value contains the NUL character"));
        }
        Ok(Self(text))
    }
}

impl PartialSchema for FilterText {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^[^\x00]*$"))
            .into()
    }
}

impl ToSchema for FilterText {}

/// Names that one parameter may have.
pub const MOST_NAMES: usize = 64;

/// The names of a parameter, and all of it as one name: a name may have a comma.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The names; none where the parameter is left out.
    #[must_use]
    pub fn list(names: Option<Self>) -> Vec<String> {
        names.unwrap_or_default().0
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let FilterText(text) = FilterText::deserialize(deserializer)?;
        if !text.contains(',') {
            return Ok(Self(vec![text]));
        }
        let mut names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.len() > MOST_NAMES {
            let detail =
                format!("a parameter has more than {MOST_NAMES} names; ask for fewer at a time");
            return Err(D::Error::custom(detail));
        }
        names.push(text);
        names.sort();
        names.dedup();
        Ok(Self(names))
    }
}

/// The schema of one or more of these values, separated by commas.
pub fn some_of<'a>(values: impl IntoIterator<Item = &'a str>) -> RefOr<Schema> {
    let values: Vec<&str> = values.into_iter().collect();
    let one = format!("({})", values.join("|").replace('.', "\\."));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^{one}(,{one})*$")))
        .into()
}

impl PartialSchema for Names {
    fn schema() -> RefOr<Schema> {
        FilterText::schema()
    }
}

impl ToSchema for Names {}
