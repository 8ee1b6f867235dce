//! Kinds of values of a body: a number within a range, one of a few names, a list, an object.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use jiff::civil::Date;
use utoipa::PartialSchema;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr};

use super::{Body, Flag, Schemas, joined, schema_of, schemas_of};
use crate::input::cursor::Cursor;
use crate::input::schema::{Name, one_of_texts};
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

/// A number with a type in JSON Schema.
pub trait Number: Copy + Into<f64> {
    /// Name of the type in messages.
    const NAME: &str;
    /// Type and format in JSON Schema.
    const FORMAT: (Type, KnownFormat);

    /// Reads a number within a range.
    fn read(cursor: &Cursor<'_>, range: RangeInclusive<Self>) -> Option<Self>;
}

impl Number for f64 {
    const NAME: &str = "a number";
    const FORMAT: (Type, KnownFormat) = (Type::Number, KnownFormat::Double);

    fn read(cursor: &Cursor<'_>, range: RangeInclusive<Self>) -> Option<Self> {
        cursor.number_within(range)
    }
}

impl Number for u32 {
    const NAME: &str = "a whole number";
    const FORMAT: (Type, KnownFormat) = (Type::Integer, KnownFormat::Int32);

    fn read(cursor: &Cursor<'_>, range: RangeInclusive<Self>) -> Option<Self> {
        cursor.whole_number(range)
    }
}

impl<N: Number> Kind for RangeInclusive<N> {
    type Value = N;

    fn read(&self, cursor: &Cursor<'_>) -> Option<N> {
        N::read(cursor, self.clone())
    }

    fn schema(&self) -> RefOr<Schema> {
        let (of, format) = N::FORMAT;
        ObjectBuilder::new()
            .schema_type(of)
            .format(Some(SchemaFormat::KnownFormat(format)))
            .minimum(Some((*self.start()).into()))
            .maximum(Some((*self.end()).into()))
            .into()
    }

    fn placeholder(&self) -> &'static str {
        "NUMBER"
    }

    fn in_words(&self) -> String {
        let [least, most] = [self.start(), self.end()].map(|end| readable((*end).into()));
        format!("{} from {least} to {most}", N::NAME)
    }
}

/// Kind of a field that is `true` or `false`.
pub struct Truth;

/// The placeholder of a flag that is true where it has no value.
pub const TRUTH_PLACEHOLDER: &str = "true|false";

impl Kind for Truth {
    type Value = bool;

    fn placeholder(&self) -> &'static str {
        TRUTH_PLACEHOLDER
    }

    fn read(&self, cursor: &Cursor<'_>) -> Option<bool> {
        cursor.truth()
    }

    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Boolean).into()
    }
}

/// A day, as in ISO 8601.
pub struct Day;

impl Kind for Day {
    type Value = Date;

    fn placeholder(&self) -> &'static str {
        "YYYY-MM-DD"
    }

    fn read(&self, cursor: &Cursor<'_>) -> Option<Date> {
        cursor.day()
    }

    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .into()
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

/// The placeholder of a flag that states a list, with commas between its values.
pub const LIST_PLACEHOLDER: &str = "LIST";

/// Most entries of a list or map of a document: far more than any provider publishes, and few enough to compare in pairs.
pub const MOST_ENTRIES: usize = 64;

/// Function that says whether values rise.
type Rises<T> = fn(&[T]) -> bool;
/// Detail and hint for a list of a wrong length.
type Refusal = fn(usize) -> (String, String);

