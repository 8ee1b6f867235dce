//! Objects within a body: sections, which may be left out or written as a name alone.

use std::marker::PhantomData;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{OneOfBuilder, Schema};

use super::{Body, Describe, Flag, Kind, Rule, Schemas, Source, object, value};
use crate::input::cursor::{Cursor, Fields};
use crate::input::json::Json;

/// Names of the flags of a section, where the body has another section of the same type.
type FlagNames = &'static [(&'static str, &'static str)];

/// An object within the body that may be left out: then none of its fields is stated.
pub struct Section<T>(PhantomData<T>);

/// An object within the body that may be left out: then none of its fields is stated.
#[must_use]
pub const fn section<T: Body>() -> Section<T> {
    Section(PhantomData)
}

impl<T: Body + Clone> Describe for Section<T> {
    fn property(&self, doc: String) -> RefOr<Schema> {
        value(object::<T>()).property(doc)
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<T>().schemas(schemas);
    }

    fn flags(&self, pointer: String, _doc: String, flags: &mut Vec<Flag>) {
        object::<T>().flags(&pointer, flags);
    }
}

impl<T: Body + Clone> Rule for Section<T> {
    type Field = T;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<T> {
        let cursor = object.get(name);
        let fields = cursor.as_ref().and_then(Cursor::fields);
        read_section(fields.as_ref(), None, &format!("{}.", object.name_of(name)))
    }
}

/// A section that may be written as one of its fields alone.
pub struct BareOr<T, K> {
    section: PhantomData<T>,
    field: &'static str,
    kind: K,
    flags: Option<FlagNames>,
}

/// A section that may be written as one of its fields alone, which is a text of this kind.
pub const fn bare_or<T: Body, K: Kind>(field: &'static str, kind: K) -> BareOr<T, K> {
    BareOr {
        section: PhantomData,
        field,
        kind,
        flags: None,
    }
}

/// A section that may be written as its field `name` alone, which is of this kind.
pub const fn name_or<T: Body, K: Kind>(name: K) -> BareOr<T, K> {
    bare_or("name", name)
}

impl<T, K: Kind> BareOr<T, K> {
    /// The section with other names for its flags; a flag that is not among them is left out.
    #[must_use]
    pub fn with_flags(self, flags: FlagNames) -> Self {
        let flags = Some(flags);
        Self { flags, ..self }
    }
}

impl<T: Body + Clone, K: Kind> Describe for BareOr<T, K> {
    fn property(&self, doc: String) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(self.kind.schema())
            .item(object::<T>().schema())
            .description(Some(doc))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        section::<T>().schemas(schemas);
    }

    fn flags(&self, pointer: String, doc: String, flags: &mut Vec<Flag>) {
        let mut own = Vec::new();
        section::<T>().flags(pointer, doc, &mut own);
        let renamed = |flag: Flag| match self.flags {
            None => Some(flag),
            Some(names) => {
                let (_, name) = names.iter().find(|(name, _)| *name == flag.name)?;
                Some(Flag { name, ..flag })
            }
        };
        flags.extend(own.into_iter().filter_map(renamed));
    }
}

impl<T: Body + Clone, K: Kind> Rule for BareOr<T, K> {
    type Field = T;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<T> {
        let cursor = object.get(name);
        let is_bare = |cursor: &&Cursor<'_>| matches!(cursor.json, Json::Text(_));
        let bare = cursor.as_ref().filter(is_bare);
        let fields = match bare {
            Some(_) => None,
            None => cursor.as_ref().and_then(Cursor::fields),
        };
        let bare = bare.map(|value| (self.field, value));
        read_section(fields.as_ref(), bare, &format!("{}.", object.name_of(name)))
    }
}

pub(super) fn read_section<T: Body>(
    fields: Option<&Fields<'_>>,
    bare: Option<(&'static str, &Cursor<'_>)>,
    prefix: &str,
) -> Option<T> {
    let body = T::read_fields(Source {
        fields,
        bare,
        prefix,
    });
    if let Some(fields) = fields {
        fields.refuse_unknown();
    }
    body
}
