//! Request bodies, each declared once: `body!` makes of one declaration the type, its reader (every fault
//! with its JSON pointer and a hint), its JSON Schema and its command-line flags.
//!
//! A field is `name: Type = rule`. A rule begins with what may be written ([`count`], [`number`], [`value`] of another
//! [`Kind`], [`section`]) and continues with its unit, its default, its flag.
//!
//! ```
//! use unroof_base::input::body::{Body, body, count, flags, plain};
//! use unroof_base::input::read;
//!
//! body! {
//!     /// Work of a machine.
//!     pub struct Load {
//!         /// Sequences that are answered at once.
//!         batch: u32 = plain(count(1..=4096).or(8).flag("batch")),
//!     }
//! }
//! assert_eq!(read(b"{}", Load::read).unwrap().batch, 8);
//! assert_eq!(flags::<Load>()[0].pointer, "/batch");
//! ```

pub mod document;
mod flag;
mod kind;
mod section;

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema};

use super::cursor::{Cursor, Fields, Recorded};

pub use self::document::by;
pub use self::flag::{Flag, TIME_PLACEHOLDER};
pub use self::kind::{
    Day, Kind, LIST_PLACEHOLDER, List, MOST_ENTRIES, MapOf, Number, Object, OneOf,
    TRUTH_PLACEHOLDER, Truth, object,
};
use self::section::read_section;
pub use self::section::{Section, bare_or, section};

/// Schemas by name, as utoipa collects them.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// A field as the request states it.
#[derive(Debug, Clone)]
pub struct Stated<T> {
    /// The value; none where it is left out, an error where it is wrong.
    pub value: Result<Option<T>, Recorded>,
    /// The name, with dots between levels.
    pub name: String,
    /// JSON pointer to the value, or to the object that leaves it out.
    pub pointer: String,
    /// The unit; empty for a name or a ratio.
    pub unit: &'static str,
    /// The value where none is stated, if it is always the same.
    pub default: Option<T>,
}

impl<T> Stated<T> {
    /// Whether the request has the field.
    #[must_use]
    pub fn is_stated(&self) -> bool {
        !matches!(self.value, Ok(None))
    }

    /// The value as a function fills it in; `None` if it is left out.
    ///
    /// # Errors
    /// The value is wrong, or the function has recorded a fault of it.
    pub fn filled<Filled>(
        &self,
        fill: impl FnOnce(&T) -> Option<Filled>,
    ) -> Result<Option<Filled>, Recorded> {
        let stated = self.value.as_ref().map_err(|Recorded| Recorded)?;
        let filled = stated.as_ref().map(|value| fill(value).ok_or(Recorded));
        filled.transpose()
    }
}

impl<T: Clone> Stated<Vec<T>> {
    /// The list that is stated, else the default of the field, else an empty one; none if it is wrong.
    #[must_use]
    pub fn list(&self) -> Option<Vec<T>> {
        let stated = self.value.clone().ok()?;
        Some(stated.or_else(|| self.default.clone()).unwrap_or_default())
    }
}

/// The object of which a body is being read.
#[derive(Clone, Copy)]
pub struct Source<'f, 'a> {
    /// Fields of the object; none of them is stated where the object is left out.
    pub fields: Option<&'f Fields<'a>>,
    /// The field and its value, where the object is written as that value alone.
    pub bare: Option<(&'static str, &'f Cursor<'a>)>,
    /// The name of the object with a dot after it, where it is left out.
    pub prefix: &'f str,
}

impl<'a> Source<'_, 'a> {
    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &'static str) -> Option<Cursor<'a>> {
        let bare = self.bare.filter(|(field, _)| *field == name);
        bare.map(|(_, value)| value.clone())
            .or_else(|| self.fields?.get(name))
    }

    /// Records a fault of the object.
    pub fn fault(&self, detail: impl Into<String>, hint: impl Into<String>) {
        if let Some(fields) = self.fields {
            fields.cursor.fault(detail, hint);
        }
    }

    /// Records a fault of a present field.
    pub fn fault_of(&self, name: &'static str, detail: &str, hint: impl Into<String>) {
        if let Some(cursor) = self.get(name) {
            cursor.fault(detail, hint);
        }
    }

