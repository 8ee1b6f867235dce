//! Statements that work on rows of values, declared once for both databases.
//!
//! PostgreSQL takes the rows as arrays: the text of a statement is the same for any number of rows, so it is prepared
//! once, and several statements that write are sent as one, in one round trip. SQLite takes lists of values, a
//! statement at a time.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{Arguments, FromRow, QueryBuilder, Sqlite};

use super::value::{Kind, Value};
use crate::StoreError;

/// Rows for one statement, each with a value per column.
pub(crate) type Rows<'a> = Vec<Vec<Value<'a>>>;

/// Given rows, in the text of a statement.
const GIVEN: &str = "FROM given";

/// A statement that works on given rows, which it reads by `FROM given`. Their columns are `given.column1`,
/// `given.column2` and so on.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) sql: &'static str,
    /// Columns of the given rows.
    pub(crate) columns: &'static [Kind],
}

/// Rows per statement of SQLite: each has up to twenty-four values, and a statement takes 32,766 of them.
pub(crate) const MOST_ROWS: usize = 1_000;

/// A type that is read from a row of either database.
pub(crate) trait FromEitherRow:
    for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl<T> FromEitherRow for T where
    T: for<'row> FromRow<'row, PgRow> + for<'row> FromRow<'row, SqliteRow> + Send + Unpin
{
}

impl Piece {
    /// The statements of SQLite, a few rows at a time, and whether each is kept: only that of a single row comes again.
    pub(crate) fn with_lists(
        &self,
        rows: &Rows<'_>,
    ) -> impl Iterator<Item = (QueryBuilder<Sqlite>, bool)> {
        let chunks = rows.chunks(MOST_ROWS);
        chunks.map(|rows| (self.with_list(rows), rows.len() == 1))
    }

    /// The texts before and after the given rows.
    fn around_rows(&self) -> (&'static str, &'static str) {
        let around = self.sql.split_once(GIVEN);
        around.expect("the statement reads the given rows")
    }

    /// The statement with the rows as arrays, of which the first is the parameter after `used`.
    fn with_arrays(&self, used: usize) -> String {
        let (before, after) = self.around_rows();
        // In the list of a SELECT, the server makes the rows one by one: after FROM, it would write them to a file first where they
        // are long.
        let columns = (1..).zip(self.columns);
        let columns = columns.map(|(number, kind)| {
            format!(
                "unnest(${}::{}) AS column{number}",
                used + number,
                kind.array()
            )
        });
        let columns: Vec<String> = columns.collect();
        format!(
            "{before} FROM (SELECT {}) AS given {after}",
            columns.join(", ")
        )
    }

    /// The statement with the rows as a list.
    fn with_list(&self, rows: &[Vec<Value<'_>>]) -> QueryBuilder<Sqlite> {
        let (before, after) = self.around_rows();
        let mut query = QueryBuilder::new(before);
        query.push("FROM (");
        query.push_values(rows, |mut list, row| {
            for value in row {
                list.push_bind(value);
            }
        });
        query.push(") AS given").push(after);
        query
    }
}

/// Statements as the one that PostgreSQL gets. They do not see each other's writes, and no two change the same row.
pub(crate) fn text(pieces: &[Piece]) -> String {
    if let [piece] = pieces {
        return piece.with_arrays(0);
    }
    let mut used = 0;
    let mut parts = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        parts.push(format!("part{number} AS ({})", piece.with_arrays(used)));
        used += piece.columns.len();
    }
    format!("WITH {} SELECT 1", parts.join(", "))
}

/// The columns of the rows of statements, each as an array.
pub(crate) fn arrays(pieces: &[Piece], rows: &[Rows<'_>]) -> Result<PgArguments, StoreError> {
    let mut arguments = PgArguments::default();
    let values = rows.iter().flatten().flatten();
    arguments.reserve(0, values.map(Value::size).sum());
    for (piece, rows) in pieces.iter().zip(rows) {
        for (index, kind) in piece.columns.iter().enumerate() {
            let column = rows.iter().map(|row| &row[index]);
            kind.add_array(&mut arguments, column)
                .map_err(sqlx::Error::Encode)?;
        }
    }
    Ok(arguments)
}
