//! Kinds of values of a body: a number within a range, one of a few names, a list, an object.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use utoipa::ToSchema;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr};

use super::{Body, Flag, Schemas, add_schema, joined, schema_of, schemas_of};
use crate::input::cursor::Cursor;
use crate::input::schema::one_of_texts;
use crate::units::readable;

/// Kind of a value: its reading and its schema.
pub trait Kind {
    /// The value as read.
    type Value: Clone;

    /// Reads the value, and records its faults.
    fn read(&self, cursor: &Cursor<'_>) -> Option<Self::Value>;

    /// The schema of the value.
    fn schema(&self) -> RefOr<Schema>;

    /// Adds the schemas that [`Self::schema`] refers to.
    fn schemas(&self, _schemas: &mut Schemas) {}

    /// The placeholder of the value in the help of a command.
    fn placeholder(&self) -> &'static str {
        "NAME"
    }

    /// Adds the flags of the fields within the value.
    fn flags(&self, _pointer: &str, _flags: &mut Vec<Flag>) {}

    /// Allowed values in words; empty if the name implies them.
    fn in_words(&self) -> String {
        String::new()
    }
}

impl Kind for RangeInclusive<f64> {
    type Value = f64;

    fn read(&self, cursor: &Cursor<'_>) -> Option<f64> {
        cursor.number_within(self.clone())
    }

    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
            .minimum(Some(*self.start()))
            .maximum(Some(*self.end()))
            .into()
    }

    fn placeholder(&self) -> &'static str {
        "NUMBER"
    }

    fn in_words(&self) -> String {
        let (least, most) = (readable(*self.start()), readable(*self.end()));
        format!("a number from {least} to {most}")
    }
}

impl Kind for RangeInclusive<u32> {
    type Value = u32;

    fn read(&self, cursor: &Cursor<'_>) -> Option<u32> {
        cursor.whole_number(self.clone())
    }

    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
            .minimum(Some(*self.start()))
            .maximum(Some(*self.end()))
            .into()
    }

    fn placeholder(&self) -> &'static str {
        "NUMBER"
    }

    fn in_words(&self) -> String {
        format!("a whole number from {} to {}", self.start(), self.end())
    }
}

/// `true` or `false`.
pub struct Truth;

impl Kind for Truth {
    type Value = bool;

    fn read(&self, cursor: &Cursor<'_>) -> Option<bool> {
        cursor.truth()
    }

    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Boolean).into()
    }
}

/// One of a few names, each with its meaning.
pub struct OneOf<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy> Kind for OneOf<T> {
    type Value = T;

    fn read(&self, cursor: &Cursor<'_>) -> Option<T> {
        cursor.one_of(self.0)
    }

    fn schema(&self) -> RefOr<Schema> {
        one_of_texts(self.0.iter().map(|(name, _)| name)).into()
    }
}

/// A value with a schema of its own, which a function reads.
pub struct By<T>(pub fn(&Cursor<'_>) -> Option<T>);

impl<T: Clone + ToSchema> Kind for By<T> {
    type Value = T;

    fn read(&self, cursor: &Cursor<'_>) -> Option<T> {
        (self.0)(cursor)
    }

    fn schema(&self) -> RefOr<Schema> {
        Ref::from_schema_name(T::name()).into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        add_schema::<T>(schemas);
    }
}

/// Whether values rise.
type Rises<T> = fn(&[T]) -> bool;

/// A list of values of one kind.
pub struct List<K: Kind> {
    item: K,
    length: RangeInclusive<usize>,
    rises: Option<Rises<K::Value>>,
}

impl<K: Kind> List<K> {
    /// A list of values of one kind, with limits on its length.
    pub const fn of(item: K, length: RangeInclusive<usize>) -> Self {
        Self {
            item,
            length,
            rises: None,
        }
    }

    /// Each value is above the one before.
    #[must_use]
    pub fn rising(self) -> Self
    where
        K::Value: PartialOrd,
    {
        Self {
            rises: Some(|values| values.is_sorted_by(|left, right| left < right)),
            ..self
        }
    }

    fn allowed(&self) -> String {
        let (least, most) = (self.length.start(), self.length.end());
        let each = match self.item.in_words() {
            words if words.is_empty() => words,
            words => format!(", each {words}"),
        };
        let rising = if self.rises.is_some() {
            ", each above the one before"
        } else {
            ""
        };
        format!("list {least} to {most} values{each}{rising}")
    }
}

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Self::Value> {
        let items = cursor.items()?;
        if !self.length.contains(&items.len()) {
            cursor.fault(format!("a list of {} values", items.len()), self.allowed());
            return None;
        }
        let values = cursor.list_of(|item| self.item.read(item))?;
        if values.len() < items.len() {
            return None;
        }
        if self.rises.is_some_and(|rises| !rises(&values)) {
            cursor.fault("the values do not rise", self.allowed());
            return None;
        }
        Some(values)
    }

    fn schema(&self) -> RefOr<Schema> {
        let least = Some(*self.length.start()).filter(|least| *least > 0);
        ArrayBuilder::new()
            .items(self.item.schema())
            .min_items(least)
            .max_items(Some(*self.length.end()))
            .unique_items(self.rises.is_some())
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        self.item.schemas(schemas);
    }
}

/// An object with the fields of a body.
pub struct Object<T>(PhantomData<T>);

/// An object with the fields of a body.
#[must_use]
pub const fn object<T: Body>() -> Object<T> {
    Object(PhantomData)
}

impl<T: Body + Clone> Kind for Object<T> {
    type Value = T;

    fn read(&self, cursor: &Cursor<'_>) -> Option<T> {
        T::read(cursor)
    }

    fn schema(&self) -> RefOr<Schema> {
        Ref::from_schema_name(T::NAME).into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        schemas.push((T::NAME.to_owned(), schema_of::<T>()));
        schemas_of::<T>(schemas);
    }
    fn flags(&self, pointer: &str, flags: &mut Vec<Flag>) {
        T::each_field(&mut |name, doc, rule| {
            rule.flags(format!("{pointer}/{name}"), joined(doc), flags);
        });
    }
}
