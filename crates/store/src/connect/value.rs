//! Values of statements, for both databases.

use std::borrow::Cow;

use jiff::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, Database, Encode, Type};
use uuid::Uuid;

use crate::DbTime;

/// Declares the kinds of values: the type of each, the array of PostgreSQL that holds a column of it, and the types
/// that become one, with or without a value.
macro_rules! kinds {
    ($($Kind:ident($Type:ty) in $array:literal from $($Given:ty),+;)*) => {
        /// Type of a column of given rows.
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum Kind {
            $($Kind,)*
        }

        /// A nullable value of a statement.
        #[derive(Debug, Clone)]
        pub(crate) enum Value<'a> {
            $($Kind(Option<$Type>),)*
        }

        impl Kind {
            /// The array of PostgreSQL that holds such a column.
            pub(crate) fn array(self) -> &'static str {
                match self {
                    $(Self::$Kind => $array,)*
                }
            }

            /// Adds a column of such values as an array.
            pub(crate) fn add_array<'a>(
                self,
                arguments: &mut PgArguments,
                column: impl Iterator<Item = &'a Value<'a>>,
            ) -> Result<(), BoxDynError> {
                match self {
                    $(Self::$Kind => {
                        let values = column.map(|value| match value {
                            Value::$Kind(value) => value.as_ref(),
                            _ => None,
                        });
                        arguments.add(values.collect::<Vec<_>>())
                    })*
                }
            }
        }

        impl<'q, 'a, D: Database> Encode<'q, D> for Value<'a>
        where
            $(Option<$Type>: Encode<'q, D>, $Type: Type<D>,)*
        {
            fn encode_by_ref(&self, buffer: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
                match self {
                    $(Self::$Kind(value) => value.encode_by_ref(buffer),)*
                }
            }

            fn produces(&self) -> Option<D::TypeInfo> {
                match self {
                    $(Self::$Kind(value) => value.produces().or_else(|| Some(<$Type>::type_info())),)*
                }
            }
        }

        $($(
            impl<'a> From<$Given> for Value<'a> {
                fn from(value: $Given) -> Self {
                    Self::$Kind(Some(value.into()))
                }
            }

            impl<'a> From<Option<$Given>> for Value<'a> {
                fn from(value: Option<$Given>) -> Self {
                    Self::$Kind(value.map(Into::into))
                }
            }
        )+)*
    };
}

kinds! {
    Id(Uuid) in "uuid[]" from Uuid;
    Number(i64) in "bigint[]" from i64;
    Text(Cow<'a, str>) in "text[]" from &'a str, &'a String, String;
    Real(f64) in "double precision[]" from f64;
    Time(DbTime) in "timestamptz[]" from DbTime, Timestamp;
    Flag(bool) in "boolean[]" from bool;
    Bytes(Vec<u8>) in "bytea[]" from Vec<u8>;
}

impl Value<'_> {
    /// Bytes in an array of PostgreSQL, with their length, at most.
    pub(crate) fn size(&self) -> usize {
        4 + match self {
            Self::Text(Some(text)) => text.len(),
            _ => 16,
        }
    }
}

/// Type of a value that does not say its own; every value does.
impl<D: Database> Type<D> for Value<'_>
where
    str: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        <str as Type<D>>::type_info()
    }
}