    /// The name of a field, with dots between levels.
    fn name_of(&self, field: &str) -> String {
        let Some(fields) = self.fields else {
            return format!("{}{field}", self.prefix);
        };
        let path = fields.cursor.pointer().replace('/', ".");
        let path = path.strip_prefix('.');
        path.map_or_else(|| field.to_owned(), |path| format!("{path}.{field}"))
    }

    fn pointer(&self) -> String {
        self.fields
            .map_or_else(String::new, |fields| fields.cursor.pointer())
    }
}

/// Description of a field.
pub trait Describe {
    /// The schema of the value, with the field's description.
    fn property(&self, doc: String) -> RefOr<Schema>;

    /// Adds the schemas that it refers to.
    fn schemas(&self, schemas: &mut Schemas);

    /// Whether the field is required.
    fn is_required(&self) -> bool {
        false
    }

    /// Adds the flags of the field, or of the fields within it.
    fn flags(&self, pointer: String, doc: String, flags: &mut Vec<Flag>);
}

/// Reading and description of a field.
pub trait Rule: Describe {
    /// The field of the body.
    type Field;

    /// Reads the field; none if a required value is missing.
    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<Self::Field>;

    /// Whether a field with this value is not written.
    fn is_left_out(_field: &Self::Field) -> bool {
        false
    }
}

/// A field with one value: as the request states it ([`Stated`]), or as [`plain`] or [`optional`] say.
pub struct Field<K: Kind, F = AsStated> {
    kind: K,
    unit: &'static str,
    default: Option<K::Value>,
    write_default: Option<fn(&K::Value) -> Value>,
    example: Option<Value>,
    flag: Option<&'static str>,
    hint: Option<&'static str>,
    form: PhantomData<F>,
}

/// Type that a field of a body holds.
pub trait Form {
    /// Whether the field is required.
    const NEEDS_VALUE: bool = false;
}

/// The field is a [`Stated`] value.
pub struct AsStated;
/// The field is the value itself.
pub struct AsPlain;
/// The field is an [`Option`] of the value.
pub struct AsOption;

impl Form for AsStated {}
impl Form for AsOption {}
impl Form for AsPlain {
    const NEEDS_VALUE: bool = true;
}

/// A field with a value of this kind.
pub fn value<K: Kind>(kind: K) -> Field<K> {
    Field {
        kind,
        unit: "",
        default: None,
        write_default: None,
        example: None,
        flag: None,
        hint: None,
        form: PhantomData,
    }
}

/// Field that holds a whole number.
#[must_use]
pub fn count(range: RangeInclusive<u32>) -> Field<RangeInclusive<u32>> {
    value(range)
}

/// Field that holds a number.
#[must_use]
pub fn number(range: RangeInclusive<f64>) -> Field<RangeInclusive<f64>> {
    value(range)
}

/// The value itself, which is required or has a default.
pub fn plain<K: Kind>(field: Field<K>) -> Field<K, AsPlain> {
    field.into_form()
}

/// The value, or none where it is left out.
pub fn optional<K: Kind>(field: Field<K>) -> Field<K, AsOption> {
    field.into_form()
}

impl<K: Kind, F> Field<K, F> {
    /// States the unit of the value.
    #[must_use]
    pub fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The value where none is stated.
    #[must_use]
    pub fn or(self, default: K::Value) -> Self
    where
        K::Value: Serialize,
    {
        self.or_written(default, |default| {
            serde_json::to_value(default).unwrap_or_default()
        })
    }

    /// The default of the type, where none is stated.
    #[must_use]
    pub fn or_default(self) -> Self
    where
        K::Value: Default + Serialize,
    {
        self.or(K::Value::default())
    }

    /// The value where none is stated, which the schema writes in a way of its own.
    #[must_use]
    pub fn or_written(self, default: K::Value, write: fn(&K::Value) -> Value) -> Self {
        Self {
            default: Some(default),
            write_default: Some(write),
            ..self
        }
    }

    /// An example value for the schema.
    #[must_use]
    pub fn example(self, example: impl Into<Value>) -> Self {
        let example = Some(example.into());
        Self { example, ..self }
    }

    /// The flag of the command that states the value, without its dashes.
    #[must_use]
    pub fn flag(self, flag: &'static str) -> Self {
        let flag = Some(flag);
        Self { flag, ..self }
    }

