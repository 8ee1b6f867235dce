//! Statements that work on rows of values, declared once for both databases.
//!
//! PostgreSQL takes the rows as arrays: the text of a statement is the same for any number of rows, so it is prepared
//! once, and several statements that write are sent as one, in one round trip. SQLite takes lists of values, a statement
//! at a time.

use std::sync::OnceLock;

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, Executor, FromRow, PgConnection, QueryBuilder, SqlSafeStr, Sqlite,
    SqliteConnection,
};
use uuid::Uuid;

use super::list::List;
use super::value::Value;
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

/// Rows for one statement, each with a value per column.
pub(super) type Rows<'a> = Vec<Vec<Value<'a>>>;

/// A statement that works on given rows. It names them `given`, with columns `column1`, `column2` and so on.
#[derive(Debug)]
pub(super) struct Piece {
    /// The text before the given rows.
    pub(super) before: &'static str,
    /// Their columns.
    pub(super) columns: &'static [Kind],
    /// The text after them.
    pub(super) after: &'static str,
}

/// A statement that reads rows of one type. Its text for PostgreSQL is assembled once.
#[derive(Debug)]
pub(super) struct Reading {
    piece: Piece,
    text: OnceLock<String>,
}

/// Statements that write; PostgreSQL runs them as one.
#[derive(Debug)]
pub(super) struct Writing {
    pieces: &'static [Piece],
    text: OnceLock<String>,
}

/// Rows per statement of SQLite: each has up to seventeen values, and a statement takes 32,766 of them.
pub(super) const MOST_ROWS: usize = 1_000;

/// A connection to either database.
pub(super) trait Connected {
    /// Prepares a statement, so that using it takes one round trip.
    async fn prepare_reading(&mut self, reading: &'static Reading) -> Result<(), StoreError>;

    /// Prepares statements that write, likewise.
    async fn prepare_writing(&mut self, writing: &'static Writing) -> Result<(), StoreError>;

    /// Executes statements that write, with rows for each of them.
    async fn write_rows(
        &mut self,
        writing: &'static Writing,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError>;

    /// The rows that a statement finds for at most [`MOST_ROWS`] given ones. Without any, the database is not asked.
    async fn read_rows<T: FromEitherRow>(
        &mut self,
        reading: &'static Reading,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError>;

    /// The rows of a list.
    async fn list<T: FromEitherRow>(&mut self, list: List<'_>) -> Result<Vec<T>, StoreError>;
}

/// A type that is read from a row of either database.
pub(super) trait FromEitherRow:
    for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl<T> FromEitherRow for T where
    T: for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
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
        query.push(") AS given ").push(self.after);
    }
}

impl Reading {
    pub(super) const fn new(piece: Piece) -> Self {
        Self {
            piece,
            text: OnceLock::new(),
        }
    }

    /// The text for PostgreSQL.
    fn text(&self) -> &str {
        self.text.get_or_init(|| self.piece.with_arrays(0))
    }
}

impl Writing {
    /// The statements do not see each other's writes, and no two change the same row.
    pub(super) const fn new(pieces: &'static [Piece]) -> Self {
        Self {
            pieces,
            text: OnceLock::new(),
        }
    }

    /// The one statement, for PostgreSQL.
    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let mut used = 0;
            let mut parts = Vec::new();
            for (number, piece) in self.pieces.iter().enumerate() {
                parts.push(format!("part{number} AS ({})", piece.with_arrays(used)));
                used += piece.columns.len();
            }
            format!("WITH {} SELECT 1", parts.join(", "))
        })
    }
}

/// Adds the columns of given rows, each as an array.
fn add_arrays(
    arguments: &mut PgArguments,
    piece: &Piece,
    rows: &Rows<'_>,
) -> Result<(), StoreError> {
    for (index, kind) in piece.columns.iter().enumerate() {
        let column = rows.iter().map(|row| &row[index]);
        add_array(arguments, *kind, column).map_err(sqlx::Error::Encode)?;
    }
    Ok(())
}

/// Adds a value of a list's condition.
macro_rules! add_value {
    ($arguments:ident, $value:expr) => {
        match $value {
            Value::Null => $arguments.add(None::<i64>),
            Value::Id(id) => $arguments.add(id),
            Value::Number(number) => $arguments.add(number),
            Value::Text(text) => $arguments.add(text.into_owned()),
            Value::Real(number) => $arguments.add(number),
            Value::Time(time) => $arguments.add(time),
            Value::Flag(flag) => $arguments.add(flag),
            Value::Bytes(bytes) => $arguments.add(bytes),
        }
    };
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
    async fn prepare_reading(&mut self, reading: &'static Reading) -> Result<(), StoreError> {
        self.prepare(reading.text().into_sql_str()).await?;
        Ok(())
    }

    async fn prepare_writing(&mut self, writing: &'static Writing) -> Result<(), StoreError> {
        self.prepare(writing.text().into_sql_str()).await?;
        Ok(())
    }

    async fn write_rows(
        &mut self,
        writing: &'static Writing,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        let mut arguments = PgArguments::default();
        for (piece, rows) in writing.pieces.iter().zip(rows) {
            add_arrays(&mut arguments, piece, rows)?;
        }
        let query = sqlx::query_with(writing.text(), arguments);
        query.execute(self).await?;
        Ok(())
    }

    async fn read_rows<T: FromEitherRow>(
        &mut self,
        reading: &'static Reading,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = PgArguments::default();
        add_arrays(&mut arguments, &reading.piece, rows)?;
        let query = sqlx::query_as_with(reading.text(), arguments);
        Ok(query.fetch_all(self).await?)
    }

    async fn list<T: FromEitherRow>(&mut self, list: List<'_>) -> Result<Vec<T>, StoreError> {
        let mut arguments = PgArguments::default();
        for value in list.values {
            add_value!(arguments, value).map_err(sqlx::Error::Encode)?;
        }
        let query = sqlx::query_as_with(AssertSqlSafe(list.sql), arguments);
        Ok(query.fetch_all(self).await?)
    }
}

impl Connected for SqliteConnection {
    async fn prepare_reading(&mut self, _: &'static Reading) -> Result<(), StoreError> {
        Ok(())
    }

    async fn prepare_writing(&mut self, _: &'static Writing) -> Result<(), StoreError> {
        Ok(())
    }

    async fn write_rows(
        &mut self,
        writing: &'static Writing,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        for (piece, rows) in writing.pieces.iter().zip(rows) {
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
        reading: &'static Reading,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = QueryBuilder::new("");
        reading.piece.push_with_list(&mut query, rows);
        let query = query.build_query_as().persistent(rows.len() == 1);
        Ok(query.fetch_all(self).await?)
    }

    async fn list<T: FromEitherRow>(&mut self, list: List<'_>) -> Result<Vec<T>, StoreError> {
        let mut arguments = SqliteArguments::default();
        for value in list.values {
            add_value!(arguments, value).map_err(sqlx::Error::Encode)?;
        }
        let query = sqlx::query_as_with(AssertSqlSafe(list.sql), arguments);
        Ok(query.fetch_all(self).await?)
    }
}
