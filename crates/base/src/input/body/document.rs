//! Documents, declared like request bodies. A document can be written again, so its fields are plain values. A wrong
//! field counts as absent once its fault is recorded: the rest is still checked.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_base::input::body::document::{document, maybe};
//!
//! document! {
//!     /// Limits of an offer. An unknown limit is left out.
//!     pub struct Limits {
//!         /// Longest context, in tokens.
//!         context: Option<u32> = maybe(1..=100_000_000),
//!     }
//! }
//! let limits = unroof_base::input::read(br#"{"context":200000}"#, Limits::read).unwrap();
//! assert_eq!(serde_json::to_string(&limits).unwrap(), r#"{"context":200000}"#);
//! ```

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods of a cursor are of one lifetime only"
)]

use utoipa::ToSchema;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};

use super::{Field, Form, Kind, Rule, Schemas, Source, add_schema, value};
use crate::input::cursor::Cursor;
use crate::input::schema::{Name, Text};
use crate::units::Decimal;

/// The field is the value or its default; it is always written.
pub struct AsPart;
/// The field is the value or an empty one; it is written unless it is empty.
pub struct AsFilled;

impl Form for AsPart {}
impl Form for AsFilled {}

impl<K: Kind> Rule for Field<K, AsPart> {
    type Field = K::Value;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<K::Value> {
        let stated = object.get(name);
        let read = stated.and_then(|cursor| self.kind.read(&cursor));
        read.or_else(|| self.default.clone())
    }
}

impl<K: Kind<Value: Default + PartialEq>> Rule for Field<K, AsFilled> {
    type Field = K::Value;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<K::Value> {
        let stated = object.get(name);
        if let (None, Some(hint)) = (&stated, self.hint) {
            object.fields?.missing(name, hint);
        }
        let read = stated.and_then(|cursor| self.kind.read(&cursor));
        Some(read.unwrap_or_default())
    }

    fn is_left_out(field: &K::Value) -> bool {
        *field == K::Value::default()
    }
}

/// The value or its default; both are written.
pub fn part<K: Kind>(field: Field<K>) -> Field<K, AsPart> {
    field.into_form()
}

/// The value or null; both are written.
pub fn or_null<K: Kind>(kind: K) -> Field<OrNone<K>, AsPart> {
    let is_null = true;
    part(value(OrNone { kind, is_null }).or_placeholder(None))
}

/// The value, or none if it is absent.
pub fn maybe<K: Kind>(kind: K) -> Field<OrNone<K>, AsFilled> {
    let is_null = false;
    value(OrNone { kind, is_null }).into_form()
}

/// A list, map or object that is not written if it is empty; with a hint, it is required.
pub fn filled<K: Kind>(kind: K) -> Field<K, AsFilled> {
    value(kind).into_form()
}

/// A value, or none.
pub struct OrNone<K> {
    kind: K,
    /// Whether none is written as null.
    is_null: bool,
}

impl<K: Kind> Kind for OrNone<K> {
    type Value = Option<K::Value>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Self::Value> {
        if self.is_null && cursor.is_null() {
            return Some(None);
        }
        self.kind.read(cursor).map(Some)
    }

    fn schema(&self) -> RefOr<Schema> {
        let mut schema = self.kind.schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema
            && let SchemaType::Type(of) = &object.schema_type
            && self.is_null
        {
            object.schema_type = SchemaType::Array(vec![of.clone(), Type::Null]);
        }
        schema
    }

    fn schemas(&self, schemas: &mut Schemas) {
        self.kind.schemas(schemas);
    }
}

/// A value with the function that reads it and its schema.
pub struct ReadAs<T> {
    read: fn(&Cursor<'_>) -> Option<T>,
    schema: fn() -> RefOr<Schema>,
    schemas: fn(&mut Schemas),
}

/// A value with the schema of a named type.
pub fn named<S: ToSchema, T>(read: fn(&Cursor<'_>) -> Option<T>) -> ReadAs<T> {
    ReadAs {
        read,
        schema: || Ref::from_schema_name(S::name()).into(),
        schemas: add_schema::<S>,
    }
}

/// A value of a named type.
pub fn by<T: ToSchema>(read: fn(&Cursor<'_>) -> Option<T>) -> ReadAs<T> {
    named::<T, T>(read)
}

/// A value with an inline schema.
pub fn inline<T>(read: fn(&Cursor<'_>) -> Option<T>, schema: fn() -> RefOr<Schema>) -> ReadAs<T> {
    ReadAs {
        read,
        schema,
        schemas: |_| {},
    }
}

/// A name, as [`Cursor::name`] reads it.
#[must_use]
pub fn name() -> ReadAs<String> {
    named::<Name, _>(|cursor| cursor.name())
}

/// A text, as [`Cursor::text`] reads it.
#[must_use]
pub fn text() -> ReadAs<String> {
    named::<Text, _>(|cursor| cursor.text())
}

/// Reads an exact decimal.
#[must_use]
pub fn decimal() -> ReadAs<Decimal> {
    named::<Decimal, _>(|cursor| cursor.decimal())
}

impl<T: Clone> Kind for ReadAs<T> {
    type Value = T;

    fn read(&self, cursor: &Cursor<'_>) -> Option<T> {
        (self.read)(cursor)
    }

    fn schema(&self) -> RefOr<Schema> {
        (self.schema)()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        (self.schemas)(schemas);
    }
}

/// An enum of names, declared by `choices!`.
pub trait Choices: Copy + ToSchema + 'static {
    /// Every variant by its name.
    const ALL: &'static [(&'static str, Self)];
}

/// A name of an enum.
#[must_use]
pub fn choice<T: Choices>() -> ReadAs<T> {
    named::<T, _>(|cursor| cursor.one_of(T::ALL))
}

/// Declares enums of names: `pub enum Name { Variant = "name", … }`.
#[macro_export]
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:tt)*)])?
        pub enum $Name:ident {
            $( $(#[doc = $variant_doc:literal])+ $(#[$default:ident])? $variant:ident = $name:tt, )+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
        $(#[derive($($derive)*)])?
        pub enum $Name {
            $( $(#[doc = $variant_doc])+ $(#[$default])? #[serde(rename = $name)] $variant, )+
        }

        impl $crate::input::body::document::Choices for $Name {
            const ALL: &'static [(&'static str, Self)] = &[$( ($name, Self::$variant) ),+];
        }
    )+};
}

/// Declares documents: bodies, as `body!` declares them, that are also written; rules decide which fields are left out.
#[macro_export]
macro_rules! document {
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:tt)*)])?
        $(#[check($check:ident($($checked:ident),+))])*
        pub struct $Name:ident {
            $( $(#[doc = $field_doc:literal])+ $field:ident: $Type:ty = $rule:expr, )+
        }
    )+) => {$(
        $crate::input::body::body! {
            $(#[doc = $doc])+
            $(#[derive($($derive)*)])?
            $(#[check($check($($checked),+))])*
            pub struct $Name {
                $( $(#[doc = $field_doc])+ $field: $Type = $rule, )+
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(if $crate::input::body::document::is_written(|| $rule, &self.$field) {
                    map.serialize_entry(stringify!($field), &self.$field)?;
                })+
                map.end()
            }
        }
    )+};
}

/// Whether the rule of a field writes it. The rule itself is not built.
pub fn is_written<R: Rule>(_: impl FnOnce() -> R, field: &R::Field) -> bool {
    !R::is_left_out(field)
}

pub use {choices, document};