    /// The value where none is stated, until another value of the body takes its place.
    #[must_use]
    pub fn or_placeholder(self, placeholder: K::Value) -> Self {
        let default = Some(placeholder);
        Self { default, ..self }
    }

    /// The hint for a missing value.
    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        let hint = Some(hint);
        Self { hint, ..self }
    }

    fn into_form<G>(self) -> Field<K, G> {
        Field {
            kind: self.kind,
            unit: self.unit,
            default: self.default,
            write_default: self.write_default,
            example: self.example,
            flag: self.flag,
            hint: self.hint,
            form: PhantomData,
        }
    }
}

impl<K: Kind, F: Form> Describe for Field<K, F> {
    fn property(&self, doc: String) -> RefOr<Schema> {
        let mut schema = self.kind.schema();
        let default = self.write_default.zip(self.default.as_ref());
        let default = default.map(|(write, default)| whole(write(default)));
        match &mut schema {
            RefOr::Ref(reference) => {
                reference.description = doc;
                reference.default = default;
            }
            RefOr::T(Schema::Object(object)) => {
                object.description = Some(doc);
                object.default = default;
                object.example.clone_from(&self.example);
            }
            RefOr::T(Schema::Array(array)) => {
                array.description.get_or_insert(doc);
                array.default = default;
                array.examples.extend(self.example.clone());
            }
            RefOr::T(Schema::OneOf(either)) => either.description = Some(doc),
            RefOr::T(_) => {}
        }
        schema
    }

    fn schemas(&self, schemas: &mut Schemas) {
        self.kind.schemas(schemas);
    }

    fn is_required(&self) -> bool {
        (F::NEEDS_VALUE || self.hint.is_some()) && self.default.is_none()
    }

    fn flags(&self, pointer: String, help: String, flags: &mut Vec<Flag>) {
        self.kind.flags(&pointer, flags);
        flags.extend(self.flag.map(|name| Flag {
            name,
            pointer,
            help,
            placeholder: match self.unit {
                "s" => TIME_PLACEHOLDER,
                _ => self.kind.placeholder(),
            },
        }));
    }
}

impl<K: Kind> Rule for Field<K> {
    type Field = Stated<K::Value>;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<Self::Field> {
        let stated = object.get(name);
        let read = |cursor: &Cursor<'_>| self.kind.read(cursor).ok_or(Recorded);
        Some(Stated {
            value: stated.as_ref().map(read).transpose(),
            name: object.name_of(name),
            pointer: stated.map_or_else(|| object.pointer(), |cursor| cursor.pointer()),
            unit: self.unit,
            default: self.default.clone(),
        })
    }
}

impl<K: Kind> Rule for Field<K, AsPlain> {
    type Field = K::Value;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<K::Value> {
        if let Some(cursor) = object.get(name) {
            return self.kind.read(&cursor);
        }
        if self.default.is_none() {
            let words = || format!("state `{name}`: {}", self.kind.in_words());
            let hint = self.hint.map_or_else(words, str::to_owned);
            object.fields?.missing(name, &hint);
        }
        self.default.clone()
    }
}

impl<K: Kind> Rule for Field<K, AsOption> {
    type Field = Option<K::Value>;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<Self::Field> {
        let Some(cursor) = object.get(name) else {
            return Some(None);
        };
        self.kind.read(&cursor).map(Some)
    }
}

/// Visitor of the fields of a body: name, documentation, rule.
pub type Visit<'v> = dyn FnMut(&'static str, &[&str], &dyn Describe) + 'v;

/// An object of a request, declared by `body!`.
pub trait Body: Sized {
    /// The name of its schema.
    const NAME: &'static str;
    /// Documentation of the object, line by line.
    const DOC: &'static [&'static str];
    /// Least number of present fields.
    const LEAST_FIELDS: usize = 0;

    /// Reads every field, and records all faults.
    fn read_fields(object: Source<'_, '_>) -> Option<Self>;

    /// Shows every field to a visitor.
    fn each_field(visit: &mut Visit<'_>);

    /// Reads an object, and refuses fields that it does not have.
    #[must_use]
    fn read(cursor: &Cursor<'_>) -> Option<Self> {
        let fields = cursor.fields()?;
        if fields.len() < Self::LEAST_FIELDS {
            let mut names = Vec::new();
            Self::each_field(&mut |name, _, _| names.push(format!("`{name}`")));
            let hint = format!(
                "state at least {} of {}",
                Self::LEAST_FIELDS,
                names.join(", ")
            );
            cursor.fault("too few fields are stated", hint);
        }
        read_section(Some(&fields), None, "")
    }
}

