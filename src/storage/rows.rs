//! Statements that work on rows of values, declared once for both databases.
//!
//! PostgreSQL takes the rows as arrays: the text of a statement is the same for any number of rows, so it is prepared
//! once, and several statements are sent as one, in one round trip. SQLite takes lists of values, a statement at a time.

use std::borrow::Cow;
use std::sync::OnceLock;

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{
    Arguments, Executor, FromRow, PgConnection, QueryBuilder, SqlSafeStr, Sqlite, SqliteConnection,
};
use uuid::Uuid;

use super::{DbTime, StoreError};

/// Type of a column of given rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Id,
    Number,
    Text,
    Real,
    Time,
    Flag,
    Bytes,
}

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

/// Rows for one statement, each with a value per column.
pub(super) type Rows<'a> = Vec<Vec<Value<'a>>>;

/// A statement that works on given rows. Where it names them, they stand as `given`, with columns `column1`, `column2`
/// and so on.
#[derive(Debug)]
pub(super) struct Piece {
    /// The text before the given rows.
    pub(super) before: &'static str,
    /// Their columns.
    pub(super) columns: &'static [Kind],
    /// The text after them.
    pub(super) after: &'static str,
}

/// Statements that PostgreSQL gets as one.
#[derive(Debug)]
pub(super) struct Pieces {
    all: &'static [Piece],
    is_reading: bool,
    whole: OnceLock<String>,
}

/// Rows per statement of SQLite: each has up to seventeen values, and a statement takes 32,766 of them.
pub(super) const MOST_ROWS: usize = 1_000;

