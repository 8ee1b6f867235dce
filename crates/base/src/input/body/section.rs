//! Objects within a body: sections, which may be left out or written as a name alone.

use std::marker::PhantomData;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{OneOfBuilder, Schema};

use super::{Body, Describe, Flag, Kind, Rule, Schemas, Source, Truth, object, value};
use crate::input::cursor::{Cursor, Fields};
use crate::input::json::Json;

/// Names of the flags of a section, where the body has another section of the same type.
type FlagNames = &'static [(&'static str, &'static str)];

/// An object within the body that may be left out: then none of its fields is stated. It may be written as one of its
/// fields alone, if it has such a field.
pub struct Section<T, K = Truth> {
    body: PhantomData<T>,
    bare: Option<(&'static str, K)>,
    flags: Option<FlagNames>,
}

/// An object within the body that may be left out: then none of its fields is stated.
#[must_use]
pub const fn section<T: Body>() -> Section<T> {
    Section {
        body: PhantomData,
        bare: None,
        flags: None,
    }
}

/// A section that may be written as one of its fields alone, which is a text of this kind.
pub const fn bare_or<T: Body, K: Kind>(field: &'static str, kind: K) -> Section<T, K> {
    Section {
        body: PhantomData,
        bare: Some((field, kind)),
        flags: None,
    }
}

impl<T, K> Section<T, K> {
    /// The section with other names for its flags; a flag that is not among them is left out.
    #[must_use]
    pub fn with_flags(self, flags: FlagNames) -> Self {
        let flags = Some(flags);
        Self { flags, ..self }
    }
}

impl<T: Body + Clone, K: Kind> Describe for Section<T, K> {
    fn property(&self, doc: String) -> RefOr<Schema> {
        let Some((_, kind)) = &self.bare else {
            return value(object::<T>()).property(doc);
        };
        OneOfBuilder::new()
            .item(kind.schema())
            .item(object::<T>().schema())
            .description(Some(doc))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<T>().schemas(schemas);
    }

    fn flags(&self, pointer: String, _doc: String, flags: &mut Vec<Flag>) {
        let mut own = Vec::new();
        object::<T>().flags(&pointer, &mut own);
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

impl<T: Body + Clone, K: Kind> Rule for Section<T, K> {
    type Field = T;

    fn read(&self, object: Source<'_, '_>, name: &'static str) -> Option<T> {
        let cursor = object.get(name);
        let bare = self.bare.as_ref().zip(cursor.as_ref());
        let bare = bare.filter(|(_, value)| matches!(value.json, Json::Text(_)));
        let fields = match bare {
            Some(_) => None,
            None => cursor.as_ref().and_then(Cursor::fields),
        };
        let bare = bare.map(|((field, _), value)| (*field, value));
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