/// The flags of a request.
#[must_use]
pub fn flags<T: Body + Clone>() -> Vec<Flag> {
    let mut flags = Vec::new();
    object::<T>().flags("", &mut flags);
    flags
}

/// The lines of a documentation as one text.
fn joined(doc: &[&str]) -> String {
    let lines: Vec<&str> = doc.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Numbers without a fraction are written without one.
fn whole(written: Value) -> Value {
    match written.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "far below 2⁵³")]
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => (number as i64).into(),
        _ => written,
    }
}

/// The rule of a field of this type.
pub fn rule_of<T, R: Rule<Field = T>>(rule: R) -> R {
    rule
}

/// The schema of a body.
#[must_use]
pub fn schema_of<T: Body>() -> RefOr<Schema> {
    let mut schema = ObjectBuilder::new()
        .description(Some(joined(T::DOC)))
        .min_properties(Some(T::LEAST_FIELDS).filter(|least| *least > 0))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .build();
    T::each_field(&mut |name, doc, rule| {
        schema
            .properties
            .insert(name.to_owned(), rule.property(joined(doc)));
        if rule.is_required() {
            schema.required.push(name.to_owned());
        }
    });
    Schema::from(schema).into()
}

/// Adds the schemas that the schema of a body refers to.
pub fn schemas_of<T: Body>(schemas: &mut Schemas) {
    let mut nested = Vec::new();
    T::each_field(&mut |_, _, rule| {
        let mut of_field = Vec::new();
        rule.schemas(&mut of_field);
        let mut of_field = of_field.into_iter();
        schemas.extend(of_field.next());
        nested.extend(of_field);
    });
    schemas.extend(nested);
}

/// Adds the schema of a named type and those that it refers to.
pub fn add_schema<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

/// Declares request bodies: `pub struct Name { field: Type = rule, … }`. The schema, the reader and the command's help
/// are derived from documentation and rules. Before `pub struct`, `#[at_least(1)]` demands so many fields, and
/// `#[check(function(field, …))]` shows a function the fields that belong together, each if it is right.
#[macro_export]
macro_rules! body {
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:tt)*)])?
        $(#[at_least($least:literal)])?
        $(#[check($check:ident($($checked:ident),+))])*
        $visibility:vis struct $Name:ident {
            $(
                $(#[doc = $field_doc:literal])+
                $(#[serde($($serde:tt)*)])?
                $field:ident: $Type:ty = $rule:expr,
            )+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone)]
        $(#[derive($($derive)*)])?
        $visibility struct $Name {
            $(
                $(#[doc = $field_doc])+
                $(#[serde($($serde)*)])?
                $visibility $field: $Type,
            )+
        }

        impl $crate::input::body::Body for $Name {
            const NAME: &'static str = stringify!($Name);
            const DOC: &'static [&'static str] = &[$($doc),+];
            $(const LEAST_FIELDS: usize = $least;)?

            fn read_fields(object: $crate::input::body::Source<'_, '_>) -> Option<Self> {
                use $crate::input::body::Rule;
                let ($($field,)+) = ($(
                    $crate::input::body::rule_of::<$Type, _>($rule).read(object, stringify!($field)),
                )+);
                $($check(object, $($checked.as_ref()),+);)*
                Some(Self { $($field: $field?),+ })
            }

            fn each_field(visit: &mut $crate::input::body::Visit<'_>) {
                $(
                    let rule = $crate::input::body::rule_of::<$Type, _>($rule);
                    visit(stringify!($field), &[$($field_doc),+], &rule);
                )+
            }
        }

        impl utoipa::PartialSchema for $Name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::input::body::schema_of::<Self>()
            }
        }

        impl utoipa::ToSchema for $Name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn schemas(schemas: &mut $crate::input::body::Schemas) {
                $crate::input::body::schemas_of::<Self>(schemas);
            }
        }
    )+};
}

pub use body;

#[cfg(test)]
mod tests;