/// A connection to either database.
pub(super) trait Connected {
    /// Prepares statements, so that using them takes one round trip.
    async fn prepare_for(&mut self, pieces: &'static Pieces) -> Result<(), StoreError>;

    /// Executes statements that write, with rows for each of them.
    async fn write_rows(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError>;

    /// The rows that all statements find together. There are no more than [`MOST_ROWS`] rows for each.
    async fn read_rows<T: FromEitherRow>(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<Vec<T>, StoreError>;
}

/// What a row of either database is read as.
pub(super) trait FromEitherRow:
    for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl<T> FromEitherRow for T where
    T: for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
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

impl Kind {
    /// The array of PostgreSQL that holds such a column.
    fn array(self) -> &'static str {
        match self {
            Self::Id => "uuid[]",
            Self::Number => "bigint[]",
            Self::Text => "text[]",
            Self::Real => "double precision[]",
            Self::Time => "timestamptz[]",
            Self::Flag => "boolean[]",
            Self::Bytes => "bytea[]",
        }
    }
}

impl Piece {
    /// The statement with the rows as arrays, of which the first is the parameter after `used`.
    fn with_arrays(&self, used: usize) -> String {
        let arrays = self.columns.iter().enumerate();
        let arrays = arrays.map(|(index, kind)| format!("${}::{}", used + index + 1, kind.array()));
        let names = (1..=self.columns.len()).map(|number| format!("column{number}"));
        format!(
            "{} unnest({}) AS given ({}) {}",
            self.before,
            arrays.collect::<Vec<_>>().join(", "),
            names.collect::<Vec<_>>().join(", "),
            self.after
        )
    }

    /// Appends the statement with the rows as a list.
    fn push_with_list(&self, query: &mut QueryBuilder<Sqlite>, rows: &[Vec<Value<'_>>]) {
        query.push(self.before).push(" (");
        if rows.is_empty() {
            let names = (1..=self.columns.len()).map(|number| format!("NULL AS column{number}"));
            query
                .push("SELECT ")
                .push(names.collect::<Vec<_>>().join(", "))
                .push(" WHERE FALSE");
        } else {
            query.push_values(rows, |mut list, row| {
                for value in row {
                    match value {
                        Value::Null => list.push_bind(None::<i64>),
                        Value::Id(id) => list.push_bind(*id),
                        Value::Number(number) => list.push_bind(*number),
                        Value::Text(text) => list.push_bind(text.to_string()),
                        Value::Real(number) => list.push_bind(*number),
                        Value::Time(time) => list.push_bind(*time),
                        Value::Flag(flag) => list.push_bind(*flag),
                        Value::Bytes(bytes) => list.push_bind(bytes.clone()),
                    };
                }
            });
        }
        query.push(") AS given ").push(self.after);
    }
}

impl Pieces {
    /// Statements that write. None of them sees what another one writes, and no two change one row.
    pub(super) const fn writing(pieces: &'static [Piece]) -> Self {
        Self {
            all: pieces,
            is_reading: false,
            whole: OnceLock::new(),
        }
    }

    /// Statements that read rows of the same columns, which the first one names.
    pub(super) const fn reading(pieces: &'static [Piece]) -> Self {
        Self {
            all: pieces,
            is_reading: true,
            whole: OnceLock::new(),
        }
    }

    /// The one statement, for PostgreSQL.
    fn whole(&self) -> &str {
        self.whole.get_or_init(|| {
            let mut used = 0;
            let mut parts = Vec::new();
            for piece in self.all {
                parts.push(piece.with_arrays(used));
                used += piece.columns.len();
            }
            if self.is_reading {
                return parts.join(" UNION ALL ");
            }
            let numbered = parts.iter().enumerate();
            let parts: Vec<String> = numbered
                .map(|(number, part)| format!("part{number} AS ({part})"))
                .collect();
            format!("WITH {} SELECT 1", parts.join(", "))
        })
    }

    /// The columns of all given rows, as arrays.
    fn arrays(&self, rows: &[Rows<'_>]) -> Result<PgArguments, StoreError> {
        let mut arguments = PgArguments::default();
        for (piece, rows) in self.all.iter().zip(rows) {
            for (index, kind) in piece.columns.iter().enumerate() {
                let column = rows.iter().map(|row| &row[index]);
                add_array(&mut arguments, *kind, column).map_err(sqlx::Error::Encode)?;
            }
        }
        Ok(arguments)
    }
}

/// Adds a column as an array.
fn add_array<'a>(
    arguments: &mut PgArguments,
    kind: Kind,
    column: impl Iterator<Item = &'a Value<'a>>,
) -> Result<(), BoxDynError> {
    macro_rules! add {
        ($variant:ident, $type:ty, $value:pat => $given:expr) => {
            arguments.add(
                column
                    .map(|value| match value {
                        Value::$variant($value) => Some($given),
                        _ => None,
                    })
                    .collect::<Vec<Option<$type>>>(),
            )
        };
    }
    match kind {
        Kind::Id => add!(Id, Uuid, id => *id),
        Kind::Number => add!(Number, i64, number => *number),
        Kind::Text => add!(Text, &str, text => text.as_ref()),
        Kind::Real => add!(Real, f64, number => *number),
        Kind::Time => add!(Time, DbTime, time => *time),
        Kind::Flag => add!(Flag, bool, flag => *flag),
        Kind::Bytes => add!(Bytes, &[u8], bytes => bytes.as_slice()),
    }
}

impl Connected for PgConnection {
    async fn prepare_for(&mut self, pieces: &'static Pieces) -> Result<(), StoreError> {
        self.prepare(pieces.whole().into_sql_str()).await?;
        Ok(())
    }

    async fn write_rows(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        let arguments = pieces.arrays(rows)?;
        sqlx::query_with(pieces.whole(), arguments)
            .execute(self)
            .await?;
        Ok(())
    }

    async fn read_rows<T: FromEitherRow>(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let arguments = pieces.arrays(rows)?;
        Ok(sqlx::query_as_with(pieces.whole(), arguments)
            .fetch_all(self)
            .await?)
    }
}

impl Connected for SqliteConnection {
    async fn prepare_for(&mut self, _: &'static Pieces) -> Result<(), StoreError> {
        Ok(())
    }

    async fn write_rows(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        for (piece, rows) in pieces.all.iter().zip(rows) {
            for rows in rows.chunks(MOST_ROWS) {
                let mut query = QueryBuilder::new("");
                piece.push_with_list(&mut query, rows);
                let query = query.build().persistent(rows.len() == 1);
                query.execute(&mut *self).await?;
            }
        }
        Ok(())
    }

    async fn read_rows<T: FromEitherRow>(
        &mut self,
        pieces: &'static Pieces,
        rows: &[Rows<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let mut query = QueryBuilder::new("");
        for (index, (piece, rows)) in pieces.all.iter().zip(rows).enumerate() {
            query.push(if index == 0 { "" } else { " UNION ALL " });
            piece.push_with_list(&mut query, rows);
        }
        let is_small = rows.iter().all(|rows| rows.len() <= 1);
        let query = query.build_query_as().persistent(is_small);
        Ok(query.fetch_all(self).await?)
    }
}