/// Whether two values are the same, and detail and hint for the second of them.
type Distinct<T> = (fn(&T, &T) -> bool, [&'static str; 2]);

/// A list of values of one kind.
pub struct List<K: Kind> {
    item: K,
    length: RangeInclusive<usize>,
    rises: Option<Rises<K::Value>>,
    distinct: Option<Distinct<K::Value>>,
    /// Name of the values in messages.
    noun: &'static str,
    refusal: Option<Refusal>,
}

impl<K: Kind> List<K> {
    /// A list of values of one kind, with limits on its length.
    pub const fn of(item: K, length: RangeInclusive<usize>) -> Self {
        Self {
            item,
            length,
            rises: None,
            distinct: None,
            noun: "values",
            refusal: None,
        }
    }

    /// List of up to [`MOST_ENTRIES`] values of a kind.
    pub const fn entries(item: K) -> Self {
        Self::of(item, 0..=MOST_ENTRIES).refused_as(too_many_entries)
    }

    /// The name of the values in messages.
    #[must_use]
    pub fn called(self, noun: &'static str) -> Self {
        Self { noun, ..self }
    }

    /// Detail and hint for a list of a wrong length.
    #[must_use]
    pub const fn refused_as(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }

    /// Requires each value to be above the one before.
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

    /// No two values are the same; detail and hint for the second one.
    #[must_use]
    pub fn distinct(
        self,
        is_same: fn(&K::Value, &K::Value) -> bool,
        words: [&'static str; 2],
    ) -> Self {
        let distinct = Some((is_same, words));
        Self { distinct, ..self }
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
        format!("list {least} to {most} {}{each}{rising}", self.noun)
    }

    fn refuse_length(&self, cursor: &Cursor<'_>, count: usize) {
        let (detail, hint) = match self.refusal {
            Some(refusal) => refusal(count),
            None => (format!("a list of {count} {}", self.noun), self.allowed()),
        };
        cursor.fault(detail, hint);
    }

    /// The values that are right.
    fn values(&self, items: &[Cursor<'_>]) -> Vec<K::Value> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let faults = item.faults().count();
            let Some(value) = self.item.read(item) else {
                continue;
            };
            // A value with a fault may look like another one because of it.
            let is_right = item.faults().count() == faults;
            if let Some((is_same, [detail, hint])) = self.distinct
                && is_right
                && values.iter().any(|known| is_same(known, &value))
            {
                item.fault(detail, hint);
            }
            values.push(value);
        }
        values
    }
}

fn too_many_entries(count: usize) -> (String, String) {
    (
        format!("{count} entries"),
        format!("list up to {MOST_ENTRIES} entries"),
    )
}

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Self::Value> {
        let items = cursor.items()?;
        if !self.length.contains(&items.len()) {
            self.refuse_length(cursor, items.len());
            return None;
        }
        let values = self.values(&items);
        if values.len() < items.len() {
            return None;
        }
        if self.rises.is_some_and(|rises| !rises(&values)) {
            return cursor.refuse("the values do not rise", self.allowed());
        }
        Some(values)
    }

    fn schema(&self) -> RefOr<Schema> {
        let least = Some(*self.length.start()).filter(|least| *least > 0);
        let most = Some(*self.length.end()).filter(|most| *most < usize::MAX);
        ArrayBuilder::new()
            .items(self.item.schema())
            .min_items(least)
            .max_items(most)
            .unique_items(self.rises.is_some())
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        self.item.schemas(schemas);
    }

    fn placeholder(&self) -> &'static str {
        LIST_PLACEHOLDER
    }
}

/// Kind of an object with up to [`MOST_ENTRIES`] values of a kind, by name.
pub struct MapOf<K>(pub K);

impl<K: Kind> Kind for MapOf<K> {
    type Value = BTreeMap<String, K::Value>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Self::Value> {
        let entries = cursor.entries()?;
        if entries.len() > MOST_ENTRIES {
            let (detail, hint) = too_many_entries(entries.len());
            return cursor.refuse(detail, hint);
        }
        let read = entries
            .into_iter()
            .filter_map(|(name, value)| Some((value.key_as_name(name)?, self.0.read(&value)?)));
        Some(read.collect())
    }

    fn schema(&self) -> RefOr<Schema> {
        let RefOr::T(name) = Name::schema() else {
            return self.0.schema();
        };
        ObjectBuilder::new()
            .property_names(Some(name))
            .additional_properties(Some(self.0.schema()))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        self.0.schemas(schemas);
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
