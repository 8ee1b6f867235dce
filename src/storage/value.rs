//! Values of statements, for both databases.

use std::borrow::Cow;

use uuid::Uuid;

use super::DbTime;

/// A value of a given row.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Null,
    Id(Uuid),
    Number(i64),
    Text(Cow<'a, str>),
    Real(f64),
    Time(DbTime),
    Flag(bool),
    Bytes(Vec<u8>),
}

macro_rules! values {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
values! { Uuid => Id, i64 => Number, f64 => Real, DbTime => Time, bool => Flag, String => Text, Vec<u8> => Bytes }

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value.as_str().into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
