//! Statements that work on rows of values, declared once for both databases.
//!
//! PostgreSQL takes the rows as arrays: the text of a statement is the same for any number of rows, so it is prepared
//! once, and several statements that write are sent as one, in one round trip. SQLite takes lists of values, a
//! statement at a time.

use std::sync::OnceLock;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{Arguments, FromRow, QueryBuilder, Sqlite};

use crate::StoreError;
use super::value::{Kind, Value};

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

/// Statements on given rows, which PostgreSQL gets as one. Its text for PostgreSQL is assembled once.
#[derive(Debug)]
pub(crate) struct Statement {
    pieces: &'static [Piece],
    text: OnceLock<String>,
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

impl Statement {
    /// Pieces do not see each other's writes, and no two change the same row.
    pub(crate) const fn new(pieces: &'static [Piece]) -> Self {
        Self {
            pieces,
            text: OnceLock::new(),
        }
    }

    /// The one statement, for PostgreSQL.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| {
            if let [piece] = self.pieces {
                return piece.with_arrays(0);
            }
            let mut used = 0;
            let mut parts = Vec::new();
            for (number, piece) in self.pieces.iter().enumerate() {
                parts.push(format!("part{number} AS ({})", piece.with_arrays(used)));
                used += piece.columns.len();
            }
            format!("WITH {} SELECT 1", parts.join(", "))
        })
    }

    /// The statements of SQLite, a few rows at a time, and whether each is kept: only that of a single row comes
    /// again.
    pub(crate) fn with_lists(
        &self,
        rows: &[Rows<'_>],
    ) -> impl Iterator<Item = (QueryBuilder<Sqlite>, bool)> {
        self.pieces.iter().zip(rows).flat_map(|(piece, rows)| {
            let chunks = rows.chunks(MOST_ROWS);
            chunks.map(move |rows| (piece.with_list(rows), rows.len() == 1))
        })
    }

    /// The columns of the rows of all pieces, each as an array.
    pub(crate) fn arrays(&self, rows: &[Rows<'_>]) -> Result<PgArguments, StoreError> {
        let mut arguments = PgArguments::default();
        let values = rows.iter().flatten().flatten();
        arguments.reserve(0, values.map(Value::size).sum());
        for (piece, rows) in self.pieces.iter().zip(rows) {
            for (index, kind) in piece.columns.iter().enumerate() {
                let column = rows.iter().map(|row| &row[index]);
                kind.add_array(&mut arguments, column)
                    .map_err(sqlx::Error::Encode)?;
            }
        }
        Ok(arguments)
    }
}
