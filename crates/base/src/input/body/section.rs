//! Objects within a body: sections, which may be left out or written as a name alone.

use std::marker::PhantomData;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{OneOfBuilder, Schema};

use super::{Body, Describe, Flag, Kind, Rule, Schemas, Source, object, value};
use crate::input::cursor::{Cursor, Fields};
use crate::input::json::Json;

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

/// A section that may be written as its field `name` alone.
pub struct NameOr<T, K>(PhantomData<T>, K);

/// A section that may be written as its field `name` alone, which is of this kind.
pub const fn name_or<T: Body, K: Kind>(name: K) -> NameOr<T, K> {
    NameOr(PhantomData, name)
}

impl<T: Body + Clone, K: Kind> Describe for NameOr<T, K> {
    fn property(&self, doc: String) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(self.1.schema())
            .item(object::<T>().schema())
            .description(Some(doc))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        section::<T>().schemas(schemas);
    }

    fn flags(&self, pointer: String, doc: String, flags: &mut Vec<Flag>) {
        section::<T>().flags(pointer, doc, flags);
    }
}

impl<T: Body + Clone, K: Kind> Rule for NameOr<T, K> {
    type Field = T;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<T> {
        let cursor = object.get(name);
        let is_bare = |cursor: &&Cursor<'_>| matches!(cursor.json, Json::Text(_));
        let bare = cursor.as_ref().filter(is_bare);
        let fields = match bare {
            Some(_) => None,
            None => cursor.as_ref().and_then(Cursor::fields),
        };
        read_section(fields.as_ref(), bare, &format!("{}.", object.name_of(name)))
    }
}

pub(super) fn read_section<T: Body>(
    fields: Option<&Fields<'_>>,
    bare_name: Option<&Cursor<'_>>,
    prefix: &str,
) -> Option<T> {
    let body = T::read_fields(Source {
        fields,
        bare_name,
        prefix,
    });
    if let Some(fields) = fields {
        fields.refuse_unknown();
    }
    body
}
